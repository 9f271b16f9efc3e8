"""Training on the reader's planned batches: each instance once an epoch, and exact restarts."""

import dataclasses
from pathlib import Path

import numpy as np
import pytest
import tensorflow as tf

from bert_data.reader import ReaderConfig, read_batches
from bert_data.training import (
    AdamWeightDecay,
    TrainingConfig,
    evaluate,
    pretraining_model,
    train,
)
from bert_data.training.steps import TrainingReport
from tests.training.tiny import random_batch, tiny_config, write_records

NUM_RECORDS = 21
EXAMPLES = random_batch(num_examples=NUM_RECORDS)


def reader(folder: Path, batching: str, **changes: object) -> ReaderConfig:
    path = folder / "r.tfrecord"
    if not path.exists():
        write_records(str(path), EXAMPLES)
    values = {
        "input_patterns": str(path), "batch_size": 4, "batching": batching, "pool_batches": 3,
        "num_buckets": 3, "shuffle": True, "seed": 3, "num_epochs": None,
    }  # fmt: skip
    if batching == "packed":
        values |= {"width": (20,), "batch_size": 2}
    return ReaderConfig(**{**values, **changes})


@pytest.mark.slow
@pytest.mark.parametrize("batching", ["pools", "packed"])
def test_a_run_that_was_broken_off_goes_on_with_the_next_batch(
    tmp_path: Path, batching: str
) -> None:
    data = reader(tmp_path, batching)
    num_batches = sum(1 for _ in read_batches(dataclasses.replace(data, num_epochs=1)))

    def make_batches(start_batch: int, context: tf.distribute.InputContext) -> tf.data.Dataset:
        here = dataclasses.replace(data, start_batch=start_batch)
        return read_batches(here, input_context=context)

    def run(name: str, *, stop_at: int | None = None) -> list[TrainingReport]:
        reports: list[TrainingReport] = []

        def observe(report: TrainingReport) -> None:
            reports.append(report)
            if report.step == stop_at:
                raise KeyboardInterrupt

        config = TrainingConfig(
            output_dir=str(tmp_path / name), num_train_steps=2 * num_batches, batch_size=4,
            learning_rate=1e-2, num_warmup_steps=0, log_every_steps=1, save_checkpoints_steps=2,
        )  # fmt: skip
        bert = tiny_config(num_hidden_layers=1, hidden_dropout_prob=0.2)
        train(config, bert, make_batches, observers=[observe])
        return reports

    whole = run("a")
    assert sum(report.num_examples for report in whole) == 2 * NUM_RECORDS
    assert sum(report.num_tokens for report in whole) == 2 * EXAMPLES["input_mask"].sum()
    with pytest.raises(KeyboardInterrupt):
        run("b", stop_at=3)
    losses = [np.concatenate([r.losses for r in reports]) for reports in (whole, run("b"))]
    np.testing.assert_array_equal(losses[1], losses[0][2:])


@pytest.mark.slow
@pytest.mark.parametrize("batching", ["plain", "buckets", "packed"])
def test_metrics_do_not_depend_on_the_batches(tmp_path: Path, batching: str) -> None:
    """Of this project's evaluation and of Keras'; losses are means over batches."""
    model = pretraining_model(tiny_config(num_hidden_layers=1))
    expected = evaluate(model, [EXAMPLES])
    data = reader(tmp_path, batching, num_epochs=1)
    metrics = evaluate(model, read_batches(data))
    del metrics["loss"]
    assert metrics == pytest.approx({name: expected[name] for name in metrics}, rel=1e-5)
    model.compile(AdamWeightDecay(0.0))
    batches = read_batches(dataclasses.replace(data, form="fit"))
    of_keras = model.evaluate(batches, return_dict=True, verbose=0)
    for name in ("masked_lm_accuracy", "next_sentence_accuracy"):
        assert of_keras[name] == pytest.approx(expected[name], rel=1e-5)
