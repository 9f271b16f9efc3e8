"""Permutations drawn from keys."""

from collections import Counter

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from bert_data.reader.splitmix import key_of
from bert_data.recipes.sequences.permutation import permute_range
from tests.recipes.oracle import permuted
from tests.rows import mostly_slow


def places(size: int, key: int, first: int = 0, count: int | None = None) -> list[int]:
    found = np.empty(size if count is None else count, np.int64)
    permute_range(first, size, np.uint64(key), found)
    return found.tolist()


@given(size=st.integers(1, 300), key=st.integers(0, 2**64 - 1))
def test_each_place_once_as_plain_python_says(size, key):
    found = places(size, key)
    assert sorted(found) == list(range(size))
    assert found == [permuted(i, size, key) for i in range(size)]


@pytest.mark.parametrize("size", [10**11, 2**62])
def test_far_places_of_large_sizes(size):
    first = size - 5
    assert places(size, 3, first, 5) == [permuted(i, size, 3) for i in range(first, size)]
    assert len(set(places(size, 3, 0, 10_000))) == 10_000


@mostly_slow("size", [3, 8, 100])
def test_places_are_equally_likely(size):
    counts = Counter(tuple(places(size, int(key_of(seed)), 0, 2)) for seed in range(12_000))
    firsts = Counter(pair[0] for pair in counts.elements())
    expected = 12_000 / size
    chi_square = sum((firsts[place] - expected) ** 2 / expected for place in range(size))
    assert chi_square < size + 6 * (2 * size) ** 0.5
    if size == 3:
        assert set(counts) == {(a, b) for a in range(3) for b in range(3) if a != b}
        assert min(counts.values()) > 0.9 * 12_000 / 6
