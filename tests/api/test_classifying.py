"""A classifier from Python is the command's, byte for byte; mistakes name options."""

import json

import pytest

import bert_data
from bert_data.curation.classifying.config import ClassFiles, ClassifierConfig
from bert_data.curation.classifying.training import train_classifier

GOOD = [f"We measure {n} samples with care." for n in range(30)]
BAD = [["buy now!", f"only {n} pills"] for n in range(40)]
SMALL = {"buckets": 300, "dimension": 8, "epochs": 20, "learning_rate": 0.5}


def test_documents_and_files_give_the_same_model(tmp_path):
    classes = []
    for label, texts in (("hq", GOOD), ("cc", BAD)):
        path = tmp_path / f"{label}.jsonl"
        path.write_text("".join(json.dumps({"text": text}) + "\n" for text in texts))
        classes.append(ClassFiles(label, (str(path),)))
    config = ClassifierConfig(classes=tuple(classes), **SMALL)
    train_classifier(config, str(tmp_path / "a.bin"), overwrite=False)
    trained = bert_data.train_classifier(
        {"hq": iter(GOOD), "cc": tmp_path / "cc.jsonl"}, tmp_path / "b.bin", **SMALL
    )
    assert trained.num_texts == (40, 30)
    assert [each.f1 for each in trained.qualities] == [1, 1]
    assert (tmp_path / "a.bin").read_bytes() == (tmp_path / "b.bin").read_bytes()
    names = {path.name for path in tmp_path.iterdir()}
    assert names == {"hq.jsonl", "cc.jsonl", "a.bin", "b.bin"}


@pytest.mark.parametrize(
    ("documents", "options", "error", "sentence"),
    [
        ({"hq": GOOD}, {}, ValueError, "documents must name two or more labels"),
        (GOOD, {}, ValueError, "documents must name two or more labels"),
        ({"hq": GOOD, "cc": []}, {}, ValueError, "documents is empty"),
        ({"hq": GOOD, "cc": BAD}, {"epoch": 3}, TypeError, "epochs"),
        ({"hq": GOOD, "cc": BAD}, {"epochs": 0}, ValueError, "epochs is 0; 1 to 10,000 is"),
    ],
)
def test_mistakes_are_told(tmp_path, documents, options, error, sentence):
    with pytest.raises(error, match=sentence):
        bert_data.train_classifier(documents, tmp_path / "m.bin", **options)
    assert list(tmp_path.iterdir()) == []
