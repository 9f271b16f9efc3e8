"""Shuffles against plain Python, and every order as likely as any other."""

import itertools
import math
from collections import Counter

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from bert_data.reader.splitmix import key_of, shuffle_parts, shuffled
from tests.reader.splitmix_oracle import python_shuffle

KEYS = st.integers(0, 2**64 - 1).map(np.uint64)


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
