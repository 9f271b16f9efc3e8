"""Equal content has equal digests, and other content has others; how ids are shown."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from bert_data.inspection.content import plain
from bert_data.inspection.readable_ids import TokenNames
from bert_data.inspection.sources.items import (
    Item,
    View,
    check_one_vocabulary,
    difference,
    show_ids,
)
from bert_data.tokens.word_bits import marked_continuations
from tests.inspection.looking import TOKENS, ids

WORDS = TokenNames(
    "vocab.txt", "", TOKENS, word_bits=marked_continuations([t.startswith("##") for t in TOKENS])
)
VALUES = st.one_of(
    st.lists(st.integers(-9, 9), max_size=3).map(lambda v: np.array(v, np.int64)),
    st.text("ab1 ", max_size=3),
    st.integers(-9, 9),
    st.booleans(),
    st.none(),
)
FIELDS = st.dictionaries(st.sampled_from(["a", "ab", "b 1"]), VALUES, max_size=3)


def item(fields: dict, number: int = 0) -> Item:
    return Item(number=number, path="p", place=number, fields=fields)


@given(FIELDS, FIELDS)
def test_digests_are_equal_exactly_where_no_field_differs(one: dict, other: dict) -> None:
    a, b = item(one), item(dict(reversed(other.items())), number=3)
    assert (a.digest() == b.digest()) == (not difference(a, b))


def test_fields_that_differ_are_named() -> None:
    a = item({"x": np.array([1]), "y": 1, "z": "s"})
    b = item({"x": np.array([1.0], np.float32), "y": True, "w": "s"})
    assert difference(a, b) == ["x", "y", "z", "w"]


def test_a_word_with_a_prediction_is_shown_piece_by_piece() -> None:
    shown = show_ids(
        ids("un [MASK] ##able the home"), View(words=WORDS), first=5, predicted={6: 14, 9: 6}
    )
    assert plain(shown) == "un [MASK](##believ) ##able the home(cat)"
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
