"""The exported SavedModels in functional models of Keras 3: they run, train, and are saved."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import keras
import numpy as np
import pytest
import tensorflow as tf

from bert_data.hub.keras_layers import EncoderLayer, PreprocessingLayer

TEXTS = ["Goodly film.", "bad bad bad bad bad bad bad bad", ""]
# Keras 3.15 asks TensorFlow 2.21's variables for an array in a way that NumPy 2 warns of.
SAVING = "ignore:__array__ implementation doesn't accept a copy keyword:DeprecationWarning"


def classifier(exported: Path, **kwargs: bool) -> keras.Model:
    texts = keras.Input((), dtype="string")
    rows = PreprocessingLayer(exported / "preprocess")(texts)
    encoder = EncoderLayer(str(exported / "encoder"), name="encoder", **kwargs)
    dense = keras.layers.Dense(1, kernel_initializer=keras.initializers.RandomNormal(seed=1))
    return keras.Model(texts, dense(encoder(rows)["pooled_output"]))


def batches() -> tf.data.Dataset:
    return tf.data.Dataset.from_tensors((TEXTS, [[1.0], [-1.0], [0.0]])).repeat(12)


@pytest.mark.slow
@pytest.mark.filterwarnings(SAVING)
def test_a_classifier_of_texts_trains_and_is_saved(exported: Path, tmp_path: Path) -> None:
    model = classifier(exported)
    assert len(model.trainable_variables) == 39 + 2
    encoder = model.get_layer("encoder")
    before = [variable.numpy() for variable in encoder.encoder_weights]
    assert encoder.encoder_weights[0].name == "bert.embeddings.word_embeddings"
    model.compile(keras.optimizers.Adam(0.01), "mse", run_eagerly=True)
    loss = model.evaluate(batches().take(1), verbose=0)
    for _ in range(20):  # once is enough; dropout, which nothing seeds, may be in the way
        model.fit(batches(), epochs=3, verbose=0, shuffle=False)
        if model.evaluate(batches().take(1), verbose=0) < loss / 2:
            break
    else:
        pytest.fail(f"the loss stays above half of {loss}")
    moved = [
        np.abs(variable.numpy() - old).max() > 0
        for variable, old in zip(encoder.encoder_weights, before, strict=True)
    ]
    assert sum(moved) >= 37  # the bias of the keys has no influence
    scores = model(tf.constant(TEXTS)).numpy()

    model.save(tmp_path / "model.keras")
    whole = keras.models.load_model(tmp_path / "model.keras")
    np.testing.assert_array_equal(whole(tf.constant(TEXTS)), scores)


LOADING = """
import sys
import bert_data.hub
import keras
import numpy as np
import tensorflow as tf

try:
    model = keras.models.load_model(sys.argv[1])
except OSError as error:
    sys.exit(str(error))
np.save("scores.npy", model(tf.constant(sys.argv[2:])))
"""


@pytest.mark.slow
@pytest.mark.process
@pytest.mark.filterwarnings(SAVING)
def test_another_process_loads_a_model_from_any_folder_while_the_exports_are_there(
    exported: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, checkout: Path
) -> None:
    monkeypatch.chdir(tmp_path)
    shutil.copytree(exported, "hub")
    model = classifier(Path("hub"))
    model.compile("adam", "mse")
    model.fit(batches().take(1), verbose=0, shuffle=False)
    model.save("model.keras")
    (tmp_path / "elsewhere").mkdir()

    def load() -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [sys.executable, "-c", LOADING, str(tmp_path / "model.keras"), *TEXTS],
            cwd=tmp_path / "elsewhere", env={**os.environ, "PYTHONPATH": str(checkout)},
            capture_output=True, text=True, check=False,
        )  # fmt: skip

    done = load()
    assert done.returncode == 0, done.stderr
    scores = np.load(tmp_path / "elsewhere" / "scores.npy")
    np.testing.assert_allclose(scores, model(tf.constant(TEXTS)), atol=1e-6)

    os.rename("hub", "moved")
    assert load().stderr.splitlines()[-1] == (
        f"there is no SavedModel in {tmp_path}/hub/preprocess; if it has moved, build the"
        " model again with its new path, and call load_weights with the .keras file"
    )
    other = classifier(Path("moved"))
    other.load_weights("model.keras")
    np.testing.assert_allclose(scores, other(tf.constant(TEXTS)), atol=1e-6)


@pytest.mark.slow
def test_a_frozen_encoder_does_not_train_or_drop_out(exported: Path) -> None:
    model = classifier(exported, trainable=False)
    assert len(model.trainable_variables) == 2
    encoder = model.get_layer("encoder")
    inputs = {
        name: tf.ones([2, 5], tf.int64)
        for name in ("input_word_ids", "input_mask", "input_type_ids")
    }
    plain = encoder(inputs)["sequence_output"]
    np.testing.assert_array_equal(encoder(inputs, training=True)["sequence_output"], plain)
    encoder.trainable = True
    trained = encoder(inputs, training=True)["sequence_output"]
    assert not np.allclose(trained, plain)


@pytest.mark.slow
def test_rows_of_texts_and_pairs(exported: Path) -> None:
    folder = str(exported / "preprocess")
    texts = tf.constant(TEXTS)
    for width, padding in (("longest", []), ("max", [0, 0, 0])):
        layer = PreprocessingLayer(folder, seq_length=9, width=width)
        ids = layer(texts[:1])["input_word_ids"].numpy().tolist()
        assert ids == [[2, 5, 7, 8, 9, 3, *padding]]
    layer = PreprocessingLayer(folder, seq_length=7)
    pairs = layer([texts, texts])
    assert pairs["input_word_ids"].numpy()[0].tolist() == [2, 5, 7, 3, 5, 7, 3]
    assert pairs["input_type_ids"].numpy()[0].tolist() == [0, 0, 0, 0, 1, 1, 1]
    data = tf.data.Dataset.from_tensors(texts).map(layer)
    assert [rows["input_mask"].shape for rows in data] == [(3, 7)]
    long = tf.constant(["bad " * 20])
    for width in ("longest", "max"):  # as exported
        layer = PreprocessingLayer(folder, width=width)
        assert layer(long)["input_mask"].shape == (1, 8)
    with pytest.raises(ValueError, match="seq_length is 11; the model reads up to 10 tokens"):
        PreprocessingLayer(folder, seq_length=11)
    with pytest.raises(ValueError, match=r"texts are \(None, 1\), not \[batch\]"):
        PreprocessingLayer(folder)(keras.Input((1,), dtype="string"))
    with pytest.raises(ValueError, match="seq_length is 2; 3 to "):
        PreprocessingLayer(folder, seq_length=2)
    with pytest.raises(ValueError, match="width is 'batch'; it must be one of longest, max"):
        PreprocessingLayer(folder, width="batch")
