"""Keep the records of a small set in memory, each at its place in the joined shards.

    missing(7 0)  ->  7 0        which are read, checked and added
    missing(0 3)  ->  3
    take(0 3)     ->  RecordBlock of [record 0] [record 3]

Training reads such a set many times. The first epoch leaves nothing in memory, because one reading
gains nothing; what later ones read costs a system call, a copy and checks once instead of once an
epoch.
"""

import numpy as np
from numpy.typing import NDArray

from bert_data.formats.index import FRAME_BYTES
from bert_data.reader.examples.block import Gathered, RecordBlock
from bert_data.reader.files.indexes import Ranges
from bert_data.reader.files.shards import HEADER_BYTES

MAX_BYTES = 1 << 27
_BYTES_OF_ENTRY = 80


def fits_in_memory(num_bytes: int, num_records: int) -> bool:
    """Return whether shards of this size are kept."""
    return num_bytes + _BYTES_OF_ENTRY * num_records <= MAX_BYTES


class RecordsInMemory:
    """Records by number, as far as they were added.

    Attributes:
      data: uint8[bytes of the shards]; the system provides its memory as records are read into it.
    """

    def __init__(self, num_bytes: int, num_records: int, num_spans: int) -> None:
        self.data = np.empty(num_bytes, np.uint8)
        self._is_kept = np.zeros(num_records, np.bool_)
        self._starts = np.empty(num_records, np.int64)
        self._sizes = np.empty(num_records, np.int32)
        self._spans = np.empty((num_records, num_spans, 2), np.int32)
        self._lengths = np.empty((num_records, 2), np.int32)

    def missing(self, records: NDArray[np.integer]) -> NDArray[np.integer]:
        """Return those of some records, or -1, that are not kept."""
        return records[(records >= 0) & ~self._is_kept[records]]

    def add(
        self,
        records: NDArray[np.integer],
        ranges: Ranges,
        spans: NDArray[np.int32],
        lengths: NDArray[np.int32],
        is_whole: NDArray[np.bool_],
    ) -> None:
        """Add records that were read to `ranges.places` in the data.

        Args:
          records: int[any], their numbers.
          ranges, spans, lengths: of them, see `RecordBlock`.
          is_whole: bool[records], whether to add each.
        """
        self._starts[records] = ranges.places + HEADER_BYTES
        self._sizes[records] = ranges.sizes - FRAME_BYTES
        self._spans[records] = spans
        self._lengths[records] = lengths
        self._is_kept[records] = is_whole  # last: another iteration may read this meanwhile

    def take(self, records: NDArray[np.integer]) -> Gathered:
        """Return records; -1 and those that were not added are missing."""
        is_there = (records >= 0) & self._is_kept[records]
        parts = [part[records] for part in (self._starts, self._sizes, self._spans, self._lengths)]
        if not is_there.all():
            for part in parts:
                part[~is_there] = 0
        return Gathered(RecordBlock(self.data, *parts), is_there)
