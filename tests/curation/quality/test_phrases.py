"""Phrases in texts, against one regular expression of all of them."""

import re

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bert_data.curation.quality.phrases import Phrases

PIECES = st.sampled_from(["bad", "BAD", "word", "a", "$", "@x", " ", "\n", "_", "é", "坏"])


@settings(max_examples=200, deadline=None)
@given(
    st.lists(st.lists(PIECES, min_size=1, max_size=3).map("".join), max_size=4),
    st.lists(PIECES, max_size=20).map("".join),
)
def test_phrases_stand_by_themselves(phrases, text):
    lowered = {phrase.lower() for phrase in phrases}
    alone = sum(
        len(re.findall(rf"(?<!\w){re.escape(phrase)}(?!\w)", text.lower())) for phrase in lowered
    )
    assert Phrases(phrases).count(text, spaced=True) == alone
    anywhere = sum(text.lower().count(phrase) for phrase in lowered)
    assert Phrases(phrases).count(text, spaced=False) == anywhere


@pytest.mark.parametrize(
    ("text", "spaced", "number"),
    [
        ("Bad word? xxl XX.", True, 2),
        ("badword bad_word a bad  word", True, 0),
        ("这是坏话吗", False, 1),
        ("这是坏话吗", True, 0),
        ("", True, 0),
    ],
)
def test_numbers_of_places(text, spaced, number):
    assert Phrases(["bad word", "xx", "坏话", ""]).count(text, spaced=spaced) == number


@pytest.mark.slow
def test_a_text_of_nothing_else():
    """Time that grew with the square of the text would not end."""
    phrases = Phrases([f"bad word{number}" for number in range(100)] + ["bad bad"])
    assert phrases.count("bad " * 250_000, spaced=True) == 125_000
