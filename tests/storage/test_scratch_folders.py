"""Folders for what a run writes before its output."""

import gc
import os
from pathlib import Path

import pytest

from bert_data.storage import CopiedFolder, StagedFolder, scratch_folder
from tests.object_store import ObjectStore


def test_it_vanishes_with_its_contents(tmp_path):
    output = tmp_path / "a" / "b" / "out"
    with scratch_folder(str(output)) as folder:
        (tmp_path / folder / "file").write_bytes(b"x")
        assert {path.name for path in tmp_path.iterdir()} >= {".out.documents.lock"}
    assert list(tmp_path.iterdir()) == []


def test_errors_remove_it_too(tmp_path):
    with pytest.raises(KeyError), scratch_folder(str(tmp_path / "out")):
        raise KeyError
    assert list(tmp_path.iterdir()) == []


def test_what_a_killed_run_left_is_removed(tmp_path):
    output = str(tmp_path / "out")
    left = scratch_folder(output)
    folder = left.__enter__()
    lock = tmp_path / ".out.documents.lock"
    notes = lock.read_bytes()
    left.__exit__(None, None, None)
    # As if the process had died: the folder and the notes are there, and nobody holds the lock.
    (tmp_path / folder).mkdir()
    lock.write_bytes(b"")
    inode = lock.stat().st_ino
    lock.write_bytes(notes.replace(notes.split(b",")[0], b'{"inode": %d' % inode))
    with scratch_folder(output) as other:
        assert other != folder
        assert not (tmp_path / folder).exists()
    assert list(tmp_path.iterdir()) == []


def test_two_runs_for_one_output(tmp_path):
    with scratch_folder(str(tmp_path / "out")):
        with pytest.raises(BlockingIOError), scratch_folder(str(tmp_path / "out")):
            pass
        with scratch_folder(str(tmp_path / "other")):
            pass


@pytest.mark.parametrize("output", [None, "s3://bucket/out"])
def test_without_a_local_output_it_is_a_temporary_folder(tmp_path, monkeypatch, output):
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    with scratch_folder(output) as folder:
        assert folder.startswith(str(tmp_path))
    assert list(tmp_path.iterdir()) == []


def test_a_local_folder_is_used_itself(tmp_path: Path) -> None:
    staged = StagedFolder(str(tmp_path))
    assert staged.path == str(tmp_path)
    staged.upload()


@pytest.mark.slow
def test_files_are_uploaded_in_order(object_store: ObjectStore) -> None:
    staged = StagedFolder(object_store.uri("out"))
    for name in ("a.index", "b", "c"):
        Path(staged.path, name).write_text(name)
    object_store.fail("403", method="PUT", key="out/c$", times=9)
    with pytest.raises(PermissionError, match="out/c"):
        staged.upload(last=".index")
    assert object_store.contents("out/") == {"b": b"b"}
    object_store.clear()
    staged.upload(last=".index")
    assert object_store.contents("out/") == {"a.index": b"a.index", "b": b"b", "c": b"c"}
    local = staged.path
    del staged
    gc.collect()  # Python 3.13 keeps the error's frames for longer
    assert not os.path.exists(local)


def test_copies_lie_side_by_side(object_store: ObjectStore) -> None:
    for name in ("m.index", "m.data"):
        object_store.put(f"in/{name}", name.encode())
    copied = CopiedFolder([object_store.uri("in/m.index"), object_store.uri("in/m.data")])
    files = {name: Path(copied.path, name).read_bytes() for name in os.listdir(copied.path)}
    assert files == {"m.index": b"m.index", "m.data": b"m.data"}
    local = copied.path
    del copied
    assert not os.path.exists(local)
    with pytest.raises(FileNotFoundError, match="in/none"):
        CopiedFolder([object_store.uri("in/none")])
