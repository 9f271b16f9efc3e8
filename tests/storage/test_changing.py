"""One file or folder appears whole or not at all; what killed runs leave is found again."""

import builtins
import contextlib
import fcntl
import io
import os
import re
import signal
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest

from bert_data import storage
from bert_data.storage import paths
from tests.program_folder import contents

COVERS = ("storage/paths",)


# Writes half a file and half a folder, says so, and waits to be killed.
HALF = """
import sys
from bert_data import storage
place = sys.argv[1]
with storage.open_whole(place + "/file") as file, storage.open_folder(place + "/f") as f:
    file.write(b"half")
    file.flush()
    open(f + "/inside", "w").close()
    print("half", flush=True)
    sys.stdin.read()
"""


@pytest.fixture(params=["", "file://"], ids=["local", "uri"])
def place(request, tmp_path) -> str:
    return f"{request.param}{tmp_path}"


def test_a_file_is_replaced_by_one_that_is_whole(place, tmp_path):
    path = f"{place}/a.txt"
    storage.write_bytes(path, b"one")
    with pytest.raises(KeyboardInterrupt), storage.open_whole(path) as file:
        file.write(b"another")
        raise KeyboardInterrupt
    assert contents(tmp_path) == {"a.txt": b"one"}
    storage.write_bytes(path, b"two")
    assert contents(tmp_path) == {"a.txt": b"two"}


def test_a_link_is_followed(tmp_path):
    (tmp_path / "folder").mkdir()
    (tmp_path / "a").symlink_to("folder/b")
    storage.write_bytes(str(tmp_path / "a"), b"one")
    assert contents(tmp_path) == {"a": b"one", "folder": None, "folder/b": b"one"}
    assert (tmp_path / "a").is_symlink()


def test_what_another_process_removes_before_it_is_locked_is_made_again(tmp_path, monkeypatch):
    lock, removed = fcntl.flock, []

    def remove_twice(descriptor, operation):
        if len(removed) < 2:
            removed.extend(storage.list_folder(tmp_path))
            for path in tmp_path.iterdir():
                storage.remove(path)
        lock(descriptor, operation)

    monkeypatch.setattr(fcntl, "flock", remove_twice)
    storage.write_bytes(tmp_path / "a", b"one")
    assert contents(tmp_path) == {"a": b"one"}
    assert [name[:3] for name in removed] == [".a.", ".a."]
    storage.remove(tmp_path / "a")
    removed.clear()
    with storage.open_folder(tmp_path / "f") as folder:
        Path(folder, "inside").write_bytes(b"x")
    assert contents(tmp_path) == {"f": None, "f/inside": b"x"}
    assert [name[:3] for name in removed] == [".f.", ".f."]


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="needs a device that is always full")
def test_a_full_disk_is_named(tmp_path):
    os.symlink("/dev/full", tmp_path / "a.npy")
    for size in (7, 1 << 20):
        with pytest.raises(OSError, match="No space left on device") as caught:
            storage.save_array(tmp_path / "a.npy", np.zeros(size))
        assert caught.value.filename == str(tmp_path / "a.npy")
    with (
        pytest.raises(OSError, match="No space left") as caught,
        storage.open_scratch("/dev/full", "w+b") as file,
    ):
        file.write(b"text")
    assert caught.value.filename == "/dev/full"


def test_a_folder_appears_whole(tmp_path):
    path = str(tmp_path / "a" / "f")
    with storage.open_folder(path) as folder:
        Path(folder, "inside").write_bytes(b"x")
        assert not os.path.exists(path)
    assert contents(tmp_path / "a") == {"f": None, "f/inside": b"x"}
    with pytest.raises(RuntimeError), storage.open_folder(path):
        raise RuntimeError
    assert contents(tmp_path / "a") == {"f": None, "f/inside": b"x"}


