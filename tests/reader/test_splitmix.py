"""SplitMix64 and its shuffles against published outputs, plain Python, and chance."""

import itertools
import math
from collections import Counter

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from bert_data.kernels import kernel
from bert_data.reader.splitmix import (
    key_of,
    next_below,
    next_bits,
    next_unit,
    shuffle_parts,
    shuffled,
)
from tests.reader.oracle import below as python_below
from tests.reader.oracle import bits as python_bits
from tests.reader.oracle import shuffle as python_shuffle

KEYS = st.integers(0, 2**64 - 1).map(np.uint64)


@kernel
def draw_many(key, limit, bits, below, units):
    for i in range(bits.size):
        key, bits[i] = next_bits(key)
    for i in range(below.size):
        key, below[i] = next_below(key, limit)
    for i in range(units.size):
        key, units[i] = next_unit(key)
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


@given(key=KEYS, num_items=st.integers(0, 50))
def test_an_order_is_that_of_plain_python(key, num_items):
    expected = list(range(num_items))
    python_shuffle(expected, int(key))
    assert shuffled(num_items, key).tolist() == expected


@given(key=KEYS, sizes=st.lists(st.integers(0, 9), max_size=6))
def test_parts_are_shuffled_apart_from_each_other(key, sizes):
    splits = list(itertools.accumulate(sizes, initial=0))
    items = np.arange(splits[-1], dtype=np.int32)
    shuffle_parts(key, items, np.array(splits))
    state, expected = int(key), []
    for begin, end in itertools.pairwise(splits):
        part = list(range(begin, end))
        state = python_shuffle(part, state)
        expected += part
    assert items.tolist() == expected


def test_all_orders_are_equally_likely():
    num_keys = 24_000
    counts = Counter(tuple(shuffled(4, key_of(seed, 0)).tolist()) for seed in range(num_keys))
    expected = num_keys / math.factorial(4)
    chi_square = sum((count - expected) ** 2 / expected for count in counts.values())
    assert len(counts) == 24
    assert chi_square < 60  # 23 degrees of freedom: exceeded once in 40,000


def test_records_come_anywhere_whatever_their_number():
    num_items, num_epochs = 20, 4000
    places = np.zeros((num_items, num_items))
    for epoch in range(num_epochs):
        places[shuffled(num_items, key_of(11, epoch)), np.arange(num_items)] += 1
    expected = num_epochs / num_items
    chi_square = ((places - expected) ** 2 / expected).sum()
    assert 250 < chi_square < 500  # about 361 degrees of freedom, standard deviation 27


def test_orders_stay_what_they_are():
    # A change here is another order of every user's training.
    assert shuffled(12, key_of(1, 2, 0)).tolist() == [7, 0, 1, 10, 4, 11, 9, 8, 2, 3, 6, 5]
