"""Batches for each device.

    make_batches(0, context)  ->  for each step, a part of the batch for each replica

The body of such a function is usually `read_batches(config, input_context=context)`.
"""

from collections.abc import Callable

import tensorflow as tf

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
    return strategy.distribute_datasets_from_function(
        lambda context: make_batches(start_batch, context)
    )
