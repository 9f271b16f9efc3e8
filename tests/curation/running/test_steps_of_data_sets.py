"""Steps that judge the documents of some data sets, and pass those of the others."""

import json

import pytest

from bert_data.curation.running.data_sets import DataSet
from bert_data.curation.running.pipeline import Output, Pipeline, label_steps
from bert_data.curation.running.run import curate
from bert_data.curation.steps.length import Length
from bert_data.curation.steps.repair import Repair


def make_pipeline(folder, steps) -> Pipeline:
    data_sets = []
    for name in ("wiki", "web"):
        path = folder / f"{name}.jsonl"
        rows = ("one", "one two three", "a b c d e f g")
        path.write_text("".join(json.dumps({"text": f"{name} {row}"}) + "\n" for row in rows))
        data_sets.append(DataSet(name=name, files=str(path)))
    return Pipeline(
        data_sets=tuple(data_sets),
        steps=label_steps(steps),
        output=Output(files=str(folder / "out.jsonl")),
    )


def test_other_data_sets_pass(tmp_path):
    steps = [
        Length(min_words=3, data_sets=("web",)),
        Repair(),
        Length(min_words=0, max_words=5, data_sets=("wiki",)),
    ]
    done = curate(make_pipeline(tmp_path, steps), num_workers=1)
    lines = (tmp_path / "out.jsonl").read_text().splitlines()
    texts = [json.loads(line)["text"] for line in lines]
    assert texts == ["wiki one", "wiki one two three", "web one two three", "web a b c d e f g"]
    rejected = {counts.label: sum(counts.rejected.values()) for counts in done.counts[1:]}
    assert rejected == {"length": 1, "repair": 0, "length#2": 1}


def test_unknown_data_sets(tmp_path):
    with pytest.raises(
        ValueError, match="step length: data_sets has 'wab'; the data sets are wiki"
    ):
        make_pipeline(tmp_path, [Length(data_sets=("wab",))])
