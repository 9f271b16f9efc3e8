"""Sentences and lines by the scores of a classifier: removed, or counted against a share."""

import pickle

import pytest

from bert_data.curation.document import Document
from bert_data.curation.step import make_step
from bert_data.curation.verdict import Measured
from tests.curation.classifying.fasttext_models import Model

MODEL = Model(word_ngrams=2, seed=3)
UNITS = ["The cat sat.", "sat cat cat.", "the the cat sat.", "naïve cat 水.", "It sat on the."]
SCORES = [MODEL.score(unit, 0) for unit in UNITS]
MIDDLE = round(sorted(SCORES)[2] - 1e-4, 6)


@pytest.fixture
def model_file(tmp_path):
    path = tmp_path / "model.bin"
    path.write_bytes(MODEL.to_bytes())
    return str(path)


def judge(folder, text, **parameters):
    """The verdict on a text; the step is pickled on the way, as to workers."""
    step = make_step("sentence_classifier", {"label": "hq", **parameters})
    (folder / "prepared").mkdir()
    step.prepare(folder / "prepared")
    judge_one = pickle.loads(pickle.dumps(step)).open(folder / "prepared")
    return judge_one(Document("a/1", "a", text, {"n": 1}))


@pytest.mark.parametrize(
    ("unit", "glue"), [("sentence", " "), ("line", "\n"), ("line", "\n\n"), ("paragraph", "\n\n")]
)
@pytest.mark.parametrize("threshold", ["min_score", "max_score"])
def test_units_beyond_a_threshold_are_removed(model_file, tmp_path, unit, glue, threshold):
    parameters = {"model_file": model_file, "unit": unit, threshold: MIDDLE}
    verdict = judge(tmp_path, glue.join(UNITS), **parameters)
    above = [unit for unit, score in zip(UNITS, SCORES, strict=True) if score > MIDDLE]
    left = above if threshold == "min_score" else [unit for unit in UNITS if unit not in above]
    assert 0 < len(left) < 5
    assert verdict.document.text == glue.join(left)
    assert verdict.document.fields == {"n": 1}
    assert verdict.edits == {f"{unit}s": 5 - len(left)}
    assert verdict.measured == (Measured("min_kept", 1 - (5 - len(left)) / 5, 0.0),)


@pytest.mark.parametrize(("min_kept", "kept"), [(0.6, True), (0.61, False)])
@pytest.mark.parametrize("removes", [True, False])
def test_a_document_with_too_many_bad_ones_is_rejected(
    model_file, tmp_path, min_kept, kept, removes
):
    parameters = {"model_file": model_file, "min_score": MIDDLE, "removes": removes}
    verdict = judge(tmp_path, " ".join(UNITS), min_kept=min_kept, **parameters)
    assert verdict.kept == kept
    assert verdict.measured == (Measured("min_kept", 0.6, min_kept, failed=not kept),)
    assert (verdict.document.text != " ".join(UNITS)) == (kept and removes)


@pytest.mark.parametrize("text", ["", "\n \n", "\ud800\0", "!"])
def test_texts_with_nothing_to_score(model_file, tmp_path, text):
    verdict = judge(tmp_path, text, model_file=model_file, max_score=0.999)
    assert verdict.document.text == text and verdict.kept


def test_wrong_labels_are_refused(model_file, tmp_path):
    with pytest.raises(ValueError, match="label is 'toxic'; the labels of the model are hq, cc, x"):
        judge(tmp_path, "", model_file=model_file, label="toxic")
