"""Arrays in files: what was saved is mapped again, and damage is told."""

import io
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays

from bert_data import storage
from bert_data.errors import CorruptDataError
from bert_data.storage import load_array, load_values, save_array

KINDS = st.one_of(arrays.integer_dtypes(endianness="<"), arrays.floating_dtypes(endianness="<"))


@given(array=arrays.arrays(KINDS, arrays.array_shapes(min_side=0, max_side=5)))
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


def test_an_archive_of_arrays_is_no_array(tmp_path: Path) -> None:
    with (tmp_path / "a.npy").open("wb") as file:
        np.savez(file, a=np.arange(3))
    with pytest.raises(CorruptDataError):
        load_array(str(tmp_path / "a.npy"))


@pytest.mark.parametrize("kind", ["<i8", [("offset", "<u8"), ("num_tokens", "<u4")]])
def test_every_flipped_bit_of_a_header(tmp_path: Path, kind) -> None:
    """Damage or an array; NumPy parses the header as Python, and raises what Python raises."""
    path = tmp_path / "a.npy"
    save_array(str(path), np.zeros(5, kind))
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
    whole = path.read_bytes()
    for data in (whole[:-1], whole + b"x", whole[:5], b"", b"x" * 200):
        path.write_bytes(data)
        with pytest.raises(CorruptDataError, match="not a complete array"):
            load_array(f"file://{path}")


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
