"""Shuffles against random.Random.shuffle."""

import random

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from bert_data.objectives.mersenne import RandomStream, seeded_stream
from bert_data.objectives.shuffling import shuffled_indices


@given(st.integers(), st.lists(st.integers(0, 300), min_size=1, max_size=5))
def test_shuffles_one_after_the_other(seed, sizes):
    stream, peer = seeded_stream(seed), random.Random(seed)
    for size in sizes:
        expected = list(range(size))
        peer.shuffle(expected)
        assert shuffled_indices(stream, size).tolist() == expected


@pytest.mark.parametrize("size", [2, 255, 256, 257, 65_535, 65_536, 65_537, 300_000])
def test_sizes_at_the_edges_of_their_bits_and_more_than_one_block_of_outputs(size):
    expected = list(range(size))
    random.Random(3).shuffle(expected)
    order = shuffled_indices(seeded_stream(3), size)
    assert order.dtype == np.uint32
    assert order.tolist() == expected


def test_too_many_items_are_refused():
    with pytest.raises(ValueError, match="4,294,967,296 items to shuffle; at most 4,294,967,295"):
        shuffled_indices(seeded_stream(1), 2**32)


def test_a_shuffle_ends_where_the_outputs_end():
    """The loop stops at the last output made in advance and goes on after the next block."""
    for used in range(0, 700, 7):
        stream, peer = seeded_stream(9, reserve=64), random.Random(9)
        for _ in range(used):
            peer.getrandbits(32)
        expected = list(range(3000))
        peer.shuffle(expected)
        skipped = _skip(stream, used)
        assert shuffled_indices(skipped, 3000).tolist() == expected


def _skip(stream: RandomStream, used: int) -> RandomStream:
    """A stream whose first outputs are used."""
    peer = random.Random(9)
    draws = np.array([peer.getrandbits(32) for _ in range(stream.draws.size)], np.uint32)
    state = np.array(peer.getstate()[1][:-1], np.uint32)
    return RandomStream(state, draws, np.array([used], np.int64))
