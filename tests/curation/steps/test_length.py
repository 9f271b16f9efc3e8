"""Documents of a moderate number of words."""

import math

import pytest

from bert_data.curation.steps.gopher import Length
from tests.curation.texts import make_document, measured


def test_both_bounds_are_allowed_values() -> None:
    step = Length(min_words=2, max_words=4)
    kept = [step.judge(make_document("w " * number)).kept for number in range(7)]
    assert kept == [False, False, True, True, True, False, False]


def test_words_are_counted_as_everywhere() -> None:
    # Marks are words of their own, see `bert_data.curation.words`.
    assert measured(Length(), "One two, three.\nfour!")["min_words"] == 7
    assert measured(Length(), "一二三")["max_words"] == len(make_document("一二三").words)
    assert measured(Length(), "")["min_words"] == 0


def test_by_default_wikipedias_stubs_go_and_nothing_is_too_long() -> None:
    step = Length()
    assert not step.judge(make_document("w " * 25)).kept
    assert step.judge(make_document("w " * 26)).kept
    assert step.max_words == math.inf


@pytest.mark.parametrize(
    ("least", "most", "sentence"),
    [
        (6, 5, "min_words is 6; it must be at most max_words, 5"),
        (math.nan, 5, "min_words is nan; it must be a number >= 0"),
        (math.inf, math.inf, "min_words is inf; it must be a number >= 0"),
    ],
)
def test_bounds_that_no_document_could_meet_are_refused(
    least: float, most: float, sentence: str
) -> None:
    with pytest.raises(ValueError, match=f"^{sentence}$"):
        Length(min_words=least, max_words=most)
