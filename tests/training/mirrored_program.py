"""Trains on the same batch on one device and on two, in all ways; prints the losses.

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


# Two rows for each of two devices, five instances on one and three on the other.
PACKED_ROWS = [[0, 1, 2], [3, 4], [5], [6, 7]]


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


def fit(data: ReaderConfig, strategy: tf.distribute.Strategy) -> list[float]:
    """The losses of batches, two for an update, which has the mean of two equal gradients."""
    with strategy.scope():
        model = pretraining_model(CONFIG)
        schedule = WarmupLinearDecay(RATE, NUM_STEPS, 0)
        model.compile(AdamWeightDecay(schedule, gradient_accumulation_steps=2))
    # Keras tells the mean over an epoch's steps; with one step an epoch, the step's loss.
    history = model.fit(read_batches(data), steps_per_epoch=1, epochs=NUM_STEPS, verbose=0)
    return [float(np.asarray(loss)) for loss in history.history["loss"]]


def main(folder: str) -> None:
    strategy = make_strategy(DistributionConfig(distribution="mirrored", num_cpu_devices=2))
    assert strategy.num_replicas_in_sync == 2
    examples = random_batch(num_examples=BATCH_SIZE)
    write_records(f"{folder}/r.tfrecord", examples)
    path = f"{folder}/r.tfrecord"
    data = ReaderConfig(input_patterns=path, batch_size=BATCH_SIZE, num_epochs=None)

    def read_half(_: int, context: tf.distribute.InputContext) -> tf.data.Dataset:
        half = dataclasses.replace(data, batch_size=BATCH_SIZE // 2)
        return read_batches(half, input_context=context)

    def read(_: int, context: tf.distribute.InputContext) -> tf.data.Dataset:
        return read_batches(data, input_context=context)

    packed = batches_of(pack(examples, PACKED_ROWS), len(PACKED_ROWS))
    losses = {
        "one": loop(f"{folder}/one", read, BATCH_SIZE, None),
        "halves": loop(f"{folder}/halves", read_half, BATCH_SIZE, strategy, 2),
        "packed": loop(f"{folder}/packed", packed, len(PACKED_ROWS), strategy),
        "fit": fit(dataclasses.replace(data, form="fit"), strategy),
    }
    sys.stdout.write(json.dumps(losses) + "\n")


if __name__ == "__main__":
    main(sys.argv[1])
