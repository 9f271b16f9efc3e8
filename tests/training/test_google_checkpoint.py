"""What Keras trained becomes a checkpoint that the other ways to use a model take."""

from pathlib import Path

import keras
import numpy as np
import pytest
import tensorflow as tf

from bert_data.hub.fitting import fitting_config
from bert_data.training import AdamWeightDecay, load_pretrained, text_classifier, write_checkpoint
from bert_data.training.init_checkpoint import load_weights, open_weights
from bert_data.training.model import named_weights, pretraining_model
from bert_data.training.state import TrainingState
from tests.training.tiny import random_batch, tiny_config

CONFIG = tiny_config(num_hidden_layers=1)


def test_another_run_continues_with_weights_and_moments(tmp_path: Path) -> None:
    model = pretraining_model(CONFIG, random_seed=1)
    model.compile(AdamWeightDecay(0.1, gradient_accumulation_steps=2))
    weights = model.trainable_variables
    for _ in range(4):
        model.optimizer.apply([tf.ones(weight.shape) for weight in weights], weights)
    prefix = write_checkpoint(model, tmp_path)
    assert prefix == str(tmp_path / "model.ckpt-2")
    again = pretraining_model(fitting_config(None, open_weights(str(tmp_path)), None))
    optimizer = AdamWeightDecay(0.1)
    optimizer.build(again.trainable_variables)
    state = TrainingState(model=again, optimizer=optimizer)
    state.restore(prefix)
    assert state.step == 2
    for mine, its in zip(model.weights, again.weights, strict=True):
        np.testing.assert_array_equal(mine, its)
    for mine, its in zip(model.optimizer.momentums, optimizer.momentums, strict=True):
        np.testing.assert_array_equal(mine, its)
    batch = random_batch()
    np.testing.assert_array_equal(
        load_pretrained(str(tmp_path))(batch)["masked_lm"], model(batch)["masked_lm"]
    )


def test_a_classifier_has_the_names_of_googles_and_gives_its_encoder(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    model = text_classifier(CONFIG, num_labels=3, random_seed=4)
    model.compile(keras.optimizers.AdamW(1e-3))
    prefix = write_checkpoint(model, tmp_path)
    checkpoint = open_weights(prefix)
    assert checkpoint.shape("output_weights") == [3, 8]
    assert checkpoint.shape("output_bias") == [3]
    other = pretraining_model(CONFIG, random_seed=5)
    head = named_weights(other)["cls/seq_relationship/output_weights"].numpy()
    load_weights(other, str(tmp_path), fresh_heads=True)
    np.testing.assert_array_equal(other.encoder.weights[0], model.encoder.weights[0])
    np.testing.assert_array_equal(named_weights(other)["cls/seq_relationship/output_weights"], head)
    assert "keep their initial weights" in caplog.text


def test_a_folder_keeps_the_last_ones_of_one_model(tmp_path: Path) -> None:
    model = pretraining_model(CONFIG)
    model.compile(AdamWeightDecay(0.1))
    for step in (1, 2, 3):
        model.optimizer.iterations.assign(step)
        write_checkpoint(model, str(tmp_path), num_kept=2)
    assert [path.name for path in sorted(tmp_path.glob("*.index"))] == [
        "model.ckpt-2.index", "model.ckpt-3.index",
    ]  # fmt: skip
    with pytest.raises(ValueError, match="whose hidden_size is 8, not 16"):
        write_checkpoint(pretraining_model(tiny_config(hidden_size=16)), tmp_path)
    with pytest.raises(ValueError, match="not a Sequential"):
        write_checkpoint(keras.Sequential(), tmp_path)
