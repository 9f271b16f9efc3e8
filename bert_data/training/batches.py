"""Batches for each device.

    make_batches(0, context)  ->  on each step, a part of the batch for each replica

`read_batches(config, input_context=context)` is such a function's usual body.
"""

from collections.abc import Callable

import tensorflow as tf

# Takes the number of the first batch, all replicas' parts together counted as one, and a host's
# context; gives the parts for the host's replicas, dicts of Google's feature names, int32, the
# weights float32. The same arguments always give the same.
MakeBatches = Callable[[int, tf.distribute.InputContext], tf.data.Dataset]


def distribute_batches(
    strategy: tf.distribute.Strategy,
    make_batches: MakeBatches,
    *,
    batch_size: int,
    start_batch: int,
) -> tf.data.Dataset:
    """Gives each replica its part of each batch, read by its own host.

    Raises:
      ValueError: `batch_size` cannot be divided evenly, or the data cannot be read.
    """
    num_replicas = strategy.num_replicas_in_sync
    if batch_size % num_replicas:
        raise ValueError(
            f"the batch size is {batch_size}; a multiple of the number of devices, {num_replicas},"
            " is allowed"
        )
    return strategy.distribute_datasets_from_function(
        lambda context: make_batches(start_batch, context)
    )
