"""Keras' own loop on the reader's batches gives the same weights as this project's loop."""

from itertools import pairwise
from pathlib import Path

import keras
import numpy as np
import pytest

from bert_data.reader import ReaderConfig, read_batches
from bert_data.training import AdamWeightDecay, WarmupLinearDecay, pretraining_model
from bert_data.training.config import BertConfig
from bert_data.training.loop import train
from bert_data.training.training_config import TrainingConfig
from tests.training.tiny import random_batch, tiny_config, write_records

NUM_STEPS = 6


def one_layer(**changes: object) -> BertConfig:
    return tiny_config(num_hidden_layers=1, **changes)


def reader(folder: Path, **changes: object) -> ReaderConfig:
    path = folder / "train.tfrecord"
    if not path.exists():
        write_records(str(path), random_batch(num_examples=20))
    values = {"input_patterns": str(path), "batch_size": 8, "shuffle": True, "num_epochs": None}
    return ReaderConfig(**{**values, **changes})


@pytest.mark.slow
def test_fit_equals_the_loop(tmp_path: Path) -> None:
    bert = one_layer(hidden_dropout_prob=0.2)
    data = reader(tmp_path)
    looped = train(
        TrainingConfig(output_dir=str(tmp_path / "out"), num_train_steps=NUM_STEPS, batch_size=8,
                       learning_rate=1e-2, num_warmup_steps=2),
        bert, lambda _, context: read_batches(data, input_context=context),
    )  # fmt: skip

    model = pretraining_model(bert)
    model.compile(AdamWeightDecay(WarmupLinearDecay(1e-2, NUM_STEPS, 2)))
    history = model.fit(
        read_batches(reader(tmp_path, form="fit")), steps_per_epoch=NUM_STEPS, verbose=0
    )
    for name, variable in model.released_weights().items():
        np.testing.assert_allclose(
            variable.numpy(), looped.released_weights()[name].numpy(), rtol=1e-5, atol=1e-6
        )
    assert {"loss", "masked_lm_accuracy", "next_sentence_accuracy"} <= set(history.history)


@pytest.mark.slow
def test_fit_in_float16_scales_the_loss_once(tmp_path: Path) -> None:
    data = read_batches(reader(tmp_path, form="fit"))
    losses = []
    for loss_scaling in (True, False):  # by this optimizer, by Keras' around it
        model = pretraining_model(one_layer(), mixed_precision="float16")
        model.compile(AdamWeightDecay(1e-2, loss_scaling=loss_scaling))
        history = model.fit(data, steps_per_epoch=1, epochs=4, verbose=0).history
        losses.append(history["loss"])
    assert losses[0] == pytest.approx(losses[1], rel=1e-2)


@pytest.mark.slow
@pytest.mark.parametrize("make", [AdamWeightDecay, keras.optimizers.AdamW])
def test_fit_accumulates_gradients(tmp_path: Path, make: type[keras.optimizers.Optimizer]) -> None:
    model = pretraining_model(one_layer(hidden_dropout_prob=0.5))
    model.compile(make(1e-2, gradient_accumulation_steps=3))
    data = read_batches(reader(tmp_path, form="fit", shuffle=False, num_epochs=1)).take(1).repeat()
    weights, losses = [model.get_weights()], []
    for _ in range(6):
        losses += model.fit(data, steps_per_epoch=1, verbose=0).history["loss"]
        weights.append(model.get_weights())
    changes = [
        any((a != b).any() for a, b in zip(*each, strict=True)) for each in pairwise(weights)
    ]
    assert changes == [False, False, True, False, False, True]
    assert int(model.optimizer.iterations) == 2
    assert len(set(losses)) == 6  # each batch has zeros of dropout of its own


def test_evaluate_of_keras_gives_loss_and_accuracies(tmp_path: Path) -> None:
    model = pretraining_model(one_layer())
    model.compile(AdamWeightDecay(1e-2))
    data = read_batches(reader(tmp_path, form="fit", num_epochs=1, shuffle=False, batch_size=20))
    results = model.evaluate(data, steps=1, return_dict=True, verbose=0)
    batch = random_batch(num_examples=20)
    logits = {name: value.numpy() for name, value in model(batch).items()}
    hits = logits["masked_lm"].argmax(-1) == batch["masked_lm_ids"]
    weights = batch["masked_lm_weights"]
    assert results["masked_lm_accuracy"] == pytest.approx((hits * weights).sum() / weights.sum())
    answers = logits["next_sentence"].argmax(-1) == batch["next_sentence_labels"][:, 0]
    assert results["next_sentence_accuracy"] == pytest.approx(answers.mean())
