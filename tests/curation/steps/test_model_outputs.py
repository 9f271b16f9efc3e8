"""Vectors of texts equal what the encoder itself gives each window."""

import dataclasses
from pathlib import Path

import keras
import numpy as np
import pytest
import tensorflow as tf

from bert_data.curation.steps.model_score import Embed, Embedder, ModelScore, Scorer
from bert_data.curation.text_model import ModelConfig, open_text_model
from bert_data.errors import CorruptDataError
from bert_data.hub import opening_models
from tests.curation.tiny_models import (
    MAX_SEQ_LENGTH,
    TEXTS,
    hidden_of,
    logits_of,
    make_classifier,
    probabilities_of,
    windows_of,
    write_google,
    write_hub,
    write_hugging_face_folder,
    write_keras,
    write_reader_of_texts,
    write_saved_model,
    write_vocabulary,
)
from tests.rows import mostly_slow

COVERS = ("hub/opening_models",)


@pytest.fixture(scope="module")
def model():
    return make_classifier()


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return tmp_path_factory.mktemp("models")


@pytest.fixture(scope="module")
def vocab_file(folder):
    return write_vocabulary(folder)


@pytest.fixture(scope="module")
def keras_file(model, folder):
    return write_keras(model, folder)


@pytest.fixture(scope="module")
def hub(model, folder):
    return write_hub(model, folder)


def score(path, texts=TEXTS, *, label="1", model=(), **options):
    return Scorer(ModelScore(model=str(path), label=label, **dict(model), **options)).score(texts)


def first_windows(model, label):
    return [probabilities_of(model, windows_of(text)[0])[label] for text in TEXTS]


@pytest.mark.slow
def test_a_file_of_keras(model, keras_file, vocab_file):
    for label in range(3):
        scores = score(keras_file, label=str(label), model={"vocab_file": vocab_file})
        np.testing.assert_allclose(scores, first_windows(model, label), atol=1e-6)


@pytest.mark.slow
def test_a_saved_model_of_keras(model, vocab_file, tmp_path):
    own = {"vocab_file": vocab_file, "max_seq_length": MAX_SEQ_LENGTH}
    scores = score(write_saved_model(model, tmp_path), model=own)
    np.testing.assert_allclose(scores, first_windows(model, 1), atol=1e-6)


@pytest.mark.slow
def test_a_checkpoint_of_googles_program(model, vocab_file, tmp_path):
    prefix = write_google(model, tmp_path)
    for path in (prefix, Path(prefix).parent):
        scores = score(path, model={"vocab_file": vocab_file})
        np.testing.assert_allclose(scores, first_windows(model, 1), atol=1e-6)


def test_a_folder_of_hugging_face_has_vocabulary_and_labels(model, tmp_path):
    path = write_hugging_face_folder(model, tmp_path)
    scores = score(path, label="label 2")
    np.testing.assert_allclose(scores, first_windows(model, 2), atol=1e-6)
    with pytest.raises(ValueError, match=r"label is 'x'; the labels of .* are label 0, label 1"):
        score(path, label="x")


@pytest.mark.slow
def test_several_labels_may_be_true_of_a_text(model, tmp_path):
    path = write_hugging_face_folder(model, tmp_path, problem_type="multi_label_classification")
    logits = np.array([logits_of(model, windows_of(text)[0])[1] for text in TEXTS])
    np.testing.assert_allclose(score(path), 1 / (1 + np.exp(-logits)), atol=1e-6)
    np.testing.assert_allclose(score(path, activation="none"), logits, atol=1e-5)


@pytest.mark.slow
def test_a_regression_has_a_single_value_without_bounds(tmp_path):
    model = make_classifier(num_labels=1)
    logits = [10 * logits_of(model, windows_of(text)[0])[0] for text in TEXTS]
    kernel, bias = model.output_layer.kernel, model.output_layer.bias
    kernel.assign(10 * kernel)
    bias.assign(10 * bias)
    path = write_hugging_face_folder(model, tmp_path)
    np.testing.assert_allclose(score(path, label=""), logits, rtol=1e-4, atol=1e-5)
    assert min(logits) < 0


@pytest.mark.slow
@pytest.mark.parametrize("windows", ["mean", "max"])
@pytest.mark.parametrize("max_windows", [2, 100])
def test_windows_of_long_texts(model, keras_file, vocab_file, windows, max_windows):
    expected = []
    for text in TEXTS:
        rows = windows_of(text, 8)[:max_windows]
        values = [probabilities_of(model, row)[1] for row in rows]
        weights = [len(row) for row in rows]
        mean = np.average(values, weights=weights)
        expected.append(max(values) if windows == "max" else mean)
    own = {"vocab_file": vocab_file, "max_seq_length": 8, "max_windows": max_windows}
    scores = score(keras_file, windows=windows, model=own)
    np.testing.assert_allclose(scores, expected, atol=1e-6)


