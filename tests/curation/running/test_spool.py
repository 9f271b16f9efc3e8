"""Documents come out of the spool as they went in, all or a range of them; spools are cut."""

import datetime
import itertools
import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from bert_data.curation.document import Document
from bert_data.curation.running import spool
from bert_data.curation.running.field_values import dump_fields
from bert_data.curation.running.spool import DocumentsOfShard, SpoolWriter, read_spool


@pytest.mark.parametrize("batch", [1, 3, 4096])
def test_any_range_is_read(tmp_path, monkeypatch, batch):
    monkeypatch.setattr(spool, "_BATCH_DOCUMENTS", batch)
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
    monkeypatch.setattr("bert_data.curation.document.split_words", lambda text: [text])
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
