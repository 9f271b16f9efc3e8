"""Read records by number from shards of either format.

a.tfrecord b.parquet, records 3 907  ->  3 of the file, 907 of a row group, as one RecordBlock
"""

import itertools
from collections.abc import Sequence
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from bert_data.reader.examples.block import join_blocks
from bert_data.reader.files.corruption import Damage
from bert_data.reader.files.gathering import Gathered, ShardRecords
from bert_data.reader.files.row_groups import ParquetRecords
from bert_data.reader.files.shards import Shard


class RecordSource(Protocol):
    """Records by number.

    Attributes:
      num_tokens: uint[records], tokens of each.
    """

    num_tokens: NDArray[np.unsignedinteger]

    def gather(self, records: NDArray[np.integer], damage: Damage) -> Gathered:
        """Read records, see `ShardRecords.gather`."""


class _Parts:
    """The records of several sources, one after the other."""

    def __init__(self, parts: Sequence[RecordSource]) -> None:
        self._parts = parts
        self._firsts = np.cumsum([0, *(part.num_tokens.size for part in parts)])
        self.num_tokens: NDArray[np.unsignedinteger] = np.concatenate(
            [part.num_tokens for part in parts]
        )

    def gather(self, records: NDArray[np.integer], damage: Damage) -> Gathered:
        """Read records, see `ShardRecords.gather`."""
        # Empty rows, -1, go to the first part.
        part_of = np.maximum(np.searchsorted(self._firsts, records, side="right") - 1, 0)
        rows_of = [np.flatnonzero(part_of == number) for number in range(len(self._parts))]
        gathered = [
            part.gather(np.where(records[which] < 0, -1, records[which] - first), damage)
            for part, which, first in zip(self._parts, rows_of, self._firsts, strict=False)
        ]
        order = np.argsort(np.concatenate(rows_of))
        is_there = np.concatenate([part.is_there for part in gathered])
        return Gathered(join_blocks([part.block for part in gathered]).take(order), is_there[order])


def records_of_shards(
    shards: Sequence[Shard], *, in_order: bool, skip_corrupt: bool
) -> RecordSource:
    """Return the records of addressable shards, numbered in the order of the shards.

    Raises:
      ValueError, OSError, CorruptDataError: see `ShardRecords` and `ParquetRecords`.
    """
    parts: list[RecordSource] = []
    for is_parquet, group in itertools.groupby(shards, lambda shard: shard.is_parquet):
        members = tuple(group)
        if is_parquet:
            parts.append(ParquetRecords(members, skip_corrupt=skip_corrupt))
        else:
            parts.append(ShardRecords(members, in_order=in_order, skip_corrupt=skip_corrupt))
    return parts[0] if len(parts) == 1 else _Parts(parts)
