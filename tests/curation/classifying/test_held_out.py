"""Precision, recall, F1 and cuts are those of their definitions."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from bert_data.curation.classifying.held_out import (
    LabelQuality,
    ScoreCut,
    TrainedClassifier,
    find_cuts,
    judge_labels,
)

TARGETS = np.array([0, 0, 0, 1, 1, 2], np.int32)
JUDGED = np.array([0, 0, 1, 1, -1, 1], np.int32)


def test_qualities():
    qualities = judge_labels(("a", "b", "c", "d"), TARGETS, JUDGED)
    assert qualities == (
        LabelQuality(label="a", num_texts=3, precision=1.0, recall=2 / 3, f1=0.8),
        LabelQuality(label="b", num_texts=2, precision=1 / 3, recall=0.5, f1=0.4),
        LabelQuality(label="c", num_texts=1, precision=None, recall=0.0, f1=0.0),
        LabelQuality(label="d", num_texts=0, precision=None, recall=None, f1=None),
    )


def test_the_summary_shows_them():
    trained = TrainedClassifier(
        labels=("a", "b"),
        num_texts=(30, 2000),
        num_skipped=3,
        num_words=1234,
        loss=0.66,
        chance_loss=0.693,
        qualities=judge_labels(("a", "b", "c"), TARGETS, JUDGED),
        cuts=(ScoreCut(score=0.0181, kept_of_first=0.93, kept_of_others=0.1),),
    )
    assert not trained.has_learned
    assert str(trained).splitlines() == [
        "texts: 30 a, 2,000 b (3 rows without a text were skipped)",
        "words: 1,234; mean loss of a held-out text: 0.6600",
        "held out   texts  precision  recall     F1",
        "a              3      1.000   0.667  0.800",
        "b              2      0.333   0.500  0.400",
        "c              1          -   0.000  0.000",
        "min_score 0.0181 keeps  93.0% of the good texts and 10.0% of the others",
    ]


@given(st.lists(st.tuples(st.booleans(), st.floats(0, 1, width=32)), max_size=300))
def test_cuts_keep_at_least_their_shares(pairs):
    is_first = np.array([first for first, _ in pairs], bool)
    scores = np.array([score for _, score in pairs], np.float32)
    others, first = scores[~is_first], scores[is_first]
    cuts = find_cuts(is_first, scores)
    assert bool(cuts) == (len(first) > 0 and len(others) > 1)
    for cut in cuts:
        assert cut.score in (others if cut.kept_of_others else first).tolist()
        assert cut.kept_of_first == pytest.approx(np.mean(first >= cut.score))
        assert cut.kept_of_others == pytest.approx(np.mean(others >= cut.score))
    if cuts and first.max() > others.max():
        assert cuts[-1].kept_of_others == 0
        assert cuts[-1].score == min(each for each in first if each > others.max())
        cuts = cuts[:-1]
    assert all(cut.kept_of_others for cut in cuts)
    if len(others) > 200 and len({*others.tolist()}) == len(others) and cuts:
        assert [round(cut.kept_of_others, 2) for cut in cuts] == [0.5, 0.25, 0.1, 0.05, 0.01]


def test_equal_lines_are_one():
    scores = np.array([0.9] * 40 + [0.1] * 40, np.float32)
    trained = TrainedClassifier(
        labels=("a", "b"), num_texts=(40, 40), num_skipped=0, num_words=1, loss=0.1,
        chance_loss=0.7, qualities=(), cuts=find_cuts(scores > 0.5, scores),
    )  # fmt: skip
    assert str(trained).splitlines()[2:] == [
        "min_score 0.1000 keeps 100.0% of the good texts and 100.0% of the others",
        "          0.9000       100.0% of the good texts and  0.0% of the others",
    ]
