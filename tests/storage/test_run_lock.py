"""The next run removes what a killed one left; sets may overlap."""

import errno
import fcntl
import itertools
import os
import shutil
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from bert_data.storage import OutputSet, paths
from tests.program_folder import contents
from tests.storage.output_sets import write_set


def kill_while_renaming(script, folder: Path) -> None:
    """Runs the script for a, b and m in a new folder until a has its final name, and b has not."""
    for count in itertools.count(8):
        folder.mkdir()
        assert script(folder, count, "new", "ab", "", "SIGKILL") == -signal.SIGKILL
        if (folder / "a").exists():
            break
        shutil.rmtree(folder)
    assert not (folder / "b").exists()


class TestLeftBehind:
    """The next run removes what the notes of a killed run name, and nothing else."""

    @pytest.mark.parametrize(
        "text",
        [
            "",
            "\udcff\udcfe{}\n",
            '{"work_dir": "/tm',
            "[1]",
            "1",
            "null",
            "{}",
            "[" * 100_000,
            "1" * 5000,
            "\0\x7f",
            '{"token": 1, "folders": 3}',
            '{"token": "TOKEN", "folders": ["PRECIOUS"], "moves": [["a", "PRECIOUS/file"]]}',
            '{"inode": INODE, "token": "../precious", "folders": ["FOLDER"]}',
        ],
        ids=range(13),
    )
    def test_a_lock_that_holds_something_else(self, tmp_path, text):
        precious = tmp_path / "precious"
        precious.mkdir()
        (precious / "file").write_bytes(b"precious")
        folder = tmp_path / "folder"
        folder.mkdir()
        lock = folder / ".a.lock"
        lock.touch()
        text = text.replace("INODE", str(lock.stat().st_ino)).replace("TOKEN", paths.new_token())
        text = text.replace("PRECIOUS", str(precious)).replace("FOLDER", str(tmp_path))
        lock.write_bytes(text.encode(errors="surrogateescape"))
        write_set(folder, "new")
        assert contents(folder) == dict.fromkeys("abm", b"new")
        assert contents(precious) == {"file": b"precious"}

    def test_a_lock_that_is_a_link_is_not_followed(self, tmp_path):
        (tmp_path / "precious").write_bytes(b"precious")
        (tmp_path / ".a.lock").symlink_to("precious")
        with pytest.raises(OSError, match="symbolic links"):
            write_set(tmp_path, "new")
        assert (tmp_path / "precious").read_bytes() == b"precious"

    @pytest.mark.process
    def test_a_lock_that_was_copied_says_nothing(self, tmp_path, script):
        """The killed run's folder, partial files, and the file that has its final name stay."""
        folder, copy = tmp_path / "folder", tmp_path / "copy"
        kill_while_renaming(script, folder)
        shutil.copytree(folder, copy)
        shutil.copyfile(folder / ".a.lock", folder / ".c.lock")
        before = contents(folder)
        write_set(copy, "other", overwrite=True)
        assert contents(folder) == before
        write_set(folder, "other", names="c")
        (folder / "c").unlink()
        (folder / "m").unlink()
        assert contents(folder) == {k: v for k, v in before.items() if k != ".c.lock"}

    @pytest.mark.process
    def test_a_lock_of_another_user_says_nothing(self, tmp_path, script, monkeypatch):
        folder = tmp_path / "folder"
        kill_while_renaming(script, folder)
        before = contents(folder)
        monkeypatch.setattr(os, "geteuid", lambda: 1 + os.getuid())
        with pytest.raises(FileExistsError):
            write_set(folder, "new")
        before.pop(".a.lock")
        assert contents(folder) == before

    @pytest.mark.process
    def test_what_another_host_has_begun_stays(self, tmp_path, script, monkeypatch, caplog):
        """It may be alive: a lock need not reach across hosts."""
        folder = tmp_path / "folder"
        kill_while_renaming(script, folder)
        before = contents(folder)
        monkeypatch.setattr(paths, "HOST", "elsewhere")
        write_set(folder, "new", overwrite=True)
        after = contents(folder)
        hidden_names = [name for name in before if name.startswith(".") and name != ".a.lock"]
        assert hidden_names and all(after[name] == before[name] for name in hidden_names)
        assert after["m"] == b"new" and ".a.lock" not in after
        assert "of another host" in caplog.text

    @pytest.mark.process
    def test_a_folder_that_was_moved(self, tmp_path, script):
        """The hidden files in it go; those that now have its old name stay."""
        folder, moved = tmp_path / "folder", tmp_path / "moved"
        kill_while_renaming(script, folder)
        folder.rename(moved)
        folder.mkdir()
        write_set(folder, "other")
        write_set(moved, "third")
        assert contents(folder) == dict.fromkeys("abm", b"other")
        assert contents(moved) == {**dict.fromkeys("abm", b"third"), "work": None}

    @pytest.mark.process
    def test_a_file_that_another_program_has_put_there_stays(self, tmp_path, script):
        folder = tmp_path / "folder"
        kill_while_renaming(script, folder)
        (folder / "a").unlink()
        (folder / "a").write_bytes(b"another")
        with pytest.raises(FileExistsError):
            write_set(folder, "new")
        assert contents(folder) == {"a": b"another", "work": None}

    @pytest.mark.process
    def test_an_older_set_of_which_a_file_was_replaced_does_not_come_back(self, tmp_path, script):
        """Its last file would vouch for a mixture."""
        for count in itertools.count(8):
            folder = tmp_path / str(count)
            folder.mkdir()
            write_set(folder, "old")
            assert script(folder, count, "new", "ab", "1", "SIGKILL") == -signal.SIGKILL
            if not (folder / "a").exists():
                break
        (folder / "a").write_bytes(b"another")
        with pytest.raises(FileExistsError):
            write_set(folder, "newer")
        assert contents(folder) == {"a": b"another", "b": b"old", "work": None}

    @pytest.mark.process
    def test_a_folder_that_is_gone(self, tmp_path, script):
        """Noted paths that lead nowhere any more are no hindrance."""
        folder = tmp_path / "folder"
        kill_while_renaming(script, folder)
        (folder / "file").touch()
        lock = folder / ".a.lock"
        noted = lock.read_text().replace('"b"', f'"{tmp_path}/gone/b"')
        lock.write_text(noted.replace('"m"', '"file/m"'))
        write_set(folder, "new")
        assert (folder / "m").read_bytes() == b"new"


