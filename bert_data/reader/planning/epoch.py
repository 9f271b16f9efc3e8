"""Plans: which records make up which batch of an epoch, and which rows are a host's.

    records       7 3 | 0 9 | 4 8 | 5 1 2 6        in order
    row_splits    0  2    4  5 6  8       10       (packed) rows of 2, 2, 1, 1, 2, 2 records
    batch_splits  0            4           6       two batches, of 4 rows and of 2
    widths             128          96

The batches of a host are slices of these arrays.
"""

import abc
import dataclasses
import itertools
from collections.abc import Iterator
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from bert_data.reader.planning.lengths import Lengths
from bert_data.reader.planning.plan_config import PlanConfig

EMPTY = -1


class HostBatch(NamedTuple):
    """One host's rows of a batch.

    Attributes:
      records: int64[any], the numbers of the records, row after row. An empty row has one, -1;
        empty rows come last.
      row_splits: int64[rows + 1], where in `records` each row begins; 0 ... rows unless packed.
      width: tokens that each row is padded to.
    """

    records: NDArray[np.int64]
    row_splits: NDArray[np.int64]
    width: int

    @property
    def num_rows(self) -> int:
        """Rows, including the empty ones."""
        return self.row_splits.size - 1


@dataclasses.dataclass(frozen=True, kw_only=True, eq=False)
class EpochPlan:
    """All batches of an epoch.

    Attributes:
      records: int32[records], the number of each record in the order of rows; each at most once.
      row_splits: int64[rows + 1], where in `records` each row begins; None where each row is one
        record (0 ... rows would say the same).
      batch_splits: int64[batches + 1], the first row of each batch, from 0 to the number of rows.
      widths: int32[batches], tokens that the rows of each batch are padded to.
    """

    records: NDArray[np.int32]
    row_splits: NDArray[np.int64] | None
    batch_splits: NDArray[np.int64]
    widths: NDArray[np.int32]
    num_hosts: int = 1

    @property
    def num_batches(self) -> int:
        """Batches of the epoch."""
        return self.widths.size

    @property
    def num_padded_tokens(self) -> int:
        """Tokens of all batches with padding: the sum of rows times width."""
        return int(np.diff(self.batch_splits) @ self.widths)

    def batch(self, number: int, host_index: int = 0) -> HostBatch:
        """Return one host's rows of a batch, in a time that depends only on its size.

        The rows of a batch are divided among the hosts in order, as evenly as possible. All hosts
        have the same number of rows and the same width: if rows do not divide evenly, the hosts
        that have one less end with an empty row.
        """
        first, last = self.batch_splits[number : number + 2].tolist()
        rows = last - first
        begin = first + rows * host_index // self.num_hosts
        end = first + rows * (host_index + 1) // self.num_hosts
        most = -(-rows // self.num_hosts)
        if self.row_splits is None:
            splits = np.arange(most + 1)
            records = self.records[begin:end]
        else:
            splits = self.row_splits[begin : end + 1] - self.row_splits[begin]
            splits = np.append(splits, splits[-1] + np.arange(1, most - (end - begin) + 1))
            records = self.records[self.row_splits[begin] : self.row_splits[end]]
        filled = np.full(splits[-1], EMPTY, np.int64)
        filled[: records.size] = records
        return HostBatch(filled, splits, int(self.widths[number]))


class Plan(abc.ABC):
    """The plan of a run: what is the same in every epoch. A subclass is a way to batch records.

    Attributes:
      num_records, num_tokens: of the whole set.
      num_batches: batches of an epoch, >= 1, the same in every one.
      num_rows: rows of an epoch, without those of a last batch that is left out.
      max_records_per_row: 1 unless packed.
      widths: the widths that batches may have, ascending; None for any up to `max_width`.
      max_width: the widest that a batch can be.
    """

    num_batches: int
    num_rows: int
    max_records_per_row = 1

    def __init__(
        self, lengths: Lengths, config: PlanConfig, widths: tuple[int, ...] | None
    ) -> None:
        self.config, self.widths = config, widths
        self.num_records, self.num_tokens = lengths.num_records, lengths.num_tokens
        self.max_width = lengths.histogram.size - 1 if widths is None else widths[-1]

    def _count_batches(self, num_rows: int, batch_rows: int) -> None:
        """Set the numbers of batches that all have `batch_rows`, but for the last one."""
        num_full, left = divmod(num_rows, batch_rows)
        left = 0 if self.config.drop_remainder else left
        self.num_batches = num_full + int(left > 0)
        self.num_rows = num_full * batch_rows + left

    def epoch(self, number: int) -> EpochPlan:
        """Plan an epoch; the same lengths, configuration and number give the same plan."""
        if number < 0:
            raise ValueError(f"epoch is {number}; it must be >= 0")
        return self._epoch(number)

    @abc.abstractmethod
    def _epoch(self, number: int) -> EpochPlan:
        """Plan an epoch."""

    def locate(self, batch: int) -> tuple[int, int]:
        """Return the epoch of a batch of an endless run, and its number there, in constant time.

        Args:
          batch: >= 0, counted from the beginning of epoch 0.
        """
        if batch < 0:
            raise ValueError(f"batch is {batch}; it must be >= 0")
        return divmod(batch, self.num_batches)

    def epochs(
        self, num_epochs: int | None, start_batch: int
    ) -> Iterator[tuple[int, EpochPlan, int]]:
        """Yield each epoch of a run: its number, its plan, and its first batch that is read."""
        first, start = self.locate(start_batch)
        numbers = itertools.count() if num_epochs is None else range(num_epochs)
        for number in itertools.islice(numbers, first, None):
            yield number, self.epoch(number), start
            start = 0


class Parts(NamedTuple):
    """The parts of each batch that this process reads.

    Attributes:
      num_parts: into which each batch is divided.
      first, num_here: those of this host; each becomes a batch of rows, one after the other.
    """

    num_parts: int
    first: int
    num_here: int


class PlannedRows(NamedTuple):
    """The rows of some batches.

    Attributes:
      records: int[records], numbers of records, or -1.
      row_splits: int64[rows + 1], the records of each row.
      batch_splits: int64[batches + 1], the rows of each batch.
      widths: int[batches].
    """

    records: NDArray[np.integer]
    row_splits: NDArray[np.int64]
    batch_splits: NDArray[np.int64]
    widths: NDArray[np.integer]


def planned_rows(epoch: EpochPlan, start: int, end: int, parts: Parts) -> PlannedRows:
    """Return the rows of batches `start` to `end` that are read here, part by part of each."""
    if parts.num_parts > 1:
        return _rows_of_parts(epoch, start, end, parts)
    splits = epoch.batch_splits[start : end + 1]
    first, last = int(splits[0]), int(splits[-1])
    if epoch.row_splits is None:
        records, row_splits = epoch.records[first:last], np.arange(last - first + 1)
    else:
        row_splits = epoch.row_splits[first : last + 1]
        records = epoch.records[row_splits[0] : row_splits[-1]]
        row_splits = row_splits - row_splits[0]
    return PlannedRows(records, row_splits, splits - first, epoch.widths[start:end])


def _rows_of_parts(epoch: EpochPlan, start: int, end: int, parts: Parts) -> PlannedRows:
    here = range(parts.first, parts.first + parts.num_here)
    batches = [epoch.batch(number, part) for number in range(start, end) for part in here]
    splits, at = [np.zeros(1, np.int64)], 0
    for batch in batches:
        splits.append(batch.row_splits[1:] + at)
        at += batch.records.size
    return PlannedRows(
        np.concatenate([batch.records for batch in batches]),
        np.concatenate(splits),
        np.cumsum([0, *(batch.num_rows for batch in batches)]),
        np.array([batch.width for batch in batches]),
    )


def most_of_rows(
    epoch: EpochPlan,
    start: int,
    end: int,
    num_tokens: NDArray[np.integer],
    most_of_length: NDArray[np.integer],
) -> NDArray[np.int64]:
    """Return the most that rows of batches `start` to `end` hold, on any host.

    Args:
      num_tokens: int[records of the set], tokens of each.
      most_of_length: int[longest record + 1], most predictions of a record of each length.

    Returns:
      int64[batches, 2], the most predictions and the most records of a row.
    """
    splits = epoch.batch_splits[start : end + 1]
    rows = np.arange(splits[0], splits[-1] + 1)
    row_splits = rows if epoch.row_splits is None else epoch.row_splits[rows]
    lengths = num_tokens[epoch.records[row_splits[0] : row_splits[-1]]]
    of_records = most_of_length[lengths].astype(np.int64)
    of_rows = np.add.reduceat(of_records, row_splits[:-1] - row_splits[0])
    first_rows = splits[:-1] - splits[0]
    most = of_rows, np.diff(row_splits)
    return np.stack([np.maximum.reduceat(part, first_rows) for part in most], axis=1)
