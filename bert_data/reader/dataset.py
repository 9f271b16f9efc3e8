"""A configuration in, a tf.data.Dataset of batches out.

    read_batches(ReaderConfig(input_patterns="data/train-*", batch_size=32, shuffle=True))
      -> {"input_ids": int32[32, widest row], ..., "next_sentence_labels": int32[32, 1]}, ...

The batches are made in NumPy, see `bert_data.reader.batches`; here they become tensors.
"""

import dataclasses
from collections.abc import Iterator
from typing import Any

import tensorflow as tf

from bert_data import features
from bert_data.reader.batches import TABLE_COLUMNS, BatchSource
from bert_data.reader.config import WIDTH_MAX, WIDTH_OF_BATCH, ReaderConfig
from bert_data.reader.corruption import explain
from bert_data.reader.example import FEATURES

_TFHUB_NAMES = {features.INPUT_IDS: "input_word_ids", features.SEGMENT_IDS: "input_type_ids"}
_LABELS = (features.MASKED_LM_IDS, features.MASKED_LM_WEIGHTS, features.NEXT_SENTENCE_LABELS)
_GROUPS_AHEAD, _BATCHES_AHEAD = 2, 4

Batch = dict[str, tf.Tensor]
StaticShape = tuple[int | None, int | None, int | None]


def read_batches(
    config: ReaderConfig, *, input_context: "tf.distribute.InputContext | None" = None
) -> tf.data.Dataset:
    """Makes the dataset of batches that a configuration tells of.

    Every iteration over it gives the same batches, in every process. All features are int32, the
    weights float32. Errors inside an iteration reach the caller as tf.errors.OpError whose text
    holds ours; `iterate_batches` and `explain` give ours back.

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
    if input_context is not None:
        config = _for_replica(config, input_context)
    source = BatchSource(config)
    groups = tf.data.Dataset.from_generator(
        source.groups,
        output_signature=(
            tf.TensorSpec([None], tf.int32),
            tf.TensorSpec([None, TABLE_COLUMNS], tf.int32),
        ),
    ).prefetch(_GROUPS_AHEAD)
    static = _static_shape(source)

    def unpack_group(words: tf.Tensor, table: tf.Tensor) -> tf.data.Dataset:
        entries = tf.data.Dataset.from_tensor_slices(table)
        return entries.map(lambda entry: _form(_split(words, entry, static), config))

    options = tf.data.Options()
    options.deterministic = True
    # The hosts' parts are disjoint already.
    options.experimental_distribute.auto_shard_policy = tf.data.experimental.AutoShardPolicy.OFF
    batches = groups.flat_map(unpack_group).prefetch(_BATCHES_AHEAD).with_options(options)
    if config.num_epochs is None:
        return batches.apply(tf.data.experimental.assert_cardinality(tf.data.INFINITE_CARDINALITY))
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


def _for_replica(config: ReaderConfig, context: "tf.distribute.InputContext") -> ReaderConfig:
    replicas = context.num_replicas_in_sync // context.num_input_pipelines
    return dataclasses.replace(
        config,
        batch_size=context.get_per_replica_batch_size(config.batch_size),
        start_batch=config.start_batch * replicas,
        num_hosts=context.num_input_pipelines,
        host_index=context.input_pipeline_id,
    )


def _static_shape(source: BatchSource) -> StaticShape:
    """Rows, width and predictions where they are the same in all batches."""
    config, limits = source.config, source.limits
    rows = config.batch_size if config.drop_remainder or config.num_epochs is None else None
    width = limits.max_seq_length if config.width == WIDTH_MAX else None
    predictions = None if config.width == WIDTH_OF_BATCH else limits.max_predictions_per_seq
    return rows, width, predictions


def _split(words: tf.Tensor, entry: tf.Tensor, static: StaticShape) -> Batch:
    """The batch that stands in `words` where `entry` says, see `BatchGroup`.

    The entry has all sizes and shapes worked out, as each operation here costs a microsecond for
    each batch. Where memory is aligned, nothing is copied.
    """
    parts = tf.split(tf.slice(words, entry[0:1], entry[1:2]), entry[2:9], num=len(FEATURES))
    rows, width, predictions = static
    columns = [(9, width)] * 3 + [(11, predictions)] * 3 + [(13, 1)]
    batch = {}
    for name, part, (at, num_columns) in zip(FEATURES, parts, columns, strict=True):
        if name == features.MASKED_LM_WEIGHTS:
            part = tf.bitcast(part, tf.float32)
        batch[name] = tf.reshape(part, entry[at : at + 2])
        batch[name].set_shape([rows, num_columns])
    return batch


def _form(batch: Batch, config: ReaderConfig) -> Any:
    """The batch under the names and in the form that the configuration asks for."""
    names = _TFHUB_NAMES if config.feature_names == "tfhub" else {}
    if config.form == "features":
        return {names.get(name, name): batch[name] for name in FEATURES}
    inputs = {names.get(name, name): batch[name] for name in FEATURES if name not in _LABELS}
    if config.form == "supervised":
        return inputs, {name: batch[name] for name in _LABELS}
    next_labels = batch[features.NEXT_SENTENCE_LABELS]
    labels = {"masked_lm": batch[features.MASKED_LM_IDS], "next_sentence": next_labels}
    ones = tf.ones_like(next_labels[:, 0], tf.float32)
    return inputs, labels, {"masked_lm": batch[features.MASKED_LM_WEIGHTS], "next_sentence": ones}
