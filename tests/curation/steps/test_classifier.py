"""Documents by the scores of a classifier: thresholds, buckets, fields, and mistakes."""

import json
import pickle
from pathlib import Path

import pytest

from bert_data.curation.document import Document
from bert_data.curation.running.pipeline import DataSet, Output, Pipeline, label_steps
from bert_data.curation.running.run import curate
from bert_data.curation.step import make_step
from bert_data.errors import CorruptDataError
from tests.curation.classifying.fasttext_models import Model

MODEL = Model(word_ngrams=2, seed=3)
TEXTS = ["the cat", "sat", "cat cat cat", "水", "the the sat", "naïve cat"]


@pytest.fixture
def model_file(tmp_path):
    path = tmp_path / "model.bin"
    path.write_bytes(MODEL.to_bytes())
    return str(path)


def judge(folder, texts, **parameters):
    """The verdicts on texts; the step is pickled on the way, as to workers."""
    step = make_step("classifier", parameters)
    (folder / "prepared").mkdir(exist_ok=True)
    for path in (folder / "prepared").iterdir():
        path.unlink()
    step.prepare(folder / "prepared")
    open_step = pickle.loads(pickle.dumps(step)).open
    judge_one = open_step(folder / "prepared")
    return [judge_one(Document(f"a/{at}", "a", text, {"n": at})) for at, text in enumerate(texts)]


def test_thresholds_and_buckets(model_file, tmp_path):
    scores = [MODEL.score(text, 0) for text in TEXTS]
    low, middle, high = (round(sorted(scores)[at] - 1e-3, 6) for at in (1, 3, 5))
    verdicts = judge(
        tmp_path,
        TEXTS,
        model_file=model_file,
        label="hq",
        min_score=low,
        max_score=high,
        head_score=high,
        middle_score=middle,
    )
    for verdict, score in zip(verdicts, scores, strict=True):
        fields = verdict.document.fields
        assert fields["classifier_score"] == pytest.approx(score, abs=2e-5)
        bucket = "head" if score >= high else "middle" if score >= middle else "tail"
        assert fields["classifier_bucket"] == bucket
        assert verdict.counted == {bucket: 1}
        assert verdict.kept == (low <= score <= high)
        assert [each.rule for each in verdict.measured] == ["min_score", "max_score"]
    assert sum(verdict.kept for verdict in verdicts) == 4
    assert {v.document.fields["classifier_bucket"] for v in verdicts} == {"head", "middle", "tail"}


def test_fields_have_names_and_everything_stays(model_file, tmp_path):
    parameters = {"model_file": model_file, "label": "__label__cc", "score_field": "web"}
    verdicts = judge(tmp_path, [*TEXTS, "", "\ud800\0"], **parameters)
    assert all(verdict.kept for verdict in verdicts)
    assert all(verdict.document.fields.keys() == {"n", "web"} for verdict in verdicts)


def test_wrong_models_are_refused(model_file, tmp_path):
    with pytest.raises(ValueError, match="label is 'good'; the labels of the model are hq, cc, x"):
        judge(tmp_path, [], model_file=model_file, label="good")
    with pytest.raises(OSError, match="nothing"):
        judge(tmp_path, [], model_file=f"{tmp_path}/nothing", label="hq")
    Path(model_file).write_bytes(MODEL.to_bytes()[:-1])
    with pytest.raises(CorruptDataError, match="the model ends too early"):
        judge(tmp_path, [], model_file=model_file, label="hq")


def test_a_whole_run(model_file, tmp_path):
    rows = [{"text": text} for text in TEXTS]
    (tmp_path / "a.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    threshold = round(sorted(MODEL.score(text, 0) for text in TEXTS)[2] - 1e-3, 6)
    parameters = {"model_file": model_file, "label": "hq", "min_score": threshold}
    pipeline = Pipeline(
        data_sets=(DataSet(name="a", files=f"{tmp_path}/a.jsonl"),),
        steps=label_steps([make_step("classifier", parameters)]),
        output=Output(files=f"{tmp_path}/o.jsonl"),
    )
    curate(pipeline, num_workers=1)
    kept = [json.loads(line) for line in (tmp_path / "o.jsonl").read_text().splitlines()]
    assert [row["text"] for row in kept] == [
        text for text in TEXTS if MODEL.score(text, 0) >= threshold
    ]
    assert all(row["classifier_score"] >= threshold for row in kept)
