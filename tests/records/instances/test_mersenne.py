"""The stream of random numbers against random.Random, for any seed and any mixture of draws."""

import random

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from bert_data.kernels import kernel
from bert_data.records.instances.mersenne import (
    RandomStream,
    draw_below,
    draw_unit,
    reserve_for,
    seeded_stream,
    shuffled_indices,
    top_up,
)

SEEDS = st.one_of(st.integers(), st.integers(-(2**40), 2**40), st.integers(0, 2**5000))
UNIT = 0  # in a list of limits: a draw of random() instead


@kernel
def draw_all(stream, limits, reserve, out):
    """Draws below each limit; a limit of 0 stands for a draw from [0, 1)."""
    state, draws, position = stream.state, stream.draws, stream.position[0]
    for i in range(limits.size):
        position = top_up(state, draws, position, reserve)
        if limits[i] == UNIT:
            out[i], position = draw_unit(draws, position)
        else:
            value, position = draw_below(draws, position, limits[i])
            out[i] = value
    stream.position[0] = position


def python_draws(seed: int, limits: list[int]) -> list[float]:
    peer = random.Random(seed)
    return [peer.random() if limit == UNIT else peer.randrange(limit) for limit in limits]


def our_draws(seed: int, limits: list[int], *, reserve: int = 4096) -> list[float]:
    out = np.empty(len(limits))
    draw_all(seeded_stream(seed, reserve=reserve), np.array(limits, np.int64), reserve, out)
    return out.tolist()


@given(SEEDS, st.lists(st.one_of(st.just(UNIT), st.integers(1, 2**32 - 1)), max_size=50))
@example(0, [1, UNIT])
@example(-12345, [2, 3, UNIT])
def test_draws_are_cpythons(seed, limits):
    assert our_draws(seed, limits) == python_draws(seed, limits)


@pytest.mark.parametrize("reserve", [64, 500, 625, 4096, reserve_for(65_535)])
def test_draws_go_on_where_the_outputs_made_in_advance_end(reserve):
    limits = [UNIT, 1, 2, 3, 2**31, 2**32 - 1, 1000] * 4000
    assert our_draws(7, limits, reserve=reserve) == python_draws(7, limits)


@pytest.mark.parametrize("limit", [1, 2, 3, 2**16, 2**16 + 1, 2**31 - 1, 2**31, 2**32 - 1])
def test_limits_at_the_edges_of_their_bits(limit):
    limits = [limit] * 300
    assert our_draws(2**70, limits) == python_draws(2**70, limits)


def test_the_sign_of_a_seed_is_dropped():
    assert our_draws(-5, [UNIT] * 9) == our_draws(5, [UNIT] * 9) != our_draws(6, [UNIT] * 9)


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
