"""GPT samples in, a tf.data.Dataset of batches out.

    read_samples(dataset, SampleReaderConfig(batch_size=8))
      -> {"tokens": int32[8, 1024], "labels": int32[8, 1024], "loss_mask": float32[8, 1024],
          "position_ids": int32[8, 1024], "segment_starts": int32[8, 1024]}, ...

Samples come in the order of the data set, which is shuffled already. A batch is found by its
number, so a run may start at any of them. Several batches are gathered at a time from the mapped
token stores, because what passes from Python to tf.data costs by the call.
"""

import dataclasses
import itertools
import math
from collections.abc import Iterator
from typing import Any

import numpy as np
import tensorflow as tf
from numpy.typing import NDArray

from bert_data.causal.gathering import SampleBatch, batch_in
from bert_data.causal.gpt import SampleSet, fill_batch
from bert_data.reader.memory import new_bytes

FORMS = ("features", "fit")

_GROUP_TOKENS = 1 << 18
_GROUPS_AHEAD, _BATCHES_AHEAD = 2, 4
_INPUTS = ("tokens", "position_ids", "segment_starts")


@dataclasses.dataclass(frozen=True, kw_only=True)
class SampleReaderConfig:
    """Configuration of `read_samples`.

    Attributes:
      batch_size: rows of a batch of this host, >= 1. Under an `input_context` it is the global
        batch size, of which each replica takes its part.
      num_epochs: passes over the data set, >= 1, each in the same order; None goes on for ever.
      start_batch: batches to pass over at the start, >= 0, in no time; the rest is as in a run
        from 0.
      drop_remainder: whether samples at the end of a pass that do not fill a batch of every host
        are left out; with several hosts they must be, for all have batches of the same shape.
      num_hosts, host_index: this host reads its rows of every global batch of
        num_hosts * batch_size samples, disjoint from the others'.
      form: "features": one dict. "fit": (tokens, position_ids and segment_starts; labels; loss_mask
        as sample weights), for `model.fit`.
    """

    batch_size: int
    num_epochs: int | None = 1
    start_batch: int = 0
    drop_remainder: bool = True
    num_hosts: int = 1
    host_index: int = 0
    form: str = "features"

    def __post_init__(self) -> None:
        for name, least in (
            ("batch_size", 1), ("num_hosts", 1), ("start_batch", 0), ("host_index", 0),
            *([] if self.num_epochs is None else [("num_epochs", 1)]),
        ):  # fmt: skip
            value = getattr(self, name)
            if not isinstance(value, int) or value < least:
                raise ValueError(f"{name} is {value!r}; must be an integer >= {least}")
        if self.host_index >= self.num_hosts:
            allowed = f"must be below num_hosts, {self.num_hosts}"
            raise ValueError(f"host_index is {self.host_index}; {allowed}")
        if self.num_hosts > 1 and not self.drop_remainder:
            raise ValueError("drop_remainder is False; must be True with more than one host")
        if self.form not in FORMS:
            raise ValueError(f"form is {self.form!r}; must be one of {', '.join(FORMS)}")


def read_samples(
    dataset: SampleSet,
    config: SampleReaderConfig,
    *,
    input_context: "tf.distribute.InputContext | None" = None,
) -> tf.data.Dataset:
    """Makes the tf.data.Dataset of batches of a data set.

    Every iteration over it gives the same batches, in every process.

    Args:
      dataset: a `GptDataset` or `BlendedDataset`.
      config: how it is read.
      input_context: inside `tf.distribute.Strategy.distribute_datasets_from_function`: hosts and
        the rows of a replica are taken from it; config.batch_size and config.start_batch are
        global, and each replica takes one batch of this dataset a step.

    Raises:
      ValueError: the data set has fewer samples than a batch of all hosts has.
    """
    if input_context is not None:
        config = _for_replica(config, input_context)
    rows = config.batch_size if config.drop_remainder else None
    width = dataset.config.seq_length
    _count_batches(dataset, config)
    groups = tf.data.Dataset.from_generator(
        lambda: _groups(dataset, config),
        output_signature=tf.TensorSpec([None, len(SampleBatch._fields), rows, width], tf.int32),
    ).prefetch(_GROUPS_AHEAD)

    def unpack_group(words: tf.Tensor) -> tf.data.Dataset:
        numbers = tf.data.Dataset.range(tf.shape(words, tf.int64)[0])
        return numbers.map(lambda number: _form(words[number], config.form))

    options = tf.data.Options()
    options.deterministic = True
    # The hosts' parts are disjoint already.
    options.experimental_distribute.auto_shard_policy = tf.data.experimental.AutoShardPolicy.OFF
    batches = groups.flat_map(unpack_group).prefetch(_BATCHES_AHEAD).with_options(options)
    cardinality = tf.data.INFINITE_CARDINALITY
    if config.num_epochs is not None:
        num_batches = config.num_epochs * _count_batches(dataset, config)
        cardinality = max(0, num_batches - config.start_batch)
    return batches.apply(tf.data.experimental.assert_cardinality(cardinality))


