"""Batches for each device, and what went wrong when one could not be read.

    make_batches(0, context)  ->  on each step, a part of the batch for each replica

`read_batches(config, input_context=context)` is such a function's usual body.
"""

import re
from collections.abc import Callable

import tensorflow as tf

from bert_data.reader import explain

# Takes the number of the first batch, all replicas' parts together counted as one, and a host's
# context; gives the parts for the host's replicas, dicts of Google's feature names, int32, the
# weights float32. The same arguments always give the same.
MakeBatches = Callable[[int, tf.distribute.InputContext], tf.data.Dataset]

_CARRIED = re.compile(r"\bValueError: (?P<sentence>[^\n]+)")


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


def explain_reading(error: tf.errors.OpError) -> Exception:
    """The reader's own error that one of TensorFlow carries, or that one itself."""
    explained = explain(error)
    if explained is not error:
        return explained
    carried = _CARRIED.search(str(error))
    return ValueError(carried["sentence"].strip()) if carried else error
