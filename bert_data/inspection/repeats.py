"""Find records that occur more than once, in bounded memory.

    texts      a a b c c c         with 2 passes over the text: one record of c is too many
    instances  1 2 3 4 4 5         record 4 has an exact copy

Up to `CAPACITY` records are compared with all others. Of more, those are whose hash ends in enough
zero bits: copies have the same hash, so all copies of a record are kept, or none.
"""

import threading
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

CAPACITY = 1 << 22
"""Records that are compared; each takes 24 bytes, and as many while they are counted."""

_RECORD_BITS = 40  # of a place; the others are the shard's


class Repeats(NamedTuple):
    """Numbers of records that are copies.

    Attributes:
      num_compared: records.
      num_copies: those that equal an earlier one in everything.
      num_texts: distinct texts.
      num_beyond: those whose text occurs in more earlier records than there are passes.
      examples: pairs of places (shard, record) of copies; the first ones.
    """

    num_compared: int
    num_copies: int
    num_texts: int
    num_beyond: int
    examples: tuple[tuple[tuple[int, int], tuple[int, int]], ...]


class SeenRecords:
    """The records that have been seen, up to `capacity`; threads may add at the same time."""

    def __init__(self, capacity: int = CAPACITY) -> None:
        self._capacity = capacity
        self._lock = threading.Lock()
        self._num_zeros = 0
        self._num_kept = 0
        self._parts: list[NDArray[np.uint64]] = []

    def add(
        self,
        shard: int,
        records: NDArray[np.int64],
        texts: NDArray[np.uint64],
        instances: NDArray[np.uint64],
        is_telling: NDArray[np.bool_],
    ) -> None:
        """Add records of a shard.

        Args:
          records: int64[records], their numbers in it.
          texts, instances: uint64[records], hashes, see `Measured`.
          is_telling: bool[records], whether equal hashes of instances cannot be chance.
        """
        places = records.astype(np.uint64) | np.uint64(shard << _RECORD_BITS)
        # A record whose copy may be chance equals no other.
        whole = np.where(is_telling, instances, ~places)
        part = np.stack([texts, whole, places])
        with self._lock:
            part = part[:, self._is_kept(part[0])]
            self._parts.append(part)
            self._num_kept += part.shape[1]
            while self._num_kept > self._capacity:
                self._num_zeros += 1
                self._parts = [each[:, self._is_kept(each[0])] for each in self._parts]
                self._num_kept = sum(each.shape[1] for each in self._parts)

    def _is_kept(self, texts: NDArray[np.uint64]) -> NDArray[np.bool_]:
        return texts & np.uint64((1 << self._num_zeros) - 1) == 0

    def count(self, num_passes: int, num_examples: int) -> Repeats:
        """Count the copies.

        Args:
          num_passes: times that each text may occur.
          num_examples: most examples to return.
        """
        texts, instances, places = np.concatenate(
            [*self._parts, np.empty((3, 0), np.uint64)], axis=1
        )
        self._parts = []
        order = np.lexsort((places, instances))
        same = instances[order[1:]] == instances[order[:-1]]
        copies = np.flatnonzero(same)
        pairs = places[np.stack([order[copies], order[copies + 1]], axis=1)]
        pairs = pairs[np.argsort(pairs[:, 1], kind="stable")][:num_examples]
        _, counts = np.unique(texts, return_counts=True)
        return Repeats(
            num_compared=texts.size,
            num_copies=copies.size,
            num_texts=counts.size,
            num_beyond=int(np.maximum(counts - num_passes, 0).sum()),
            examples=tuple((_place(a), _place(b)) for a, b in pairs.tolist()),
        )


def _place(number: int) -> tuple[int, int]:
    return number >> _RECORD_BITS, number & (1 << _RECORD_BITS) - 1
