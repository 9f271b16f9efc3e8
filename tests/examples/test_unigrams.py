"""The loss of guessing by frequency."""

import math

import numpy as np
import pytest

from examples.demo.unigrams import unigram_loss


def test_of_a_text_by_hand() -> None:
    train = np.array([0, 0, 0, 1, 2])  # with one more of each: 4, 2, 2 and 1 of 9
    result = unigram_loss(train, np.array([0, 0, 1, 3]), vocab_size=4)
    expected = -(2 * math.log(4 / 9) + math.log(2 / 9) + math.log(1 / 9)) / 4
    assert result.cross_entropy == pytest.approx(expected)
    assert result.entropy == pytest.approx(1.5 * math.log(2))
    assert result.num_tokens == 4


def test_no_frequencies_do_better_than_the_tokens_own() -> None:
    draws = np.random.default_rng(3)
    for _ in range(20):
        train, held_out = draws.zipf(1.5, 500) % 50, draws.zipf(1.5, 200) % 50
        result = unigram_loss(train, held_out, vocab_size=50)
        assert 0 < result.entropy < result.cross_entropy


def test_equal_shares_have_the_entropy_of_their_number() -> None:
    result = unigram_loss(np.arange(8), np.tile(np.arange(8), 5), vocab_size=8)
    assert result.entropy == pytest.approx(math.log(8))
    assert result.cross_entropy == pytest.approx(math.log(8))
