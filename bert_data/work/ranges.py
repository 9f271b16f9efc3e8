"""Ranges of keys, read from many sorted files in order, in portions of bounded size.

    files    3 2, 3 7, 8 4 | 5 1, 5 9        of records (hash, document), see `sorted_records.py`
    range    0 to 6:  (3 2, 3 7)  (5 1, 5 9)               a group for each hash
             places 0 1 0 1   sizes 2 2 2 2   first documents 2 2 1 1

A group may cross any number of portions; each portion knows the sizes and the first records of its
groups all the same. `Merge` merges the files:

    runs  1 4 4 9 | 2 3 4 5     of each, the next records are held: 1 4 | 2 3
    next_portion()   1 2 3      no run has anything less than 3 left
    next_groups(1)   4 4 4 ...  whole groups: all records that agree in their first field

Each run is read ahead as far as it contributes to a portion, so that few reads find few records:
keys are often dense in one part of one file, and sparse in another. Records are copied once, when
they are due: until then they stay where they were read, in blocks.
"""

import bisect
import copy
import dataclasses
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bert_data.kernels import Scalar, inner, kernel
from bert_data.storage import read_many
from bert_data.work.sorted_records import FilePart, Layout, Longs, RecordFile, SortedRecords, spread
from bert_data.work.sorting import sorted_rows

_NEW_SHARE = 0.125
"""Of a portion: the part reserved for runs that did not contribute to the last one."""

_NUM_MORE, _MORE_SHARE = 8, 8
"""The number of times that the runs that end first are read on, until half is due; and the part
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

    def next_portion(self) -> Longs:
        """Return the next records in order, at least one."""
        bound = self._read_more()
        return self._take(self._find_due(bound) if len(bound) else self._ends)

    def next_groups(self, num_fields: int) -> Longs:
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
        """Return where those records of each block end that are less than a key, or equal."""
        due = np.empty(len(self._begins), np.int64)
        _cut_blocks(self._held, self._begins, self._ends, key, int(or_equal), due)
        return due

    def _take(self, due: NDArray[np.int64]) -> Longs:
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
    """Find where the records of sorted blocks end whose first words are less than a key, or equal.

    Args:
      words: uint64[records, words of each].
      begins, ends: int64[blocks].
      key: uint64[any], no more than a record has.
      due: int64[blocks], gets the places.
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
    for k in range(len(key)):
        if words[row, k] != key[k]:
            return words[row, k] < key[k]
    return or_equal != 0


@kernel
def _move_up(words: NDArray[np.uint64], begins: NDArray[np.int64], ends: NDArray[np.int64]) -> None:
    """Move blocks of records, uint64[records, words], to the front; `begins` and `ends` follow."""
    place = 0
    for block in range(len(begins)):
        begin = place
        for row in range(begins[block], ends[block]):
            for k in range(words.shape[1]):
                words[place, k] = words[row, k]
            place += 1
        begins[block], ends[block] = begin, place


@dataclasses.dataclass(frozen=True)
class Range:
    """Records whose first field is at least `low` and less than `high`; None: no end."""

    low: int = 0
    high: int | None = None


