"""Models are those that fastText trains, the same bytes in every run; mistakes are told."""

import sys
import types

import pytest

from bert_data.curation.classifying.classifier_config import ClassFiles, ClassifierConfig
from bert_data.curation.classifying.fasttext_model import read_arrays
from bert_data.curation.classifying.label_probability import open_classifier, write_arrays
from bert_data.curation.classifying.training import train_and_measure
from bert_data.errors import CorruptDataError
from bert_data.text.text_config import TextConfig
from tests.curation.corpora import write_rows
from tests.full_disk import full_disk

COVERS = ("curation/classifying/classifier_config", "curation/classifying/fasttext_program")
SMALL = {"dimension": 8, "buckets": 500, "learning_rate": 0.5, "epochs": 20}
pytestmark = pytest.mark.process


@pytest.fixture
def classes(tmp_path):
    """Texts that are easily told apart, more of them in the second class."""
    good = [{"text": f"a fine and careful sentence number {n}"} for n in range(40)]
    bad = [{"text": f"buy buy now {n} cheap!!"} for n in range(60)]
    return (
        ClassFiles("hq", (str(write_rows(tmp_path / "good.jsonl", good)),)),
        ClassFiles("cc", (str(write_rows(tmp_path / "bad.jsonl", [*bad, {"text": " "}])),)),
    )


@pytest.mark.parametrize("loss", ["softmax", "ova"])
def test_a_model_is_written_and_tells_the_classes_apart(classes, tmp_path, loss):
    path = str(tmp_path / "model.bin")
    config = ClassifierConfig(classes=classes, loss=loss, min_count=2, **SMALL)
    trained = train_and_measure(config, path, overwrite=False)
    assert (trained.labels, trained.num_texts) == (("cc", "hq"), (60, 40))
    assert [(each.label, each.num_texts, each.f1) for each in trained.qualities] == [
        ("cc", 6, 1),
        ("hq", 4, 1),
    ]
    assert trained.has_learned and trained.loss < 0.1
    assert all(cut.kept_of_first == 1 for cut in trained.cuts)
    assert "\nhq             4      1.000   1.000  1.000\n" in str(trained)
    arrays = read_arrays(path)
    settings = arrays.settings
    expected = (2, {"softmax": 3, "ova": 4}[loss], 500)
    assert (settings.word_ngrams, settings.loss, settings.num_buckets) == expected
    assert arrays.vectors.shape == (trained.num_words + 500, 8)
    assert arrays.labels() == ["cc", "hq"]
    assert arrays.counts.tolist() == [54, 36]
    write_arrays(tmp_path, arrays)
    classifier = open_classifier(tmp_path, "hq")
    assert classifier.score("a careful sentence") > 0.9 > 0.1 > classifier.score("buy now")
    assert sorted(p.name for p in tmp_path.iterdir() if p.name.startswith(".")) == []


def test_the_model_is_fasttexts_with_these_settings(tmp_path):
    """Words that mean something to fastText itself are left out of the texts."""
    fasttext = pytest.importorskip("fasttext")
    texts = {"hq": "fine </s> w\u00f6rds __label__cc", "cc": "buy\0now\n\ncheap pills"}
    classes = []
    for label, text in texts.items():
        rows = [{"text": text}] * 20
        classes.append(ClassFiles(label, (str(write_rows(tmp_path / f"{label}.jsonl", rows)),)))
    settings = {"min_characters": 2, "max_characters": 4, "word_ngrams": 3, "seed": 5}
    config = ClassifierConfig(classes=tuple(classes), held_out=0, **settings, **SMALL)
    trained = train_and_measure(config, str(tmp_path / "m.bin"), overwrite=False)
    assert trained.loss is None and trained.has_learned
    model = fasttext.load_model(str(tmp_path / "m.bin"))
    assert {*model.words} == {"fine", "w\u00f6rds", "buy", "now", "cheap", "pills", "</s>"}
    expected = {"dim": 8, "epoch": 20, "bucket": 500, "wordNgrams": 3, "minn": 2, "maxn": 4}
    assert {name: getattr(model.f.getArgs(), name) for name in expected} == expected


def test_the_same_texts_and_settings_give_the_same_bytes(classes, tmp_path):
    models = []
    for number, changes in enumerate([{}, {}, {"seed": 1}, {"epochs": 3}]):
        path = tmp_path / f"{number}.bin"
        config = ClassifierConfig(classes=classes, **{**SMALL, **changes})
        train_and_measure(config, str(path), overwrite=False)
        models.append(path.read_bytes())
    assert models[0] == models[1]
    assert len({*models}) == 3


