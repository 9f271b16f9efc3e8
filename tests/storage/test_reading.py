"""Reading by path and by URI gives the same."""

import mmap
import os
import subprocess
import sys

import numpy as np
import pytest

from bert_data import storage
from bert_data.errors import CorruptDataError
from bert_data.storage.paths import split_root

COVERS = ("storage/paths", "storage/statuses")


@pytest.fixture(params=["", "file://"], ids=["local", "uri"])
def place(request, tmp_path) -> str:
    (tmp_path / "b%20c").mkdir()
    (tmp_path / "b%20c" / "é a").write_bytes(b"0123456789")
    (tmp_path / "empty").touch()
    return f"{request.param}{tmp_path}"


def test_a_stream(place):
    with storage.open_input(f"{place}/b%20c/é a") as file:
        assert file.read(3) == b"012"
        file.seek(7)
        assert (file.read(), file.tell()) == (b"789", 10)
    assert storage.read_bytes(f"{place}/empty") == b""


def test_what_is_there(place):
    assert storage.list_folder(place) == ["b%20c", "empty"]
    assert storage.is_folder(f"{place}/b%20c") and not storage.is_file(f"{place}/b%20c")
    assert storage.is_file(f"{place}/empty") and storage.exists(f"{place}/empty")
    assert not storage.exists(f"{place}/none") and not storage.exists(f"{place}/empty/none")
    assert storage.file_size(f"{place}/b%20c/é a") == 10


def test_a_range(place, tmp_path):
    (tmp_path / "f").write_bytes(bytes(range(100)))
    out = np.empty((2, 3), "<u2")
    storage.read_range(f"{tmp_path}/f", 7, out)
    assert out.tobytes() == bytes(range(7, 19))
    storage.read_range(f"{tmp_path}/f", 100, out[:0])
    with pytest.raises(CorruptDataError, match=r"byte offset 100: ends; 7 more bytes were written"):
        storage.read_range(f"{tmp_path}/f", 95, out)


def test_a_status_changes_with_the_file(place, tmp_path):
    before = storage.read_status(f"{place}/empty")
    os.utime(tmp_path / "empty", ns=(1, 10**18 + 12345))
    after = storage.read_status(f"{place}/empty")
    assert before != after and after.modified_ns == 10**18 + 12345
    assert storage.read_status(f"{place}/none") is None


@pytest.mark.parametrize("name", ["none", "none/a", "empty/a"])
def test_an_error_has_the_name_that_was_given(place, name):
    path = f"{place}/{name}"
    for function in (storage.open_input, storage.read_bytes, storage.file_size):
        with pytest.raises(OSError) as caught:
            function(path)
        assert caught.value.filename == path
        assert caught.value.strerror and "\n" not in caught.value.strerror


def test_a_map(tmp_path, place):
    mapped = storage.map_file(f"{tmp_path}/b%20c/é a")
    mapped.advise(mmap.MADV_SEQUENTIAL)
    assert mapped.data.tobytes() == b"0123456789"
    with pytest.raises(ValueError, match="read-only"):
        mapped.data[0] = 1
    assert storage.map_file(f"{tmp_path}/empty").data.size == 0
    assert storage.map_file(f"file://{tmp_path}/b%20c/é a").data.tobytes() == b"0123456789"


def test_parts_of_uris(tmp_path):
    assert split_root("s3://bucket/a/b*") == ("s3://bucket/", "a/b*")
    assert split_root("//a/b") == ("//", "a/b")
    assert split_root("a/b") == ("", "a/b")


@pytest.mark.process
def test_importing_is_cheap():
    program = "import sys, bert_data.storage; print(*sys.modules)"
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True
    )
    assert not {"pyarrow", "numpy", "tensorflow", "numba"} & set(done.stdout.split())


@pytest.mark.parametrize("shape", [(3,), (0,), (2, 0), ()])
def test_an_array_is_mapped(tmp_path, shape):
    array = np.arange(np.prod(shape, dtype=int), dtype=np.int32).reshape(shape)
    storage.save_array(tmp_path / "a.npy", array)
    loaded = storage.load_array(tmp_path / "a.npy")
    assert loaded.dtype == array.dtype and loaded.tolist() == array.tolist()
    assert loaded.shape == shape and not loaded.flags.writeable
    (tmp_path / "values").write_bytes(array.tobytes())
    assert storage.load_values(tmp_path / "values", np.int32).tolist() == array.ravel().tolist()


@pytest.mark.parametrize("damage", [b"", b"\x93NUMPY", b"more"])
def test_an_array_that_is_not_whole(tmp_path, damage):
    path = tmp_path / "a.npy"
    storage.save_array(path, np.arange(3))
    path.write_bytes(path.read_bytes() + damage if damage == b"more" else damage)
    with pytest.raises(CorruptDataError):
        storage.load_array(path)


def test_a_pattern_of_one_path(tmp_path):
    names = ["[a]*", "a", "\\?", "b"]
    for name in names:
        (tmp_path / name).touch()
    for name in names:
        pattern = storage.escape(f"{tmp_path}/{name}")
        assert storage.glob(pattern) == [f"{tmp_path}/{name}"]
