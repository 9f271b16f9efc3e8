"""Indexes of shards in, where records are by their numbers through all shards out.

    record 7  ->  shard 1, 2043 bytes from byte 98304 on

Five bytes a record are kept: its bytes, and where every 64th one begins, counted through all
shards.
"""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from bert_data.kernels import Scalar, kernel

_STEP_BITS = np.int64(6)


class Ranges(NamedTuple):
    """Where some records are.

    Attributes:
      shards, offsets, sizes: int64[records]; no record, -1, is 0 bytes of shard 0.
      places: int64[records], where each begins if they are put one behind the other.
      num_bytes: of all of them.
    """

    shards: NDArray[np.int64]
    offsets: NDArray[np.int64]
    sizes: NDArray[np.int64]
    places: NDArray[np.int64]
    num_bytes: int


@kernel
def _find(
    records: NDArray[np.integer],
    firsts: NDArray[np.int64],
    shard_starts: NDArray[np.int64],
    record_sizes: NDArray[np.uint32],
    step_starts: NDArray[np.int64],
    shards: NDArray[np.int64],
    offsets: NDArray[np.int64],
    sizes: NDArray[np.int64],
    places: NDArray[np.int64],
) -> Scalar:
    total = np.int64(0)
    for i in range(records.size):
        record = np.int64(records[i])
        shards[i], offsets[i], sizes[i], places[i] = 0, 0, 0, total
        if record < 0:
            continue
        shard, end = 0, firsts.size - 1
        while end - shard > 1:
            middle = (shard + end) >> 1
            if firsts[middle] <= record:
                shard = middle
            else:
                end = middle
        step = record >> _STEP_BITS
        start = step_starts[step]
        for before in range(step << _STEP_BITS, record):
            start += np.int64(record_sizes[before])
        shards[i], offsets[i] = shard, start - shard_starts[shard]
        sizes[i] = record_sizes[record]
        total += sizes[i]
    return total


class Places:
    """Where the records of some shards are.

    Attributes:
      firsts: int64[shards + 1], the number of each shard's first record, and of all records.
    """

    def __init__(self, offsets: Sequence[NDArray[np.uint64]]) -> None:
        """Takes what the indexes say.

        Args:
          offsets: uint64[records + 1] of each shard, ascending from 0, the last one where its
            records end; no record has 4 GiB.
        """
        sizes = [np.diff(part.astype(np.int64)) for part in offsets]
        self.firsts: NDArray[np.int64] = np.cumsum([0, *(part.size for part in sizes)])
        self._shard_starts = np.cumsum([0, *(int(part[-1]) for part in offsets)])
        self._sizes = np.concatenate(
            [np.zeros(0, np.uint32), *sizes], dtype=np.uint32, casting="unsafe"
        )
        step = 1 << int(_STEP_BITS)
        starts = [
            part[(-int(first)) % step : -1 : step].astype(np.int64) + start
            for part, first, start in zip(offsets, self.firsts, self._shard_starts, strict=False)
        ]
        self._step_starts = np.concatenate([np.zeros(0, np.int64), *starts])

    def find(self, records: NDArray[np.integer]) -> Ranges:
        """Where records are.

        Args:
          records: int[any], numbers of records, or -1.
        """
        shards, offsets, sizes, places = np.empty((4, records.size), np.int64)
        num_bytes = _find(
            records, self.firsts, self._shard_starts, self._sizes, self._step_starts,
            shards, offsets, sizes, places,
        )  # fmt: skip
        return Ranges(shards, offsets, sizes, places, int(num_bytes))

    def shard_of(self, record: int) -> tuple[int, int]:
        """The shard of a record, and its number there."""
        shard = int(np.searchsorted(self.firsts, record, side="right")) - 1
        return shard, record - int(self.firsts[shard])