def _for_replica(
    config: SampleReaderConfig, context: "tf.distribute.InputContext"
) -> SampleReaderConfig:
    replicas = context.num_replicas_in_sync // context.num_input_pipelines
    return dataclasses.replace(
        config,
        batch_size=context.get_per_replica_batch_size(config.batch_size),
        start_batch=config.start_batch * replicas,
        num_hosts=context.num_input_pipelines,
        host_index=context.input_pipeline_id,
    )


def _count_batches(dataset: SampleSet, config: SampleReaderConfig) -> int:
    """Batches of a host in one pass over the data set."""
    global_size = config.num_hosts * config.batch_size
    num_batches, num_left = divmod(len(dataset), global_size)
    if num_left and not config.drop_remainder:
        num_batches += 1
    if not num_batches:
        raise ValueError(
            f"the data set has {len(dataset):,} samples, fewer than the {global_size:,} of a batch "
            "of all hosts"
        )
    return num_batches


def _batch_numbers(dataset: SampleSet, config: SampleReaderConfig) -> Iterator[NDArray[np.int64]]:
    """The samples of this host's batches, from the first one that is wanted."""
    per_epoch = _count_batches(dataset, config)
    first, epochs = config.start_batch, config.num_epochs
    batches = itertools.count(first) if epochs is None else range(first, epochs * per_epoch)
    for batch in batches:
        row = (batch % per_epoch * config.num_hosts + config.host_index) * config.batch_size
        yield np.arange(row, min(row + config.batch_size, len(dataset)))


def _groups(dataset: SampleSet, config: SampleReaderConfig) -> Iterator[NDArray[np.int32]]:
    """Batches, several in an array: first one, then twice as many, and so on."""
    most = max(1, _GROUP_TOKENS // (config.batch_size * dataset.config.seq_length))
    numbers = _batch_numbers(dataset, config)
    num_batches = 1
    while held := list(itertools.islice(numbers, min(num_batches, most))):
        num_batches *= 2
        for _, batches in itertools.groupby(held, len):  # the last of a pass may be short
            yield _gather_group(dataset, list(batches))


def _gather_group(dataset: SampleSet, batches: list[NDArray[np.int64]]) -> NDArray[np.int32]:
    """Batches of as many rows each: int32[batches, fields of SampleBatch, rows, seq_length].

    A batch and a field of it are each in one piece, so TensorFlow takes them apart without a copy.
    """
    num_rows = batches[0].size
    texts, num_tokens = dataset.texts(np.concatenate(batches))
    shape = len(batches), len(SampleBatch._fields), num_rows, dataset.config.seq_length
    words = new_bytes(4 * math.prod(shape)).view(np.int32).reshape(shape)
    for number, batch in enumerate(map(batch_in, words)):
        rows = slice(number * num_rows, (number + 1) * num_rows)
        fill_batch(texts[rows], num_tokens[rows], dataset.config, batch)
    return words


def _form(words: tf.Tensor, form: str) -> Any:
    features = SampleBatch(*tf.unstack(words))._asdict()
    features["loss_mask"] = tf.bitcast(features["loss_mask"], tf.float32)
    if form == "features":
        return features
    inputs = {name: features[name] for name in _INPUTS}
    return inputs, features["labels"], features["loss_mask"]