def test_the_first_of_two_folders_stays(tmp_path):
    path = str(tmp_path / "f")
    with storage.open_folder(path) as second:
        Path(second, "second").touch()
        with storage.open_folder(path) as first:
            Path(first, "first").touch()
    assert contents(tmp_path) == {"f": None, "f/first": b""}


def test_a_file_in_the_place_of_a_folder(tmp_path):
    (tmp_path / "f").write_bytes(b"precious")
    with pytest.raises(NotADirectoryError), storage.open_folder(str(tmp_path / "f")):
        pass
    assert contents(tmp_path) == {"f": b"precious"}


@pytest.mark.process
def test_what_is_left_by_a_killed_run_goes_and_what_lives_stays(checkout, tmp_path, monkeypatch):
    monkeypatch.setenv("PYTHONPATH", str(checkout))
    (tmp_path / ".other.partial").touch()
    (tmp_path / ".file.vm-0123.writing").touch()
    others = contents(tmp_path)
    program = subprocess.Popen(
        [sys.executable, "-c", HALF, str(tmp_path)], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    )
    try:
        assert program.stdout.readline() == b"half\n"
        alive = contents(tmp_path)
        storage.remove_abandoned(str(tmp_path))
        assert contents(tmp_path) == alive
        assert len(alive) == len(others) + 3
    finally:
        program.kill()
        program.communicate()
    assert program.returncode == -signal.SIGKILL
    with monkeypatch.context() as patch:
        patch.setattr(paths, "HOST", "elsewhere")
        storage.remove_abandoned(str(tmp_path))
    assert contents(tmp_path) == alive
    storage.remove_abandoned(str(tmp_path))
    assert contents(tmp_path) == others


@pytest.mark.parametrize("change", ["name", "number"])
def test_hosts_whose_names_begin_alike_are_told_apart(monkeypatch, change):
    """Names of pods are long; machines that are set up alike may all be called localhost."""
    hosts, same = [], b"same" if change == "name" else b""
    for number in (b"1", b"2"):
        name = f"curate-workers-worker-{number.decode()}" if change == "name" else "localhost"
        with monkeypatch.context() as patch:
            patch.setattr(os, "uname", lambda name=name: SimpleNamespace(nodename=name))
            patch.setattr(builtins, "open", lambda *_, data=same or number: io.BytesIO(data))
            hosts.append(paths.name_host())
    assert hosts[0][:9] == hosts[1][:9]
    assert hosts[0] != hosts[1]
    assert all(paths.is_token(f"{host}-{'0' * 16}") for host in hosts)


def test_no_pattern_matches_what_is_not_whole(tmp_path):
    with (
        storage.open_whole(f"{tmp_path}/a") as file,
        storage.open_folder(f"{tmp_path}/b"),
        storage.OutputSet(f"{tmp_path}/c", [f"{tmp_path}/c"], reads=[], overwrite=False) as outputs,
        outputs.open(f"{tmp_path}/c"),
    ):
        file.write(b"a")
        assert len(os.listdir(tmp_path)) == 4
        assert storage.glob(f"{tmp_path}/*") == storage.glob(f"{tmp_path}/.*") == []
    assert storage.glob(f"{tmp_path}/*") == [f"{tmp_path}/a", f"{tmp_path}/b"]


@pytest.mark.parametrize("dies", [True, False])
def test_no_folder_is_half_removed(tmp_path, monkeypatch, dies):
    from bert_data.storage import changing

    def die(*_: object, **__: object) -> None:
        raise KeyboardInterrupt

    (tmp_path / "f").mkdir()
    (tmp_path / "f" / "a").touch()
    with monkeypatch.context() as patch:
        if dies:
            patch.setattr(changing, "remove", die)
        with contextlib.suppress(KeyboardInterrupt):
            storage.remove_folder(f"{tmp_path}/f")
    assert not (tmp_path / "f").exists()
    assert len(contents(tmp_path)) == 2 * dies
    storage.remove_abandoned(str(tmp_path))
    storage.remove_folder(f"{tmp_path}/f")
    assert contents(tmp_path) == {}


