"""Local copies of remote files: shared, bounded, and gone when nobody uses them."""

import fcntl
import gc
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
from pathlib import Path

import pytest

from bert_data import storage
from bert_data.storage import local_copies
from bert_data.storage.remote_ranges import hold_copy
from tests.program_folder import contents

HOLD = """
import sys
from bert_data.storage.remote_ranges import hold_copy
print(hold_copy(sys.argv[1]).path, flush=True)
sys.stdin.read()
"""


@pytest.fixture
def place(tmp_path, monkeypatch):
    """The folder of copies, as long as a test lasts."""
    place = tmp_path / "copies"
    monkeypatch.setenv(local_copies.PLACE, str(place))
    folder = place / "bert_data-copies"
    yield folder
    local_copies.close()


def copies(place):
    return [data for name, data in contents(place).items() if name.startswith("files/")]


def is_used(place):
    """Whether somebody uses the only copy."""
    (path,) = (place / "files").iterdir()
    with open(path) as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            return True
    return False


@pytest.mark.slow
def test_a_map_of_a_remote_file(object_store, place):
    object_store.put("a", b"0123456789")
    file = storage.map_file(object_store.uri("a"))
    part = file.data[3:5]
    assert file.path == object_store.uri("a") and part.tobytes() == b"34"
    assert is_used(place)
    del file
    gc.collect()
    assert part.tobytes() == b"34" and is_used(place)
    del part
    gc.collect()
    assert not is_used(place) and copies(place) == [b"0123456789"]
    object_store.put("empty", b"")
    assert storage.map_file(object_store.uri("empty")).data.size == 0
    with pytest.raises(FileNotFoundError, match="No such file") as caught:
        storage.map_file(object_store.uri("none"))
    assert caught.value.filename == object_store.uri("none")


def test_a_copy_is_made_once_and_anew_after_a_change(object_store, place):
    object_store.put("a", b"one")
    for _ in range(3):
        storage.map_file(object_store.uri("a"))
    assert sum(request.method == "GET" for request in object_store.requests) == 1
    object_store.put("a", b"other")
    assert storage.map_file(object_store.uri("a")).data.tobytes() == b"other"


