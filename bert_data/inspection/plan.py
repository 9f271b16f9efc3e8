"""Find the way to batch a set before training: see `batchings`.

PlanSetConfig(input_patterns="data/train-*", batches=BatchingConfig(batch_size=32))
  -> SetPlan: every way to batch the set, with the flags that choose it

The lengths come from the indexes; shards without one are scanned, and those that are compressed or
remote are read whole, and can only be streamed. Memory: 4 bytes a record, and what planning takes.
"""

import dataclasses
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bert_data.inspection.batchings import Batching, BatchingConfig, compare_batchings
from bert_data.inspection.set_files import refuse_samples
from bert_data.reader.config import ReaderConfig
from bert_data.reader.files.blocks import read_blocks
from bert_data.reader.files.checks import check_shards
from bert_data.reader.files.corruption import Damage
from bert_data.reader.files.indexes import why_not_addressable
from bert_data.reader.files.records import records_of_shards
from bert_data.reader.files.shards import Shard, find_shards


@dataclasses.dataclass(frozen=True, kw_only=True)
class PlanSetConfig:
    """Configuration of `plan_set`.

    Attributes:
      input_patterns: patterns of shards; a string with commas, or a sequence.
      batches: what the batches are like; its max_seq_length is by default the manifests'.
      next_sentence: the records' objective where no manifest says it; None for "nsp".
    """

    input_patterns: str | Sequence[str]
    batches: BatchingConfig
    next_sentence: str | None = None


@dataclasses.dataclass(frozen=True, kw_only=True, eq=False)
class SetPlan:
    """The ways to batch a set.

    Attributes:
      batchings: each way.
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
            "batches": dataclasses.asdict(self.config),
            "batchings": [batching.as_json() for batching in self.batchings],
        }


def plan_set(config: PlanSetConfig) -> SetPlan:
    """Plan an epoch of a set in every way.

    Raises:
      ValueError: a pattern matches nothing, there are no records, or one is too long.
      CorruptDataError: an index or a shard is damaged.
    """
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
