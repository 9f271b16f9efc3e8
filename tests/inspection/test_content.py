"""Content: what is checked before it is shown, and that no text controls a terminal."""

import pytest

from bert_data.inspection.content import (
    CellTable,
    StyledText,
    first_of,
    plain,
    spans_of,
    visible,
)


def test_control_characters_are_shown_as_escapes() -> None:
    text = "a\x1b[31m\nb\x00\u202ec\ud800é 中"
    assert visible(text) == r"a\x1b[31m\nb\x00\u202ec\ud800é 中"


def test_a_line_is_a_string_a_span_or_several() -> None:
    assert spans_of("a") == [StyledText("a")]
    assert spans_of(StyledText("a", "masked")) == [StyledText("a", "masked")]
    assert plain(["a", StyledText("b", "masked")]) == "ab"


def test_an_unknown_style_is_refused() -> None:
    with pytest.raises(ValueError, match="style is 'pink'; it must be one of"):
        spans_of(StyledText("a", "pink"))


def test_a_row_has_a_cell_for_each_column() -> None:
    with pytest.raises(ValueError, match="a row has 1 cells; the table has 2 columns"):
        CellTable(head=("a", "b"), rows=[("1",)])


def test_many_names_are_the_first_one_and_a_count() -> None:
    assert first_of(["a.txt"]) == "a.txt"
    assert first_of(["a.txt"] * 1001) == "a.txt and 1,000 more"
