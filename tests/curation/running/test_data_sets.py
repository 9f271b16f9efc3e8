"""Shards of data sets and the names of their documents."""

import dataclasses
import gzip
import json

import pytest

from bert_data.curation.running.counts import READ
from bert_data.curation.running.data_sets import (
    count_rows_before,
    plan_all_shards,
    put_extract_first,
    read_shard,
)
from bert_data.curation.running.ledger import LedgerWriter, StepLog
from bert_data.curation.running.pipeline import DataSet, Pipeline, label_steps
from bert_data.curation.running.pipeline_settings import Output
from bert_data.curation.running.presets import PRESETS, SOURCES, preset_steps
from bert_data.curation.step import make_step
from bert_data.text.text_config import TextConfig
from bert_data.work.executor import InProcess
from tests.curation.corpora import write_rows

LENIENT = TextConfig(on_error="skip")


def read(data_sets, tmp_path, shard_bytes=100):
    documents = []
    with LedgerWriter(tmp_path / "ledger", "a") as ledger:
        shards = plan_all_shards(data_sets, shard_bytes)
        pipeline = Pipeline(data_sets=tuple(data_sets), steps=(), output=Output(files="o"))
        for shard in count_rows_before(shards, data_sets, InProcess()):
            documents += read_shard(shard, pipeline, StepLog(READ, ledger, pipeline))
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


def test_the_end_of_a_file_ends_a_document(tmp_path):
    for number in range(9):
        (tmp_path / f"{number}.txt").write_text(f"one {number}\n\ntwo {number}")
    sets = [DataSet(name="s", files=f"{tmp_path}/*.txt")]
    expected = [
        (f"s/{number}.txt:{row}", f"{text} {number}")
        for number in range(9)
        for row, text in ((1, "one"), (3, "two"))
    ]
    for shard_bytes in (1, 30, 1 << 30):
        documents = read(sets, tmp_path, shard_bytes)
        assert [(each.id, each.text) for each in documents] == expected


def test_shards_of_a_data_set_stand_together(tmp_path):
    for name in "ab":
        (tmp_path / f"{name}.jsonl").write_text('{"text": "one two three"}\n' * 40)
    sets = [DataSet(name=name, files=f"{tmp_path}/{name}.jsonl") for name in "ba"]
    shards = plan_all_shards(sets, 300)
    assert [shard.number for shard in shards] == list(range(len(shards)))
    assert [shard.data_set for shard in shards] == [0] * 4 + [1] * 4
    assert sum(shard.num_bytes for shard in shards) == pytest.approx(2 * 40 * 26, rel=0.01)


def test_a_field_names_documents(tmp_path):
    rows = [{"text": "one", "id": 1}, {"text": "two"}, {"text": "three", "id": "\ud800"}]
    write_rows(tmp_path / "a.jsonl", rows)
    data_set = DataSet(name="s", files=f"{tmp_path}/a.jsonl", id_field="id", text=LENIENT)
    documents = read([data_set], tmp_path)
    assert [(each.id, dict(each.fields)) for each in documents] == [("1", {}), ("\ufffd", {})]
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


def labels(folder, files, steps):
    (folder / "a.html").write_text("<html><body><p>One.</p></body></html>")
    (folder / "a.jsonl").write_text('{"text": "One."}\n')
    (folder / "a.WET").write_text("WARC/1.0\r\n\r\n")
    data_sets = tuple(DataSet(name=name[-3:], files=f"{folder}/{name}") for name in files)
    pipeline = Pipeline(data_sets=data_sets, steps=label_steps(steps), output=Output(files="o"))
    changed = put_extract_first(pipeline, plan_all_shards(data_sets, 1000))
    assert changed.data_sets == pipeline.data_sets
    return [each.label for each in changed.steps]


@pytest.mark.parametrize("preset", [name for name in PRESETS if name not in SOURCES])
def test_no_preset_reads_tags_as_text(tmp_path, preset):
    steps = preset_steps(preset)
    names = [step.name for step in steps]
    assert labels(tmp_path, ["a.jsonl"], steps) == names
    assert labels(tmp_path, ["a.WET"], steps) == names
    of_pages = labels(tmp_path, ["a.jsonl", "a.html"], steps)
    assert of_pages.count("extract") == 1
    assert set(of_pages[: of_pages.index("extract")]) <= {"url_filter"}
    assert [name for name in of_pages if name != "extract"] == [n for n in names if n != "extract"]


def test_a_pipeline_that_would_read_tags_is_refused(tmp_path):
    steps = [make_step(name, {}) for name in ("exact_duplicates", "repair", "extract", "c4")]
    assert labels(tmp_path, ["a.html"], steps)[2] == "extract"
    with pytest.raises(
        ValueError, match=r"data set tml has HTML pages, whose tags step length wou"
    ):
        labels(tmp_path, ["a.html"], [make_step("length", {}), *steps])
    assert labels(tmp_path, ["a.jsonl"], [make_step("length", {}), *steps])[0] == "length"


def test_pages_in_rows_are_noticed(tmp_path):
    page = '{"text": "<html><body><p>One.</p></body></html>"}\n'
    (tmp_path / "b.jsonl").write_text(page * 3 + '{"text": "One."}\n')
    assert labels(tmp_path, ["b.jsonl"], [make_step("length", {})]) == ["extract", "length"]
    (tmp_path / "b.jsonl").write_text('{"text": "One."}\n' * 3 + page)
    assert labels(tmp_path, ["b.jsonl"], [make_step("length", {})]) == ["length"]
    (tmp_path / "b.jsonl").write_text(page + "{")  # the run says what is wrong
    assert labels(tmp_path, ["b.jsonl"], [make_step("length", {})]) == ["length"]


def test_only_pages_are_extracted(tmp_path):
    (tmp_path / "f.py").write_text("page = '<html><body>One.</body></html>'")
    (tmp_path / "a.html").write_text("<html><body><p>One.</p></body></html>")
    data_sets = (
        DataSet(name="code", files=f"{tmp_path}/f.py", text=TextConfig(input_format="code")),
        DataSet(name="web", files=f"{tmp_path}/a.html"),
    )
    shards = plan_all_shards(data_sets, 1000)

    def extracting(steps):
        pipeline = Pipeline(data_sets=data_sets, steps=label_steps(steps), output=Output(files="o"))
        steps = put_extract_first(pipeline, shards).steps
        return [each.step.data_sets for each in steps if each.step.name == "extract"]

    length = make_step("length", {"data_sets": ["code"]})
    assert extracting([length]) == [("web",)]
    assert extracting([length, make_step("extract", {"data_sets": "web"})]) == [("web",)]
    assert extracting([make_step("extract", {"data_sets": "code"})]) == [("web",), ("code",)]
    with pytest.raises(ValueError, match="data set web has HTML pages, whose tags step length"):
        extracting([make_step("length", {"data_sets": "web"}), make_step("extract", {})])
