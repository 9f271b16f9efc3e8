"""Tables of steps, for people and for programs."""

import pytest

from bert_data.curation.table import Table

TABLE = Table(
    columns=(("part", ""), ("bytes", "reached"), ("bytes", "wanted")),
    rows=(("web", 12345, 0.123456), ("a\nb", 0, 1.0)),
)


def test_a_row_is_a_mapping_of_groups():
    assert TABLE.as_json()[0] == {"part": "web", "bytes": {"reached": 12345, "wanted": 0.123456}}


def test_a_text_has_two_rows_of_heads_and_stays_on_its_line():
    assert TABLE.as_text() == [
        ["part", "bytes", ""],
        ["", "reached", "wanted"],
        ["web", "12,345", "0.1235"],
        ["a\\nb", "0", "1"],
    ]


def test_a_row_of_another_length_is_a_mistake():
    with pytest.raises(ValueError, match="zip"):
        Table(columns=(("part", ""),), rows=(("a", 1),)).as_json()
