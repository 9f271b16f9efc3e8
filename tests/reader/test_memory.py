"""Memory that is used again, but never while anything refers to it."""

import itertools
import os

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from bert_data.reader.memory import new_bytes, new_file

LARGE = 1 << 20


def address(array: np.ndarray) -> int:
    return array.ctypes.data


def test_dropped_memory_is_used_again() -> None:
    first = new_bytes(LARGE)
    where = address(first)
    del first
    assert address(new_bytes(LARGE)) == where


def test_a_view_keeps_the_memory() -> None:
    whole = new_bytes(LARGE)
    view = whole[100:200].view(np.int32)[3:]
    view[:] = 7
    del whole
    others = [new_bytes(LARGE) for _ in range(4)]
    for other in others:
        other[:] = 1
    assert (view == 7).all()


@given(st.lists(st.tuples(st.integers(1, 1 << 18), st.booleans()), max_size=30))
def test_no_two_arrays_share_memory(steps: list[tuple[int, bool]]) -> None:
    held: list[np.ndarray] = []
    for number, (size, drop) in enumerate(steps):
        array = new_bytes(size)
        assert array.shape == (size,)
        assert array.dtype == np.uint8
        array[:] = number
        held.append(array[size // 2 :])
        if drop:
            held.pop(number % len(held))
    ranges = sorted((address(array), address(array) + array.size) for array in held)
    assert all(low[1] <= high[0] for low, high in itertools.pairwise(ranges))


def test_what_is_written_to_a_file_appears_in_its_array() -> None:
    array, descriptor = new_file(5000)
    assert (array.dtype, array.shape) == (np.uint8, (5000,))
    assert os.pwrite(descriptor, b"here", 4096) == 4
    assert array[4096:4100].tobytes() == b"here"
    _other, other_descriptor = new_file(5000)
    assert other_descriptor != descriptor
    os.pwrite(other_descriptor, b"else", 4096)
    assert array[4096:4100].tobytes() == b"here"
    del array
    assert new_file(5000)[1] == descriptor
