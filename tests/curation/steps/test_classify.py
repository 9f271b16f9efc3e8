"""Documents by the scores of a classifier: thresholds, buckets, fields, and mistakes."""

import pickle
from pathlib import Path

import pytest

from bert_data.curation.document import Document, Measured
from bert_data.curation.step import make_step
from bert_data.errors import CorruptDataError
from tests.curation.classifying.fasttext_models import Model

MODEL = Model(word_ngrams=2, seed=3)


def score_of(text):
    return MODEL.scores(text)["__label__hq"]


TEXTS = ["the cat", "sat", "cat cat cat", "水", "the the sat", "naïve cat"]


@pytest.fixture
def model_file(tmp_path):
    path = tmp_path / "model.bin"
    path.write_bytes(MODEL.to_bytes())
    return str(path)


def judge(folder, texts, step="classifier", **parameters):
    """The verdicts on texts; the step is pickled on the way, as to workers."""
    step = make_step(step, parameters)
    (folder / "prepared").mkdir(exist_ok=True)
    for path in (folder / "prepared").iterdir():
        path.unlink()
    step.prepare(folder / "prepared")
    open_step = pickle.loads(pickle.dumps(step)).open
    judge_one = open_step(folder / "prepared")
    return [judge_one(Document(f"a/{at}", "a", text, {"n": at})) for at, text in enumerate(texts)]


def test_thresholds_and_buckets(model_file, tmp_path):
    scores = [score_of(text) for text in TEXTS]
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


UNITS = ["The cat sat.", "sat cat cat.", "the the cat sat.", "naïve cat 水.", "It sat on the."]
SCORES = [score_of(unit) for unit in UNITS]
MIDDLE = round(sorted(SCORES)[2] - 1e-4, 6)


def judge_sentences(folder, text, **parameters):
    (verdict,) = judge(folder, [text], step="sentence_classifier", **{"label": "hq", **parameters})
    return verdict


@pytest.mark.parametrize(
    ("unit", "glue"), [("sentence", " "), ("line", "\n"), ("line", "\n\n"), ("paragraph", "\n\n")]
)
@pytest.mark.parametrize("threshold", ["min_score", "max_score"])
def test_units_beyond_a_threshold_are_removed(model_file, tmp_path, unit, glue, threshold):
    parameters = {"model_file": model_file, "unit": unit, threshold: MIDDLE}
    verdict = judge_sentences(tmp_path, glue.join(UNITS), **parameters)
    above = [unit for unit, score in zip(UNITS, SCORES, strict=True) if score > MIDDLE]
    left = above if threshold == "min_score" else [unit for unit in UNITS if unit not in above]
    assert 0 < len(left) < 5
    assert verdict.document.text == glue.join(left)
    assert verdict.document.fields == {"n": 0}
    assert verdict.edits == {f"{unit}s": 5 - len(left)}
    assert verdict.measured == (Measured("min_kept", 1 - (5 - len(left)) / 5, 0.0),)


@pytest.mark.parametrize(("min_kept", "kept"), [(0.6, True), (0.61, False)])
@pytest.mark.parametrize("removes", [True, False])
def test_a_document_with_too_many_bad_ones_is_rejected(
    model_file, tmp_path, min_kept, kept, removes
):
    parameters = {"model_file": model_file, "min_score": MIDDLE, "removes": removes}
    verdict = judge_sentences(tmp_path, " ".join(UNITS), min_kept=min_kept, **parameters)
    assert verdict.kept == kept
    assert verdict.measured == (Measured("min_kept", 0.6, min_kept, failed=not kept),)
    assert (verdict.document.text != " ".join(UNITS)) == (kept and removes)


@pytest.mark.parametrize("text", ["", "\n \n", "\ud800\0", "!"])
def test_texts_with_nothing_to_score(model_file, tmp_path, text):
    verdict = judge_sentences(tmp_path, text, model_file=model_file, max_score=0.999)
    assert verdict.document.text == text and verdict.kept
