"""Read records of local TFRecord shards by number: from files, from maps of them, or from memory.

in order, or a large set     a system call for each range, which reads it
shuffled                     a system call for dozens of records, which copies them from maps
the second epoch             a small set stays in memory, each record at its place in the
                             joined shards
"""

import os
from collections.abc import Generator, Sequence

import numpy as np
from numpy.typing import NDArray

from bert_data.kernels import Scalar, kernel
from bert_data.reader.examples.block import Gathered, RecordBlock, gathered, room_for
from bert_data.reader.examples.example import OK, Features
from bert_data.reader.files.gathering import (
    MAX_RANGES,
    PWRITEV,
    TFRecords,
    check_frame,
    copy_ranges,
    look_at,
)
from bert_data.reader.files.indexes import Ranges
from bert_data.reader.files.record_source import Damage
from bert_data.reader.files.shards import Shard
from bert_data.reader.layout import new_file
from bert_data.storage import allowed_memory
from bert_data.storage.descriptors import FileMaps, OpenFiles

MAX_BYTES_IN_MEMORY = 1 << 27
_BYTES_OF_ENTRY = 80


def fits_in_memory(num_bytes: int, num_records: int) -> bool:
    """Return whether shards of this size are kept."""
    return num_bytes + _BYTES_OF_ENTRY * num_records <= MAX_BYTES_IN_MEMORY


class RecordsInMemory:
    """Records by number, as far as they were added.

    Attributes:
      data: uint8[bytes of the shards]; the system provides its memory as records are read into it.
    """

    def __init__(self, num_bytes: int, num_records: int, num_spans: int) -> None:
        self.data = np.empty(num_bytes, np.uint8)
        self._block = room_for(self.data, num_records, num_spans)
        self._is_kept = np.zeros(num_records, np.bool_)

    def missing(self, records: NDArray[np.integer]) -> NDArray[np.integer]:
        """Return those of some records, or -1, that are not kept."""
        return records[(records >= 0) & ~self._is_kept[records]]

    def add(
        self, records: NDArray[np.integer], block: RecordBlock, is_whole: NDArray[np.bool_]
    ) -> None:
        """Add those records that are whole of a block of this data."""
        kept = self._block
        kept.starts[records], kept.sizes[records] = block.starts, block.sizes
        kept.spans[records], kept.lengths[records] = block.spans, block.lengths
        self._is_kept[records] = is_whole  # last: another iteration may read this meanwhile

    def take(self, records: NDArray[np.integer]) -> Gathered:
        """Return records; -1 and those that were not added are missing."""
        is_there = (records >= 0) & self._is_kept[records]
        return gathered(self._block.take(records), is_there)


_MEMORY_SHARE = 2  # files read in random order may fill half of the memory
_COPIED_BYTES = 1 << 16  # at a time, after which they are still in the caches
_MOST_MAPS = 1 << 14  # Linux gives a process 65,530, also for its threads and arrays


@kernel
def _copy(
    function: Scalar,
    target: Scalar,
    addresses: NDArray[np.int64],
    vectors: NDArray[np.int64],
    ranges: Ranges,
    records: NDArray[np.integer],
    num_tokens: NDArray[np.unsignedinteger],
    features: Features,
    counts: NDArray[np.int64],
    block: RecordBlock,
) -> bool:
    """Copy records from maps to a file in memory, check them, and look at their Examples.

    Args:
      target: descriptor of the file, whose content is the data of the block.
      addresses: int64[shards], of the maps.
      vectors: int64[MAX_RANGES, 2], scratch space.
      ranges, records, num_tokens: of the requested records; tokens of every record.
      counts: int64[features], scratch space.
      block: of the records, see `TFRecords._room_for`; filled.

    Returns:
      Whether all are OK; if not, the rest is not filled.
    """
    first = np.int64(0)
    while first < records.size:
        end, size = first, np.int64(0)
        while end < records.size and end - first < MAX_RANGES and size < _COPIED_BYTES:
            vectors[end - first, 0] = addresses[ranges.shards[end]] + ranges.offsets[end]
            vectors[end - first, 1] = ranges.sizes[end]
            size += ranges.sizes[end]
            end += 1
        if not copy_ranges(function, target, vectors[: end - first], ranges.places[first]):
            return False
        for i in range(first, end):
            if not ranges.sizes[i]:
                continue
            if check_frame(block.data, ranges.places[i], ranges.sizes[i]) != OK:
                return False
            if look_at(block, i, num_tokens[records[i]], features, counts) != OK:
                return False
        first = end
    return True


