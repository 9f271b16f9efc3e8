"""A configuration in, a tf.data.Dataset of batches out.

    read_batches(ReaderConfig(input_patterns="data/train-*", batch_size=32, shuffle=True))
      -> {"input_ids": int32[32, widest row], ..., "next_sentence_labels": int32[32, 1]}, ...

The batches are made in NumPy, see `bert_data.reader.streamed`; here they become tensors.
"""

from collections.abc import Iterator
from typing import Any

import tensorflow as tf

from bert_data import features
from bert_data.reader.config import ReaderConfig
from bert_data.reader.examples.sections import (
    ENTRY_COLUMNS,
    FLOATS,
    TABLE_COLUMNS,
    Schema,
    StaticShape,
)
from bert_data.reader.files.corruption import explain
from bert_data.reader.sources import make_source

_TFHUB_NAMES = {features.INPUT_IDS: "input_word_ids", features.SEGMENT_IDS: "input_type_ids"}
_LABELS = (
    features.MASKED_LM_IDS,
    features.MASKED_LM_WEIGHTS,
    features.NEXT_SENTENCE_LABELS,
    features.NEXT_SENTENCE_WEIGHTS,
)
_GROUPS_AHEAD, _BATCHES_AHEAD = 2, 4

Batch = dict[str, tf.Tensor]


def read_batches(
    config: ReaderConfig, *, input_context: "tf.distribute.InputContext | None" = None
) -> tf.data.Dataset:
    """Makes the dataset of batches that a configuration tells of.

    Every iteration over it gives the same batches, in every process. All features are int32, the
    weights float32; which there are, `bert_data.features` and `ReaderConfig.batching` tell. Errors
    inside an iteration reach the caller as tf.errors.OpError whose text holds ours;
    `iterate_batches` and `explain` give ours back.

    Args:
      config: what to read and how.
      input_context: inside `tf.distribute.Strategy.distribute_datasets_from_function`: hosts and
        the rows of a replica are taken from it; config.batch_size and config.start_batch are
        global, and each replica takes one batch of this dataset a step.

    Raises:
      ValueError: the configuration contradicts the shards, or there is nothing to read.
      OSError: a file cannot be read.
      CorruptDataError: a shard's size contradicts its manifest or index, or its first record is
        damaged.
    """
    source = make_source(config, input_context)
    groups = tf.data.Dataset.from_generator(
        source.groups,
        output_signature=(
            tf.TensorSpec([None], tf.int32),
            tf.TensorSpec([None, TABLE_COLUMNS], tf.int32),
        ),
    ).prefetch(_GROUPS_AHEAD)
    schema, static = source.schema, source.static_shape

    def unpack_group(words: tf.Tensor, table: tf.Tensor) -> tf.data.Dataset:
        entries = tf.data.Dataset.from_tensor_slices(table)
        return entries.map(lambda entry: _form(_split(words, entry, schema, static), config))

    options = tf.data.Options()
    options.deterministic = True
    # The hosts' parts are disjoint already.
    options.experimental_distribute.auto_shard_policy = tf.data.experimental.AutoShardPolicy.OFF
    batches = groups.flat_map(unpack_group).prefetch(_BATCHES_AHEAD).with_options(options)
    if config.num_epochs is None:
        return batches.apply(tf.data.experimental.assert_cardinality(tf.data.INFINITE_CARDINALITY))
    if source.num_batches is not None:
        return batches.apply(tf.data.experimental.assert_cardinality(source.num_batches))
    return batches


def iterate_batches(config: ReaderConfig) -> Iterator[Any]:
    """Yields the batches of `read_batches`; errors are the reader's own."""
    try:
        yield from read_batches(config)
    except tf.errors.OpError as error:
        explained = explain(error)
        if explained is error:
            raise
        raise explained from None


def _split(words: tf.Tensor, entries: tf.Tensor, schema: Schema, static: StaticShape) -> Batch:
    """The batch that stands in `words` where its row of the table says, see `BatchGroup`.

    Few operations, as each costs a microsecond for each batch; where memory is aligned, none of
    them copies.
    """
    parts = tf.split(entries, [1, 1, ENTRY_COLUMNS - 2] * len(schema))
    batch = {}
    for i, (names, columns) in enumerate(zip(schema, static[1:], strict=True)):
        begin, size, shape = parts[3 * i : 3 * i + 3]
        section = tf.reshape(tf.slice(words, begin, size), shape)
        section.set_shape([len(names), static[0], columns])
        for name, values in zip(names, tf.unstack(section), strict=True):
            batch[name] = tf.bitcast(values, tf.float32) if name in FLOATS else values
    return batch


def _form(batch: Batch, config: ReaderConfig) -> Any:
    """The batch under the names and in the form that the configuration asks for."""
    names = _TFHUB_NAMES if config.feature_names == "tfhub" else {}
    if config.form == "features":
        return {names.get(name, name): batch[name] for name in batch}
    inputs = {names.get(name, name): batch[name] for name in batch if name not in _LABELS}
    if config.form == "supervised":
        return inputs, {name: batch[name] for name in _LABELS if name in batch}
    next_labels = batch[features.NEXT_SENTENCE_LABELS]
    labels = {"masked_lm": batch[features.MASKED_LM_IDS], "next_sentence": next_labels}
    weights = batch.get(features.NEXT_SENTENCE_WEIGHTS)
    if weights is None:
        weights = tf.ones_like(next_labels, tf.float32)
    if features.INSTANCE_IDS not in batch:
        weights = weights[:, 0]
    weights = {"masked_lm": batch[features.MASKED_LM_WEIGHTS], "next_sentence": weights}
    return inputs, labels, weights


def block_diagonal_mask(instance_ids: tf.Tensor) -> tf.Tensor:
    """Which tokens of packed rows see each other: those of the same instance.

    Args:
      instance_ids: int32[rows, width], 1, 2, ... in each row and 0 on padding.

    Returns:
      int32[rows, width, width], 1 where a token (second axis) sees a token (third axis).
    """
    queries, keys = instance_ids[:, :, tf.newaxis], instance_ids[:, tf.newaxis, :]
    return tf.cast((queries == keys) & (queries > 0), tf.int32)
