"""The number of predicted tokens is right; `test_making` compares their places with the oracle."""

import itertools
import random
from collections import Counter

import numpy as np
import pytest

from bert_data.records.masking.config import MaskingConfig, masking_of_flags
from bert_data.records.masking.making_rule import masking_rule, numpy_random
from bert_data.records.masking.rule import Shown
from bert_data.records.masking.spans import span_probabilities
from tests.records.corpora import TOKENS, vocabulary_of
from tests.records.oracle import create_span_predictions

COVERS = (
    "records/masking/choosing",
    "records/masking/config",
    "records/masking/making_rule",
    "records/masking/ngrams",
    "records/masking/spans",
    "records/masking/tokens",
)


def num_to_predict(max_seq_length: int, masked_lm_prob: float, max_predictions: int):
    return masking_rule(
        MaskingConfig(masked_lm_prob=masked_lm_prob),
        vocabulary_of(TOKENS),
        max_seq_length=max_seq_length,
        max_predictions_per_seq=max_predictions,
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


def test_a_rate_of_0_predicts_nothing_where_the_rule_says_so():
    lengths = np.arange(9)
    for masking, least in {"tokens": 1, "spans": 1, "ngrams": 0}.items():
        config = MaskingConfig(masking=masking, masked_lm_prob=0)
        assert config.num_to_predict(lengths).tolist() == [least] * 9


def test_shares_are_those_of_what_is_shown():
    rule = masking_rule(
        MaskingConfig(),
        vocabulary_of(TOKENS),
        max_seq_length=9,
        max_predictions_per_seq=2,
        shown=Shown(mask=0.5, random=0.1, keep=0.4),
    )
    assert (rule.mask_share, rule.keep_of_rest) == (0.5, pytest.approx(0.8))
    assert Shown(mask=1.0, random=0.0, keep=0.0).keep_of_rest == 1


def test_the_settings_of_a_manifest_are_those_that_were_set():
    config = MaskingConfig(masking="ngrams", max_ngram=2, masked_lm_prob=0.3)
    flags = {"masked_lm_prob": 0.3, "dupe_factor": 2, **config.changed_flags()}
    assert masking_of_flags(flags) == config
    assert MaskingConfig(masked_lm_prob=0.3, do_whole_word_mask=True).changed_flags() == {}


@pytest.mark.parametrize("seed", [0, 1, 12345, 2**32 - 1])
def test_sizes_come_from_numpys_numbers(seed):
    np.random.seed(seed)
    expected = np.random.random_sample(1000)
    assert numpy_random(seed).random_sample(1000).tolist() == expected.tolist()


def test_seeds_that_numpy_refuses_have_numbers_of_their_own():
    seeds = [5, -5, 2**32, 2**32 + 5, -(2**32) - 6, 2**64 + 5]
    assert len({numpy_random(seed).random_sample() for seed in seeds}) == len(seeds)
    assert numpy_random(-7).random_sample() == np.random.RandomState([7, 1]).random_sample()


OTHERS = [f"other{i}" for i in range(50)]


def spans_of(positions: list[int]) -> list[list[int]]:
    spans: list[list[int]] = []
    for position in positions:
        if not spans or spans[-1][-1] + 1 < position:
            spans.append([])
        spans[-1].append(position)
    return spans


def test_lengths_are_geometric_up_to_ten_words_and_3_8_on_average():
    probabilities = span_probabilities()
    ratios = [after / before for before, after in itertools.pairwise(probabilities)]
    assert ratios == pytest.approx([0.8] * 9)
    assert probabilities.sum() == pytest.approx(1)
    assert probabilities @ np.arange(1, 11) == pytest.approx(3.8, abs=0.01)


def test_spans_have_these_lengths_and_one_choice_each():
    rng, numpy_rng = random.Random(1), np.random.RandomState(1)
    tokens = ["[CLS]", *(f"word{i}" for i in range(9998)), "[SEP]"]
    lengths: Counter[int] = Counter()
    choices: Counter[str] = Counter()
    for _ in range(60):
        shown, positions, labels = create_span_predictions(
            tokens, 0.02, 1000, OTHERS, rng, numpy_rng=numpy_rng
        )
        assert len(positions) == 200
        assert labels == [tokens[position] for position in positions]
        for span in spans_of(positions):
            lengths[len(span)] += 1
            kinds = {
                "mask" if shown[i] == "[MASK]" else "keep" if shown[i] == tokens[i] else "random"
                for i in span
            }
            assert len(kinds) == 1
            choices[kinds.pop()] += 1
    num_spans = lengths.total()
    assert num_spans > 2500
    for length, probability in enumerate(span_probabilities(), 1):
        assert lengths[length] / num_spans == pytest.approx(probability, abs=0.03)
    assert choices["mask"] / num_spans == pytest.approx(0.8, abs=0.03)
    assert choices["random"] / num_spans == pytest.approx(0.1, abs=0.03)
    assert choices["keep"] / num_spans == pytest.approx(0.1, abs=0.03)


def test_anchors_are_uniform_and_spans_are_of_whole_words_of_one_segment():
    rng, numpy_rng = random.Random(2), np.random.RandomState(2)
    tokens = ["[CLS]", "a", "##b", "##c", "d", "[SEP]", "e", "f", "##g", "h", "##i", "##j", "[SEP]"]
    begins = {1, 4, 6, 7, 9}
    ends = {4, 5, 7, 9, 12}
    seen: Counter[int] = Counter()
    for _ in range(3000):
        _, positions, _ = create_span_predictions(tokens, 0.3, 4, OTHERS, rng, numpy_rng=numpy_rng)
        assert len(positions) == 4
        spans = spans_of(positions)
        assert all(span[0] in begins for span in spans)
        assert sum(span[-1] + 1 not in ends for span in spans) <= 1  # the last one that was drawn
        seen.update(positions)
    assert not {0, 5, 12} & set(seen)
    assert min(seen[i] for i in range(1, 12) if i != 5) > 400
