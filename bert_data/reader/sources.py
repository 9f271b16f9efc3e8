"""Choose the source of a configuration's batches, describe it, and iterate without TensorFlow.

batching="pools", train-*           ->  PlannedSource
batching="pools", train-00003.gz    ->  BatchSource, and a warning
"""

import dataclasses
import functools
import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np
from absl import logging
from numpy.typing import NDArray

from bert_data import storage
from bert_data.kernels.crc32c import crc32c
from bert_data.reader.config import (
    REMOTE_CACHE_BYTES,
    STREAM,
    ReadBefore,
    ReaderConfig,
    for_replica,
)
from bert_data.reader.files.checks import Limits
from bert_data.reader.files.indexes import why_not_addressable
from bert_data.reader.files.shards import Shard, find_shards
from bert_data.reader.layout import arrays_of
from bert_data.reader.planned import PlannedSource
from bert_data.reader.planning.epoch import Parts
from bert_data.reader.planning.plan_config import BUCKETS, PACKED, PLAN_VERSION, POOLS
from bert_data.reader.saved_places import PlacedIterator, digest_of, open_state, sealed
from bert_data.reader.streamed import BatchSource
from bert_data.records import fields
from bert_data.records.objectives import Objective
from bert_data.storage import is_remote

if TYPE_CHECKING:
    import tensorflow as tf


def make_source(
    config: ReaderConfig,
    context: "tf.distribute.InputContext | None" = None,
    before: Sequence[ReadBefore] = (),
) -> BatchSource | PlannedSource:
    """Make the source of a configuration's batches.

    Args:
      before: what was read of the same records in the same order; batches come from behind it on,
        without end, and `start_batch` is counted from there.
    """
    if not config.is_planned:
        return BatchSource(config if context is None else for_replica(config, context), before)
    shards = find_shards(config)
    streamed = as_stream(config, shards)
    if streamed is not None:
        logging.warning(
            "%s: batching=%s is not possible; batches are read as a stream, shuffled in a buffer of"
            " %d records at most", _not_addressable(shards), config.batching, config.shuffle_buffer,
        )  # fmt: skip
        here = _for_host(streamed) if context is None else for_replica(streamed, context)
        return BatchSource(here, before)
    own = Parts(config.num_hosts, config.host_index, 1) if context is None else parts_of(context)
    return PlannedSource(config, shards, own, before)


def parts_of(context: "tf.distribute.InputContext") -> Parts:
    """Return the parts of each batch that the replicas of a host take."""
    replicas = context.num_replicas_in_sync // context.num_input_pipelines
    return Parts(context.num_replicas_in_sync, replicas * context.input_pipeline_id, replicas)


def can_be_planned(
    input_patterns: str | Sequence[str], *, remote_cache_bytes: int = REMOTE_CACHE_BYTES
) -> bool:
    """Return whether batches of the shards that patterns name can be planned.

    Remote shards that do not fit in remote_cache_bytes would be read again and again.
    """
    config = ReaderConfig(input_patterns=input_patterns, batch_size=1)
    shards = find_shards(config)
    if _not_addressable(shards) is not None:
        return False
    return sum(s.num_bytes for s in shards if is_remote(s.path)) <= remote_cache_bytes


def as_stream(config: ReaderConfig, shards: Sequence[Shard]) -> ReaderConfig | None:
    """Return the stream that replaces a plan, or None if all shards are addressable."""
    why = _not_addressable(shards)
    if why is None:
        return None
    if config.batching == PACKED:
        raise ValueError(f"batching is {PACKED!r}, but {why}; it needs uncompressed files")
    if config.max_tokens_per_batch is not None:
        bound = f"max_tokens_per_batch is {config.max_tokens_per_batch}"
        raise ValueError(f"{bound}, but {why}; it needs uncompressed files")
    if config.batching == BUCKETS and config.fits_longest_row:
        raise ValueError(f"batching is {BUCKETS!r}, but {why}; give the widths for such shards")
    return dataclasses.replace(config, batching=STREAM)


def _not_addressable(shards: Sequence[Shard]) -> str | None:
    for shard in shards:
        why = why_not_addressable(shard)
        if why is not None:
            return f"{shard.path} {why}"
    return None


def _for_host(config: ReaderConfig) -> ReaderConfig:
    """Return the stream of this host's rows, where batch_size is that of all hosts."""
    assert config.batch_size is not None
    rows, left = divmod(config.batch_size, config.num_hosts)
    if left:
        allowed = f"a multiple of num_hosts, {config.num_hosts}, is allowed for streams"
        raise ValueError(f"batch_size is {config.batch_size}; {allowed}")
    return dataclasses.replace(config, batch_size=rows)


