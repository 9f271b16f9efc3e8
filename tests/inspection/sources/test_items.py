"""How ids are shown, and that parts have one vocabulary."""

import pytest

from bert_data.inspection.readable_ids import TokenNames
from bert_data.inspection.sources.items import View, check_one_vocabulary, show_ids
from bert_data.inspection.terminal import shown_text
from bert_data.tokens.word_bits import marked_continuations
from tests.inspection.looking import TOKENS, ids

WORDS = TokenNames(
    "vocab.txt", "", TOKENS, word_bits=marked_continuations([t.startswith("##") for t in TOKENS])
)


def test_a_word_with_a_prediction_is_shown_piece_by_piece() -> None:
    shown = show_ids(
        ids("un [MASK] ##able the home"), View(words=WORDS), first=5, predicted={6: 14, 9: 6}
    )
    assert shown_text(shown) == "un [MASK](##believ) ##able the home(cat)"
    styles = {span.text: span.style for span in shown if span.style}
    assert styles["[MASK]"] == "masked"
    assert styles["home"] == "replaced"
    assert styles["(cat)"] == "original"


def test_parts_must_have_one_vocabulary() -> None:
    assert check_one_vocabulary([("a", None), ("b", "x"), ("c", "x")]) == "x"
    assert check_one_vocabulary([]) is None
    with pytest.raises(ValueError, match="b and d were made with different vocabularies"):
        check_one_vocabulary([("a", None), ("b", "x"), ("d", "y")])


def test_the_searched_word_is_marked() -> None:
    shown = show_ids(ids("the un ##believ ##able"), View(words=WORDS), marked={1, 2, 3})
    assert [(span.text, span.style) for span in shown] == [
        ("the ", ""), ("unbelievable", "word"),
    ]  # fmt: skip