def test_a_folder_of_many_goes_and_not_what_links_in_it_lead_to(tmp_path, monkeypatch):
    from bert_data.storage import changing

    monkeypatch.setattr(changing, "MANY_FOLDERS", 4)
    for name in ("kept/a/b", "f/a/0/inner", "f/a/1", "f/b/0", "f/.c/0"):
        (tmp_path / name).mkdir(parents=True)
        (tmp_path / name / "file").touch()
    (tmp_path / "f/link").symlink_to(tmp_path / "kept")
    (tmp_path / "f/a/link").symlink_to(tmp_path / "kept/a")
    storage.remove_folder(f"{tmp_path}/f")
    assert contents(tmp_path) == {
        "kept": None,
        "kept/a": None,
        "kept/a/b": None,
        "kept/a/b/file": b"",
    }


def test_remove_takes_a_link_and_not_what_it_leads_to(tmp_path):
    (tmp_path / "f").mkdir()
    (tmp_path / "f" / "a").touch()
    (tmp_path / "link").symlink_to("f")
    for name in ("link", "none", "f/a/none"):
        storage.remove(f"{tmp_path}/{name}")
    assert contents(tmp_path) == {"f": None, "f/a": b""}
    storage.remove(f"file://{tmp_path}/f/a")
    storage.remove(f"file://{tmp_path}/f/a")
    storage.remove(f"{tmp_path}/f")
    assert contents(tmp_path) == {}


def test_unfinished_uploads_of_this_host_go(tmp_path):
    """Uploads of other hosts stay, and so do those of other names."""
    ours, theirs = paths.new_token(), "other-0123456789abcdef"
    stays = {f".a.{theirs}.writing", f".b.{ours}.writing", f".a.b.{ours}.writing", "a"}
    for name in (*stays, f".a.{ours}.writing", f".c.{ours}.writing"):
        (tmp_path / name).touch()
    storage.remove_unfinished_uploads(f"file://{tmp_path}", {"a", "c"})
    assert set(os.listdir(tmp_path)) == stays
    storage.remove_unfinished_uploads(f"file://{tmp_path}")
    assert set(os.listdir(tmp_path)) == {f".a.{theirs}.writing", "a"}
    storage.remove_unfinished_uploads(f"file://{tmp_path}/none")


def test_abandoned_files_of_another_user_stay(tmp_path, monkeypatch):
    path = Path(paths.writing_path(str(tmp_path / "a"), paths.new_token()))
    path.write_bytes(b"precious")
    monkeypatch.setattr(os, "geteuid", lambda: 1 + os.getuid())
    storage.remove_abandoned(str(tmp_path))
    assert path.read_bytes() == b"precious"
    monkeypatch.undo()
    storage.remove_abandoned(str(tmp_path))
    assert not path.exists()


def test_only_files_are_removed_by_a_pattern(tmp_path):
    theirs = tmp_path / "theirs"
    theirs.mkdir()
    (theirs / "file").write_bytes(b"precious")
    for name in ("a1", "a2", "a22", "b1"):
        (tmp_path / name).touch()
    (tmp_path / "a3").symlink_to(theirs / "file")
    (tmp_path / "a4").symlink_to(theirs)
    (tmp_path / "a5").mkdir()
    assert storage.remove_matching(str(tmp_path), re.compile("a[0-9]")) == ["a1", "a2"]
    assert set(contents(tmp_path)) == {"a22", "a3", "a4", "a5", "b1", "theirs", "theirs/file"}


def test_only_an_empty_folder_goes(tmp_path):
    (tmp_path / "a" / "b").mkdir(parents=True)
    storage.remove_if_empty(str(tmp_path / "a"))
    storage.remove_if_empty(str(tmp_path / "none"))
    assert (tmp_path / "a" / "b").is_dir()
    storage.remove_if_empty(str(tmp_path / "a" / "b"))
    assert contents(tmp_path) == {"a": None}
