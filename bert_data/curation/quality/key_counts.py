"""Count keys in bounded memory: the rarest are forgotten when there are too many.

counter = KeyCounter(max_keys=4)
counter.add([7 7 9]); counter.add([7 8]); counter.add([1 2 9])   five keys: those seen once go
counter.counts()   ->  keys [7 9], counts [3 2]
"""

import numpy as np
from numpy.typing import NDArray

_BUFFERED = 1 << 20


class KeyCounter:
    """Counts keys; takes about 50 bytes for each of `max_keys` and for a million more."""

    def __init__(self, max_keys: int) -> None:
        self._max_keys = max_keys
        self._keys = np.empty(0, np.uint64)
        self._counts = np.empty(0, np.int64)
        self._waiting: list[NDArray[np.uint64]] = []
        self._num_waiting = 0
        self.num_forgotten = 0

    def add(self, keys: NDArray[np.uint64]) -> None:
        """Count keys, uint64 [any], once per occurrence."""
        self._waiting.append(keys)
        self._num_waiting += len(keys)
        if self._num_waiting >= _BUFFERED:
            self._merge()

    def _merge(self) -> None:
        keys, counts = np.unique(np.concatenate(self._waiting), return_counts=True)
        self._waiting, self._num_waiting = [], 0
        keys = np.concatenate([self._keys, keys])
        counts = np.concatenate([self._counts, counts])
        order = np.argsort(keys, kind="stable")
        keys, counts = keys[order], counts[order]
        starts = np.flatnonzero(np.append(True, keys[1:] != keys[:-1]))
        self._keys, self._counts = keys[starts], np.add.reduceat(counts, starts)
        while len(self._keys) > self._max_keys:
            stays = self._counts > self._counts.min()
            if not stays.any():  # all keys are equally rare
                stays[: self._max_keys] = True
            self.num_forgotten += len(stays) - int(stays.sum())
            self._keys, self._counts = self._keys[stays], self._counts[stays]

    def counts(self) -> tuple[NDArray[np.uint64], NDArray[np.int64]]:
        """Return the keys, increasing, and their counts without forgotten occurrences."""
        if self._waiting and self._num_waiting:
            self._merge()
        return self._keys, self._counts
