"""Read records of remote TFRecord shards by number, from local copies of the shards or of parts.

    plan      7 3 | 0 9 | 4 8 | 5 1 ...     steps, in order
    stage     0 3 7 9 | 1 4 5 8             the records of the next steps, by their place

Small sets are copied whole, once for all epochs. Of larger ones a local file has the records of the
plan's next steps, and meanwhile those of the steps after that are fetched, so that an epoch in
random order reads the set some three times its size over the files'. See `storage.local_copies`.
"""

import copy
import os
import weakref
from collections.abc import Generator, Iterator, Sequence
from typing import Self

import numpy as np
from absl import logging
from numpy.typing import NDArray

from bert_data import storage
from bert_data.reader.config import REMOTE_CACHE_BYTES
from bert_data.reader.files.gathering import TFRecords
from bert_data.reader.files.indexes import Ranges, RecordPlaces
from bert_data.reader.files.local_records import ShardRecords
from bert_data.reader.files.record_source import RecordsOf, Step
from bert_data.reader.files.shards import Shard
from bert_data.storage import ByteRanges, RemoteFiles, hold_ranges
from bert_data.work.executor import Threads
from bert_data.work.sorting import distinct

GAP_BYTES = 1 << 18  # reading them takes less time than a second request
_STAGES_AT_ONCE = 3  # one is read, the next is fetched, and a third may have begun
_FIRST_BYTES = 16 << 20  # of the first stage, which is waited for; each has twice as many, up to
_MOST_RECORDS = 1 << 20


class _KeptRecords:
    """Records in a local file, in the order of their numbers."""

    def __init__(
        self, files: RemoteFiles, places: RecordPlaces, numbers: NDArray[np.int64] | None
    ) -> None:
        """Fetch them, unless they are there.

        Args:
          numbers: int64[any], of the records, ascending; None: whole shards.
        """
        self._numbers, self.descriptor = numbers, -1
        if numbers is None:
            shards, ends = np.arange(len(files.sizes)), np.array(files.sizes, np.int64)
            ranges = ByteRanges(shards, np.zeros_like(ends), ends)
        else:
            found = places.find(numbers)
            ranges = ByteRanges(found.shards, found.offsets, found.offsets + found.sizes)
        self._starts = ranges.places
        if ranges.files.size:
            self.descriptor = hold_ranges(files, ranges, most_gap=GAP_BYTES).descriptor
            weakref.finalize(self, os.close, self.descriptor).atexit = False

    def locate(self, records: NDArray[np.integer], ranges: Ranges) -> Ranges:
        """Return where in the local file the records of some ranges are."""
        if self._numbers is None:
            offsets = self._starts[ranges.shards] + ranges.offsets
        else:
            offsets = np.zeros(records.size, np.int64)
            is_there = records >= 0
            offsets[is_there] = self._starts[np.searchsorted(self._numbers, records[is_there])]
        return ranges._replace(shards=np.zeros_like(ranges.shards), offsets=offsets)


class RemoteRecords(TFRecords):
    """The records of TFRecord shards of which some are remote, by number."""

    def __init__(
        self,
        shards: Sequence[Shard],
        *,
        in_order: bool,
        skip_corrupt: bool,
        cache_bytes: int,
        indexes: Sequence[NDArray[np.void]] | None = None,
    ) -> None:
        """Read the indexes, unless they are given.

        Args:
          cache_bytes: most bytes of the local file, or of all of them.
        """
        super().__init__(shards, skip_corrupt=skip_corrupt, indexes=indexes)
        self._files = RemoteFiles(self._paths, [shard.num_bytes for shard in shards])
        self._stage_bytes = cache_bytes // _STAGES_AT_ONCE
        self._kept: _KeptRecords | None = None
        num_bytes = sum(self._files.sizes)
        self._is_copied = num_bytes <= cache_bytes
        if not self._is_copied and not in_order:
            logging.warning(
                "remote shards of %.0f MB are read in random order through a local file of %.0f MB:"
                " an epoch fetches them some %d times; a larger remote_cache_bytes is faster, and"
                " batching=stream fetches them once",
                num_bytes / 1e6, cache_bytes / 1e6, -(-num_bytes // self._stage_bytes),
            )  # fmt: skip

    def follow(self, steps: Iterator[Step], of: RecordsOf) -> Iterator[tuple[Step, Self]]:
        """Fetch the records of the next steps ahead, see `RecordSource`."""
        here = copy.copy(self)
        if self._is_copied:
            here._kept = self._kept = self._kept or self._keep(None)
            for step in steps:
                yield step, here
            return
        with Threads(1, max_in_flight=_STAGES_AT_ONCE - 1) as executor:
            for stage, here._kept in executor.ordered_map(self._fetch, self._stages(steps, of)):
                for step in stage:
                    yield step, here

    def _fetch(
        self, stage: tuple[list[Step], NDArray[np.int64]]
    ) -> tuple[list[Step], _KeptRecords]:
        return stage[0], self._keep(stage[1])

    def _keep(self, numbers: NDArray[np.int64] | None) -> _KeptRecords:
        return _KeptRecords(self._files, self._places, numbers)

    def _stages(
        self, steps: Iterator[Step], of: RecordsOf
    ) -> Iterator[tuple[list[Step], NDArray[np.int64]]]:
        """Yield steps that together need at most so many bytes and records, or one, and these."""
        stage: list[Step] = []
        asked: list[NDArray[np.integer]] = []
        num_bytes = num_records = 0
        most_bytes = _FIRST_BYTES
        for step in steps:
            records = of(step)
            more = self._places.find(records).num_bytes
            is_full = num_bytes + more > min(most_bytes, self._stage_bytes)
            if stage and (is_full or num_records + records.size > _MOST_RECORDS):
                yield stage, _numbers(asked)
                stage, asked, num_bytes, num_records = [], [], 0, 0
                most_bytes *= 2
            stage.append(step)
            asked.append(records)
            num_bytes, num_records = num_bytes + more, num_records + records.size
        if stage:
            yield stage, _numbers(asked)

    def _open(
        self, records: NDArray[np.integer], ranges: Ranges
    ) -> Generator[tuple[dict[int, int], Ranges]]:
        """Yield the local file, as file 0."""
        kept = self._kept or self._keep(_numbers([records]))
        yield {0: kept.descriptor}, kept.locate(records, ranges)

    def _check_unchanged(self, shard: int) -> None:
        self._files.check(shard)


def _numbers(asked: Sequence[NDArray[np.integer]]) -> NDArray[np.int64]:
    """Return the records, ascending."""
    records = np.concatenate(asked)
    return distinct(records[records >= 0])


def records_of_shards(
    shards: Sequence[Shard],
    *,
    in_order: bool,
    skip_corrupt: bool,
    remote_cache_bytes: int = REMOTE_CACHE_BYTES,
    keeps: bool = False,
    indexes: Sequence[NDArray[np.void]] | None = None,
) -> TFRecords:
    """Return the records of shards that are not compressed, numbered in their order.

    Args:
      in_order: whether records will mostly be read in order.
      keeps: whether to keep the records of a small local set in memory, from the second epoch on.
      indexes: of each shard, see `read_index`; None: they are read.
    """
    if not any(storage.is_remote(shard.path) for shard in shards):
        return ShardRecords(
            shards, in_order=in_order, skip_corrupt=skip_corrupt, keeps=keeps, indexes=indexes
        )
    return RemoteRecords(
        shards,
        in_order=in_order,
        skip_corrupt=skip_corrupt,
        cache_bytes=remote_cache_bytes,
        indexes=indexes,
    )
