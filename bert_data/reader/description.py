"""Describe what a configuration reads, by the names, manifests and beginnings of its shards.

    ReaderConfig(input_patterns="data/train-*", batch_size=32, shuffle=True, seed=7)
      -> {"batch_size": 32, "seed": 7, ..., "shard 0": "train-00000: 512 records, ..."}

Two runs with equal descriptions see the same batches.
"""

import os
from collections.abc import Sequence

from bert_data import storage
from bert_data.kernels.crc32c import crc32c
from bert_data.objectives.objective import Objective
from bert_data.reader.config import WIDTH_OF_BATCH, ReaderConfig
from bert_data.reader.files.checks import Limits
from bert_data.reader.files.shards import Shard, find_shards
from bert_data.reader.planning.config import BUCKETS, PACKED, POOLS
from bert_data.reader.sources import as_stream

_HEAD_BYTES = 1 << 16  # padded records of other numbers can have as many bytes in all


def describe_order(config: ReaderConfig) -> dict[str, int | str]:
    """Describe which records come in which order; equal if the batches hold the same records.

    Shards count by their content, not by their folder. Options that only change the form of batches
    are left out, such as their width, and so is `skip_corrupt`: a run stopped by damage can
    continue without the damaged records.

    Raises:
      ValueError, OSError, CorruptDataError: see `find_shards`.
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
    plan: dict[str, int | str] = {"batching": config.batching}
    if config.batch_size is not None:
        plan |= {"batch_size": config.batch_size}
    else:
        plan |= {"max_tokens_per_batch": str(config.max_tokens_per_batch)}
        plan |= {"num_hosts": config.num_hosts}
    if config.batching == POOLS:
        plan |= {"pool_batches": config.pool_batches}
    depends_on_width = config.batching in (BUCKETS, PACKED) or config.batch_size is None
    if depends_on_width:
        plan |= {"width": str(config.width), "max_seq_length": str(config.max_seq_length)}
        if config.batching == BUCKETS and config.width == WIDTH_OF_BATCH:
            plan |= {"num_buckets": config.num_buckets}
    plan |= {"shuffle": config.shuffle}
    if config.shuffle:
        plan |= {"seed": config.seed}
    if config.dynamic_masking:
        plan |= {"seed": config.seed, "masked_lm_prob": str(config.masked_lm_prob)}
        plan |= {"max_predictions_per_seq": str(config.max_predictions_per_seq)}
        plan |= {"do_whole_word_mask": config.do_whole_word_mask, **config.own_flags()}
    return plan | {"drop_remainder": config.drop_remainder}


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
    """Return the records' objective.

    Raises:
      ValueError, OSError, CorruptDataError: see `find_shards`.
    """
    return find_shards(config)[0].objective


def limits_of_manifests(config: ReaderConfig) -> Limits:
    """Return the most that a record holds by the shards' manifests; None if there are none.

    Raises:
      ValueError, OSError, CorruptDataError: see `find_shards`.
    """
    manifests = [s.manifest for s in find_shards(config) if s.manifest is not None]
    return Limits(
        max_seq_length=max((m.max_seq_length for m in manifests), default=None),
        max_predictions_per_seq=max((m.max_predictions_per_seq for m in manifests), default=None),
    )


def vocab_size_of_manifests(config: ReaderConfig) -> int | None:
    """Return the size of the vocabulary by the shards' manifests; None if there are none.

    Raises:
      ValueError, OSError, CorruptDataError: see `find_shards`.
    """
    manifests = [s.manifest for s in find_shards(config) if s.manifest is not None]
    return max((m.vocab_size for m in manifests), default=None)
