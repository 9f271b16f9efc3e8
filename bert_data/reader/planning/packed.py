"""Batches of rows that several records share: "packed".

    patterns     (7 3) x 2, (6 3) x 1       rows 0 1 2
    epoch        lengths 7: 5 2   6: 4   3: 1 0 3      mixed within each length
    rows         (5 1) (2 0) (4 3)
    mixed, cut   (4 3) (5 1) | (2 0)

Which lengths share a row is decided once, see `pack_lengths`; each epoch gives the places to other
records of the same lengths and shuffles all rows, so every epoch has the same number of rows.

It depends only on the number of records of each length:

    width 10, lengths 7 x 2, 6 x 1, 3 x 3, 2 x 1     rows (7 3) x 2, (6 3) x 1, (2) x 1

Best-fit decreasing (Johnson 1973): the records, longest first, go each into the row that it fills
most, or into a new row. Records of the same length are placed together, and rows that hold the same
are one pattern with a count, so the work grows with the number of lengths, not of records
(as in Krell et al. 2021, "Efficient sequence packing without cross-contamination", arXiv
2107.02027); the rows are the same as if records were placed one by one. Best-fit decreasing needs
at most 11/9 of the fewest possible rows and 4 more (Johnson et al. 1974); on records of real text
it came within 0.4% of a lower bound.
"""

import bisect
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from bert_data.kernels import kernel
from bert_data.reader.planning.epoch import EpochPlan, Plan
from bert_data.reader.planning.lengths import Lengths, group_by_length
from bert_data.reader.planning.plan_config import PlanConfig
from bert_data.reader.splitmix import BATCHES, ORDER, key_of, shuffled


class Pattern(NamedTuple):
    """Rows that hold records of the same lengths.

    Attributes:
      items: (length, number of such records) of a row, longest first.
    """

    items: tuple[tuple[int, int], ...]
    num_rows: int

    @property
    def num_records(self) -> int:
        """Records of each row."""
        return sum(count for _, count in self.items)


class _OpenRows:
    """Rows with room left, by that room; the best fit is found by bisection."""

    def __init__(self) -> None:
        self._rooms: list[int] = []
        self._rows: dict[int, list[Pattern]] = {}
        self.full: list[Pattern] = []

    def put(self, room: int, pattern: Pattern) -> None:
        if room == 0:
            self.full.append(pattern)
            return
        if room not in self._rows:
            bisect.insort(self._rooms, room)
            self._rows[room] = []
        self._rows[room].append(pattern)

    def take(self, length: int) -> tuple[int, Pattern] | None:
        """Take rows with the least room that holds `length`; return that room and them, or None."""
        at = bisect.bisect_left(self._rooms, length)
        if at == len(self._rooms):
            return None
        room = self._rooms[at]
        pattern = self._rows[room].pop()
        if not self._rows[room]:
            del self._rows[room], self._rooms[at]
        return room, pattern

    def all(self) -> list[Pattern]:
        return [*self.full, *(row for room in self._rooms for row in self._rows[room])]


