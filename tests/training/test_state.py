"""The place in the data, which a checkpoint remembers for the data it belongs to."""

import json
from pathlib import Path

import keras
import numpy as np
import pytest
import tensorflow as tf

from bert_data.hub.pretrained import fitting_config
from bert_data.labelled.classifier import text_classifier
from bert_data.training import AdamWeightDecay, load_pretrained, write_checkpoint
from bert_data.training.checkpoints import Checkpoint, save_checkpoint
from bert_data.training.model import pretraining_model
from bert_data.training.optimizer import Lamb
from bert_data.training.state import (
    DataPlace,
    TrainingState,
    check_own_checkpoint,
    load_weights,
    open_weights,
    what_differs,
)
from tests.training import numpy_bert
from tests.training.tiny import check_equal_weights, random_batch, state_of, tiny_config


def new_state(
    description: str, *, loss_scaling: bool = False, accumulate: int | None = None
) -> TrainingState:
    optimizer = AdamWeightDecay(
        0.1, loss_scaling=loss_scaling, gradient_accumulation_steps=accumulate
    )
    return state_of(optimizer, data=DataPlace(description))


def restored(folder: Path, description: str, *, steps_more: int) -> TrainingState:
    """A run that goes on from the folder's last checkpoint, some steps further, and saves."""
    state = new_state(description)
    state.restore(str(folder))
    state.optimizer.iterations.assign(state.step + steps_more)
    save_checkpoint(str(folder), state.step, state.values(), num_kept=9)
    return state


@pytest.mark.slow
def test_checkpoints_of_other_runs_in_a_folder_are_refused(tmp_path: Path) -> None:
    recipe, records = json.dumps({"recipe": "ab"}), json.dumps({"batching": "pools"})
    state = new_state(records)
    state.optimizer.iterations.assign(5)
    prefix = save_checkpoint(str(tmp_path), 5, state.values(), num_kept=9)
    for same in (records, json.dumps({"batching": "plain"}), "", "what a program reads"):
        check_own_checkpoint(prefix, same)
    with pytest.raises(ValueError, match=r"-5 was trained on records, and this run .* by a recipe"):
        check_own_checkpoint(prefix, recipe)
    state = new_state(recipe)
    prefix = save_checkpoint(str(tmp_path), 9, state.values(), num_kept=9)
    with pytest.raises(ValueError, match=r"ckpt-9 has done 0 steps, and not those of its name"):
        check_own_checkpoint(prefix, recipe)
    prefix = save_checkpoint(str(tmp_path), 0, state.values(), num_kept=9)
    with pytest.raises(ValueError, match=r"-0 was trained by a recipe, and this run .* on records"):
        check_own_checkpoint(prefix, records)


