"""Documents kept by their scores, as GPT-3 sampled Common Crawl."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from bert_data.curation.document import Document
from bert_data.curation.step import make_step
from bert_data.curation.steps.mix import Mix
from bert_data.curation.steps.score_sampling import ScoreSampling, greatest_shape
from tests.curation.running.test_run import run, write_rows


def having(score, number=0):
    return Document(id=str(number), source="web", text="x", fields={"classifier_score": score})


@pytest.mark.parametrize("shape", [3, 9])
@pytest.mark.parametrize("score", [0.0, 0.5, 0.9])
def test_as_many_stay_as_of_numpys_pareto(shape, score):
    """The condition as GPT-3's authors wrote it: np.random.pareto(shape) > 1 - score."""
    step, number = ScoreSampling(min_shape=shape), 4000
    kept = sum(step.judge(having(score, n)).kept for n in range(number))
    drawn = np.random.default_rng(7).pareto(shape, 10**6) > 1 - score
    deviation = math.sqrt(number * drawn.mean() * (1 - drawn.mean()))
    assert abs(kept - number * drawn.mean()) < 6 * deviation + 1


@given(st.floats(0, 1), st.floats(0, 1), st.integers(), st.integers(0, 99))
def test_a_higher_score_never_loses_a_document(one, other, seed, number):
    step = ScoreSampling(seed=seed)
    low, high = (step.judge(having(score, number)).kept for score in sorted((one, other)))
    assert high or not low
    assert step.judge(having(1.0, number)).kept


@given(st.floats(0, 1), st.integers(0, 999), st.floats(0, 1000), st.floats(0, 1000))
def test_the_measured_value_tells_what_another_shape_keeps(score, number, shape, other):
    measured = ScoreSampling(min_shape=shape).judge(having(score, number)).measured[0]
    assert (measured.rule, measured.threshold) == ("min_shape", shape)
    kept = ScoreSampling(min_shape=other).judge(having(score, number)).kept
    assert kept == (measured.value >= other)


def test_shapes_are_finite_where_every_one_keeps_a_document():
    assert greatest_shape(1.0, 0.5) == greatest_shape(0.0, 0.0) == 1e6
    assert greatest_shape(0.5, 1.5**-9) == pytest.approx(9)


def test_the_draw_is_not_that_of_the_mix():
    """Else the mix would keep all that the sampling has kept."""
    sampling = [2 ** -ScoreSampling().judge(having(0.0, n)).measured[0].value for n in range(2000)]
    decided = type("", (), {"notes": {"epochs": {"web": 0.5}, "bounds": {}}})
    documents = [having(0.5, n) for n in range(2000)]
    mixed = [v.measured[0].value for v in Mix(epochs={"web": 0.5}).judge_shard(decided, documents)]
    assert abs(np.corrcoef(sampling, mixed)[0, 1]) < 0.15


@pytest.mark.parametrize(
    ("score", "sentence"),
    [
        (1.5, "document '0' of web: field 'classifier_score' is 1.5; it must be in"),
        (-0.1, "field 'classifier_score' is -0.1; it must be in"),
        (math.nan, "field 'classifier_score' is nan; it must be a finite number"),
        ("0.5", "field 'classifier_score' is '0.5'; it must be a finite number"),
        (None, "document '0' of web has no field 'classifier_score'"),
    ],
)
def test_scores_that_are_none_are_told(score, sentence):
    with pytest.raises(ValueError, match=sentence):
        ScoreSampling().judge(having(score))


@pytest.mark.parametrize("score", [None, "good", 7])
def test_a_document_without_a_score_stops_the_run_as_in_a_mix(tmp_path, score):
    """Both say it in the same words, although bad documents are skipped."""
    rows = [{"text": "one", "n": 1}, {"text": "two", "n": 2}]
    write_rows(tmp_path / "web.jsonl", [row | {"s": score} for row in rows])
    sentences = []
    for step in (
        ScoreSampling(score_field="s"),
        Mix(exponent=1, bucket_field="s", bucket_bounds=2),
    ):
        if score == 7 and isinstance(step, Mix):
            continue
        with pytest.raises(ValueError, match=f"^step {step.name}: document ") as raised:
            run(tmp_path, [step])
        sentences.append(str(raised.value).removeprefix(f"step {step.name}: "))
    assert len(set(sentences)) == 1
    assert sentences[0].count(" of web") == sentences[0].count("web.jsonl") == 1, sentences
    if score is None:
        assert sentences[0].endswith("has no field 's'; its fields are n")


def test_mistakes_in_parameters_are_told():
    for parameters, sentence in (
        ({"score_field": ""}, "score_field is ''; it must not be empty"),
        ({"min_shape": -1}, r"min_shape is -1; it must be a number in \[0, 1000\]"),
    ):
        with pytest.raises(ValueError, match=f"step score_sampling: {sentence}"):
            make_step("score_sampling", parameters)