_TFHUB_NAMES = {field.name: field.v2_name for field in fields.MASKED_LM_FIELDS if field.v2_name}
_LABELS = tuple(
    field.name
    for field in (
        fields.MASKED_LM_IDS,
        fields.MASKED_LM_WEIGHTS,
        fields.NEXT_SENTENCE_LABELS,
        fields.NEXT_SENTENCE_WEIGHTS,
    )
)


class BatchForm(Protocol):
    """The structure of batches, see `ReaderConfig`."""

    @property
    def form(self) -> str:
        """Dicts or tuples."""

    @property
    def feature_names(self) -> str:
        """Whose names the features have."""


def form_batch(
    batch: dict[str, Any], config: BatchForm, objective: Objective, ones_like: Callable[[Any], Any]
) -> Any:
    """Put a batch into the configured structure, see `ReaderConfig.form`.

    Args:
      batch: by the names of the features; or several of one shape, stacked.
    """
    names = _TFHUB_NAMES if config.feature_names == "tfhub" else {}
    if config.form == "features":
        return {names.get(name, name): values for name, values in batch.items()}
    labels = {name: values for name, values in batch.items() if name in _LABELS}
    inputs = {names.get(name, name): batch[name] for name in batch if name not in _LABELS}
    if config.form == "supervised":
        return inputs, labels
    of_heads = {"masked_lm": batch[fields.MASKED_LM_IDS.name]}
    weights_of_heads = {"masked_lm": batch[fields.MASKED_LM_WEIGHTS.name]}
    if objective.task is not None:
        of_heads[objective.task] = batch[fields.NEXT_SENTENCE_LABELS.name]
        weights = batch.get(fields.NEXT_SENTENCE_WEIGHTS.name)
        if weights is None:
            weights = ones_like(of_heads[objective.task])
        is_packed = fields.INSTANCE_IDS.name in batch
        weights_of_heads[objective.task] = weights if is_packed else weights[..., 0]
    return inputs, of_heads, weights_of_heads


def iterate_arrays(config: ReaderConfig) -> PlacedIterator[int]:
    """Iterate over the batches of a configuration, the same ones as `read_batches`.

    Returns:
      Batches in the configuration's form, with arrays instead of tensors: int32, weights float32.
      Consecutive batches share memory, so keeping one keeps up to 4 MB; it is reused when none of
      its arrays is left.

    Raises:
      ValueError, OSError, CorruptDataError: see `bert_data.reader.read_batches`; errors met while
        reading are raised by the iterator.
    """
    order = functools.cache(lambda: describe_order(config))

    def begin(start: int) -> Iterator[tuple[int, Any]]:
        source = make_source(dataclasses.replace(config, start_batch=start))
        return _numbered(_iterate(source, config), start + 1)

    return PlacedIterator(
        config.start_batch,
        begin,
        lambda batch: save_batch(batch, order()),
        lambda state: load_batch(state, order()),
    )


def save_batch(batch: int, order: Mapping[str, Any]) -> dict[str, Any]:
    """Return the state of a place in records: the next batch, and a digest of their order.

    Args:
      order: of `describe_order`.
    """
    return sealed({"batch": batch, "order": digest_of(order), "version": PLAN_VERSION})


def load_batch(state: Any, order: Mapping[str, Any]) -> int:
    """Return the batch of a state, or refuse that of other records or of another order."""
    batch = int(open_state(state, {"batch": int, "order": str, "version": int})["batch"])
    if dict(state) != save_batch(batch, order):
        raise ValueError("the state is that of other records, or of another order of them")
    return batch


def _numbered(batches: Iterator[Any], first: int) -> Iterator[tuple[int, Any]]:
    """Number batches; unlike `enumerate`, it can be closed."""
    yield from enumerate(batches, first)


def _iterate(source: BatchSource | PlannedSource, config: ReaderConfig) -> Iterator[Any]:
    for group in source.groups():
        for batch in arrays_of(group, source.layout):
            yield form_batch(batch, config, source.objective, _ones_like)


def _ones_like(values: NDArray[Any]) -> NDArray[np.float32]:
    return np.ones(values.shape, np.float32)


_STREAM_BOUNDS: dict[str, int | None] = {"batch_size": None}
_PLAN_BOUNDS = _STREAM_BOUNDS | {"max_tokens_per_batch": None, "num_hosts": 1, "rows_multiple": 1}
_HEAD_BYTES = 1 << 16  # padded records of other numbers can have as many bytes in all


