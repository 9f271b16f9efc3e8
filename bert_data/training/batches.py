"""Batches for each device, from a function that makes them for a host.

    make_batches(batch_size=16, start_batch=0, num_hosts=1, host_index=0)
        -> on each step, one batch of 16 for each replica

On the way, ids that the model cannot know are refused.
"""

from typing import Protocol

import tensorflow as tf

from bert_data import features as names

_BAD_ID = "an id in the data is not in the model's vocabulary"


class MakeBatches(Protocol):
    """Makes a host's batches: dicts of Google's feature names, int32, the weights float32.

    The same arguments give the same batches. Those of the hosts together are all batches of
    `batch_size`, and `start_batch` counts the host's own.
    """

    def __call__(
        self, *, batch_size: int, start_batch: int, num_hosts: int, host_index: int
    ) -> tf.data.Dataset:
        """Makes one host's batches."""
        ...


def distribute_batches(
    strategy: tf.distribute.Strategy,
    make_batches: MakeBatches,
    *,
    batch_size: int,
    start_batch: int,
    vocab_size: int,
) -> tf.data.Dataset:
    """Divides batches of `batch_size` among the replicas, each replica's read by its own host.

    Args:
      strategy: the replicas.
      make_batches: of one host.
      batch_size: of all replicas together.
      start_batch: number of whole batches to skip.
      vocab_size: ids from this on stop the reading; see `told_about_ids`.

    Raises:
      ValueError: the batch cannot be divided evenly.
    """
    num_replicas = strategy.num_replicas_in_sync
    if batch_size % num_replicas:
        raise ValueError(
            f"the batch size is {batch_size}; a multiple of the number of devices ({num_replicas})"
            " is allowed"
        )

    def of_host(context: tf.distribute.InputContext) -> tf.data.Dataset:
        batches = make_batches(
            batch_size=batch_size // num_replicas,
            start_batch=start_batch * num_replicas // context.num_input_pipelines,
            num_hosts=context.num_input_pipelines,
            host_index=context.input_pipeline_id,
        )
        return refuse_foreign_ids(batches, vocab_size).prefetch(tf.data.AUTOTUNE)

    return strategy.distribute_datasets_from_function(of_host)


def refuse_foreign_ids(batches: tf.data.Dataset, vocab_size: int) -> tf.data.Dataset:
    """The same batches; one with an id outside of [0, vocab_size) raises InvalidArgumentError.

    Without this an accelerator reads such an id as zeros, and the loss becomes NaN.
    """

    def check(batch: dict[str, tf.Tensor]) -> dict[str, tf.Tensor]:
        ids = [tf.reshape(batch[name], [-1]) for name in (names.INPUT_IDS, names.MASKED_LM_IDS)]
        ids = tf.concat(ids, 0)
        good = tf.reduce_all((ids >= 0) & (ids < vocab_size))
        largest = tf.reduce_max(ids)
        test = tf.debugging.Assert(good, [_BAD_ID, largest])
        with tf.control_dependencies([test]):
            return {name: tf.identity(value) for name, value in batch.items()}

    return batches.map(check)


def told_about_ids(error: tf.errors.InvalidArgumentError, vocab_size: int) -> ValueError | None:
    """The sentence about a foreign id, if that is what the error is about."""
    text = str(error)
    if _BAD_ID not in text:
        return None
    found = text.split(_BAD_ID, 1)[1].split("[", 1)[-1].split("]", 1)[0]
    return ValueError(
        f"the data hold the id {found.strip()}, but vocab_size is {vocab_size} in the model's"
        " configuration: they were made with another vocabulary"
    )
