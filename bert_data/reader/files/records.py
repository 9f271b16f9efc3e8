"""The records of shards of either format, local or remote, by number.

a.tfrecord (3 records)  b.parquet (2 rows)   ->   records 0 1 2 | 3 4
"""

import contextlib
import itertools
from collections.abc import Iterator, Sequence
from typing import Self

import numpy as np
from numpy.typing import NDArray

from bert_data import storage
from bert_data.reader.config import REMOTE_CACHE_BYTES
from bert_data.reader.examples.block import Gathered, join_blocks
from bert_data.reader.files.gathering import TFRecords
from bert_data.reader.files.local_records import ShardRecords
from bert_data.reader.files.parquet_shards import ParquetRecords
from bert_data.reader.files.record_source import Damage, RecordsOf, RecordSource, Step
from bert_data.reader.files.remote_records import RemoteRecords
from bert_data.reader.files.shards import Shard


class _JoinedSources(RecordSource):
    """The records of several sources, one after the other."""

    def __init__(self, parts: Sequence[RecordSource]) -> None:
        self._parts = parts
        self._firsts = np.cumsum([0, *(part.num_tokens.size for part in parts)])
        self.num_tokens = np.concatenate([part.num_tokens for part in parts])

    def _part_of(self, records: NDArray[np.integer]) -> NDArray[np.int64]:
        """Return the part of each record; empty rows, -1, go to the first one."""
        return np.maximum(np.searchsorted(self._firsts, records, side="right") - 1, 0)

    def _of_part(
        self, records: NDArray[np.integer], part_of: NDArray[np.int64], number: int
    ) -> NDArray[np.integer]:
        """Return the records of one part by their numbers there."""
        here = records[part_of == number]
        return np.where(here < 0, -1, here - self._firsts[number])

    def gather(self, records: NDArray[np.integer], damage: Damage) -> Gathered:
        """Read records, see `RecordSource`."""
        part_of = self._part_of(records)
        gathered = [
            part.gather(self._of_part(records, part_of, number), damage)
            for number, part in enumerate(self._parts)
        ]
        order = np.argsort(np.argsort(part_of, kind="stable"))
        is_there = np.concatenate([part.is_there for part in gathered])
        return Gathered(join_blocks([part.block for part in gathered]).take(order), is_there[order])

    @contextlib.contextmanager
    def ahead(self, steps: Iterator[Step], of: RecordsOf) -> Iterator[tuple[Self, Iterator[Step]]]:
        """Announce to each part which of its records will be read, see `RecordSource`."""

        def of_part(number: int) -> RecordsOf:
            def here(step: Step) -> NDArray[np.integer]:
                records = of(step)
                return self._of_part(records, self._part_of(records), number)

            return here

        with contextlib.ExitStack() as stack:
            parts: list[RecordSource] = []
            for number, part in enumerate(self._parts):
                part, steps = stack.enter_context(part.ahead(steps, of_part(number)))
                parts.append(part)
            yield type(self)(parts), steps


def tfrecords_of_shards(
    shards: Sequence[Shard],
    *,
    in_order: bool,
    skip_corrupt: bool,
    remote_cache_bytes: int = REMOTE_CACHE_BYTES,
    keeps: bool = False,
) -> TFRecords:
    """Return the records of TFRecord shards that are not compressed."""
    if not any(storage.is_remote(shard.path) for shard in shards):
        return ShardRecords(shards, in_order=in_order, skip_corrupt=skip_corrupt, keeps=keeps)
    return RemoteRecords(
        shards, in_order=in_order, skip_corrupt=skip_corrupt, cache_bytes=remote_cache_bytes
    )


def records_of_shards(
    shards: Sequence[Shard],
    *,
    in_order: bool,
    skip_corrupt: bool,
    remote_cache_bytes: int = REMOTE_CACHE_BYTES,
) -> RecordSource:
    """Return the records of addressable shards, numbered in the order of the shards.

    Args:
      in_order: whether records will mostly be read in order.
    """
    parts: list[RecordSource] = []
    for (is_parquet, _), group in itertools.groupby(
        shards, lambda shard: (shard.is_parquet, storage.is_remote(shard.path))
    ):
        members = tuple(group)
        if is_parquet:
            parts.append(ParquetRecords(members, skip_corrupt=skip_corrupt))
        else:
            parts.append(
                tfrecords_of_shards(
                    members,
                    in_order=in_order,
                    skip_corrupt=skip_corrupt,
                    remote_cache_bytes=remote_cache_bytes,
                    keeps=True,
                )
            )
    return parts[0] if len(parts) == 1 else _JoinedSources(parts)
