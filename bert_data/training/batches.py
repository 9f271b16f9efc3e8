"""Batches for each device.

    make_batches(0, context)  ->  for each step, a part of the batch for each replica

The body of such a function is usually `read_batches(config, input_context=context)`.

Where several batches make one update, each also brings the update's loss divisors, so that the sum
of their losses is the loss of one large batch:

    batches  1 2 3 | 4 5 6      their masked tokens  20 18 20 | 17 20 20
    loss_divisors  58 58 58 | 57 57 57
"""

from collections.abc import Callable

import tensorflow as tf

from bert_data.schema import fields
from bert_data.training.losses import loss_divisors

LOSS_DIVISORS = "loss_divisors"
"""The feature that batches of a larger update have, float32[2]: this replica's share of the sums
that divide the losses of all of them."""

# Takes the number of the first batch (the parts of all replicas count as one batch) and a host's
# context; returns the parts for the host's replicas: dicts by Google's feature names, int32, the
# weights float32. The same arguments always give the same batches.
MakeBatches = Callable[[int, tf.distribute.InputContext], tf.data.Dataset]


def distribute_batches(
    strategy: tf.distribute.Strategy,
    make_batches: MakeBatches,
    *,
    batch_size: int,
    start_batch: int,
    num_accumulation_steps: int = 1,
) -> tf.data.Dataset:
    """Give each replica its part of each batch, read by its own host.

    Raises:
      ValueError: `batch_size` is not divisible by the number of replicas, or the data cannot be
        read.
    """
    num_replicas = strategy.num_replicas_in_sync
    if batch_size % num_replicas:
        raise ValueError(
            f"the batch size is {batch_size}; it must be a multiple of the number of devices,"
            f" {num_replicas}"
        )

    def make_parts(context: tf.distribute.InputContext) -> tf.data.Dataset:
        batches = make_batches(start_batch, context)
        if num_accumulation_steps == 1:
            return batches
        num_replicas_here = num_replicas // context.num_input_pipelines
        return _with_divisors(batches, num_accumulation_steps, num_replicas_here)

    return strategy.distribute_datasets_from_function(make_parts)


def _with_divisors(
    batches: tf.data.Dataset, num_accumulation_steps: int, num_replicas: int
) -> tf.data.Dataset:
    """Add `LOSS_DIVISORS` to a host's batches, of which those of an update are in memory."""

    def add(window: dict[str, tf.data.Dataset]) -> tf.data.Dataset:
        update = tf.data.Dataset.zip(window)
        total = update.reduce(tf.zeros([2]), plain(lambda total, b: total + _divisors(b)))
        return update.map(plain(lambda b: {**b, LOSS_DIVISORS: total / num_replicas}))

    plain = tf.autograph.experimental.do_not_convert
    windows = batches.window(num_accumulation_steps * num_replicas, drop_remainder=True)
    return windows.flat_map(plain(add))


def _divisors(batch: dict[str, tf.Tensor]) -> tf.Tensor:
    return loss_divisors(
        batch[fields.MASKED_LM_WEIGHTS.name],
        batch.get(fields.NEXT_SENTENCE_LABELS.name),
        batch.get(fields.NEXT_SENTENCE_WEIGHTS.name),
    )