def split_keys(records: SortedRecords, num_bytes: int) -> list[Range]:
    """Divide the keys of records into ranges that hold about so many bytes each."""
    num_ranges = -(-records.num_bytes // num_bytes)
    if num_ranges <= 1:
        return [Range()] if records.files else []
    samples = sorted(
        (key, (file.place(i + 1)) - file.place(i))
        for file in records.files
        for i, key in enumerate(file.samples)
    )
    bounds, before, total = [0], 0, len(records)
    for key, weight in samples:
        if before * num_ranges >= total * len(bounds) and key > bounds[-1]:
            bounds.append(key)
        before += weight
    return [Range(*pair) for pair in zip(bounds, [*bounds[1:], None], strict=True)]


@dataclasses.dataclass(frozen=True)
class Batch:
    """Sorted records, and what their groups hold in all portions of the range.

    Attributes:
      records: with named fields, [any].
      places: int64 [records], place of each one in its group, from 0.
      sizes: int64 [records], number of records of its group.
      totals: uint64 [records], sum of the weights of its group, modulo 2^64.
      leaders: the first record of each group.
      trailers: the last record of each group; of groups that go on, only the key fields are set.
      groups: int64 [records], number of its group in `leaders`.
    """

    records: np.ndarray
    places: NDArray[np.int64]
    sizes: NDArray[np.int64]
    totals: NDArray[np.uint64]
    leaders: np.ndarray
    trailers: np.ndarray
    groups: NDArray[np.int64]

    def firsts(self, field: str) -> NDArray[np.uint64]:
        """Return, for each record, a field of the first record of its group."""
        return self.leaders[field][self.groups]

    def lasts(self, field: str) -> NDArray[np.uint64]:
        """Return, for each record, a key field of the last record of its group."""
        return self.trailers[field][self.groups]


Weigh = Callable[[np.ndarray], NDArray[np.uint64]]


class RangeReader:
    """Reads the records of a range in order.

    Attributes:
      num_before: records of all files that lie before the range.
    """

    def __init__(self, records: SortedRecords, keys: Range, max_bytes: int) -> None:
        """Find the range `keys` in all files; portions have up to `max_bytes`, >= 1."""
        self.layout, self._max_bytes = records.layout, max_bytes
        bounds = read_many(
            lambda file: _bounds(file, records.layout, keys),
            records.files,
            [file.path for file in records.files],
        )
        num_words, pairs = records.layout.num_words, zip(records.files, bounds, strict=True)
        runs = [file.part(num_words, *each) for file, each in pairs]
        self.num_before = sum(run.begin for run in runs)
        self._runs = [run for run in runs if run.begin < run.end]

    def __len__(self) -> int:
        return sum(run.end - run.begin for run in self._runs)

    def _open_runs(self, prefix: tuple[int, ...] = ()) -> list[FilePart]:
        """Return the runs, or what they hold of a group."""
        runs = list(map(copy.copy, self._runs))
        if prefix:
            cuts = read_many(
                lambda run: (run.cut(prefix), run.cut(prefix, after=True)),
                runs,
                [run.path for run in runs],
            )
            for run, cut in zip(runs, cuts, strict=True):
                run.begin, run.end = cut
        return [run for run in runs if run.begin < run.end]

    def portions(self, prefix: tuple[int, ...] = ()) -> Iterator[Longs]:
        """Yield all records in order, at least one a portion; or only those of a group."""
        merge = self._merge(prefix)
        while not merge.is_done:
            yield merge.next_portion()

    def _merge(self, prefix: tuple[int, ...] = ()) -> Merge:
        max_records = max(self._max_bytes // self.layout.num_bytes, 1)
        return Merge(self._open_runs(prefix), self.layout, max_records)

    def records(self) -> np.ndarray:
        """Return all records of the range in order, with named fields."""
        words = list(self.portions())
        return self.layout.named(np.concatenate(words) if words else np.empty((0, 1), np.uint64))

    def batches(self, num_fields: int, weigh: Weigh | None = None) -> Iterator[Batch]:
        """Yield all records in order, in groups.

        Args:
          num_fields: records that agree in their first so many fields are a group.
          weigh: returns the weights of records with named fields, for `totals`.
        """
        merge, open_group = self._merge(), _OpenGroup()
        while not merge.is_done:
            words = merge.next_groups(num_fields)
            records = self.layout.named(words)
            starts, groups = _find_groups(words, num_fields)
            sizes = np.diff(np.append(starts, len(words)))
            weights = np.zeros(len(words), np.uint64) if weigh is None else weigh(records)
            totals = np.add.reduceat(weights, starts)
            leaders, trailers = records[starts], records[starts + sizes - 1]
            places = np.arange(len(words)) - starts[groups]
            if open_group.key == tuple(words[0, :num_fields].tolist()):
                leaders[0], trailers[0] = open_group.leader, open_group.trailer
                sizes[0], totals[0] = open_group.size, open_group.total
                places[groups == 0] += open_group.num_seen
            else:
                open_group = _OpenGroup()
            key = tuple(words[-1, :num_fields].tolist())
            if merge.ends_group:
                open_group = _OpenGroup()
            elif open_group.key == key:
                open_group = dataclasses.replace(open_group, num_seen=int(places[-1]) + 1)
            else:
                open_group = self._measure_group(key, leaders[-1], int(places[-1]) + 1, weigh)
                trailers[-1] = open_group.trailer
                sizes[-1], totals[-1] = open_group.size, open_group.total
            yield Batch(records, places, sizes[groups], totals[groups], leaders, trailers, groups)

    def _measure_group(
        self, key: tuple[int, ...], leader: Any, num_seen: int, weigh: Weigh | None
    ) -> "_OpenGroup":
        runs, num_keys = self._open_runs(key), self.layout.num_keys
        total = np.zeros((), np.uint64)
        if weigh is not None:
            for words in self.portions(key):
                total = np.add(total, weigh(self.layout.named(words)).sum(keepdims=True))[0]
        trailer = np.zeros((1, self.layout.num_words), np.uint64)
        trailer[0, :num_keys] = max(run.keys([run.end - 1], num_keys)[0] for run in runs)
        size = sum(run.end - run.begin for run in runs)
        return _OpenGroup(key, leader, self.layout.named(trailer)[0], size, total, num_seen)


@dataclasses.dataclass(frozen=True)
class _OpenGroup:
    """The last group of a portion, which the next one may continue; without a key: none."""

    key: tuple[int, ...] = ()
    leader: Any = None
    trailer: Any = None
    size: Any = 0
    total: Any = 0
    num_seen: int = 0


def _find_groups(words: Longs, num_fields: int) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return where groups of sorted records start, and the number of each record's group."""
    is_start = np.zeros(len(words), bool)
    is_start[0] = True
    for k in range(num_fields):
        is_start[1:] |= words[1:, k] != words[:-1, k]
    return np.flatnonzero(is_start), np.cumsum(is_start) - 1


def _bounds(file: RecordFile, layout: Layout, keys: Range) -> tuple[int, int]:
    """Return the first record of a file that is in a range, and the one after the last."""
    ends = []
    for key in (keys.low, keys.high):
        if key is None or key <= file.samples[0]:
            ends.append(0 if key is not None else file.num_records)
            continue
        sample = bisect.bisect_left(file.samples, key)  # the record lies between two samples
        end, last = file.num_records, (1 << 64) - 1
        if sample < len(file.samples):
            end, last = file.place(sample), file.samples[sample]
        run = file.part(layout.num_words, file.place(sample - 1), end)
        ends.append(run.cut((key,), firsts=(file.samples[sample - 1], last)))
    return ends[0], ends[1]
