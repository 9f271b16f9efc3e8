"""Reading by path and by URI gives the same."""

import io
import mmap
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays

from bert_data import storage
from bert_data.errors import CorruptDataError
from bert_data.storage import load_array, load_values, save_array
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
    storage.fill_array(f"{tmp_path}/f", 7, out)
    assert out.tobytes() == bytes(range(7, 19))
    storage.fill_array(f"{tmp_path}/f", 100, out[:0])
    with pytest.raises(CorruptDataError, match=r"byte offset 100: ends; 7 more bytes were written"):
        storage.fill_array(f"{tmp_path}/f", 95, out)


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


def test_a_pattern_of_one_path(tmp_path):
    names = ["[a]*", "a", "\\?", "b"]
    for name in names:
        (tmp_path / name).touch()
    for name in names:
        pattern = storage.escape(f"{tmp_path}/{name}")
        assert storage.glob(pattern) == [f"{tmp_path}/{name}"]


KINDS = st.one_of(arrays.integer_dtypes(endianness="<"), arrays.floating_dtypes(endianness="<"))


@given(array=arrays.arrays(KINDS, arrays.array_shapes(min_dims=0, min_side=0, max_side=5)))
def test_what_was_saved_is_loaded(tmp_path_factory: pytest.TempPathFactory, array: np.ndarray):
    path = str(tmp_path_factory.mktemp("a") / "a.npy")
    save_array(path, array)
    stream = io.BytesIO()
    save_array(stream, array)
    assert stream.getvalue() == Path(path).read_bytes()
    loaded = load_array(path)
    assert (loaded.dtype, loaded.shape) == (array.dtype, array.shape)
    np.testing.assert_array_equal(loaded, array)
    assert not loaded.flags.writeable


@pytest.mark.parametrize(
    ("damage", "reason"),
    [
        (lambda data: data[:-1], "not a complete array"),
        (lambda data: b"", "not a complete array"),
        (lambda data: b"x" + data[1:], "not a complete array"),
        (lambda data: data + b"\0", "longer than its array"),
    ],
)
def test_damage_is_told(tmp_path: Path, damage, reason: str) -> None:
    path = tmp_path / "a.npy"
    save_array(str(path), np.arange(5))
    path.write_bytes(damage(path.read_bytes()))
    with pytest.raises(CorruptDataError, match=reason) as caught:
        load_array(str(path))
    assert caught.value.path == str(path)


def test_objects_are_neither_saved_nor_loaded(tmp_path: Path) -> None:
    """A pickle would run what it likes."""
    path = tmp_path / "a.npy"
    with pytest.raises(ValueError, match="allow_pickle"):
        save_array(io.BytesIO(), np.array([{}]))
    np.save(path, np.array([{}]), allow_pickle=True)
    with pytest.raises(CorruptDataError, match="not a complete array"):
        load_array(str(path))


@pytest.mark.slow
def test_every_flipped_bit_of_a_header(tmp_path: Path) -> None:
    """Damage or an array; NumPy parses the header as Python, and raises what Python raises."""
    path = tmp_path / "a.npy"
    save_array(str(path), np.zeros(5, [("offset", "<u8"), ("num_tokens", "<u4")]))
    whole = path.read_bytes()
    num_errors = 0
    for bit in range(8 * 128):
        data = bytearray(whole)
        data[bit // 8] ^= 1 << bit % 8
        path.write_bytes(data)
        try:
            array = load_array(str(path))
            assert array.nbytes == len(whole) - 128
        except CorruptDataError as error:
            num_errors += 1
            assert error.path == str(path) and "\n" not in error.reason
    assert num_errors > 500


def test_an_array_by_uri(tmp_path: Path) -> None:
    path = tmp_path / "a.npy"
    for array in (np.arange(6).reshape(2, 3), np.asfortranarray(np.ones((2, 3)))):
        save_array(str(path), array)
        loaded = load_array(f"file://{path}")
        np.testing.assert_array_equal(loaded, array)
        assert loaded.dtype == array.dtype and not loaded.flags.writeable


def test_bare_values(tmp_path: Path) -> None:
    path = tmp_path / "values"
    path.write_bytes(np.array([1, 2**32 - 1], "<u4").tobytes())
    values = load_values(str(path), np.uint32)
    assert values.tolist() == [1, 2**32 - 1]
    assert not values.flags.writeable
    assert load_values(str(path), np.uint8).size == 8
    path.write_bytes(b"")
    assert load_values(str(path), np.uint32).size == 0


def test_an_error_without_a_number_keeps_its_text(tmp_path):
    """NumPy's own, of an array that a full disk took in part."""
    path = str(tmp_path / "a.npy")
    with (
        pytest.raises(OSError, match=r"9 requested and 4 written: '.*a\.npy'"),
        storage.naming(path),
    ):
        raise OSError("9 requested and 4 written")