@pytest.mark.slow
def test_other_data_are_read_from_their_beginning(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    state = new_state("a")
    state.optimizer.iterations.assign(5)
    save_checkpoint(str(tmp_path), 5, state.values(), num_kept=9)
    state = restored(tmp_path, "a", steps_more=2)
    assert (state.step, state.next_batch) == (7, 7)
    assert not caplog.records
    state = restored(tmp_path, "b", steps_more=3)
    assert (state.step, state.next_batch) == (10, 3)
    assert "reading starts at the beginning (before: a; now: b)" in caplog.text
    state = restored(tmp_path, "b", steps_more=1)
    assert (state.step, state.next_batch) == (11, 4)
    assert len(caplog.records) == 1


def test_the_values_that_differ_are_told() -> None:
    before = {"batch_size": 8, "seed": 1, "shard 0": "a: 3 records", "shard 1": "b: 4 records"}
    now = {"batch_size": 8, "seed": 2, "shard 0": "a: 3 records"}
    differences = what_differs(json.dumps(before), json.dumps(now))
    assert differences == "seed was 1 and is 2; shard 1 was b: 4 records and is not set"
    other = {**before, "seed": 2, "batch_size": 9, "shard 0": "x", "shard 1": "y"}
    differences = what_differs(json.dumps(before), json.dumps(other))
    assert differences == (
        "batch_size was 8 and is 9; seed was 1 and is 2; shard 0 was a: 3 records and is x; 1 more"
    )
    assert what_differs("[1]", json.dumps(now)) == f"before: [1]; now: {json.dumps(now)}"


def test_float16_may_be_switched_on_and_off(tmp_path: Path) -> None:
    plain, scaled = new_state("a"), new_state("a", loss_scaling=True)
    scaled.optimizer.loss_scale.assign(64.0)
    save_checkpoint(str(tmp_path), 1, scaled.values(), num_kept=9)
    plain.restore(str(tmp_path))
    again = new_state("a", loss_scaling=True)
    again.restore(str(tmp_path))
    assert float(again.optimizer.loss_scale.numpy()) == 64.0
    save_checkpoint(str(tmp_path), 2, plain.values(), num_kept=9)
    again.optimizer.loss_scale.assign(32.0)
    again.restore(str(tmp_path))
    assert float(again.optimizer.loss_scale.numpy()) == 32.0


def test_settings_that_changed_are_logged_by_name(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    state = new_state("a")
    state.settings = {"learning_rate": 0.1, "num_warmup_steps": 5, "init_checkpoint": "bert"}
    save_checkpoint(str(tmp_path), 5, state.values(), num_kept=9)
    state.restore(str(tmp_path))
    assert not caplog.records
    state.settings = {"learning_rate": 0.2, "num_warmup_steps": 5, "init_checkpoint": None}
    state.restore(str(tmp_path))
    (record,) = caplog.records
    assert record.getMessage() == (
        f"not as in the run of {tmp_path}/model.ckpt-5: learning_rate was 0.1 and is 0.2;"
        " init_checkpoint was bert and is not set"
    )


def test_lamb_takes_over_the_moments_of_another_optimizer(tmp_path: Path) -> None:
    """Its bias correction then counts the steps that made them."""
    before = new_state("a")
    before.optimizer.iterations.assign(7)
    save_checkpoint(str(tmp_path), 7, before.values(), num_kept=9)
    state = state_of(Lamb(0.1), data=DataPlace("a"))
    state.restore(str(tmp_path))
    assert float(state.optimizer.num_updates.numpy()) == 7


def test_the_place_in_the_data_counts_batches_not_updates(tmp_path: Path) -> None:
    state = new_state("a", accumulate=4)
    state.optimizer.iterations.assign(5)
    assert state.next_batch == 20
    save_checkpoint(str(tmp_path), 5, state.values(), num_kept=9)
    again = new_state("a", accumulate=2)
    again.restore(str(tmp_path))
    again.optimizer.iterations.assign(7)
    assert again.next_batch == 24


V1 = tf.compat.v1


def released_values(**changes: object) -> dict[str, np.ndarray]:
    """A model's weights under their released names, beside what Google's optimizer adds."""
    random = np.random.default_rng(3)
    weights = pretraining_model(tiny_config(**changes)).released_weights()
    values = {name: random.normal(0, 0.5, v.shape) for name, v in weights.items()}
    slots = {f"{name}/adam_{slot}": 0 * value for name, value in values.items() for slot in "mv"}
    slots = {name: value + 0.25 for name, value in slots.items()}
    return {name: value.astype(np.float32) for name, value in {**values, **slots}.items()}


def write_as_tensorflow_1(folder: Path, values: dict[str, np.ndarray]) -> str:
    with tf.Graph().as_default():
        for name, value in values.items():
            V1.get_variable(name, initializer=value)
        V1.get_variable("global_step", initializer=np.int64(1000), trainable=False)
        saver = V1.train.Saver()
        with V1.Session() as session:
            session.run(V1.global_variables_initializer())
            return saver.save(session, str(folder / "bert_model.ckpt"), write_meta_graph=False)


def test_a_released_checkpoint_gives_its_weights(tmp_path: Path) -> None:
    values = released_values()
    prefix = write_as_tensorflow_1(tmp_path, values)
    model = pretraining_model(tiny_config())
    load_weights(model, prefix)
    for name, variable in model.released_weights().items():
        np.testing.assert_array_equal(variable.numpy(), values[name])
    batch = random_batch()
    expected = numpy_bert.forward(values, batch, num_layers=2, num_heads=2, act="gelu")
    np.testing.assert_allclose(model(batch)["masked_lm"], expected["masked_lm"], atol=1e-4)


@pytest.mark.slow
def test_googles_own_training_goes_on(tmp_path: Path) -> None:
    values = released_values()
    state = state_of()
    state.restore(write_as_tensorflow_1(tmp_path, values))
    assert state.step == 1000 and state.next_batch == 0
    np.testing.assert_array_equal(state.optimizer.momentums[0].numpy(), np.full((11, 8), 0.25))


@pytest.mark.slow
def test_tensorflow_1_reads_what_is_written_here(tmp_path: Path) -> None:
    state = state_of()
    prefix = save_checkpoint(str(tmp_path), 0, state.values(), num_kept=1)
    names = list(released_values(num_hidden_layers=1))
    with tf.Graph().as_default():
        variables = {
            name: V1.get_variable(name, initializer=0 * tf.train.load_variable(prefix, name))
            for name in names
        }
        with V1.Session() as session:
            V1.train.Saver().restore(session, prefix)
            table = session.run(variables["bert/embeddings/word_embeddings"])
    np.testing.assert_array_equal(table, state.model.encoder.embeddings.word_embeddings.numpy())


@pytest.mark.slow
def test_a_missing_variable_is_named(tmp_path: Path) -> None:
    values = released_values()
    del values["cls/seq_relationship/output_weights"]
    prefix = write_as_tensorflow_1(tmp_path, values)
    model = pretraining_model(tiny_config())
    before = model.encoder.embeddings.word_embeddings.numpy()
    with pytest.raises(ValueError) as error:
        load_weights(model, prefix)
    assert str(error.value) == (
        f"checkpoint {prefix} has no variable 'cls/seq_relationship/output_weights', which the"
        " model needs (1 of 46 are missing)"
    )
    np.testing.assert_array_equal(model.encoder.embeddings.word_embeddings.numpy(), before)


@pytest.mark.slow
def test_a_variable_of_another_shape_is_named(tmp_path: Path) -> None:
    prefix = write_as_tensorflow_1(tmp_path, released_values(vocab_size=12))
    with pytest.raises(ValueError) as error:
        load_weights(pretraining_model(tiny_config()), prefix)
    assert str(error.value) == (
        "variable 'bert/embeddings/word_embeddings' is [11, 8] in the model's configuration and"
        f" [12, 8] in checkpoint {prefix}"
    )


CONFIG = tiny_config(num_hidden_layers=1)


def test_another_run_continues_with_weights_and_moments(tmp_path: Path) -> None:
    model = pretraining_model(CONFIG, random_seed=1)
    model.compile(AdamWeightDecay(0.1, gradient_accumulation_steps=2))
    weights = model.trainable_variables
    for _ in range(4):
        model.optimizer.apply([tf.ones(weight.shape) for weight in weights], weights)
    prefix = write_checkpoint(model, tmp_path)
    assert prefix == str(tmp_path / "model.ckpt-2")
    assert fitting_config(None, open_weights(str(tmp_path)), None) == CONFIG
    state = state_of()
    state.restore(prefix)
    assert state.step == 2
    check_equal_weights(model, state.model)
    for mine, its in zip(model.optimizer.momentums, state.optimizer.momentums, strict=True):
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
    head = other.released_weights()["cls/seq_relationship/output_weights"].numpy()
    load_weights(other, str(tmp_path), fresh_heads=True)
    np.testing.assert_array_equal(other.encoder.weights[0], model.encoder.weights[0])
    np.testing.assert_array_equal(
        other.released_weights()["cls/seq_relationship/output_weights"], head
    )
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


def test_a_description_without_a_version_is_of_the_first(tmp_path: Path) -> None:
    """Earlier releases did not name it."""
    named = {"plan_version": 1, "batching": "pools"}
    for before, now, number in (
        ({"batching": "pools"}, named, 7),
        (named, {"batching": "pools", "plan_version": 1}, 7),
        ({"batching": "pools"}, {**named, "plan_version": 2}, 0),
        (named, {**named, "batching": "plain"}, 0),
    ):
        folder = str(tmp_path)
        save_checkpoint(folder, 1, DataPlace(json.dumps(before)).values(7), num_kept=1)
        place = DataPlace(json.dumps(now))
        place.restore(Checkpoint(folder))
        assert place.first_batch == number
