"""Read records of local TFRecord shards by number: from files, from maps of them, or from memory.

in order, or a large set     a system call for each run of records, which reads them
shuffled                     a system call for dozens of records, which copies them from maps
the second epoch             a small set stays in memory
"""

import os
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from bert_data.reader.examples.block import Gathered, RecordBlock, gathered
from bert_data.reader.files.gathering import Files, TFRecords
from bert_data.reader.files.indexes import Ranges
from bert_data.reader.files.record_source import Damage
from bert_data.reader.files.shards import Shard
from bert_data.storage.descriptors import FileMaps, OpenFiles

MAX_BYTES_IN_MEMORY = 1 << 27
_BYTES_OF_ENTRY = 80
_MEMORY_SHARE = 2  # files read in random order may fill half of the memory
_MOST_MAPS = 1 << 14  # Linux gives a process 65,530, also for its threads and arrays


def fits_in_memory(num_bytes: int, num_records: int) -> bool:
    """Return whether shards of this size are kept."""
    return num_bytes + _BYTES_OF_ENTRY * num_records <= MAX_BYTES_IN_MEMORY


class ShardRecords(TFRecords):
    """The records of local TFRecord shards, by number."""

    def __init__(
        self, shards: Sequence[Shard], *, in_order: bool, skip_corrupt: bool, keeps: bool = False
    ) -> None:
        """Read the indexes.

        Args:
          keeps: whether to keep the records of a small set in memory, from the second epoch on.
        """
        super().__init__(shards, skip_corrupt=skip_corrupt)
        self._opened = OpenFiles(self._paths)
        self._files = Files(self._opened.read_into, None)
        memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
        is_small = sum(shard.num_bytes for shard in shards) <= memory // _MEMORY_SHARE
        if not in_order and is_small and len(shards) <= _MOST_MAPS:
            self._map(shards)
        num_bytes = int(self._places.shard_starts[-1])
        self._keeps = keeps and fits_in_memory(num_bytes, self.num_tokens.size)
        self._kept: RecordBlock | None = None
        self._num_gathered = 0

    def gather(self, records: NDArray[np.integer], damage: Damage) -> Gathered:
        """Read records, unless they are in memory; see `TFRecords`."""
        if self._keeps and self._kept is None and self._num_gathered >= self.num_tokens.size:
            numbers = np.arange(self.num_tokens.size)
            block, is_whole = self._read(numbers, Damage(skip=True), looks=True)
            self._keeps = bool(is_whole.all())  # else each epoch tells what is damaged
            self._kept = block if self._keeps else None
        if self._kept is not None:
            return gathered(self._kept.take(records), records >= 0)
        self._num_gathered += records.size
        return super().gather(records, damage)

    def _map(self, shards: Sequence[Shard]) -> None:
        """Have the system read the files into its memory, and map them."""
        self._maps = FileMaps()
        try:
            addresses = [
                self._opened.map(number, self._maps, shard.num_bytes)
                for number, shard in enumerate(shards)
            ]
        except OSError:  # such as of a file system without maps
            return
        self._files = self._files._replace(addresses=np.array(addresses, np.int64))

    def _locate(self, records: NDArray[np.integer], ranges: Ranges) -> tuple[Files, Ranges]:
        """Return the shards themselves."""
        return self._files, ranges
