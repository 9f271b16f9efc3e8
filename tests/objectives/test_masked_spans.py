"""The distributions of spans, as SpanBERT's paper has them; `test_making` has the kernel's."""

import itertools
import random
from collections import Counter

import numpy as np
import pytest

from bert_data.objectives.masked_spans import create_span_predictions, span_probabilities

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