@pytest.mark.slow
def test_a_model_that_reads_texts(model, hub, folder):
    path, plain = write_reader_of_texts(hub, folder)
    encoded = [text.encode(errors="replace") for text in TEXTS]
    expected = plain(tf.constant(encoded)).numpy()[:, 0]
    np.testing.assert_allclose(score(path, label=""), expected, atol=1e-6)
    with pytest.raises(ValueError, match=r"tokenizes texts itself; leave max_windows out"):
        score(path, label="", model={"max_windows": 2})


@pytest.mark.slow
def test_what_shares_a_batch_hardly_matters(keras_file, vocab_file):
    own = {"vocab_file": vocab_file}
    alone = np.concatenate([score(keras_file, [text], model=own) for text in TEXTS])
    np.testing.assert_allclose(score(keras_file, model=own), alone, atol=2e-6)


def test_what_is_no_model_is_refused(vocab_file, tmp_path):
    with pytest.raises(FileNotFoundError, match=r"no such file or folder"):
        score(tmp_path / "nothing")
    with pytest.raises(ValueError, match=r"vocab.txt is neither a .keras file, a SavedModel"):
        score(vocab_file)
    (tmp_path / "a.keras").write_bytes(b"PK\3\4damaged")
    with pytest.raises(CorruptDataError, match=r"a.keras: .*not a whole .keras file of Keras 3"):
        score(tmp_path / "a.keras")
    (tmp_path / "saved_model.pb").write_bytes(b"\xff\xff damaged")
    with pytest.raises(CorruptDataError, match=r"cannot be loaded"):
        score(tmp_path)


def test_labels_outputs_and_lengths_that_do_not_exist(keras_file, vocab_file):
    own = {"vocab_file": vocab_file}
    with pytest.raises(ValueError, match=r"label is '3'; the labels of .* are 0 to 2"):
        score(keras_file, label="3", model=own)
    with pytest.raises(ValueError, match=r"label is not set; the labels of .* are 0 to 2"):
        score(keras_file, label="", model=own)
    with pytest.raises(ValueError, match=r"output is 'x'; the outputs of .* are sequence_output, "):
        score(keras_file, output="x", model=own)
    with pytest.raises(ValueError, match=r"output 'sequence_output' of .* must be a score"):
        score(keras_file, output="sequence_output", model=own)
    with pytest.raises(ValueError, match=r"max_seq_length is 13; .* reads up to 12 tokens"):
        score(keras_file, model={**own, "max_seq_length": 13})
    with pytest.raises(ValueError, match=r"max_seq_length is 7; 8 to 2,147,483,647 is allowed"):
        score(keras_file, model={**own, "max_seq_length": 7})


def test_a_vocabulary_must_fit(model, keras_file, vocab_file, tmp_path):
    with pytest.raises(ValueError, match=r"comes without a vocabulary; name its vocab_file"):
        score(keras_file)
    large = tmp_path / "large.txt"
    large.write_text(Path(vocab_file).read_text() + "another\n")
    sentence = r"large.txt has 12 tokens, more than the 11 of .*: it is not the vocabulary"
    with pytest.raises(ValueError, match=sentence):
        score(keras_file, model={"vocab_file": str(large)})


@pytest.mark.slow
def test_what_a_model_does_not_say_is_tried(model, vocab_file, tmp_path, monkeypatch):
    """A SavedModel need not name its tables, so the largest id and the longest row are tried."""
    path = write_saved_model(model, tmp_path)
    large = tmp_path / "large.txt"
    large.write_text(Path(vocab_file).read_text() + "another\n")
    open_network = opening_models.open_network

    def forget(path):
        return dataclasses.replace(open_network(path), max_width=None, vocab_size=None)

    monkeypatch.setattr(opening_models, "open_network", forget)
    with pytest.raises(ValueError, match=r"cannot read all 12 tokens of its vocabulary"):
        score(path, model={"vocab_file": str(large), "max_seq_length": 8})
    with pytest.raises(ValueError, match=r"cannot read rows of max_seq_length, 512 tokens"):
        score(path, model={"vocab_file": vocab_file})


@pytest.mark.slow
def test_scores_that_are_no_numbers_are_refused(vocab_file, tmp_path):
    model = make_classifier()
    model.output_layer.bias.assign([np.nan, 0, 0])
    with pytest.raises(ValueError, match=r"gives the score nan for a text that begins 'good film'"):
        score(write_keras(model, tmp_path), model={"vocab_file": vocab_file})
    model.output_layer.bias.assign([np.inf, 0, 0])
    with pytest.raises(ValueError, match=r"gives the score nan"):
        score(write_keras(model, tmp_path), model={"vocab_file": vocab_file})
    model.output_layer.bias.assign([0, 0, 0])  # a file that has changed is opened again
    assert score(write_keras(model, tmp_path), model={"vocab_file": vocab_file}).size == len(TEXTS)


