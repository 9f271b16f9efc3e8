"""Columns for fields: what their values have in common, the same as behind a spool."""

import datetime
import json

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from bert_data.curation.document import Document
from bert_data.curation.running.field_values import arrow_column, join_kinds, note_kinds
from bert_data.curation.running.spool import SpoolWriter, read_spool

VALUES = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(-(1 << 70), 1 << 70),
    st.floats(allow_nan=False),
    st.text(),
    st.lists(st.integers(0, 9), max_size=2),
    st.lists(st.floats(allow_nan=False), max_size=3),
    st.dictionaries(st.text(max_size=2), st.integers(0, 9), max_size=2),
)


@pytest.mark.parametrize(
    ("values", "kind"),
    [
        ([None], "null"),
        (["a", None], "text"),
        ([1, None, 2], "whole"),
        ([1, 2.5], "number"),
        ([True, False], "truth"),
        ([True, 1], "json"),
        (["a", 1], "json"),
        ([1 << 60], "json"),
        ([[1]], "json"),
        ([{}], "json"),
        ([[0.5, 2.0], None, [1.5]], "numbers"),
        ([[0.5, 2]], "json"),
        ([[0.5], []], "json"),
        ([[0.5], 0.5], "json"),
        ([np.float32(0.5), 1.5], "number"),
        ([np.int64(3)], "whole"),
        ([np.bool_(True)], "truth"),
        ([datetime.date(2020, 1, 2)], "text"),
        ([b"a\xff"], "text"),
    ],
)
def test_the_kind_of_values(tmp_path, values, kind):
    kinds: dict[str, str] = {}
    for value in values:
        note_kinds(kinds, {"a": value})
    assert kinds == {"a": kind}
    with SpoolWriter(tmp_path / "spool") as spool:
        for value in values:
            spool.add(Document("a", "b", "c", {"a": value}))
    back = [document.fields["a"] for document in read_spool(tmp_path / "spool", "b")]
    column = arrow_column(back, kind).to_pylist()
    assert column == [json.dumps(v, separators=(",", ":")) if kind == "json" else v for v in back]


@given(st.lists(VALUES), st.lists(VALUES))
def test_kinds_of_shards_are_those_of_all_values(some, others):
    kinds: list[dict[str, str]] = [{}, {}, {}]
    for value in some:
        note_kinds(kinds[0], {"a": value})
    for value in others:
        note_kinds(kinds[1], {"a": value})
    for value in [*some, *others]:
        note_kinds(kinds[2], {"a": value})
    assert join_kinds(kinds[:2]) == kinds[2]
    if kinds[2]:
        column = arrow_column([*some, *others], kinds[2]["a"])
        assert column.null_count == [*some, *others].count(None)


def test_a_spool_is_read_from_a_document_to_another(tmp_path):
    documents = [
        Document(f"a:{n}", "a", f"text {n}", {"n": n} if n % 2 else {}) for n in range(9000)
    ]
    with SpoolWriter(tmp_path / "spool") as spool:
        for document in documents:
            spool.add(document)
    assert list(read_spool(tmp_path / "spool", "a")) == documents
    for start, end in ((0, 1), (4095, 4097), (8999, 9000), (5000, 5000), (0, None)):
        assert list(read_spool(tmp_path / "spool", "a", start, end)) == documents[start:end]
