"""Find the way to batch a set before training.

The lengths come from the indexes; shards without one are scanned, and those that are compressed or
remote are read whole, and can only be streamed. Memory: 4 bytes a record, and what planning takes.
"""

import dataclasses
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bert_data.inspection.configs import BatchingConfig, PlanSetConfig
from bert_data.inspection.set_files import refuse_samples
from bert_data.reader.config import STREAM, ReaderConfig
from bert_data.reader.files.blocks import read_blocks
from bert_data.reader.files.checks import check_shards
from bert_data.reader.files.indexes import why_not_addressable
from bert_data.reader.files.record_source import Damage
from bert_data.reader.files.records import records_of_shards
from bert_data.reader.files.shards import Shard, find_shards
from bert_data.reader.planning import EpochPlan, make_plan
from bert_data.reader.planning.plan_config import BUCKETS, PACKED, PLAIN, POOLS, WIDTH_MAX

MAX = "max"
"""The way whose speed is 1: every row as wide as the longest allowed."""


@dataclasses.dataclass(frozen=True, kw_only=True)
class Batching:
    """One way to batch a set.

    Attributes:
      flags: of run_pretraining.py.
      reader: the same as arguments of `ReaderConfig`.
      num_tokens, num_padded: of all batches of an epoch, without and with padding.
      num_shapes: different rows and widths.
      speed: records a second, compared with the way `MAX`.
    """

    name: str
    flags: str
    reader: str
    num_batches: int
    num_tokens: int
    num_padded: int
    min_width: int
    max_width: int
    num_widths: int
    num_shapes: int
    speed: float

    @property
    def padding(self) -> float:
        """The share of tokens that are padding."""
        return 1 - self.num_tokens / self.num_padded

    def as_json(self) -> dict[str, Any]:
        """Return it as JSON."""
        return {**dataclasses.asdict(self), "padding": self.padding}


def compare_batchings(
    lengths: NDArray[np.unsignedinteger], config: BatchingConfig
) -> list[Batching]:
    """Plan an epoch of records of these lengths, uint[records], in every way."""
    if not lengths.size:
        raise ValueError("there are no records to batch")
    longest = config.max_seq_length or int(lengths.max())
    batchings: list[Batching] = []
    cost_of_max = 0.0
    for name, options in _ways(config):
        plan = make_plan(lengths, dataclasses.replace(config, max_seq_length=longest, **options))
        if config.is_stream:
            options["batching"] = STREAM  # the same batches, but for the order of records
        epoch = plan.epoch(0)
        rows, widths = np.diff(epoch.batch_splits), epoch.widths.astype(np.int64)
        cost = _cost(epoch, config.hidden_size)
        cost_of_max = cost_of_max or cost
        batchings.append(
            Batching(
                name=options["batching"] if name != MAX else MAX,
                flags=" ".join(f"--{k}={v}" for k, v in options.items()),
                reader=", ".join(f"{k}={v!r}" for k, v in options.items()),
                num_batches=epoch.num_batches,
                num_tokens=plan.num_tokens,
                num_padded=epoch.num_padded_tokens,
                min_width=int(widths.min()),
                max_width=int(widths.max()),
                num_widths=int(np.unique(widths).size),
                num_shapes=int(np.unique(rows << 32 | widths).size),
                speed=cost_of_max / cost,
            )
        )
    return batchings


def _ways(config: BatchingConfig) -> Iterator[tuple[str, dict[str, Any]]]:
    """Yield (name, arguments of `ReaderConfig`) of each way, `MAX` first."""
    yield MAX, {"batching": PLAIN, "width": WIDTH_MAX}
    yield PLAIN, {"batching": PLAIN}
    if not config.is_stream:
        yield POOLS, {"batching": POOLS, "pool_batches": config.pool_batches}
        yield BUCKETS, {"batching": BUCKETS, "num_buckets": config.num_buckets}
        yield PACKED, {"batching": PACKED}


def _cost(epoch: EpochPlan, hidden_size: int) -> float:
    """Return what all batches cost, in the operations of a token without attention."""
    rows, widths = np.diff(epoch.batch_splits), epoch.widths.astype(np.float64)
    return float(np.sum(rows * widths * (1 + widths / (6 * hidden_size))))


def lengths_of_histogram(num_of_length: NDArray[np.int64], most: int) -> NDArray[np.uint32]:
    """Return the lengths of records, or of about `most` of them, from how many have each length."""
    total = int(num_of_length.sum())
    counts = num_of_length
    if total > most:
        counts = np.diff(np.cumsum([0, *num_of_length.tolist()]) * most // total)
    return np.repeat(np.arange(counts.size, dtype=np.uint32), counts)


@dataclasses.dataclass(frozen=True, kw_only=True, eq=False)
class SetPlan:
    """The ways to batch a set.

    Attributes:
      config: of the batches, with max_seq_length.
      num_of_length: int64[any], records of each number of tokens.
      why_stream: why batches cannot be planned; None where they can.
    """

    batchings: Sequence[Batching]
    config: BatchingConfig
    num_records: int
    num_tokens: int
    num_of_length: NDArray[np.int64]
    why_stream: str | None
    paths: Sequence[str]

    def as_json(self) -> dict[str, Any]:
        """Return the plan as JSON."""
        return {
            "num_records": self.num_records,
            "num_tokens": self.num_tokens,
            "why_stream": self.why_stream,
            "batches": self.config.as_json(),
            "batchings": [batching.as_json() for batching in self.batchings],
        }


def plan_set(config: PlanSetConfig) -> SetPlan:
    """Plan an epoch of a set in every way."""
    reader = ReaderConfig(
        input_patterns=config.input_patterns,
        batch_size=1,
        max_seq_length=config.batches.max_seq_length,
        next_sentence=config.next_sentence,
    )
    shards = find_shards(reader)
    refuse_samples(shards)
    limits = check_shards(shards, reader)
    reasons = (why_not_addressable(shard) and f"{shard.path} {why_not_addressable(shard)}"
               for shard in shards)  # fmt: skip
    why_stream = next(filter(None, reasons), None)
    lengths = _read_lengths(shards, is_planned=why_stream is None)
    longest = limits.max_seq_length or int(lengths.max())
    batches = dataclasses.replace(
        config.batches, max_seq_length=longest, is_stream=why_stream is not None
    )
    return SetPlan(
        batchings=compare_batchings(lengths, batches),
        config=batches,
        num_records=lengths.size,
        num_tokens=int(lengths.sum(dtype=np.int64)),
        num_of_length=np.bincount(lengths),
        why_stream=why_stream,
        paths=[shard.path for shard in shards],
    )


def _read_lengths(shards: Sequence[Shard], *, is_planned: bool) -> NDArray[np.unsignedinteger]:
    if is_planned:
        return records_of_shards(shards, in_order=True, skip_corrupt=False).num_tokens
    damage = Damage(skip=False)
    parts = [block.lengths[:, 0] for shard in shards for block in read_blocks(shard, damage)]
    return np.concatenate(parts).astype(np.uint32)
