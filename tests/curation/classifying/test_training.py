"""Models are those that fastText trains; the same bytes for any workers; mistakes are told."""

import json
import lzma

import numpy as np
import pytest

from bert_data.curation.classifying import descent as descending
from bert_data.curation.classifying.classifier_config import ClassFiles, ClassifierConfig
from bert_data.curation.classifying.descent import TENTHS, Descent, write_rows
from bert_data.curation.classifying.fasttext_model import (
    ModelFile,
    dictionary_arrays,
    read_arrays,
    wrap_words,
)
from bert_data.curation.classifying.label_probability import open_classifier, write_arrays
from bert_data.curation.classifying.training import train_classifier
from bert_data.curation.classifying.training_texts import SpooledTexts, WordTable
from bert_data.errors import CorruptDataError
from bert_data.text.documents import TextConfig
from bert_data.work import open_threads
from tests.goldens.fasttext_program import COMMON, MODELS, training_lines

COVERS = (
    "curation/classifying/classifier_config",
    "curation/classifying/descent",
)
SMALL = {"dimension": 8, "buckets": 500, "learning_rate": 0.5, "epochs": 20, "num_workers": 1}


@pytest.mark.parametrize("loss", MODELS)
def test_models_are_those_of_fasttext(checkout, tmp_path, monkeypatch, loss):
    monkeypatch.setattr(descending, "RUN_BYTES", 150)
    content = lzma.decompress((checkout / f"tests/goldens/fasttext/{loss}.bin.xz").read_bytes())
    path = tmp_path / "golden.bin"
    path.write_bytes(content)
    golden = read_arrays(str(path))
    labels, texts = zip(*(line.split(" ", 1) for line in training_lines()), strict=True)
    wrapped = [np.frombuffer(wrap_words(text)[0], np.uint8) for text in texts]
    table = WordTable()
    num_tokens = np.array([table.count(text) + 1 for text in wrapped])
    words = table.most_frequent(MODELS[loss].get("minCount", 1))
    names = words.names.tobytes() + b"__label__hq__label__cc"
    assert names == golden.names.tobytes()
    ends = np.append(words.ends, words.ends[-1] + [11, 22]).astype(np.int32)
    spooled = SpooledTexts(
        labels=("hq", "cc"),
        data=np.concatenate(wrapped),
        ends=np.cumsum([0, *map(len, wrapped)]),
        targets=np.array([label == "__label__cc" for label in labels], np.int32),
        num_skipped=0,
    )
    (_, header), num_words = ModelFile(str(path)).read_header(), golden.settings.num_words
    arrays = dictionary_arrays(header, num_words, np.frombuffer(names, np.uint8), ends)
    assert arrays.settings == golden.settings
    with open_threads(2) as executor:
        rows = write_rows(
            spooled, np.arange(60), num_tokens, arrays, str(tmp_path / "rows"), executor
        )
        shape = len(golden.vectors), 2, COMMON["dim"]
        descent = Descent(*shape, golden.settings.loss, COMMON["seed"], executor)
    assert np.abs(descent.vectors).max() == pytest.approx(0.2, abs=1e-3)
    values = descent.vectors.reshape(-1)
    assert np.count_nonzero(values) > 0.99 * len(values)
    values[len(values) // TENTHS :] = 0  # as fastText with one thread
    descent.train(rows, epochs=COMMON["epoch"], learning_rate=COMMON["lr"])
    np.testing.assert_allclose(descent.vectors, golden.vectors, rtol=1e-3, atol=1e-4)
    np.testing.assert_allclose(descent.outputs, golden.outputs, rtol=1e-3, atol=1e-4)
    assert np.abs(golden.outputs).max() > 0.5


def write_rows_of(path, rows):
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    return str(path)


@pytest.fixture
def classes(tmp_path):
    """Texts that are easily told apart, more of them in the second class."""
    good = [{"text": f"a fine and careful sentence number {n}"} for n in range(40)]
    bad = [{"text": f"buy buy now {n} cheap!!"} for n in range(60)]
    return (
        ClassFiles("hq", (write_rows_of(tmp_path / "good.jsonl", good),)),
        ClassFiles("cc", (write_rows_of(tmp_path / "bad.jsonl", [*bad, {"text": " "}]),)),
    )


@pytest.mark.parametrize("loss", ["softmax", "ova"])
def test_a_model_is_written_and_tells_the_classes_apart(classes, tmp_path, loss):
    path = str(tmp_path / "model.bin")
    config = ClassifierConfig(classes=classes, loss=loss, min_count=2, **SMALL)
    trained = train_classifier(config, path, overwrite=False)
    assert (trained.labels, trained.num_texts) == (("cc", "hq"), (60, 40))
    assert [(each.label, each.num_texts, each.f1) for each in trained.qualities] == [
        ("cc", 6, 1),
        ("hq", 4, 1),
    ]
    assert trained.has_learned and trained.loss < 0.1
    assert all(cut.kept_of_first == 1 for cut in trained.cuts)
    assert "\nhq             4      1.000   1.000  1.000\n" in str(trained)
    file = ModelFile(path)
    dim, header = file.read_header()
    expected = (8, 2, {"softmax": 3, "ova": 4}[loss], 500)
    assert (dim, header.word_ngrams, header.loss, header.num_buckets) == expected
    assert len(file.read_dictionary(header)[0].counts) == 2
    arrays = read_arrays(path)
    assert arrays.labels() == ["cc", "hq"]
    assert arrays.counts.tolist() == [54, 36]
    write_arrays(tmp_path, arrays)
    classifier = open_classifier(tmp_path, "hq")
    assert classifier.score("a careful sentence") > 0.9 > 0.1 > classifier.score("buy now")
    assert sorted(p.name for p in tmp_path.iterdir() if p.name.startswith(".")) == []


def test_fasttext_reads_the_model_and_gives_the_same_scores(classes, tmp_path):
    pybind = pytest.importorskip("fasttext_pybind")
    path = str(tmp_path / "model.bin")
    config = ClassifierConfig(classes=classes, min_characters=2, max_characters=4, **SMALL)
    train_classifier(config, path, overwrite=False)
    reference = pybind.fasttext()
    reference.loadModel(path)
    write_arrays(tmp_path, read_arrays(path))
    classifier = open_classifier(tmp_path, "hq")
    for text in ("a careful sentence", "buy now", "unseen wörds 水"):
        scores = {label: p for p, label in reference.predict(f"{text}\n", -1, 0.0, "strict")}
        assert classifier.score(text) == pytest.approx(scores["__label__hq"], abs=1e-6)


def test_bytes_depend_on_the_seed_but_not_on_workers(classes, tmp_path):
    models = []
    for number, changes in enumerate([{}, {"num_workers": 3}, {"seed": 1}, {"epochs": 3}]):
        path = tmp_path / f"{number}.bin"
        config = ClassifierConfig(classes=classes, **{**SMALL, **changes})
        train_classifier(config, str(path), overwrite=False)
        models.append(path.read_bytes())
    assert models[0] == models[1]
    assert len({*models}) == 3


def test_labels_of_rows(tmp_path):
    rows = [{"body": f"alpha {n % 3}", "topic": 1} for n in range(20)]
    rows += [{"body": f"beta {n % 3}", "topic": "two"} for n in range(30)]
    rows += [{"body": f"gamma {n % 3}", "topic": True} for n in range(25)]
    config = ClassifierConfig(
        classes=(ClassFiles("", (write_rows_of(tmp_path / "a.jsonl", rows),)),),
        label_field="topic",
        text=TextConfig(text_field="body"),
        held_out=0.2,
        **SMALL,
    )
    trained = train_classifier(config, str(tmp_path / "m.bin"), overwrite=False)
    assert trained.labels == ("two", "true", "1")
    assert [(each.num_texts, each.recall) for each in trained.qualities] == [(6, 1), (5, 1), (4, 1)]
    assert trained.cuts == ()


@pytest.mark.parametrize(
    ("label", "sentence"),
    [
        ("not good", r"a.jsonl:2: the label is \"not good\"; it must be a word or a whole number"),
        (None, r"a.jsonl:2: the label is null; it must be a word or a whole number"),
        (1.5, r"a.jsonl:2: the label is 1.5; it must be a word"),
        ("", r"a.jsonl:2: the label is \"\"; it must be a word"),
        ("x", "the only label is 'x'; two or more must occur in the texts"),
    ],
)
def test_wrong_labels_are_refused(tmp_path, label, sentence):
    rows = [{"text": "one", "label": "x"}, {"text": "two", "label": label}]
    files = ClassFiles("", (write_rows_of(tmp_path / "a.jsonl", rows),))
    config = ClassifierConfig(classes=(files,), label_field="label", **SMALL)
    with pytest.raises(ValueError, match=sentence):
        train_classifier(config, str(tmp_path / "m.bin"), overwrite=False)
    assert [path.name for path in tmp_path.iterdir()] == ["a.jsonl"]
    config = ClassifierConfig(classes=(files,), label_field="kind", **SMALL)
    with pytest.raises(
        ValueError, match="1: no field 'kind' for the label; its fields are 'label'"
    ):
        train_classifier(config, str(tmp_path / "m.bin"), overwrite=False)


def test_mistakes_are_told_and_leave_nothing(classes, tmp_path):
    model = str(tmp_path / "m.bin")
    empty = write_rows_of(tmp_path / "empty.jsonl", [{"text": " \n"}])
    names = {path.name for path in tmp_path.iterdir()}

    def refuse(sentence, error=ValueError, path=model, overwrite=False, **changes):
        with pytest.raises(error, match=sentence):
            config = ClassifierConfig(**{"classes": classes, **SMALL, **changes})
            train_classifier(config, path, overwrite=overwrite)
        assert {path.name for path in tmp_path.iterdir()} == names

    refuse(
        "empty.jsonl: no text with a word; the texts of 'cc' must be there",
        classes=(classes[0], ClassFiles("cc", (empty,))),
    )
    refuse("min_count is 1,000, and no word of the 90 texts", min_count=1000)
    refuse("learning_rate is 100, and the training diverged", learning_rate=100, loss="ova")
    refuse(
        "buckets is 100,000,000 and dimension 4,096: with 67 words, the model has 1.6 TB",
        buckets=100_000_000,
        dimension=4096,
    )
    same = (classes[0], ClassFiles("cc", classes[0].files))
    refuse("good.jsonl is among the texts of both 'hq' and 'cc'", classes=same)
    refuse("a label is 'hq'; labels must differ", classes=(classes[0], classes[0]))
    refuse("is an input too", path=classes[0].files[0], overwrite=True)
    broken = tmp_path / "broken.jsonl"
    broken.write_text('{"text": "a"}\n{"text": 1}\n')
    names.add(broken.name)
    of_broken = (classes[0], ClassFiles("cc", (str(broken),)))
    refuse("broken.jsonl:2: 'text' is a number", classes=of_broken)
    (tmp_path / "broken.jsonl.gz").write_bytes(b"\x1f\x8b\x08\x00junk")
    names.add("broken.jsonl.gz")
    damaged = (classes[0], ClassFiles("cc", (f"{broken}.gz",)))
    refuse("broken.jsonl.gz", error=CorruptDataError, classes=damaged)


@pytest.mark.parametrize(
    ("parameters", "sentence"),
    [
        ({"min_characters": 3}, "min_characters is 3 and max_characters 0; both are 0, or neither"),
        ({"label_field": "x"}, "label_field is 'x', but the files of each label are named"),
        ({"min_characters": 3, "max_characters": 2}, "it must be at most max_characters, 2"),
        ({"classes": (ClassFiles("a b", ("x",)),)}, "a label is 'a b'; labels must differ, one wo"),
    ],
)
def test_wrong_configurations_are_refused(parameters, sentence):
    classes = (ClassFiles("a", ("x",)), ClassFiles("b", ("y",)))
    with pytest.raises(ValueError, match=sentence):
        ClassifierConfig(**{"classes": classes, **parameters})


def test_nothing_is_held_out_of_few_texts(classes, tmp_path):
    path = str(tmp_path / "m.bin")
    config = ClassifierConfig(classes=classes, held_out=0, word_ngrams=1, **SMALL)
    trained = train_classifier(config, path, overwrite=False)
    assert trained.qualities == trained.cuts == ()
    assert ModelFile(path).read_header()[1].num_buckets == 0
    config = ClassifierConfig(classes=classes, held_out=0.02, **SMALL)
    trained = train_classifier(config, path, overwrite=True)
    assert [(each.num_texts, each.recall) for each in trained.qualities] == [(1, 1), (0, None)]
    assert trained.cuts == ()
