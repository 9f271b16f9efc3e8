"""Merge sorted files, in portions of bounded size.

    runs  1 4 4 9 | 2 3 4 5     of each, the next records are held: 1 4 | 2 3
    next_portion()   1 2 3      no run has anything less than 3 left
    next_groups(1)   4 4 4 ...  whole groups: all records that agree in their first field

Each run is read ahead as far as it contributes to a portion, so that few reads find few records:
keys are often dense in one part of one file, and sparse in another.
"""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from bert_data.storage import read_many
from bert_data.work.records import FilePart, Layout, Words, sort_words

_NEW_SHARE = 0.125
"""Of a portion: the part reserved for runs that did not contribute to the last one."""

_NUM_MORE, _MORE_SHARE = 8, 8
"""How often the runs that end first are read on, until half of what is held is due; and which part
of the runs that is, and of a portion all of it may be."""


class Merge:
    """Merges runs, of which it holds up to a number of records.

    Attributes:
      is_done: whether all records were returned.
      ends_group: whether the last group that `next_groups` returned is complete.
    """

    def __init__(self, runs: Sequence[FilePart], layout: Layout, max_records: int) -> None:
        """Describe the merge.

        Args:
          runs: none of them empty.
          layout: of the records.
          max_records: to hold, besides one for each run.
        """
        self._runs, self._num_keys, self._max_records = runs, layout.num_keys, max_records
        self._fair = max_records / 2 / max(len(runs), 1)
        self._unread = np.array([run.end - run.begin for run in runs], np.int64)
        self._weights = self._unread.astype(np.float64)  # how much each contributes
        self._waiting = np.empty((0, layout.num_words), np.uint64)
        self._owners = np.empty(0, np.int64)  # the runs of the waiting records
        self._lasts = np.zeros((len(runs), layout.num_keys), np.uint64)  # keys that were read last
        self.is_done, self.ends_group = not len(runs), True

    def next_portion(self) -> Words:
        """Return the next records in order, at least one."""
        bound = self._read_more()
        is_due = _are_up_to(self._waiting, bound) if len(bound) else None
        return self._take(is_due)

    def next_groups(self, num_fields: int) -> Words:
        """Return the next groups: whole ones, or a part of a single one that is too large."""
        bound = self._read_more()
        self.ends_group = True
        if not len(bound):
            return self._take(None)
        is_before = _are_up_to(self._waiting, bound[:num_fields], or_equal=False)
        if is_before.any():
            return self._take(is_before)
        self.ends_group = False
        return self._take(_are_up_to(self._waiting, bound))

    def _take(self, is_due: NDArray[np.bool_] | None) -> Words:
        """Return the waiting records that are due, sorted; None: all."""
        words, owners = self._waiting, self._owners
        if is_due is None:
            self._waiting, self._owners = words[:0], owners[:0]
        else:
            self._waiting, self._owners = words[~is_due], owners[~is_due]
            words, owners = words[is_due], owners[is_due]
        used = np.bincount(owners, minlength=len(self._runs))
        self._weights = used.astype(np.float64) + _NEW_SHARE * len(owners) / len(self._runs)
        self.is_done = not len(self._waiting) and not self._unread.any()
        return sort_words(words, self._num_keys)

    def _read_more(self) -> NDArray[np.uint64]:
        """Read from the runs of which little is left.

        Returns:
          The least key that unread records may have; empty: all records are read.
        """
        held = np.bincount(self._owners, minlength=len(self._runs))
        shares = self._fair + self._max_records / 2 * (self._weights / self._weights.sum())
        reading = np.flatnonzero((held <= shares / 2) & (self._unread > 0))
        if len(reading):
            more = (shares - self._fair)[reading]
            more *= min(self._room() / more.sum(), 1)
            self._read(reading, self._fair + more - held[reading])
        for _ in range(_NUM_MORE):
            open_runs = np.flatnonzero(self._unread)
            if not len(open_runs):
                return self._lasts[0, :0]
            order = np.lexsort(self._lasts[open_runs].T[::-1])
            bound = self._lasts[open_runs[order[0]]].copy()
            if 2 * np.sum(_are_up_to(self._waiting, bound)) >= len(self._waiting):
                break
            reading = open_runs[order[: len(order) // _MORE_SHARE + 1]]
            self._read(reading, np.full(len(reading), self._room() / _MORE_SHARE / len(reading)))
        return bound

    def _room(self) -> float:
        """Return how much more may be held: half is reserved, the same for each run."""
        held = np.bincount(self._owners, minlength=len(self._runs))
        above = float(np.maximum(held - self._fair, 0).sum())
        return max(self._max_records / 2 - above, 0)

    def _read(self, reading: NDArray[np.int64], shares: NDArray[np.float64]) -> None:
        """Read from runs: at least a record each."""
        shares = np.maximum(shares, self._fair / 2)
        sizes = np.clip(shares, 1, self._unread[reading]).astype(np.int64)
        runs = [self._runs[k] for k in reading.tolist()]
        tasks = list(zip(runs, sizes.tolist(), strict=True))
        parts = read_many(lambda task: task[0].read(task[1]), tasks, [run.path for run in runs])
        self._unread[reading] -= sizes
        self._lasts[reading] = [part[-1, : self._num_keys] for part in parts]
        self._waiting = np.concatenate([self._waiting, *parts])
        self._owners = np.concatenate([self._owners, np.repeat(reading, sizes)])


def _are_up_to(
    words: Words, key: NDArray[np.uint64], *, or_equal: bool = True
) -> NDArray[np.bool_]:
    """Return bool [records]: whether their first words are less than a key, or equal to it."""
    firsts = np.ascontiguousarray(words[:, 0])
    is_less = firsts < key[0]
    ties = np.flatnonzero(firsts == key[0])
    for k in range(1, len(key)):
        column = words[ties, k]
        is_less[ties] = column < key[k]
        ties = ties[column == key[k]]
    is_less[ties] = or_equal
    return is_less
