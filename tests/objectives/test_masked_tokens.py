"""The definition of masked LM, by hand: candidates, numbers and draws."""

import pytest

from bert_data.objectives.masked_tokens import create_masked_lm_predictions
from tests.objectives.test_definition import WORDS, Scripted


def masked(tokens, prob, most, *numbers, whole_words=False):
    rng = Scripted(*numbers)
    original = tokens.split()
    shown, positions, labels = create_masked_lm_predictions(
        original, prob, most, WORDS, rng, do_whole_word_mask=whole_words
    )
    assert not rng.numbers
    assert original == tokens.split()
    assert labels == [original[position] for position in positions]
    return " ".join(shown), positions


def test_a_token_is_masked_or_stays_or_is_a_random_word():
    draws = (0.79, 0.8, 0.49, 0.8, 0.5, 1)
    assert masked("[CLS] a b [SEP] c [SEP]", 0.5, 9, *draws) == (
        "[CLS] [MASK] b [SEP] y [SEP]",
        [1, 2, 4],
    )


@pytest.mark.parametrize(
    ("num_tokens", "prob", "most", "expected"),
    [(10, 0.25, 20, 2), (14, 0.25, 20, 4), (9, 0.0, 20, 1), (9, 1.0, 3, 3), (9, 0.5, 0, 0)],
)
def test_the_number_to_predict(num_tokens, prob, most, expected):
    """Of all tokens, special ones included, rounded half to even; one at least."""
    tokens = " ".join(["[CLS]", *"a" * (num_tokens - 3), "[SEP]", "[SEP]"])
    _, positions = masked(tokens, prob, most, *[0.0] * expected)
    assert positions == list(range(1, 1 + expected))


def test_pieces_of_a_word_go_together():
    tokens = "[CLS] a b ##c ##d [SEP] e [SEP]"
    assert masked(tokens, 0.5, 4, 0.0, 0.8, 0.0, 0.0, 0.9, 0.9, 0, whole_words=True) == (
        "[CLS] [MASK] b [MASK] x [SEP] e [SEP]",
        [1, 2, 3, 4],
    )


def test_a_word_that_is_too_large_is_skipped():
    assert masked("[CLS] a ##b c [SEP]", 0.2, 4, 0.0, whole_words=True) == (
        "[CLS] a ##b [MASK] [SEP]",
        [3],
    )


def test_a_piece_continues_the_token_before_it_across_a_separator():
    draws = (0.0, 0.0)
    assert masked("[CLS] a [SEP] ##b [SEP]", 0.4, 4, *draws, whole_words=True)[1] == [1, 3]
    assert masked("[CLS] ##a [SEP] b [SEP]", 0.2, 4, 0.0, whole_words=True)[1] == [1]
    assert masked("[CLS] a [SEP] ##b [SEP]", 0.2, 4, 0.0)[1] == [1]
