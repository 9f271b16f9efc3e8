"""Memory that is used again, but never while anything refers to it."""

import itertools

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from bert_data.reader.memory import new_bytes

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