class TestOverlappingSets:
    """Two runs at the same time whose sets share files but have different first names."""

    @pytest.mark.parametrize("overwrite", [False, True])
    @pytest.mark.parametrize("names", ["ba", "bc", "cbd"])
    def test_one_that_fails_takes_nothing_from_the_other(self, tmp_path, names, overwrite):
        def write_first():
            write_set(tmp_path, "first", overwrite=overwrite)
            raise RuntimeError

        second = {"overwrite": overwrite, "names": names, "last": "n", "meanwhile": write_first}
        with pytest.raises(RuntimeError):
            write_set(tmp_path, "second, with a longer text", **second)
        assert contents(tmp_path) == dict.fromkeys("abm", b"first")

    def test_a_file_that_appeared_meanwhile_is_not_replaced(self, tmp_path):
        second = {"names": "ba", "last": "n", "meanwhile": lambda: write_set(tmp_path, "first")}
        with pytest.raises(FileExistsError, match="exists already"):
            write_set(tmp_path, "second", **second)
        assert contents(tmp_path) == dict.fromkeys("abm", b"first")

    def test_the_later_of_two_that_overwrite_is_whole(self, tmp_path):
        """The manifest of the replaced files goes, though it was not there at the start."""
        write_set(
            *(tmp_path, "second"),
            overwrite=True,
            names="ba",
            last="n",
            meanwhile=lambda: write_set(tmp_path, "first", overwrite=True),
            obsolete=lambda: [str(path) for path in tmp_path.glob("m")],
        )
        assert contents(tmp_path) == dict.fromkeys("abn", b"second")

    @pytest.mark.process
    def test_two_commits_do_not_mix(self, tmp_path, checkout, monkeypatch):
        """Another run that comes to its end in the midst of a commit waits until that is done."""
        monkeypatch.setenv("PYTHONPATH", str(checkout))
        command = [sys.executable, "-c", TELLING + SCRIPT, str(tmp_path), "second", "ba", "1"]
        real = os.replace
        others: list[subprocess.Popen[bytes]] = []

        def replace(source: str, target: str) -> None:
            real(source, target)
            if not others:
                others.append(subprocess.Popen(command, stdout=subprocess.PIPE))
                assert others[0].stdout.readline() == b"waiting\n"

        monkeypatch.setattr(os, "replace", replace)
        write_set(tmp_path, "first", overwrite=True)
        assert others[0].communicate()[0] == b""
        assert others[0].returncode == 0
        assert contents(tmp_path) == {**dict.fromkeys("abm", b"second"), "work": None}

    @pytest.mark.process
    def test_killed_beside_another(self, tmp_path, script):
        """A run for b,a is killed; before and after its clean-up the set a,b is whole."""
        for count in itertools.count(1, 2):
            folder = tmp_path / str(count)
            folder.mkdir()
            status = script(folder, count, "killed", "ba", "", "SIGKILL")
            if status == 0:
                break
            assert status == -signal.SIGKILL
            write_set(folder, "whole", overwrite=True)
            assert script(folder, 0, "late", "ba", "", "SIGKILL") == 1  # refused: b exists
            files = contents(folder)
            files.pop("work", None)
            assert files == dict.fromkeys("abm", b"whole")
        assert count > 15


# Says when it is about to wait for other runs that commit.
TELLING = """
import fcntl
real_flock = fcntl.flock
def flock(file, how):
    if not how & fcntl.LOCK_NB:
        print("waiting", flush=True)
    real_flock(file, how)
fcntl.flock = flock
"""

