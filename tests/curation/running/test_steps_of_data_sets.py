"""Steps that judge the documents of some data sets, and pass those of the others."""

import json

import pytest

from bert_data.curation.running import stages
from bert_data.curation.running.passes import run_pass
from bert_data.curation.running.pipeline import Pipeline
from bert_data.curation.running.run import run_pipeline
from bert_data.curation.steps.exact_duplicates import ExactDuplicates
from bert_data.curation.steps.gopher import Length
from bert_data.curation.steps.mix import Mix
from bert_data.curation.steps.near_duplicates import NearDuplicates
from bert_data.curation.steps.repair import Repair
from tests.curation.corpora import pipeline_of, write_texts


def make_pipeline(folder, steps) -> Pipeline:
    for name in ("wiki", "web"):
        texts = (f"{name} {text}" for text in ("one", "one two three", "a b c d e f g"))
        write_texts(folder, texts, name)
    return pipeline_of(folder, steps, names=("wiki", "web"))


def rows_of(folder) -> list[dict]:
    return [json.loads(line) for line in (folder / "o.jsonl").read_text().splitlines()]


def test_other_data_sets_pass(tmp_path):
    steps = [
        Length(min_words=3, data_sets=("web",)),
        Repair(),
        Length(min_words=0, max_words=5, data_sets=("wiki",)),
    ]
    done = run_pipeline(make_pipeline(tmp_path, steps), num_workers=1)
    texts = [row["text"] for row in rows_of(tmp_path)]
    assert texts == ["wiki one", "wiki one two three", "web one two three", "web a b c d e f g"]
    rejected = {counts.label: sum(counts.rejected.values()) for counts in done.counts[1:]}
    assert rejected == {"length": 1, "repair": 0, "length#2": 1}


def test_steps_that_see_all_documents(tmp_path):
    texts = {"wiki": ["a b c"] * 2, "web": ["a b c", "d e f", "d e f"], "books": ["d e f"] * 3}
    for name, own in texts.items():
        write_texts(tmp_path, own, name)
    steps = [
        ExactDuplicates(data_sets=("web",)),
        ExactDuplicates(data_sets=("books", "web"), priority=("books",)),
        NearDuplicates(data_sets=("wiki",)),
        Mix(data_sets=("books",), epochs={"books": 2}),
    ]
    done = run_pipeline(pipeline_of(tmp_path, steps, names=[*texts]), num_workers=1)
    rows = [(row["source"], row["text"]) for row in rows_of(tmp_path)]
    assert rows == [("wiki", "a b c"), ("web", "a b c"), ("books", "d e f"), ("books", "d e f")]
    assert [counts.num_rejected for counts in done.counts] == [0, 1, 3, 1, 0]
    by_name = {name: [each.num_documents for each in c] for name, c in done.by_data_set.items()}
    assert by_name == {"wiki": [2, 2, 2, 1, 1], "web": [3, 2, 1, 1, 1], "books": [3, 3, 1, 1, 2]}


@pytest.mark.parametrize(
    ("step", "sentence"),
    [
        (lambda: Length(data_sets=("wab",)), "step length: data_sets has 'wab'; the data sets are"),
        (lambda: NearDuplicates(data_sets=("wab",)), "near_duplicates: data_sets has 'wab'; the"),
        (
            lambda: ExactDuplicates(data_sets=("web",), priority=("wiki",)),
            "exact_duplicates: priority names 'wiki'; the data sets are web",
        ),
        (
            lambda: Mix(data_sets=("web",), weights={"wiki": 1, "web": 1}),
            "mix: weights names 'wiki'; the data sets are web",
        ),
    ],
)
def test_what_a_step_does_not_see_has_no_priority(tmp_path, step, sentence):
    with pytest.raises(ValueError, match=sentence):
        make_pipeline(tmp_path, [step()])


def test_a_pass_reads_the_data_sets_that_its_steps_judge(tmp_path, monkeypatch):
    passed = []

    def noted(config, shard, folder):
        passed.append((config.number, config.pipeline.data_sets[shard.data_set].name))
        return run_pass(config, shard, folder)

    monkeypatch.setattr(stages, "run_pass", noted)
    steps = [
        ExactDuplicates(data_sets=("web",)),
        Length(min_words=3, data_sets=("web",)),
        NearDuplicates(data_sets=("web",)),
        ExactDuplicates(data_sets=("wiki",)),
    ]
    done = run_pipeline(make_pipeline(tmp_path, steps), num_workers=1)
    assert passed == [
        *((0, "wiki"), (0, "web")),  # read; exact_duplicates observes
        (1, "web"),  # it judges, length; near_duplicates observes
        *((2, "wiki"), (2, "web")),  # near_duplicates judges; exact_duplicates observes
        *((3, "wiki"), (3, "web")),  # the last pass sees all
    ]
    assert [each.num_documents for each in done.by_data_set["wiki"]] == [3] * 5
    assert [each.num_documents for each in done.by_data_set["web"]] == [3, 3, 2, 2, 2]