def describe_order(config: ReaderConfig) -> dict[str, int | str]:
    """Describe which records come in which order; equal if the batches hold the same records.

    Shards count by their content, not by their folder. Options that only change the form of batches
    are left out, such as their width, and so is `skip_corrupt`: a run stopped by damage can
    continue without the damaged records.
    """
    shards = find_shards(config)
    if config.is_planned:
        streamed = as_stream(config, shards)
        if streamed is None:
            return _describe_plan(config) | _describe_shards(shards)
        config = streamed
    assert config.batch_size is not None
    order: dict[str, int | str] = {"batch_size": config.batch_size, "shuffle": config.shuffle}
    if config.shuffle:
        order |= {"shuffle_buffer": config.shuffle_buffer, "seed": config.seed}
    order |= {"drop_remainder": config.drop_remainder}
    order |= {"num_hosts": config.num_hosts, "host_index": config.host_index}
    return order | _describe_shards(shards)


def _describe_plan(config: ReaderConfig) -> dict[str, int | str]:
    """Describe what a plan depends on in addition to the lengths of records.

    Batches of a number of rows are the same for any number of hosts, and plain ones of any width.
    """
    plan: dict[str, int | str] = {"plan_version": PLAN_VERSION, "batching": config.batching}
    if config.batch_size is not None:
        plan |= {"batch_size": config.batch_size}
    else:
        plan |= {"max_tokens_per_batch": str(config.max_tokens_per_batch)}
        plan |= {"num_hosts": config.num_hosts}
        plan |= {"rows_multiple": config.rows_multiple} if config.rows_multiple > 1 else {}
    if config.batching == POOLS:
        plan |= {"pool_batches": config.pool_batches}
    depends_on_width = config.batching in (BUCKETS, PACKED) or config.batch_size is None
    if depends_on_width:
        plan |= {"width": str(config.width), "max_seq_length": str(config.max_seq_length)}
        if config.batching == BUCKETS and config.fits_longest_row:
            plan |= {"num_buckets": config.num_buckets}
    plan |= {"shuffle": config.shuffle}
    if config.shuffle:
        plan |= {"seed": config.seed}
    return plan | {"drop_remainder": config.drop_remainder}


def bound_of_order(before: Mapping[str, Any], now: Mapping[str, Any]) -> dict[str, Any] | None:
    """Return what bounded the batches of an order, if nothing else differs from another one.

    Args:
      before, now: of `describe_order`.

    Returns:
      Fields of `ReaderConfig`; None: the records or their order differ, too.
    """
    bounds = _PLAN_BOUNDS if "batching" in now else _STREAM_BOUNDS
    others = [{k: v for k, v in each.items() if k not in bounds} for each in (before, now)]
    if others[0] != others[1]:
        return None
    return {n: int(before[n]) if n in before else default for n, default in bounds.items()}


def _describe_shards(shards: Sequence[Shard]) -> dict[str, int | str]:
    return {f"shard {number}": _describe_shard(shard) for number, shard in enumerate(shards)}


def _describe_shard(shard: Shard) -> str:
    name = os.path.basename(shard.path)
    if shard.manifest is not None and (file := shard.manifest.by_name.get(name)) is not None:
        return f"{name}: {file.num_records} records, crc32c {file.crc32c:#010x}"
    with storage.open_input(shard.path) as head:
        checksum = crc32c(head.read(_HEAD_BYTES))
    return f"{name}: {shard.num_bytes} bytes, crc32c {checksum:#010x} where they begin"


def objective_of(config: ReaderConfig) -> Objective:
    """Return the records' objective."""
    return find_shards(config)[0].objective


def limits_of_manifests(config: ReaderConfig) -> Limits:
    """Return the most that a record holds by the shards' manifests; None if there are none."""
    manifests = [s.manifest for s in find_shards(config) if s.manifest is not None]
    return Limits(
        max_seq_length=max((m.max_seq_length for m in manifests), default=None),
        max_predictions_per_seq=max((m.max_predictions_per_seq for m in manifests), default=None),
    )


def vocab_size_of_manifests(config: ReaderConfig) -> int | None:
    """Return the size of the vocabulary by the shards' manifests; None if there are none."""
    manifests = [s.manifest for s in find_shards(config) if s.manifest is not None]
    return max((m.vocabulary.size for m in manifests), default=None)