def test_models_with_other_inputs_are_refused(tmp_path):
    def write(**inputs):
        tensors = {
            name: keras.Input(shape, name=name, dtype=kind)
            for name, (shape, kind) in inputs.items()
        }
        cast = [keras.ops.cast(each, "float32") for each in tensors.values()]
        total = keras.ops.sum(keras.ops.concatenate(cast, 1), 1, keepdims=True)
        keras.Model(tensors, total).save(tmp_path / "m.keras")
        return tmp_path / "m.keras"

    with pytest.raises(ValueError, match=r"takes x float32.None, 4.; it must take texts, or rows"):
        score(write(x=((4,), "float32")))
    with pytest.raises(ValueError, match=r"it must take texts, or rows named input_word_ids"):
        score(write(input_mask=((4,), "int32")))
    own = write(input_ids=((9,), "int32"), attention_mask=((9,), "int64"))
    config = {"vocab_file": write_vocabulary(tmp_path)}
    scores = score(own, ["good film", ""], label="", model=config)
    assert scores.tolist() == [2 + 5 + 8 + 3 + 4, 2 + 3 + 2]


@pytest.mark.slow
def test_an_encoder_has_no_score(hub):
    with pytest.raises(ValueError, match=r"encoder is an encoder without a classifier"):
        score(hub)
    found = {Path(path).relative_to(hub).as_posix() for path in ModelConfig(model=hub).files()}
    assert {"encoder/saved_model.pb", "encoder/assets/vocab.txt"} <= found
    assert "encoder/variables/variables.index" in found


def test_the_files_of_a_model(keras_file, vocab_file, model, tmp_path):
    named = ModelConfig(model=keras_file, vocab_file=vocab_file).files()
    assert named == [vocab_file, keras_file]
    prefix = write_google(model, tmp_path)
    names = {Path(path).name for path in ModelConfig(model=prefix).files()}
    assert {Path(f"{prefix}.index").name, Path(f"{prefix}.data-00000-of-00001").name} <= names


@pytest.mark.slow
def test_another_vocabulary_of_the_same_size_is_refused(model, hub, tmp_path):
    folder = write_hugging_face_folder(model, tmp_path)
    other = tmp_path / "other.txt"
    write_vocabulary(tmp_path)
    tokens = (tmp_path / "vocab.txt").read_text(encoding="utf-8")
    other.write_text(tokens.replace("film", "plot"), encoding="utf-8")
    for path in (folder, hub):
        with pytest.raises(ValueError, match=r"other.txt \(11 tokens, .* is not .*vocab.txt"):
            open_text_model(ModelConfig(model=path, vocab_file=str(other)))
    open_text_model(ModelConfig(model=hub, vocab_file=str(other), allow_other_vocabulary=True))
    other.write_text(tokens.replace("film\n", ""), encoding="utf-8")
    with pytest.raises(ValueError, match=r"other.txt \(10 tokens, .* has another size than the 11"):
        score(write_google(model, tmp_path), model={"vocab_file": str(other)})


@pytest.fixture(scope="module")
def own(keras_file, vocab_file):
    """Options of a file of Keras."""
    return {"model": keras_file, "vocab_file": vocab_file}


def expected_vectors(model, pooling, max_windows=1):
    vectors = []
    for text in TEXTS:
        rows = windows_of(text)[:max_windows]
        parts = []
        for row in rows:
            hidden, pooled = hidden_of(model, row)
            parts.append({"mean": hidden.mean(axis=0), "cls": hidden[0], "pooler": pooled}[pooling])
        vector = np.average(parts, axis=0, weights=[len(row) for row in rows])
        vectors.append(vector / np.linalg.norm(vector))
    return np.array(vectors)


@mostly_slow("pooling", ["mean", "cls", "pooler"])
@mostly_slow("max_windows", [1, 3])
def test_poolings(model, own, pooling, max_windows):
    vectors = Embedder(Embed(pooling=pooling, **own, max_windows=max_windows)).embed(TEXTS)
    assert vectors.dtype == np.float32
    np.testing.assert_allclose(vectors, expected_vectors(model, pooling, max_windows), atol=1e-5)
    np.testing.assert_allclose(np.linalg.norm(vectors, axis=1), 1, atol=1e-6)


@pytest.mark.slow
def test_any_kind_of_model_with_its_own_vocabulary(model, hub, tmp_path):
    folder = write_hugging_face_folder(model, tmp_path)
    for pooling in ("mean", "pooler"):
        expected = expected_vectors(model, pooling)
        for path in (folder, hub, f"{hub}/encoder"):
            vectors = Embedder(Embed(pooling=pooling, model=path)).embed(TEXTS)
            np.testing.assert_allclose(vectors, expected, atol=1e-5)
    with pytest.raises(ValueError, match=r"has the outputs .*; pooling 'mean' needs sequence_outp"):
        Embedder(Embed(model=f"{hub}/preprocess"))


@pytest.mark.slow
def test_vectors_that_are_no_numbers_are_refused(tmp_path):
    model = make_classifier()
    table = model.encoder.embeddings.word_embeddings
    table.assign(table + np.where(np.arange(11)[:, None] == 8, np.nan, 0))
    path, own = write_keras(model, tmp_path), {"vocab_file": write_vocabulary(tmp_path)}
    with pytest.raises(ValueError, match=r"a vector of length nan for a text that begins 'film'"):
        Embedder(Embed(model=path, **own)).embed(["good", "film", "film"])
