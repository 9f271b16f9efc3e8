"""How many tokens are predicted; which ones, `test_making` compares with the oracle."""

import numpy as np

from bert_data.objectives.masking import masking_rule
from tests.objectives.corpora import TOKENS, vocabulary_of


def num_to_predict(max_seq_length: int, masked_lm_prob: float, max_predictions: int):
    return masking_rule(
        vocabulary_of(TOKENS),
        max_seq_length=max_seq_length,
        max_predictions_per_seq=max_predictions,
        masked_lm_prob=masked_lm_prob,
        whole_words=False,
    ).num_to_predict


def test_the_number_is_rounded_half_to_even_and_at_least_one_and_at_most_the_limit():
    # 0.5 * 5 = 2.5 -> 2 and 0.5 * 7 = 3.5 -> 4: halves go to the even number.
    assert num_to_predict(9, 0.5, 4).tolist() == [1, 1, 1, 2, 2, 2, 3, 4, 4, 4]
    assert num_to_predict(9, 0.0, 4).tolist() == [1] * 10
    assert num_to_predict(9, 1.0, 0).tolist() == [0] * 10


def test_the_product_is_that_of_doubles():
    # 0.15 * 10 is 1.5 exactly as a double, 0.15 * 30 is 4.5 and 0.15 * 70 is 10.5.
    counts = num_to_predict(70, 0.15, 100)
    assert counts.dtype == np.int32
    assert [counts[10], counts[30], counts[50], counts[70]] == [2, 4, 8, 10]
