"""Merge sorted files, in portions of bounded size.

    runs  1 4 4 9 | 2 3 4 5     of each, the next records are held: 1 4 | 2 3
    next_portion()   1 2 3      no run has anything less than 3 left
    next_groups(1)   4 4 4 ...  whole groups: all records that agree in their first field

Each run is read ahead as far as it contributes to a portion, so that few reads find few records:
keys are often dense in one part of one file, and sparse in another. Records are copied once, when
they are due: until then they stay where they were read, in blocks.
"""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from bert_data.kernels import Scalar, inner, kernel
from bert_data.storage import read_many
from bert_data.work.records import FilePart, Layout, Words, spread
from bert_data.work.sorting import sorted_rows

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
        """Merge runs, none of them empty; for a moment, up to twice `max_records` are held."""
        self._runs, self._num_keys, self._max_records = runs, layout.num_keys, max_records
        self._fair = max_records / 2 / max(len(runs), 1)
        self._unread = np.array([run.end - run.begin for run in runs], np.int64)
        self._weights = self._unread.astype(np.float64)  # how much each contributes
        self._held = np.empty((0, layout.num_words), np.uint64)
        self._begins = self._ends = self._owners = np.empty(0, np.int64)  # blocks held, their runs
        self._lasts = np.zeros((len(runs), layout.num_keys), np.uint64)  # keys that were read last
        self.is_done, self.ends_group = not len(runs), True

    def next_portion(self) -> Words:
        """Return the next records in order, at least one."""
        bound = self._read_more()
        return self._take(self._find_due(bound) if len(bound) else self._ends)

    def next_groups(self, num_fields: int) -> Words:
        """Return the next groups: whole ones, or a part of a single one that is too large."""
        bound = self._read_more()
        self.ends_group = True
        if not len(bound):
            return self._take(self._ends)
        due = self._find_due(bound[:num_fields], or_equal=False)
        if (due > self._begins).any():
            return self._take(due)
        self.ends_group = False
        return self._take(self._find_due(bound))

    def _find_due(self, key: NDArray[np.uint64], *, or_equal: bool = True) -> NDArray[np.int64]:
        """Return where those records of each block end that are less than a key, or equal to it."""
        due = np.empty(len(self._begins), np.int64)
        _cut_blocks(self._held, self._begins, self._ends, key, int(or_equal), due)
        return due

    def _take(self, due: NDArray[np.int64]) -> Words:
        """Return the records that are due, sorted."""
        sizes = due - self._begins
        rows = sorted_rows(self._held, self._num_keys, spread(self._begins, sizes))
        words = self._held[rows]
        used = np.bincount(self._owners, sizes, len(self._runs)).astype(np.float64)
        self._weights = used + _NEW_SHARE * len(words) / len(self._runs)
        self._begins = due
        _move_up(self._held, self._begins, self._ends)
        is_left = self._begins < self._ends
        self._begins, self._ends = self._begins[is_left], self._ends[is_left]
        self._owners = self._owners[is_left]
        self.is_done = not is_left.any() and not self._unread.any()
        return words

    def _count_held(self) -> NDArray[np.float64]:
        """Return how many records of each run are held."""
        sizes = self._ends - self._begins
        return np.bincount(self._owners, sizes, len(self._runs)).astype(np.float64)

    def _read_more(self) -> NDArray[np.uint64]:
        """Read from the runs of which little is left.

        Returns:
          The least key that unread records may have; empty: all records are read.
        """
        held = self._count_held()
        shares = self._fair + self._max_records / 2 * (self._weights / self._weights.sum())
        reading = np.flatnonzero((held <= shares / 2) & (self._unread > 0))
        if len(reading):
            more = shares[reading] - held[reading]
            more *= min(self._room(2 * self._max_records) / more.sum(), 1)
            self._read(reading, np.maximum(more, self._fair / 2))
        for _ in range(_NUM_MORE):
            open_runs = np.flatnonzero(self._unread)
            if not len(open_runs):
                return self._lasts[0, :0]
            order = np.lexsort(self._lasts[open_runs].T[::-1])
            bound = self._lasts[open_runs[order[0]]].copy()
            num_due = np.sum(self._find_due(bound) - self._begins)
            if 2 * num_due >= np.sum(self._ends - self._begins):
                break
            reading = open_runs[order[: len(order) // _MORE_SHARE + 1]]
            room = self._room(self._max_records) + self._max_records / _MORE_SHARE
            more = np.full(len(reading), room / _MORE_SHARE / len(reading))
            if more[0] < 1:
                break
            self._read(reading, more)
        return bound

    def _room(self, max_records: int) -> float:
        """Return how many more records may be held, if they are no more than that."""
        return max(max_records - float(self._count_held().sum()), 0)

    def _read(self, reading: NDArray[np.int64], shares: NDArray[np.float64]) -> None:
        """Read from runs: at least a record each."""
        sizes = np.clip(shares, 1, self._unread[reading]).astype(np.int64)
        num_held = int(self._ends[-1]) if len(self._ends) else 0
        ends = num_held + np.cumsum(sizes)
        if ends[-1] > len(self._held):
            most = max(int(ends[-1]), min(self._max_records, num_held + int(self._unread.sum())))
            larger = np.empty((most, self._held.shape[1]), np.uint64)
            larger[:num_held] = self._held[:num_held]
            self._held = larger
        blocks = [self._held[end - size : end] for size, end in zip(sizes, ends, strict=True)]
        tasks = list(zip([self._runs[k] for k in reading.tolist()], blocks, strict=True))
        read_many(lambda task: task[0].read_into(task[1]), tasks, [run.path for run, _ in tasks])
        self._unread[reading] -= sizes
        self._lasts[reading] = self._held[ends - 1, : self._num_keys]
        self._begins = np.append(self._begins, ends - sizes)
        self._ends = np.append(self._ends, ends)
        self._owners = np.append(self._owners, reading)


@kernel
def _cut_blocks(
    words: NDArray[np.uint64],
    begins: NDArray[np.int64],
    ends: NDArray[np.int64],
    key: NDArray[np.uint64],
    or_equal: int,
    due: NDArray[np.int64],
) -> None:
    """Find the records of sorted blocks whose first words are less than a key, or equal to it.

    Args:
      words: uint64[records, words of each].
      begins, ends: int64[blocks].
      key: uint64[any], no more than a record has.
      or_equal: 0 or 1.
      due: int64[blocks], where the records end.
    """
    for block in range(len(begins)):
        begin, end = begins[block], ends[block]
        while begin < end:
            middle = (begin + end) // 2
            if _is_up_to(words, middle, key, or_equal):
                begin = middle + 1
            else:
                end = middle
        due[block] = begin


@inner
def _is_up_to(
    words: NDArray[np.uint64], row: Scalar, key: NDArray[np.uint64], or_equal: Scalar
) -> Scalar:
    """Return whether the first words of a record are less than a key, or equal to it."""
    for k in range(len(key)):
        if words[row, k] != key[k]:
            return words[row, k] < key[k]
    return or_equal != 0


@kernel
def _move_up(words: NDArray[np.uint64], begins: NDArray[np.int64], ends: NDArray[np.int64]) -> None:
    """Move blocks of records to the front, in place.

    Args:
      words: uint64[records, words of each].
      begins, ends: int64[blocks], ascending; changed to where the blocks are now.
    """
    place = 0
    for block in range(len(begins)):
        begin = place
        for row in range(begins[block], ends[block]):
            for k in range(words.shape[1]):
                words[place, k] = words[row, k]
            place += 1
        begins[block], ends[block] = begin, place
