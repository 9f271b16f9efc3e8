"""Choose the reader of a configuration's batches: planned, or streamed.

batching="pools", shards local and not compressed  ->  PlannedSource
batching="pools", train-00003.gz                   ->  BatchSource, and a warning
"""

import dataclasses
from collections.abc import Sequence
from typing import TYPE_CHECKING

from absl import logging

from bert_data.reader.config import STREAM, WIDTH_OF_BATCH, ReaderConfig
from bert_data.reader.files.indexes import why_not_addressable
from bert_data.reader.files.row_groups import is_kept
from bert_data.reader.files.shards import Shard, find_shards
from bert_data.reader.planned import PlannedSource
from bert_data.reader.planning.config import BUCKETS, PACKED
from bert_data.reader.planning.epoch import Parts
from bert_data.reader.streamed import BatchSource

if TYPE_CHECKING:
    import tensorflow as tf


def make_source(
    config: ReaderConfig, context: "tf.distribute.InputContext | None" = None
) -> BatchSource | PlannedSource:
    """Make the source of a configuration's batches.

    Args:
      config: which batches.
      context: replaces the configuration's hosts, see `read_batches`.

    Raises:
      ValueError: the shards are not addressable, and no stream can replace the planned batches.
      ValueError, OSError, CorruptDataError: see `BatchSource`, `PlannedSource`.
    """
    if not config.is_planned:
        return BatchSource(_for_replica(config, context))
    shards = find_shards(config)
    streamed = as_stream(config, shards)
    if streamed is not None:
        logging.warning(
            "%s: batching=%s is not possible; batches are read as a stream, shuffled in a buffer of"
            " %d records at most", _not_addressable(shards), config.batching, config.shuffle_buffer,
        )  # fmt: skip
        if context is None:
            return BatchSource(_for_host(streamed))
        return BatchSource(_for_replica(streamed, context))
    if context is None:
        return PlannedSource(config, shards, Parts(config.num_hosts, config.host_index, 1))
    replicas = context.num_replicas_in_sync // context.num_input_pipelines
    first = replicas * context.input_pipeline_id
    return PlannedSource(config, shards, Parts(context.num_replicas_in_sync, first, replicas))


def can_be_planned(input_patterns: str | Sequence[str], *, at_any_cost: bool = False) -> bool:
    """Return whether batches of the shards that patterns name can be planned.

    Args:
      input_patterns: as of `ReaderConfig`.
      at_any_cost: whether this includes Parquet whose row groups do not all fit in the memory kept
        for them, and are read again and again.

    Raises:
      ValueError, OSError, CorruptDataError: see `find_shards`.
    """
    config = ReaderConfig(input_patterns=input_patterns, batch_size=1)
    shards = find_shards(config)
    if _not_addressable(shards) is not None:
        return False
    return at_any_cost or is_kept([shard for shard in shards if shard.is_parquet])


def as_stream(config: ReaderConfig, shards: Sequence[Shard]) -> ReaderConfig | None:
    """Return the stream that replaces a plan, or None if all shards are addressable.

    Raises:
      ValueError: they are not, and a stream cannot make such batches.
    """
    why = _not_addressable(shards)
    if why is None:
        return None
    if config.batching == PACKED:
        raise ValueError(f"batching is {PACKED!r}, but {why}; it needs local, uncompressed files")
    if config.dynamic_masking:
        raise ValueError(f"dynamic_masking is True, but {why}; it needs local, uncompressed files")
    if config.max_tokens_per_batch is not None:
        bound = f"max_tokens_per_batch is {config.max_tokens_per_batch}"
        raise ValueError(f"{bound}, but {why}; it needs local, uncompressed files")
    if config.batching == BUCKETS and config.width == WIDTH_OF_BATCH:
        raise ValueError(f"batching is {BUCKETS!r}, but {why}; give the widths for such shards")
    return dataclasses.replace(config, batching=STREAM)


def _not_addressable(shards: Sequence[Shard]) -> str | None:
    for shard in shards:
        why = why_not_addressable(shard)
        if why is not None:
            return f"{shard.path} {why}"
    return None


def _for_host(config: ReaderConfig) -> ReaderConfig:
    """A stream of this host's part of a batch size that is that of all hosts."""
    assert config.batch_size is not None
    rows, left = divmod(config.batch_size, config.num_hosts)
    if left:
        allowed = f"a multiple of num_hosts, {config.num_hosts}, is allowed for streams"
        raise ValueError(f"batch_size is {config.batch_size}; {allowed}")
    return dataclasses.replace(config, batch_size=rows)


def _for_replica(
    config: ReaderConfig, context: "tf.distribute.InputContext | None"
) -> ReaderConfig:
    """A stream of the batches of all replicas of a host."""
    if context is None:
        return config
    replicas = context.num_replicas_in_sync // context.num_input_pipelines
    return dataclasses.replace(
        config,
        batch_size=context.get_per_replica_batch_size(config.batch_size),
        start_batch=config.start_batch * replicas,
        num_hosts=context.num_input_pipelines,
        host_index=context.input_pipeline_id,
    )