def pack_lengths(histogram: NDArray[np.integer], width: int) -> list[Pattern]:
    """Pack records into rows.

    Args:
      histogram: int[at most width + 1], records of each length; none of length 0.
    """
    open_rows = _OpenRows()
    for length in np.flatnonzero(histogram)[::-1].tolist():
        left = int(histogram[length])
        while left:
            group = open_rows.take(length)
            room, (items, num_rows) = group or (width, Pattern((), left))
            # A row is filled before the next one, since it then has the least room.
            in_row = min(room // length, left)
            num_filled = min(num_rows, left // in_row)
            if group and num_filled < num_rows:
                open_rows.put(room, Pattern(items, num_rows - num_filled))
            filled = Pattern((*items, (length, in_row)), num_filled)
            open_rows.put(room - length * in_row, filled)
            left -= in_row * num_filled
    return open_rows.all()


_FIRST, _COUNT = range(2)
_NEAR = 64


@kernel
def _fill_rows(
    order: NDArray[np.int32],
    rows: NDArray[np.int32],
    near_patterns: NDArray[np.int32],
    first_rows: NDArray[np.int64],
    item_splits: NDArray[np.int64],
    items: NDArray[np.int64],
    row_splits: NDArray[np.int64],
    records: NDArray[np.int32],
) -> None:
    """Put records into rows.

    Args:
      order: int32[records], grouped by length.
      rows: int32[any], the requested rows, in this order.
      near_patterns: int32[any], the pattern of row 0, of row 64, ...: a table that stays in the
        caches, from which a row's pattern is near.
      first_rows: int64[patterns + 1], the first row of each, and the number of rows.
      item_splits: int64[patterns + 1], the items of each.
      items: int64[items, 2], where in `order` the records of each begin, and how many a row takes.
      row_splits: int64[requested rows + 1], filled.
      records: int32[records], filled with those of the requested rows.
    """
    at = np.int64(0)
    row_splits[0] = 0
    for number in range(rows.size):
        row = rows[number]
        pattern = np.int64(near_patterns[row // _NEAR])
        while first_rows[pattern + 1] <= row:
            pattern += 1
        before = row - first_rows[pattern]
        for item in range(item_splits[pattern], item_splits[pattern + 1]):
            count = items[item, _COUNT]
            place = items[item, _FIRST] + before * count
            for k in range(place, place + count):
                records[at] = k
                at += 1
        row_splits[number + 1] = at
    # In a loop of its own, so that the processor fetches many scattered places at once.
    for i in range(at):
        records[i] = order[records[i]]


class PackedRows(Plan):
    """Plans "packed"."""

    def __init__(self, lengths: Lengths, config: PlanConfig) -> None:
        width = lengths.histogram.size - 1
        if isinstance(config.width, tuple):
            (width,) = config.width
        super().__init__(lengths, config, (width,))
        self._groups = group_by_length(lengths)
        self._lay_out(lengths, width)
        self._batch_rows = config.rows_of_width(width)
        self._count_batches(self._num_rows_packed, self._batch_rows)

    def _lay_out(self, lengths: Lengths, width: int) -> None:
        """Number the rows, pattern after pattern, and find the places of their records."""
        patterns = pack_lengths(lengths.histogram, width)
        self.max_records_per_row = max(pattern.num_records for pattern in patterns)
        num_rows = np.array([pattern.num_rows for pattern in patterns])
        self._num_rows_packed = int(num_rows.sum())
        self._first_rows = np.concatenate(([0], np.cumsum(num_rows)))
        near_rows = np.arange(0, self._num_rows_packed, _NEAR)
        near_patterns = np.searchsorted(self._first_rows, near_rows, side="right") - 1
        self._near_patterns = near_patterns.astype(np.int32)
        next_places = self._groups.splits[:-1].tolist()
        items: list[tuple[int, int]] = []
        item_splits = [0]
        for pattern in patterns:
            for length, count in pattern.items:
                items.append((next_places[length], count))
                next_places[length] += count * pattern.num_rows
            item_splits.append(len(items))
        self._items, self._item_splits = np.array(items), np.array(item_splits)

    def _epoch(self, number: int) -> EpochPlan:
        config = self.config
        order = self._groups.records
        rows = np.arange(self._num_rows_packed, dtype=np.int32)
        if config.shuffle:
            order = self._groups.shuffled(key_of(config.seed, number, ORDER))
            rows = shuffled(rows.size, key_of(config.seed, number, BATCHES))
        row_splits = np.empty(self.num_rows + 1, np.int64)
        records = np.empty(order.size, np.int32)
        _fill_rows(
            order,
            rows[: self.num_rows],
            self._near_patterns,
            self._first_rows,
            self._item_splits,
            self._items,
            row_splits,
            records,
        )
        batch_starts = np.arange(self.num_batches + 1) * self._batch_rows
        return EpochPlan(
            records=records[: row_splits[-1]],
            row_splits=row_splits,
            batch_splits=np.minimum(batch_starts, self.num_rows),
            widths=np.full(self.num_batches, self.max_width, np.int32),
            num_hosts=config.num_hosts,
        )
