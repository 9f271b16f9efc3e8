"""Sets of files that appear whole, whatever ends the program."""

import fcntl
import itertools
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from bert_data.outputs import OutputSet


def contents(folder: Path) -> dict[str, bytes | None]:
    """All files with their bytes, and folders with None; hidden ones too."""
    return {
        str(path.relative_to(folder)): path.read_bytes() if path.is_file() else None
        for path in sorted(folder.rglob("*"))
    }


def write_set(folder: Path, text: str, *, overwrite: bool = False, names: str = "ab") -> None:
    """Writes one file for each letter, then m, which says what all are."""
    paths = [str(folder / name) for name in (*names, "m")]
    with OutputSet(paths[0], paths, overwrite=overwrite) as outputs:
        for path in paths:
            with outputs.open(path) as file:
                file.write(text.encode())
        outputs.commit(paths[:-1], paths[-1:])


class TestOutputSet:
    def test_files_appear_at_the_end_and_nothing_else(self, tmp_path):
        path = str(tmp_path / "new" / "folder" / "a")
        work = tmp_path / "work"
        with OutputSet(path, [path], overwrite=False, work_dir=str(work)) as outputs:
            assert Path(outputs.work_dir).parent == work
            (Path(outputs.work_dir) / "spill").write_bytes(b"x")
            with outputs.open(path) as file:
                file.write(b"text")
            assert not os.path.exists(path)
            outputs.commit([path])
        assert {k for k, v in contents(tmp_path).items() if v is not None} == {"new/folder/a"}
        assert list(work.iterdir()) == []

    def test_relative_names(self, tmp_path, monkeypatch):
        monkeypatch.chdir(tmp_path)
        with OutputSet("a", ["a"], overwrite=False, work_dir="work") as outputs:
            assert os.path.isabs(outputs.work_dir)
            with outputs.open("a") as file:
                file.write(b"text")
            outputs.commit(["a"])
        assert contents(tmp_path) == {"a": b"text", "work": None}

    def test_without_commit_nothing_is_left(self, tmp_path):
        path = str(tmp_path / "new" / "folder" / "a")
        with (
            pytest.raises(RuntimeError),
            OutputSet(path, [path], overwrite=False, work_dir=str(tmp_path / "w" / "v")) as outputs,
        ):
            with outputs.open(path) as file:
                file.write(b"text")
            raise RuntimeError
        assert contents(tmp_path) == {}

    def test_existing_files_are_refused_before_anything_is_made(self, tmp_path):
        (tmp_path / "m").write_bytes(b"old")
        with pytest.raises(FileExistsError, match="exists already") as caught:
            write_set(tmp_path, "new")
        assert caught.value.filename == str(tmp_path / "m")
        assert contents(tmp_path) == {"m": b"old"}

    def test_overwrite(self, tmp_path):
        write_set(tmp_path, "old")
        write_set(tmp_path, "new", overwrite=True)
        assert contents(tmp_path) == dict.fromkeys("abm", b"new")

    def test_obsolete_files_go(self, tmp_path):
        write_set(tmp_path, "old", names="abc")
        paths = [str(tmp_path / name) for name in "abm"]
        with OutputSet(paths[0], paths, overwrite=True) as outputs:
            for path in paths:
                with outputs.open(path):
                    pass
            outputs.commit(paths[:2], paths[2:], obsolete=[str(tmp_path / "c")])
        assert contents(tmp_path) == dict.fromkeys("abm", b"")

    @pytest.mark.parametrize("overwrite", [False, True])
    def test_a_folder_of_the_name_of_an_output(self, tmp_path, overwrite):
        write_set(tmp_path, "old")
        (tmp_path / "b").unlink()
        (tmp_path / "b" / "inside").mkdir(parents=True)
        (tmp_path / "a").unlink()
        before = contents(tmp_path)
        with pytest.raises(IsADirectoryError):
            write_set(tmp_path, "new", overwrite=overwrite)
        assert contents(tmp_path) == before

    def test_a_device_is_not_replaced(self, tmp_path):
        os.mkfifo(tmp_path / "b")
        with pytest.raises(FileExistsError, match="is a device or the like"):
            write_set(tmp_path, "new", overwrite=True)
        assert list(tmp_path.iterdir()) == [tmp_path / "b"]

    def test_a_sidecar_of_the_name_of_another_file(self, tmp_path):
        with pytest.raises(ValueError, match="two outputs have the same name"):
            write_set(tmp_path, "new", names="abmc")
        assert contents(tmp_path) == {}

    def test_an_old_set_stays_when_the_new_one_fails(self, tmp_path):
        write_set(tmp_path, "old")
        paths = [str(tmp_path / name) for name in "abm"]
        with pytest.raises(RuntimeError), OutputSet(paths[0], paths, overwrite=True) as outputs:
            with outputs.open(paths[0]) as file:
                file.write(b"new")
            raise RuntimeError
        assert contents(tmp_path) == dict.fromkeys("abm", b"old")

    @pytest.mark.parametrize("overwrite", [False, True])
    def test_a_commit_that_fails_leaves_no_mixture(self, tmp_path, overwrite):
        if overwrite:
            write_set(tmp_path, "old")
        paths = [str(tmp_path / name) for name in "abm"]
        with pytest.raises(OSError), OutputSet(paths[0], paths, overwrite=overwrite) as outputs:
            for path in (paths[0], paths[2]):  # b was never written
                with outputs.open(path):
                    pass
            outputs.commit(paths[:2], paths[2:])
        assert contents(tmp_path) == {}

    def test_a_second_run_is_refused_and_does_not_disturb_the_first(self, tmp_path):
        path = str(tmp_path / "a")
        with OutputSet(path, [path], overwrite=False) as outputs:
            with pytest.raises(BlockingIOError, match="another run is writing this output"):
                write_set(tmp_path, "second")
            with outputs.open(path) as file:
                file.write(b"first")
            outputs.commit([path])
        assert contents(tmp_path) == {"a": b"first"}

    def test_a_folder_that_cannot_be_made_leaves_no_folder(self, tmp_path):
        path = str(tmp_path / "new" / ("long" * 100) / "a")
        with pytest.raises(OSError, match="name too long"):
            OutputSet(path, [path], overwrite=False).__enter__()
        assert contents(tmp_path) == {}

    @pytest.mark.parametrize("name", ["file/a", "file/new/a", "dangling/a"])
    def test_a_file_or_nothing_in_the_place_of_a_folder(self, tmp_path, name):
        (tmp_path / "file").write_bytes(b"")
        (tmp_path / "dangling").symlink_to(tmp_path / "none")
        before = contents(tmp_path)
        path = str(tmp_path / name)
        with pytest.raises(NotADirectoryError):
            OutputSet(path, [path], overwrite=False).__enter__()
        assert contents(tmp_path) == before

    def test_a_lock_that_was_never_written_to(self, tmp_path):
        (tmp_path / ".a.lock").touch()
        write_set(tmp_path, "new")
        assert contents(tmp_path) == dict.fromkeys("abm", b"new")

    def test_a_lock_that_was_half_written(self, tmp_path):
        (tmp_path / ".a.lock").write_text('{"work_dir": "/tm')
        write_set(tmp_path, "new")
        assert contents(tmp_path) == dict.fromkeys("abm", b"new")

    def test_the_file_of_an_error_is_named(self, tmp_path):
        if not os.path.exists("/dev/full"):
            pytest.skip("needs /dev/full, a device that is always full")
        path = str(tmp_path / "a")
        with OutputSet(path, [path], overwrite=False) as outputs:
            os.symlink("/dev/full", tmp_path / ".a.partial")
            with (
                pytest.raises(OSError, match="No space left") as caught,
                outputs.open(path) as file,
            ):
                file.write(b"some text")
        assert caught.value.filename == path
        assert contents(tmp_path) == {}


