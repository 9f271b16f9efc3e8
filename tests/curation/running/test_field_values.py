"""Columns for fields: what their values have in common, the same as behind a spool."""

import datetime
import itertools
import json
import math
import re
import subprocess
import sys

import numpy as np
import pyarrow
import pytest
from hypothesis import given
from hypothesis import strategies as st

from bert_data.curation.document import Document
from bert_data.curation.running import document_spool
from bert_data.curation.running.document_spool import DocumentsOfShard, SpoolWriter, read_spool
from bert_data.curation.running.field_values import (
    arrow_column,
    dump_fields,
    join_kinds,
    json_line,
    make_column,
    note_kinds,
)

_TEXTS = st.text(st.characters(exclude_categories=["Cs"]))
OF_KINDS = {
    pyarrow.string(): _TEXTS,
    pyarrow.large_string(): _TEXTS,
    pyarrow.int32(): st.integers(-(2**31), 2**31 - 1),
    pyarrow.int64(): st.integers(-(2**63), 2**63 - 1),
    pyarrow.float64(): st.floats(allow_nan=False),
    pyarrow.bool_(): st.booleans(),
}


@given(st.data())
def test_a_column_is_what_pyarrow_makes(data):
    kind = data.draw(st.sampled_from(list(OF_KINDS)))
    values = data.draw(st.lists(st.none() | OF_KINDS[kind], max_size=20))
    column = make_column(values, kind)
    column.validate(full=True)
    assert column.equals(pyarrow.array(values, kind))


def test_half_a_surrogate_pair_is_refused():
    with pytest.raises(UnicodeEncodeError):
        make_column(["a\ud800"], pyarrow.string())


@pytest.mark.process
def test_pandas_is_not_imported():
    program = "import sys, pyarrow; from bert_data.curation.running.field_values import make_column"
    program += "\nmake_column(['a', None], pyarrow.string()); sys.exit('pandas' in sys.modules)"
    subprocess.run([sys.executable, "-c", program], check=True)


@pytest.mark.parametrize("batch", [1, 3, 4096])
def test_any_range_is_read(tmp_path, monkeypatch, batch):
    monkeypatch.setattr(document_spool, "BATCH_DOCUMENTS", batch)
    documents = [
        Document(f"web/{i}", "web", "é" * i, {"n": i, "list": [None, {"a": "b"}]} if i % 2 else {})
        for i in range(8)
    ]
    with SpoolWriter(tmp_path / "spool") as writer:
        for document in documents:
            writer.add(document)
    for start in range(9):
        for end in (None, *range(start, 10)):
            assert list(read_spool(tmp_path / "spool", "web", start, end)) == documents[start:end]


def test_sizes_that_are_known_stay_known(tmp_path, monkeypatch):
    documents = [Document(str(i), "web", "one 二三." * i) for i in range(3)]
    assert documents[1].num_words == 4 and documents[2].num_bytes == 22
    with SpoolWriter(tmp_path / "spool") as writer:
        for document in documents:
            writer.add(document)
    monkeypatch.setattr("bert_data.curation.document.count_words_in", lambda text: 1)
    assert [document.num_words for document in read_spool(tmp_path / "spool", "web")] == [1, 4, 1]


def test_fields_that_json_does_not_know_become_what_it_knows(tmp_path):
    fields = {"at": datetime.date(2024, 1, 2), "raw": b"a\xff", "number": np.float32(0.5)}
    with SpoolWriter(tmp_path / "spool") as writer:
        writer.add(Document("0", "web", "", fields))
    (document,) = read_spool(tmp_path / "spool", "web")
    assert document.fields == {"at": "2024-01-02", "raw": "a\ufffd", "number": 0.5}


def test_what_is_no_finite_number_is_null_in_json(tmp_path):
    bad = {"a": math.nan, "b": [1.5, -math.inf, {"c": np.float32("nan")}], "d": "é"}
    assert dump_fields(bad, ascii_only=False) == '{"a":null,"b":[1.5,null,{"c":null}],"d":"é"}'
    with SpoolWriter(tmp_path / "spool") as writer:  # but columns of numbers have them
        writer.add(Document("0", "web", "", {"a": math.inf}))
    (document,) = read_spool(tmp_path / "spool", "web")
    assert document.fields == {"a": math.inf}


@given(
    st.dictionaries(
        st.text(st.characters()) | st.integers(),
        st.recursive(
            st.none() | st.booleans() | st.integers() | st.floats() | st.text(st.characters()),
            lambda values: st.lists(values) | st.dictionaries(st.text(), values),
            max_leaves=4,
        ),
    )
)
def test_a_line_of_json_is_what_json_writes(row):
    expected = dump_fields(row, ascii_only=False)
    if re.search("[\ud800-\udfff]", expected):
        expected = dump_fields(row)
    assert json_line(row).decode() == f"{expected}\n"


@given(st.lists(st.integers(0, 90)), st.none() | st.integers(1, 100))
def test_documents_are_cut_at_a_number_of_bytes(sizes, max_bytes):
    documents = [Document(str(i), "web", "x" * size) for i, size in enumerate(sizes)]
    rest = iter(documents)
    following = next(rest, None)
    shards = []
    while following is not None:
        shard = DocumentsOfShard(following, rest, max_bytes)
        shards.append(list(shard))
        assert shard.num_documents == len(shards[-1]) > 0
        assert shard.num_bytes == sum(document.num_bytes for document in shards[-1])
        following = shard.following
    assert [document for shard in shards for document in shard] == documents
    for shard, after in itertools.pairwise(shards):
        size = sum(document.num_bytes for document in shard)
        assert max_bytes is not None and size + after[0].num_bytes > max_bytes
    for shard in shards:
        size = sum(document.num_bytes for document in shard)
        assert len(shard) == 1 or max_bytes is None or size <= max_bytes


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