def test_labels_of_rows(tmp_path):
    rows = [{"body": f"alpha {n % 3}", "topic": 1} for n in range(20)]
    rows += [{"body": f"beta {n % 3}", "topic": "two"} for n in range(30)]
    rows += [{"body": f"gamma {n % 3}", "topic": True} for n in range(25)]
    config = ClassifierConfig(
        classes=(ClassFiles("", (str(write_rows(tmp_path / "a.jsonl", rows)),)),),
        label_field="topic",
        text=TextConfig(text_field="body"),
        held_out=0.2,
        **SMALL,
    )
    trained = train_and_measure(config, str(tmp_path / "m.bin"), overwrite=False)
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
    files = ClassFiles("", (str(write_rows(tmp_path / "a.jsonl", rows)),))
    config = ClassifierConfig(classes=(files,), label_field="label", **SMALL)
    with pytest.raises(ValueError, match=sentence):
        train_and_measure(config, str(tmp_path / "m.bin"), overwrite=False)
    assert [path.name for path in tmp_path.iterdir()] == ["a.jsonl"]
    config = ClassifierConfig(classes=(files,), label_field="kind", **SMALL)
    with pytest.raises(
        ValueError, match="1: no field 'kind' for the label; its fields are 'label'"
    ):
        train_and_measure(config, str(tmp_path / "m.bin"), overwrite=False)


def test_mistakes_are_told_and_leave_nothing(classes, tmp_path):
    model = str(tmp_path / "m.bin")
    empty = str(write_rows(tmp_path / "empty.jsonl", [{"text": " \n"}]))
    names = {path.name for path in tmp_path.iterdir()}

    def refuse(sentence, error=ValueError, path=model, overwrite=False, **changes):
        with pytest.raises(error, match=sentence):
            config = ClassifierConfig(**{"classes": classes, **SMALL, **changes})
            train_and_measure(config, path, overwrite=overwrite)
        assert {path.name for path in tmp_path.iterdir()} == names

    refuse(
        "empty.jsonl: no text has a word; texts of 'cc' are needed",
        classes=(classes[0], ClassFiles("cc", (empty,))),
    )
    refuse("min_count is 1,000, and no word of the 90 texts", min_count=1000)
    refuse("learning_rate is 100, and the training diverged", learning_rate=100, loss="ova")
    refuse(
        "buckets is 100,000,000 and dimension 4,096: the model has 1.6 TB",
        buckets=100_000_000,
        dimension=4096,
    )
    same = (classes[0], ClassFiles("cc", classes[0].files))
    refuse("good.jsonl is among the texts of both 'hq' and 'cc'", classes=same)
    refuse("label 'hq' must be one word, and differ", classes=(classes[0], classes[0]))
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
    with full_disk(15_000):
        refuse(r"has not written the whole model: .*/m.bin'$", error=OSError)


def test_the_library_must_be_there(classes, tmp_path, monkeypatch):
    config = ClassifierConfig(classes=classes, **SMALL)
    for module, sentence in [
        (None, r"needs the package fasttext, .* install it with pip install '\.\[classifier\]'"),
        (types.ModuleType("fasttext"), r"the package fasttext-predict, which cannot train"),
    ]:
        monkeypatch.setitem(sys.modules, "fasttext", module)
        with pytest.raises(ValueError, match=sentence):
            train_and_measure(config, str(tmp_path / "m.bin"), overwrite=False)


@pytest.mark.parametrize(
    ("parameters", "sentence"),
    [
        ({"max_characters": 3}, "min_characters is 0 and max_characters 3; both are 0, or neither"),
        ({"label_field": "x"}, "label_field is 'x', but the files of each label are named"),
        ({"min_characters": 3, "max_characters": 2}, "it must be at most max_characters, 2"),
        ({"classes": (ClassFiles("a b", ("x",)),)}, "label 'a b' must be one word, and differ fr"),
    ],
)
def test_wrong_configurations_are_refused(parameters, sentence):
    classes = (ClassFiles("a", ("x",)), ClassFiles("b", ("y",)))
    with pytest.raises(ValueError, match=sentence):
        ClassifierConfig(**{"classes": classes, **parameters})


def test_nothing_is_held_out_of_few_texts(classes, tmp_path):
    path = str(tmp_path / "m.bin")
    config = ClassifierConfig(classes=classes, held_out=0, word_ngrams=1, **SMALL)
    trained = train_and_measure(config, path, overwrite=False)
    assert trained.qualities == trained.cuts == ()
    assert read_arrays(path).settings.num_buckets == 0
    config = ClassifierConfig(classes=classes, held_out=0.02, **SMALL)
    trained = train_and_measure(config, path, overwrite=True)
    assert [(each.num_texts, each.recall) for each in trained.qualities] == [(1, 1), (0, None)]
    assert trained.cuts == ()
