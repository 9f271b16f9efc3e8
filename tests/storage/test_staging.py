"""Folders for programs that know only local files."""

import os
from pathlib import Path

import pytest

from bert_data.storage import CopiedFolder, StagedFolder
from tests.object_store import ObjectStore


def test_a_local_folder_is_used_itself(tmp_path: Path) -> None:
    staged = StagedFolder(str(tmp_path))
    assert staged.path == str(tmp_path)
    staged.upload()


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