class ShardRecords(TFRecords):
    """The records of local TFRecord shards, by number."""

    def __init__(
        self,
        shards: Sequence[Shard],
        *,
        in_order: bool,
        skip_corrupt: bool,
        keeps: bool = False,
        indexes: Sequence[NDArray[np.void]] | None = None,
    ) -> None:
        """Read the indexes, unless they are given.

        Args:
          keeps: whether to keep the records of a small set in memory, from the second epoch on.
        """
        super().__init__(shards, skip_corrupt=skip_corrupt, indexes=indexes)
        self._files = OpenFiles(self._paths)
        self._maps: FileMaps | None = None
        self._addresses = np.zeros(len(shards), np.int64)
        memory = allowed_memory()
        if not in_order and sum(shard.num_bytes for shard in shards) <= memory // _MEMORY_SHARE:
            self._prefetch(shards)
        num_bytes = int(self._places.shard_starts[-1])
        self._keeps = keeps and fits_in_memory(num_bytes, self.num_tokens.size)
        self._kept: RecordsInMemory | None = None
        self._num_gathered = 0

    def gather(self, records: NDArray[np.integer], damage: Damage) -> Gathered:
        """Read records, unless they are in memory; see `TFRecords`."""
        if self._kept is None:
            if not self._keeps or self._num_gathered < self.num_tokens.size:
                self._num_gathered += records.size
                return super().gather(records, damage)
            num_bytes, num_records = int(self._places.shard_starts[-1]), self.num_tokens.size
            self._kept = RecordsInMemory(num_bytes, num_records, self._features.num_spans)
        kept = self._kept
        missing = kept.missing(records)
        if missing.size:
            ranges = self._places.find(missing)
            starts = self._places.shard_starts[ranges.shards]
            ranges = ranges._replace(places=starts + ranges.offsets)
            block = self._room_for(ranges, kept.data)
            kept.add(missing, block, self._read(missing, ranges, block, damage, looks=True) == OK)
        return kept.take(records)

    def _prefetch(self, shards: Sequence[Shard]) -> None:
        """Have the system read the files into its memory, and map them."""
        is_mapped = hasattr(os, "memfd_create") and len(shards) <= _MOST_MAPS
        maps: FileMaps | None = FileMaps() if is_mapped else None
        for number, shard in enumerate(shards):
            with self._files.some([number]) as descriptors:
                if hasattr(os, "posix_fadvise"):
                    os.posix_fadvise(descriptors[number], 0, 0, os.POSIX_FADV_WILLNEED)
                try:
                    if maps is not None:
                        self._addresses[number] = maps.add(descriptors[number], shard.num_bytes)
                except OSError:  # such as of a file system without maps
                    maps = None
        self._maps = maps

    def _copy(self, records: NDArray[np.integer], ranges: Ranges) -> RecordBlock | None:
        """Return records, if all are whole; see `TFRecords`."""
        if self._maps is None:
            return None
        try:
            data, descriptor = new_file(ranges.num_bytes)
        except OSError:
            return None
        block, vectors = self._room_for(ranges, data), np.empty((MAX_RANGES, 2), np.int64)
        counts = np.empty(self._features.is_float.size, np.int64)
        is_whole = _copy(
            PWRITEV, descriptor, self._addresses, vectors, ranges, records, self.num_tokens,
            self._features, counts, block,
        )  # fmt: skip
        return block if is_whole else None

    def _open(
        self, records: NDArray[np.integer], ranges: Ranges
    ) -> Generator[tuple[dict[int, int], Ranges]]:
        """Yield descriptors of shards, as many at a time as may be open."""
        left = np.flatnonzero(np.bincount(ranges.shards[ranges.sizes > 0])).tolist()
        while left:
            with self._files.some(left) as descriptors:
                yield descriptors, ranges
            left = [number for number in left if number not in descriptors]