# A set of three files beside a work folder; with other text and one file more in the older set.
SCRIPT = """
import os, sys
from bert_data.outputs import OutputSet
folder, text, names, overwrite = sys.argv[1:]
paths = [os.path.join(folder, name) for name in (*names, "m")]
with OutputSet(paths[0], paths, overwrite=bool(overwrite), work_dir=folder + "/work") as outputs:
    spill = os.path.join(outputs.work_dir, "spill")
    with open(spill, "w") as file:
        file.write(text)
    for path in paths:
        with outputs.open(path) as file:
            file.write(text.encode())
    os.remove(spill)
    # Only the older set's last file says that there is a third one.
    obsolete = [os.path.join(folder, "c")] if os.path.exists(paths[-1]) else []
    outputs.commit(paths[:-1], paths[-1:], obsolete=obsolete)
"""


@pytest.fixture
def script(tmp_path, checkout, monkeypatch):
    """Runs the script above with a signal before its n-th change; returns its exit status."""
    path = tmp_path / "script.py"
    path.write_text(SCRIPT)
    monkeypatch.setenv("PYTHONPATH", str(checkout))
    dying = str(checkout / "tests" / "dying_program.py")

    def run(folder: Path, count: int, text: str, names: str, overwrite: str, name: str) -> int:
        command = [sys.executable, dying, name, str(count), str(folder), str(path)]
        arguments = [str(folder), text, names, overwrite]
        return subprocess.run([*command, *arguments], capture_output=True, check=False).returncode

    return run


@pytest.mark.parametrize("old", ["", "abc"], ids=["fresh", "over an older set"])
class TestKilled:
    """At each change to the file system, one after the other, until the program ends by itself."""

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
            assert script(folder, 0, "new", "ab", "1", "SIGKILL") == 0
            assert contents(folder) == {**dict.fromkeys("abm", b"new"), "work": None}
        assert count > 15

    def test_by_ctrl_c(self, tmp_path, script, old):
        for count in itertools.count(1):
            folder = tmp_path / str(count)
            (folder / "work").mkdir(parents=True)
            if old:
                write_set(folder, "old", names=old)
            before = contents(folder)
            status = script(folder, count, "new", "ab", "1" if old else "", "SIGINT")
            if status == 0:
                break
            # Nothing, the old set, the new set, or (it was just replacing it) neither.
            states = [before, {**dict.fromkeys("abm", b"new"), "work": None}, {"work": None}]
            assert contents(folder) in states
        assert count > 15


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
        with OutputSet(path, [path], overwrite=False):
            assert lock.exists()
            with pytest.raises(BlockingIOError):
                OutputSet(path, [path], overwrite=False).__enter__()
    assert contents(tmp_path) == {}
