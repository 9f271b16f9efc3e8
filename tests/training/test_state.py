"""The place in the data, which a checkpoint remembers for the data it belongs to."""

import json
from pathlib import Path

import pytest

from bert_data.training.checkpoints import save_checkpoint
from bert_data.training.optimizer import AdamWeightDecay, Lamb
from bert_data.training.state import TrainingState, what_differs
from tests.training.tiny import state_of


def new_state(
    description: str, *, loss_scaling: bool = False, accumulate: int | None = None
) -> TrainingState:
    optimizer = AdamWeightDecay(
        0.1, loss_scaling=loss_scaling, gradient_accumulation_steps=accumulate
    )
    return state_of(optimizer, data_description=description)


def restored(folder: Path, description: str, *, steps_more: int) -> TrainingState:
    """A run that goes on from the folder's last checkpoint, some steps further, and saves."""
    state = new_state(description)
    state.restore(str(folder))
    state.optimizer.iterations.assign(state.step + steps_more)
    save_checkpoint(str(folder), state.step, state.values(), num_kept=9)
    return state


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
    state = state_of(Lamb(0.1), data_description="a")
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
