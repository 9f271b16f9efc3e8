"""Warnings at the end of a run."""

from collections import Counter

import pytest

from bert_data.curation.running.counts import StepCounts
from bert_data.curation.running.data_sets import DataSet
from bert_data.curation.running.pipeline import Output, Pipeline, label_steps
from bert_data.curation.running.problems import describe_problems
from bert_data.curation.step import make_step


def problems(step, passed, num_bytes=None, rejected_file=None, **changes):
    pipeline = Pipeline(
        data_sets=(DataSet(name="a", files="a"),),
        steps=label_steps([make_step(step, {"epochs": ["a:1"]} if step == "mix" else {})]),
        output=Output(files="o", rejected_file=rejected_file),
        **changes,
    )
    read = StepCounts(label="read", num_documents=100_000, num_bytes=1_000_000)
    after = StepCounts(
        label=step,
        num_documents=passed,
        num_bytes=10 * passed if num_bytes is None else num_bytes,
        num_rejected=100_000 - passed,
        rejected=Counter(empty_text=100_000 - passed),
        edits=Counter(pages=1),
    )
    return list(describe_problems(pipeline, [read, after]))


def test_a_step_that_takes_nearly_everything_is_named():
    (warning,) = problems("line_duplicates", 7)
    assert warning == (
        "step line_duplicates rejected 99,993 of the 100,000 documents that reached it"
        " (empty_text 99,993); --rejected_file writes them to a file"
    )
    (warning,) = problems("line_duplicates", 7, rejected_file="r.jsonl")
    assert warning.endswith("; they are in r.jsonl")
    (warning,) = problems("line_duplicates", 100_000, 70_000)
    assert warning == (
        "step line_duplicates removed 930,000 of the 1,000,000 bytes of text that reached it"
    )


@pytest.mark.parametrize("step", ["extract", "mix"])
def test_a_step_that_is_meant_to_shorten_may(step):
    assert problems(step, 7) == []


def test_the_share_is_a_parameter():
    assert problems("line_duplicates", 50_000) == []
    assert len(problems("line_duplicates", 50_000, warn_share=0.4)) == 1
    assert problems("line_duplicates", 7, warn_share=1) == []
    with pytest.raises(ValueError, match="warn_share is nan; it must be a number in"):
        problems("line_duplicates", 7, warn_share=float("nan"))


def test_a_pipeline_without_steps_is_a_copy():
    pipeline = Pipeline(
        data_sets=(DataSet(name="a", files="a"),), steps=(), output=Output(files="")
    )
    (warning,) = describe_problems(pipeline, [StepCounts(label="read")])
    assert warning == "the pipeline has no steps: all documents are copied"
