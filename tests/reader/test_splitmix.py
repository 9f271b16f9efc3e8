"""SplitMix64 against its published outputs, and against the same in plain Python."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from bert_data.kernels import kernel
from bert_data.reader.splitmix import draw_below, draw_unit, key_of, next_bits
from tests.reader.splitmix_oracle import python_below, python_bits

KEYS = st.integers(0, 2**64 - 1).map(np.uint64)


@kernel
def draw_many(key, limit, bits, below, units):
    for i in range(bits.size):
        key, bits[i] = next_bits(key)
    for i in range(below.size):
        key, below[i] = draw_below(key, limit)
    for i in range(units.size):
        key, units[i] = draw_unit(key)
    return key


def test_published_outputs():
    # The first outputs of the state 1234567, as other programs print them.
    bits = np.empty(5, np.uint64)
    draw_many(np.uint64(1234567), 1, bits, np.empty(0, np.int64), np.empty(0))
    assert bits.tolist() == [
        6457827717110365317,
        3203168211198807973,
        9817491932198370423,
        4593380528125082431,
        16408922859458223821,
    ]


@given(key=KEYS, limit=st.one_of(st.integers(1, 2**32 - 1), st.integers(2**31, 2**31 + 9)))
def test_draws_are_those_of_plain_python(key, limit):
    bits, below, units = np.empty(3, np.uint64), np.empty(4, np.int64), np.empty(3)
    end = draw_many(key, limit, bits, below, units)
    state = int(key)
    for number in bits.tolist():
        state, expected = python_bits(state)
        assert number == expected
    for number in below.tolist():
        state, expected = python_below(state, limit)
        assert number == expected < limit
    for number in units.tolist():
        state, expected = python_bits(state)
        assert number == (expected >> 11) / 2**53
    assert int(end) == state


def test_keys_do_not_change_and_take_any_integer():
    assert int(key_of(7)) == python_bits(7)[1]
    assert int(key_of(7, 3)) == python_bits(python_bits(7)[1] + 3)[1]
    assert key_of(-1, 5) == key_of(2**64 - 1, 5) == key_of(-(2**64) - 1, 5)
    keys = {
        int(key_of(seed, epoch, use)) for seed in range(9) for epoch in range(9) for use in (0, 1)
    }
    assert len(keys) == 9 * 9 * 2


@pytest.mark.parametrize("limit", [3, 5, 7])
def test_small_limits_are_uniform(limit):
    below = np.empty(100_000, np.int64)
    draw_many(key_of(limit), limit, np.empty(0, np.uint64), below, np.empty(0))
    counts = np.bincount(below, minlength=limit)
    expected = below.size / limit
    assert counts.size == limit
    assert ((counts - expected) ** 2 / expected).sum() < 25  # chi-square, 2 to 6 degrees of freedom
