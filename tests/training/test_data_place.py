"""`fit`, killed in an epoch and begun again, ends with the weights of a run that was not."""

import dataclasses
import json
import operator
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import keras
import numpy as np
import pytest
import tensorflow as tf

from bert_data.reader import ReaderConfig, read_batches
from bert_data.reader.tensors import dataset_of
from bert_data.recipes.recipe import Recipe, Stage
from bert_data.recipes.recipe_source import ONE_HOST, RecipeReaderConfig, source_of
from bert_data.training import AdamWeightDecay, DataPlaceCallback, pretraining_model
from tests.recipes.stores import recipe_of
from tests.training.tiny import random_batch, tiny_config, write_records

STEPS, EPOCHS = 3, 3


def records_of(folder: Path, **changes: Any) -> ReaderConfig:
    path = folder / "train.tfrecord"
    if not path.exists():
        write_records(str(path), random_batch(num_examples=14))
    values = {"batch_size": 4, "batching": "pools", "shuffle": True, "num_epochs": None}
    return ReaderConfig(**{"input_patterns": str(path), "form": "fit", **values, **changes})


def batches_of(data: ReaderConfig | Recipe, start: int) -> tf.data.Dataset:
    if isinstance(data, ReaderConfig):
        return read_batches(dataclasses.replace(data, start_batch=start))
    config = RecipeReaderConfig(start_batch=start, form="fit")
    return dataset_of(source_of(data, config, ONE_HOST), config)


def fit(
    data: ReaderConfig | Recipe,
    folder: Path,
    *,
    die_at: int | None = None,
    others: Sequence[keras.callbacks.Callback] = (),
    **changes: Any,
) -> keras.Model:
    sizes = {"num_hidden_layers": 1, "hidden_dropout_prob": 0.2, "vocab_size": 1000}
    config = tiny_config(**sizes, max_position_embeddings=32)
    next_sentence = "nsp" if isinstance(data, ReaderConfig) else "none"
    model = pretraining_model(config, next_sentence=next_sentence)
    model.compile(AdamWeightDecay(1e-2), run_eagerly=True)
    place = DataPlaceCallback(folder, data)
    num_steps = 0

    def count(batch: int, logs: object) -> None:
        nonlocal num_steps
        num_steps += 1
        if num_steps == die_at:
            raise KeyboardInterrupt

    dying = keras.callbacks.LambdaCallback(on_train_batch_end=count)
    settings = {"epochs": EPOCHS, "initial_epoch": place.initial_epoch, **changes}
    batches = batches_of(data, place.start_batch)
    callbacks = [place, *others, dying]
    model.fit(batches, steps_per_epoch=STEPS, callbacks=callbacks, verbose=0, **settings)
    return model


def recipe(folder: Path) -> Recipe:
    stages = (
        Stage(steps=5, max_seq_length=24, batch_size=3),
        Stage(steps=30, max_seq_length=32, batch_size=3, batching="packed"),
    )
    return recipe_of(folder, *stages, skip=((1, 2),))


@pytest.mark.slow
@pytest.mark.parametrize("make", [records_of, recipe])
def test_a_run_that_was_killed_ends_as_one_that_was_not(make: Any, tmp_path: Path) -> None:
    data = make(tmp_path)
    whole = fit(data, tmp_path / "whole")
    folder = tmp_path / "backup"
    for die_at in (2, STEPS + 2, 1):
        with pytest.raises(KeyboardInterrupt):
            fit(data, folder, die_at=die_at)
    again = fit(data, folder)
    assert int(again.optimizer.iterations) == STEPS * EPOCHS
    for name in ("variables", "optimizer.variables"):
        pairs = map(operator.attrgetter(name), (whole, again))
        for mine, its in zip(*pairs, strict=True):
            np.testing.assert_array_equal(mine, its, err_msg=mine.path)
    assert sorted(path.name for path in folder.iterdir()) == [f"epoch-{EPOCHS}"]


def test_what_does_not_fit_is_refused(tmp_path: Path) -> None:
    data, folder = records_of(tmp_path), tmp_path / "backup"
    fit(data, folder, epochs=1)
    assert DataPlaceCallback(folder, data).start_batch == STEPS
    other = dataclasses.replace(data, seed=data.seed + 1)
    with pytest.raises(ValueError, match=r"place\.json: the state is that of other records"):
        DataPlaceCallback(folder, other)
    place = folder / "epoch-1" / "place.json"
    saved = json.loads(place.read_text())
    place.write_text(json.dumps({**saved, "batch": -1}))
    with pytest.raises(ValueError, match=r"place\.json: batch of the state is -1"):
        DataPlaceCallback(folder, data)
    place.write_text(json.dumps(saved))
    with pytest.raises(ValueError, match="num_epochs is 2; it must be None"):
        DataPlaceCallback(folder, dataclasses.replace(data, num_epochs=2))
    with pytest.raises(ValueError, match="is remote"):
        DataPlaceCallback("s3://bucket/backup", data)
    with pytest.raises(ValueError, match="begins with epoch 0, but 1 are done"):
        fit(data, folder, initial_epoch=0)


def test_a_callback_that_restores_the_middle_of_an_epoch_is_refused(tmp_path: Path) -> None:
    data, folder, backup = recipe(tmp_path), tmp_path / "place", tmp_path / "backup"
    others = [keras.callbacks.BackupAndRestore(backup, save_freq=1)]
    with pytest.raises(KeyboardInterrupt):
        fit(data, folder, die_at=2, others=others)
    with pytest.raises(ValueError, match="in place of BackupAndRestore, not beside it"):
        fit(data, folder, others=others)


def test_epochs_behind_the_end_of_a_recipe_are_refused(tmp_path: Path) -> None:
    data, folder = recipe_of(tmp_path, Stage(steps=6, max_seq_length=24, batch_size=3)), "place"
    with pytest.raises(ValueError, match="no batches for epoch 2, counted from 0"):
        fit(data, tmp_path / folder, epochs=3)
    assert int(fit(data, tmp_path / folder, epochs=2).optimizer.iterations) == 6  # restored
    with pytest.raises(ValueError, match="no batches for epoch 2, counted from 0"):
        fit(data, tmp_path / folder, epochs=3)
