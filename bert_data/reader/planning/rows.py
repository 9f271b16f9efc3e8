"""The plan of an epoch in, the rows of some of its batches out: those that are read here.

batches 7 3 | 0 9 | 4 8, of which 1 and 2    ->   records 0 9 4 8    row_splits   0 1 2 3 4
batch_splits 0 2 4
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from bert_data.reader.planning import EpochPlan


class Parts(NamedTuple):
    """Which parts of each batch are read here.

    Attributes:
      num_parts: into which each batch is divided.
      first, num_here: those of this host; a batch of rows for each, one after the other.
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
    """The rows of batches `start` to `end` that are read here: of each batch, part after part."""
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
    """What the rows of batches `start` to `end` hold at most, on whichever host.

    Args:
      epoch: the plan.
      start, end: of the batches.
      num_tokens: int[records of the set], tokens of each.
      most_of_length: int[longest record + 1], predictions of a record of each length at most.

    Returns:
      int64[batches, 2], predictions and records of a row at most.
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