# A set of three files beside a work folder; with other text and one file more in the older set.
SCRIPT = """
import os, sys
from bert_data.storage import OutputSet
folder, text, names, overwrite = sys.argv[1:]
paths = [os.path.join(folder, name) for name in (*names, "m")]
# Only the older set's last file says that there is a third one.
third = os.path.join(folder, "c")
obsolete = lambda: [third] if os.path.exists(paths[-1]) else []
work = folder + "/work"
with OutputSet(
    paths[0], paths, reads=[], overwrite=bool(overwrite), work_dir=work, obsolete=obsolete
) as outputs:
    spill = os.path.join(outputs.work_dir, "spill")
    with open(spill, "w") as file:
        file.write(text)
    for path in paths:
        with outputs.open(path) as file:
            file.write(text.encode())
    os.remove(spill)
    outputs.commit(paths[:-1], paths[-1:])
"""


@pytest.fixture
def script(tmp_path, checkout, programs):
    """Runs the script above with a signal before its n-th change; returns its exit status."""
    path = tmp_path / "script.py"
    path.write_text(SCRIPT)
    dying = str(checkout / "tests" / "dying_program.py")

    def run(folder: Path, count: int, text: str, names: str, overwrite: str, name: str) -> int:
        told = [str(folder), text, names, overwrite]
        arguments = [dying, name, str(count), str(folder), str(path), *told]
        return programs.run(arguments, cwd=tmp_path).returncode

    return run


@pytest.mark.parametrize("old", ["", "abc"], ids=["fresh", "over an older set"])
class TestKilled:
    """At each change to the file system, one after the other, until the program ends by itself."""

    @pytest.mark.process
    def test_by_sigkill(self, tmp_path, script, old):
        for count in itertools.count(1):
            folder = tmp_path / str(count)
            folder.mkdir()
            if old:
                write_set(folder, "old", names=old)
            overwrite = "1" if old else ""
            status = script(folder, count, "new", "ab", overwrite, "SIGKILL")
            if status == 0:
                break
            assert status == -signal.SIGKILL
            seen = {k: v for k, v in contents(folder).items() if k in (*"abcm",)}
            if "m" in seen:  # it vouches for the others
                whole_new = dict.fromkeys("abm", b"new")
                whole_old = dict.fromkeys((*old, "m"), b"old") if old else None
                assert seen in (whole_new, whole_old)
                assert script(folder, 0, "other", "ab", "", "SIGKILL") == 1  # m exists
                assert {k: v for k, v in contents(folder).items() if k != "work"} == seen
            elif old:  # which comes back
                assert script(folder, 0, "other", "ab", "", "SIGKILL") == 1
                whole_old = dict.fromkeys("abcm", b"old")
                assert {k: v for k, v in contents(folder).items() if k != "work"} == whole_old
            assert script(folder, 0, "new", "ab", "1", "SIGKILL") == 0
            assert contents(folder) == {**dict.fromkeys("abm", b"new"), "work": None}
        assert count > 15

    @pytest.mark.process
    def test_by_ctrl_c(self, tmp_path, script, old):
        for count in itertools.count(1, 2):
            folder = tmp_path / str(count)
            (folder / "work").mkdir(parents=True)
            if old:
                write_set(folder, "old", names=old)
            before = contents(folder)
            status = script(folder, count, "new", "ab", "1" if old else "", "SIGINT")
            if status == 0:
                break
            assert contents(folder) in (before, {**dict.fromkeys("abm", b"new"), "work": None})
        assert count > 15


@pytest.mark.process
@pytest.mark.parametrize("number", [errno.ENOSYS, errno.EOPNOTSUPP, errno.ENOLCK])
def test_without_locks_a_set_is_written_and_nothing_is_removed(
    tmp_path, script, monkeypatch, number
):
    """As on Lustre mounted without them: the earlier run may be alive."""

    def refuse(*_: object) -> None:
        raise OSError(number, os.strerror(number))

    folder = tmp_path / "folder"
    kill_while_renaming(script, folder)
    before = contents(folder)
    monkeypatch.setattr(fcntl, "flock", refuse)
    write_set(folder, "new", overwrite=True)
    after = contents(folder)
    unfinished = [name for name in before if name.startswith(".") and name != ".a.lock"]
    assert unfinished and all(after[name] == before[name] for name in unfinished)
    assert [after.get(name) for name in "abm"] == [b"new"] * 3


def test_a_lock_is_of_the_file_that_has_the_name(tmp_path):
    """A run that waits between opening and locking must not lock a file that was removed."""
    lock = tmp_path / ".a.lock"
    real_flock = fcntl.flock
    removed = []

    def flock(file, how):
        if not removed:
            removed.append(lock.unlink())
        real_flock(file, how)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(fcntl, "flock", flock)
        path = str(tmp_path / "a")
        with OutputSet(path, [path], reads=[], overwrite=False):
            assert lock.exists()
            with pytest.raises(BlockingIOError):
                OutputSet(path, [path], reads=[], overwrite=False).__enter__()
    assert contents(tmp_path) == {}
