"""Scores are those of fastText itself; damaged models are refused."""

import dataclasses
import struct
import tempfile
from pathlib import Path

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from bert_data.curation.classifying.fasttext_model import read_arrays
from bert_data.curation.classifying.label_probability import open_classifier, write_arrays
from bert_data.errors import CorruptDataError
from tests.curation.classifying.fasttext_models import LOSSES, Model
from tests.hypotheses import examples
from tests.rows import mostly_slow

COVERS = ("curation/classifying/fasttext_kernels", "curation/classifying/fasttext_model")
WORDS = "the cat sat __label__hq __label__other </s> 水は naïve naïve\u00a0cat x\0y < dog \n \t"
TEXTS = st.lists(st.sampled_from(WORDS.split(" ")), max_size=12).map(" ".join) | st.text(
    st.characters(exclude_categories=["Cs"]), max_size=20
)
MODELS = st.builds(
    Model,
    dim=st.sampled_from([1, 5, 16, 35]),
    loss=st.sampled_from([*LOSSES]),
    word_ngrams=st.integers(0, 3),
    num_buckets=st.sampled_from([1, 50, 997]),
    characters=st.sampled_from([(0, 0), (1, 1), (1, 3), (2, 4), (3, 6)]),
    kept=st.sampled_from([None, (), ((0, 1), (40, 0))]),
    parts=st.sampled_from([0, 1, 2]),
    has_norms=st.booleans(),
    words=st.sampled_from([Model.words, ("</s>",), ("cat", "the")]),
    labels=st.sampled_from([Model.labels, ("__label__hq",), ("__label__a", "__label__hq")]),
    seed=st.integers(0, 9),
).map(lambda model: model if model.num_buckets > 40 else dataclasses.replace(model, kept=None))


@pytest.fixture(scope="module")
def path(tmp_path_factory):
    return tmp_path_factory.mktemp("models") / "model.bin"


def open_label(path, label):
    """A classifier as workers have it."""
    with tempfile.TemporaryDirectory(dir=path.parent) as folder:
        write_arrays(Path(folder), read_arrays(str(path)))
        return open_classifier(Path(folder), label)


@examples(50)
@given(MODELS, TEXTS)
@example(Model(word_ngrams=2), "the </s> cat")
@example(Model(words=("cat",)), "nothing known")
@example(Model(loss="hierarchical", dim=16, characters=(1, 1), words=("cat", "the"), num_buckets=1,
               word_ngrams=0, parts=1, seed=3), "0")  # fmt: skip
def test_scores_are_those_of_fasttext(path, model, text):
    """It refuses plain matrices of pruned models, and quantized ones without the pruned list."""
    if model.kept is not None:
        model = dataclasses.replace(model, parts=model.parts or 2)
    path.write_bytes(model.to_bytes())
    line = text.replace("\n", " ")
    for label, score in model.scores(line).items():
        close = 1e-6 if score else 1e-5  # below which it leaves out a leaf of the tree
        assert open_label(path, label).score(line) == pytest.approx(score, abs=close)


def test_labels_and_spaces(path):
    path.write_bytes(Model(word_ngrams=2, characters=(2, 3)).to_bytes())
    assert read_arrays(str(path)).labels() == ["hq", "cc", "x"]
    classifier = open_label(path, "hq")
    assert classifier.score("the cat") == open_label(path, "__label__hq").score("the\ncat ") > 0
    assert classifier.score("\ud800") == classifier.score("?")
    with pytest.raises(ValueError, match="label is 'good'; the labels of the model are hq, cc, x"):
        open_label(path, "good")


@mostly_slow(
    "model", [Model(), Model(parts=2, kept=((0, 1), (40, 0)), characters=(1, 2)), Model(parts=3)]
)
def test_every_cut_is_refused(path, model):
    content = model.to_bytes()
    for length in [*range(0, len(content), 7), len(content) - 1]:
        path.write_bytes(content[:length])
        with pytest.raises(CorruptDataError):
            read_arrays(str(path))
    path.write_bytes(content + b"\0")
    with pytest.raises(CorruptDataError, match="bytes after the end of the model"):
        read_arrays(str(path))


@examples(150)
@given(st.integers(0, 400), st.integers(0, 255))
def test_any_byte_may_be_wrong(path, place, value):
    content = bytearray(Model(parts=2, kept=((0, 1),), characters=(1, 2), dim=4).to_bytes())
    content[place] = value
    path.write_bytes(content)
    try:
        label = read_arrays(str(path)).labels()[0]
    except CorruptDataError:
        return
    assert 0 <= open_label(path, label).score("the cat sat on dogs") <= 1


@pytest.mark.parametrize(
    ("place", "number", "reason"),
    [
        (0, 1, "not a model of fastText"),
        (4, 13, "version 13; only 11 and 12 are known"),
        (8, 0, "its dimensions are out of range"),
        (32, 9, "unknown loss 9"),
        (36, 1, "a model of words alone; only supervised ones classify texts"),
        (40, 49, "a matrix of 56 x 5 numbers; 55 x 5 are due"),
        (64, 10, "the numbers of words and labels are out of range"),
        (96, 1, "word 0 is damaged"),
    ],
)
def test_the_reason_is_given(path, place, number, reason):
    content = bytearray(Model().to_bytes())
    content[place : place + 4] = struct.pack("<i", number)
    if place == 96:
        content[content.index(b"the\0") + 12] = 1
    path.write_bytes(content)
    with pytest.raises(CorruptDataError, match=reason):
        read_arrays(str(path))


def test_texts_of_any_length_follow_each_other(path):
    model = Model(word_ngrams=3, characters=(1, 3))
    path.write_bytes(model.to_bytes())
    classifier = open_label(path, "hq")
    texts = ["the cat", "cat sat wörd 水 " * 1500, "", "the " * 9000, "the cat"]
    scores = [classifier.score(text) for text in texts]
    assert scores == [open_label(path, "hq").score(text) for text in texts]
    assert open_label(path, "hq").scores(texts).tolist() == scores
