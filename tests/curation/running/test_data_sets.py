"""Shards of data sets and the names of their documents."""

import dataclasses
import gzip
import json

import pytest

from bert_data.curation.running.data_sets import (
    DataSet,
    count_rows_before,
    plan_all_shards,
    read_shard,
)
from bert_data.curation.running.ledger import LedgerWriter
from bert_data.curation.running.step_log import ReadLog
from bert_data.text.documents import TextConfig
from bert_data.work.executor import InProcess

COVERS = ("curation/running/step_log",)


LENIENT = TextConfig(on_error="skip")


def read(data_sets, tmp_path, shard_bytes=100):
    documents = []
    with LedgerWriter(tmp_path / "ledger", "a") as ledger:
        shards = plan_all_shards(data_sets, shard_bytes)
        for shard in count_rows_before(shards, data_sets, InProcess()):
            log = ReadLog(ledger)
            documents += read_shard(shard, data_sets[shard.data_set], 10_000, log)
    return documents


def test_ids_are_the_same_however_files_are_cut(tmp_path):
    for folder in ("x", "y"):
        (tmp_path / folder).mkdir()
        rows = "".join(json.dumps({"text": f"{folder} {n}"}) + "\n" for n in range(50))
        (tmp_path / folder / "a.jsonl").write_text(rows)
    (tmp_path / "y/b.jsonl.gz").write_bytes(gzip.compress(rows.encode()))
    sets = [DataSet(name="s", files=f"{tmp_path}/*/*.jsonl*")]
    documents = read(sets, tmp_path)
    assert len(plan_all_shards(sets, 100)) > 5
    assert documents == read(sets, tmp_path, 1 << 30)
    names = [document.id for document in documents]
    assert names == [
        f"s/{f}:{n + 1}" for f in ("x/a.jsonl", "y/a.jsonl", "y/b.jsonl.gz") for n in range(50)
    ]
    assert documents[60].text == "y 10"


def test_lines_are_named_by_their_first_one(tmp_path):
    (tmp_path / "a.txt").write_text("one\ntwo\n\n\nthree\n")
    documents = read([DataSet(name="s", files=str(tmp_path / "a.txt"))], tmp_path)
    assert [(each.id, each.text) for each in documents] == [
        ("s/a.txt:1", "one\ntwo"),
        ("s/a.txt:5", "three"),
    ]


def test_shards_of_a_data_set_stand_together(tmp_path):
    for name in "ab":
        (tmp_path / f"{name}.jsonl").write_text('{"text": "one two three"}\n' * 40)
    sets = [DataSet(name=name, files=f"{tmp_path}/{name}.jsonl") for name in "ba"]
    shards = plan_all_shards(sets, 300)
    assert [shard.number for shard in shards] == list(range(len(shards)))
    assert [shard.data_set for shard in shards] == [0] * 3 + [1] * 3
    assert sum(shard.num_bytes for shard in shards) == pytest.approx(2 * 40 * 26, rel=0.01)


def test_a_field_names_documents(tmp_path):
    rows = [{"text": "one", "id": 1}, {"text": "two"}, {"text": "three", "id": "\ud800"}]
    (tmp_path / "a.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    data_set = DataSet(name="s", files=f"{tmp_path}/a.jsonl", id_field="id", text=LENIENT)
    documents = read([data_set], tmp_path)
    assert [(each.id, dict(each.fields)) for each in documents] == [("1", {}), ("?", {})]
    strict = dataclasses.replace(data_set, text=TextConfig())
    with pytest.raises(ValueError, match=r"a\.jsonl:2: no field 'id' \(`id_field`\)"):
        read([strict], tmp_path)


def test_what_a_data_set_cannot_be(tmp_path):
    for name in ("", "a/b", "a b"):
        with pytest.raises(ValueError, match="it may have letters, digits"):
            DataSet(name=name, files="a")
    for weight in (0, -1, float("inf"), float("nan")):
        with pytest.raises(ValueError, match="weight is"):
            DataSet(name="a", files="a", weight=weight)
    (tmp_path / "a.jsonl").touch()
    (tmp_path / "a.txt").touch()
    with pytest.raises(ValueError, match="data set s: the inputs have several formats"):
        plan_all_shards([DataSet(name="s", files=f"{tmp_path}/a.*")], 100)
