"""Trains on one device and on two, by this project's loop and by Keras'; prints the losses.

Run by test_distribution.py in a process of its own, as the CPU must be divided at the start.
"""

import dataclasses
import json
import sys

import numpy as np
import tensorflow as tf

from bert_data.reader import ReaderConfig, read_batches
from bert_data.training import (
    AdamWeightDecay,
    DistributionConfig,
    TrainingConfig,
    WarmupLinearDecay,
    make_strategy,
    pretraining_model,
    train,
)
from bert_data.training.distribution import MakeBatches
from tests.training.tiny import batches_of, pack, random_batch, tiny_config, write_records

NUM_STEPS, BATCH_SIZE, RATE = 5, 8, 1e-2
CONFIG = tiny_config(num_hidden_layers=1)


# Two rows for each of two devices, five instances on one and two on the other.
PACKED_ROWS = [[0, 1, 2], [3, 4], [5], [6]]


def loop(
    folder: str,
    make_batches: MakeBatches,
    batch_size: int,
    strategy: tf.distribute.Strategy | None,
    num_accumulation_steps: int = 1,
) -> list[float]:
    losses: list[float] = []
    train(
        TrainingConfig(
            output_dir=folder,
            num_train_steps=NUM_STEPS,
            batch_size=batch_size // num_accumulation_steps,
            num_accumulation_steps=num_accumulation_steps,
            learning_rate=RATE,
            num_warmup_steps=0,
        ),
        CONFIG,
        make_batches,
        strategy=strategy,
        observers=[lambda report: losses.extend(map(float, report.losses))],
    )
    return losses


def fit(
    data: ReaderConfig, strategy: tf.distribute.Strategy, accumulated: int | None = None
) -> list[float]:
    """Keras tells the mean over an epoch's steps; with one step an epoch, the step's loss."""
    with strategy.scope():
        model = pretraining_model(CONFIG)
        schedule = WarmupLinearDecay(RATE, NUM_STEPS, 0)
        model.compile(AdamWeightDecay(schedule, gradient_accumulation_steps=accumulated))
    batches = read_batches(data)
    history = model.fit(batches, steps_per_epoch=1, epochs=NUM_STEPS, verbose=0)
    return [float(np.asarray(loss)) for loss in history.history["loss"]]


def main(folder: str) -> None:
    strategy = make_strategy(DistributionConfig(distribution="mirrored", num_cpu_devices=2))
    assert strategy.num_replicas_in_sync == 2
    write_records(f"{folder}/r.tfrecord", random_batch(num_examples=40))
    common = {"input_patterns": f"{folder}/r.tfrecord", "batch_size": BATCH_SIZE}
    data = ReaderConfig(**common, num_epochs=None)
    one = tf.distribute.OneDeviceStrategy("/cpu:0")
    for_fit = ReaderConfig(**common, num_epochs=None, form="fit")

    def read_half(_: int, context: tf.distribute.InputContext) -> tf.data.Dataset:
        half = dataclasses.replace(data, batch_size=BATCH_SIZE // 2)
        return read_batches(half, input_context=context)

    def read(_: int, context: tf.distribute.InputContext) -> tf.data.Dataset:
        return read_batches(data, input_context=context)

    packed = batches_of(pack(random_batch(num_examples=7), PACKED_ROWS), len(PACKED_ROWS))
    losses = {
        "loop, one": loop(f"{folder}/one", read, BATCH_SIZE, None),
        "loop, mirrored": loop(f"{folder}/mirrored", read, BATCH_SIZE, strategy),
        "halves, mirrored": loop(f"{folder}/halves", read_half, BATCH_SIZE, strategy, 2),
        "fit, mirrored": fit(for_fit, strategy),
        "accumulating, one": fit(for_fit, one, 2),
        "accumulating, mirrored": fit(for_fit, strategy, 2),
        "packed, one": loop(f"{folder}/packed", packed, len(PACKED_ROWS), None),
        "packed, mirrored": loop(f"{folder}/both", packed, len(PACKED_ROWS), strategy),
    }
    sys.stdout.write(json.dumps(losses) + "\n")


if __name__ == "__main__":
    main(sys.argv[1])