def test_threads_share_a_download(object_store, place):
    object_store.put("a", b"0123456789" * 1000)
    object_store.fail("slow", method="GET")
    seen = []
    threads = [
        threading.Thread(target=lambda: seen.append(hold_copy(object_store.uri("a")).path))
        for _ in range(4)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sum(request.method == "GET" for request in object_store.requests) == 1
    assert len(seen) == 4 and len({*seen}) == 1
    assert Path(seen[0]).read_bytes() == b"0123456789" * 1000


@pytest.mark.slow
def test_the_least_recently_used_make_room(object_store, place, monkeypatch):
    monkeypatch.setenv(local_copies.GIGABYTES, "0.000003")  # 3,000 bytes
    for name in "abcd":
        object_store.put(name, name.encode() * 1000)
    uri = object_store.uri
    for name in "abc":
        os.close(hold_copy(uri(name)).descriptor)
    held = hold_copy(uri("a"))
    os.close(hold_copy(uri("d")).descriptor)
    assert sorted(data[:1] for data in copies(place)) == [b"a", b"c", b"d"]
    mapped = [storage.map_file(uri("b")), storage.map_file(uri("c"))]
    assert sorted(data[:1] for data in copies(place)) == [b"a", b"b", b"c"]
    with pytest.raises(ValueError, match=r"d must be copied to .* BERT_DATA_COPIES_GB, 3e-06"):
        storage.map_file(uri("d"))
    del mapped
    gc.collect()
    assert storage.map_file(uri("d")).data.tobytes() == b"d" * 1000
    assert Path(held.path).read_bytes() == b"a" * 1000


def test_a_file_that_is_larger_than_all_copies_may_be(object_store, place, monkeypatch):
    monkeypatch.setenv(local_copies.GIGABYTES, "0.000001")
    object_store.put("a", b"x" * 1001)
    with pytest.raises(ValueError, match=r"s3://.*/a must be copied to .*copies: its 1e-06 GB"):
        storage.map_file(object_store.uri("a"))
    assert copies(place) == []
    for wrong in ("much", "0", "-1", "nan"):
        monkeypatch.setenv(local_copies.GIGABYTES, wrong)
        with pytest.raises(ValueError, match="it must be a number of gigabytes > 0"):
            storage.map_file(object_store.uri("a"))


def test_a_download_that_fails_leaves_no_copy(object_store, place):
    object_store.put("a", b"0123456789")
    object_store.fail("403", method="GET", times=100)
    with pytest.raises(PermissionError, match="access is forbidden"):
        storage.map_file(object_store.uri("a"))
    assert copies(place) == []
    object_store.clear()
    object_store.fail("503", method="GET", times=2)
    assert storage.map_file(object_store.uri("a")).data.tobytes() == b"0123456789"


def test_a_folder_that_somebody_removed_is_made_again(object_store, place):
    object_store.put("a", b"0123456789")
    hold_copy(object_store.uri("a"))
    shutil.rmtree(place)
    assert storage.map_file(object_store.uri("a")).data.tobytes() == b"0123456789"


@pytest.mark.process
def test_what_a_killed_process_used_is_removed(object_store, checkout, tmp_path, monkeypatch):
    """Without a place of the user's, the last process that ends removes all."""
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    monkeypatch.delenv(local_copies.PLACE, raising=False)
    object_store.put("a", b"0123456789")

    def start():
        return subprocess.Popen(
            [sys.executable, "-c", HOLD, object_store.uri("a")],
            cwd=checkout,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )

    with start() as killed, start() as ended:
        for each in (killed, ended):
            assert Path(each.stdout.readline().strip()).read_bytes() == b"0123456789"
        killed.send_signal(signal.SIGKILL)
        killed.wait()
        assert [path.name for path in tmp_path.iterdir()] == [f"bert_data-copies-{os.geteuid()}"]
        ended.stdin.close()
    assert ended.returncode == 0 and list(tmp_path.iterdir()) == []


class TestDataOfOthers:
    """Files of others stay, whatever their names, and no link is followed."""

    @pytest.mark.parametrize("inside", ["", "bert_data-copies"])
    def test_folders_named_like_ours(self, object_store, place, inside):
        """A person's data/users and data/files, as they are in many places."""
        theirs = place.parent / inside
        for name in ("users/ann/thesis", "users/bob", "files/a.partial", "lock/x"):
            path = theirs / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(b"precious")
        before = contents(theirs)
        object_store.put("a", b"0123456789")
        if inside:
            with pytest.raises(PermissionError, match="was not made for copies of remote files"):
                storage.map_file(object_store.uri("a"))
            assert contents(theirs) == before
        else:
            storage.map_file(object_store.uri("a"))
            after = contents(theirs)
            assert {name: after[name] for name in before} == before

    def test_other_names_in_our_folders(self, object_store, place, monkeypatch):
        monkeypatch.setenv(local_copies.GIGABYTES, "0.000000015")  # 15 bytes
        for name in "ab":
            object_store.put(name, b"0123456789")
        os.close(hold_copy(object_store.uri("a")).descriptor)
        theirs = place.parent / "theirs"
        theirs.mkdir()
        (theirs / "0-file").write_bytes(b"precious")
        (place / "files" / ("0" * 32)).symlink_to(theirs)
        for name in ("files/notes.txt", "files/0a"):
            (place / name).write_bytes(b"precious")
        before = contents(place.parent)
        storage.map_file(object_store.uri("b"))
        after = contents(place.parent)
        gone = {name for name in before if name not in after}
        assert gone == {name for name, data in before.items() if data == b"0123456789"}
        assert all(after[name] == before[name] for name in before if name not in gone)

    def test_a_planted_link_is_not_followed(self, object_store, tmp_path, monkeypatch):
        monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
        monkeypatch.delenv(local_copies.PLACE, raising=False)
        theirs = tmp_path / "theirs"
        (theirs / "users" / "ann").mkdir(parents=True)
        (tmp_path / f"bert_data-copies-{os.geteuid()}").symlink_to(theirs)
        before = contents(theirs)
        object_store.put("a", b"0123456789")
        with pytest.raises(PermissionError, match="is not a folder of this user"):
            storage.map_file(object_store.uri("a"))
        assert contents(theirs) == before

    def test_a_folder_of_another_user(self, object_store, place, monkeypatch):
        place.mkdir(parents=True)
        monkeypatch.setattr(os, "geteuid", lambda: 1 + os.getuid())
        object_store.put("a", b"0123456789")
        with pytest.raises(PermissionError, match="is not a folder of this user"):
            storage.map_file(object_store.uri("a"))
        assert contents(place) == {}
