"""Sequences dealt among sources."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from bert_data.recipes.dealing import Dealer
from tests.recipes.oracle import deal

WEIGHTS = st.lists(st.floats(0.01, 100), min_size=1, max_size=20)


@given(weights=WEIGHTS, seed=st.integers(0, 9), start=st.integers(0, 150))
def test_it_is_the_definition_from_any_start(weights, seed, start):
    dealer, expected = Dealer(weights, seed), deal(weights, 200, seed)
    assert dealer.deal(0, 200).tolist() == expected
    assert dealer.deal(start, 200).tolist() == expected[start:]
    counts = np.bincount(expected[:start], minlength=len(weights))
    assert dealer.counts(start) == counts.tolist()


@pytest.mark.parametrize("num_sources", [2, 3, 7, 1833])
def test_no_source_is_further_off_its_share_than_the_depth(num_sources):
    weights = np.random.default_rng(num_sources).random(num_sources) + 0.001
    dealer = Dealer(weights.tolist(), 1)
    shares = weights / weights.sum()
    for n in (1, 10, 1234, 10**6 + 7, 10**11 + 3):
        off = np.abs(np.array(dealer.counts(n), np.float64) - shares * n)
        assert off.max() < dealer.depth
        assert sum(dealer.counts(n)) == n


def test_far_away_it_is_the_same_as_by_counts():
    dealer, start = Dealer([5, 1, 3, 0.25], 4), 10**15
    dealt = dealer.deal(start, start + 1000)
    more = np.array(dealer.counts(start + 1000)) - dealer.counts(start)
    assert np.bincount(dealt, minlength=4).tolist() == more.tolist()
