"""Which rows of a batch each host reads: as many tokens as the others, as nearly as rows allow.

    rows of 9 8 8 7 5 3 tokens, for two hosts    9 7 5 | 8 8 3    the longest first, in turn

Where flat rows are fewer than hosts, or do not divide evenly, sequences are dealt in the same way.

A host without a row is one of more hosts than rows.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from bert_data.kernels import Scalar, kernel
from bert_data.reader.planning import EpochPlan
from bert_data.reader.planning.epoch import EMPTY, Parts


class HostRows(NamedTuple):
    """Rows of batches that one host reads; sequences are numbers in their window, or EMPTY.

    Attributes:
      sequences: int32[sequences].
      row_splits: int64[rows + 1], the sequences of each row; an empty row has one, EMPTY.
      batch_splits: int64[batches + 1], the rows of each batch.
    """

    sequences: NDArray[np.integer]
    row_splits: NDArray[np.int64]
    batch_splits: NDArray[np.int64]


class DealtRows(NamedTuple):
    """Runs of a plan's records, dealt among the parts of each batch.

    Attributes:
      begins, ends: int64[runs], places in `plan.records`, batch after batch and part after part.
      splits: int64[batches * num_parts + 1], the runs of each part.
    """

    plan: EpochPlan
    num_parts: int
    begins: NDArray[np.int64]
    ends: NDArray[np.int64]
    splits: NDArray[np.int64]

    def of_parts(
        self, numbers: NDArray[np.int64], own: Parts, num_rows: int | None, *, lends: bool
    ) -> HostRows:
        """Return some parts of batches, each as a batch.

        Args:
          num_rows: of each, the last ones empty if there are fewer; None: all runs in one row.
          lends: whether a part without rows has those of another one, and not an empty row.
        """
        parts = own.first + np.arange(own.num_here)
        counts = np.diff(self.splits)
        if lends:  # the first ones have rows
            most = (counts.reshape(-1, self.num_parts) > 0).sum(axis=1)[numbers]
            parts = parts % most[:, np.newaxis]
        keys = (numbers[:, np.newaxis] * self.num_parts + parts).ravel()
        firsts, counts = self.splits[keys], counts[keys]
        slots = np.maximum(counts, 1) if num_rows is None else np.full(keys.size, num_rows)
        slot_splits = np.concatenate(([0], np.cumsum(slots)))
        in_part = np.arange(slot_splits[-1]) - slot_splits[:-1].repeat(slots)
        is_there = in_part < counts.repeat(slots)
        runs = np.where(is_there, firsts.repeat(slots) + in_part, 0)
        if self.plan.row_splits is None:
            sequences = np.where(is_there, self.plan.records[self.begins[runs]], EMPTY)
            return HostRows(sequences, np.arange(runs.size + 1), slot_splits)
        sizes = np.where(is_there, self.ends[runs] - self.begins[runs], 1)
        splits = np.concatenate(([0], np.cumsum(sizes)))
        places = np.arange(splits[-1]) + (self.begins[runs] - splits[:-1]).repeat(sizes)
        sequences = np.where(is_there.repeat(sizes), self.plan.records[places], EMPTY)
        if num_rows is None:
            return HostRows(sequences, splits[slot_splits], np.arange(keys.size + 1))
        return HostRows(sequences, splits, slot_splits)


def deal_rows(
    plan: EpochPlan, lengths: NDArray[np.int64], num_parts: int, *, divides: bool
) -> DealtRows:
    """Deal the rows of each batch of a plan among parts.

    Args:
      lengths: int64[sequences], tokens.
      divides: whether rows may be divided: each part has as many whole rows as the others, and the
        sequences of the shortest rows are dealt one by one. Otherwise no part has more rows than
        the fullest one must have.
    """
    splits = plan.batch_splits
    row_splits = np.arange(splits[-1] + 1) if plan.row_splits is None else plan.row_splits
    begins, ends = row_splits[:-1], row_splits[1:]
    if num_parts == 1:
        return DealtRows(plan, 1, begins, ends, splits)
    of_records = lengths[plan.records]
    batches = np.arange(splits.size - 1).repeat(np.diff(splits))
    tokens = np.add.reduceat(of_records, begins)
    if divides:
        order = _longest_first(batches, tokens)
        places = np.arange(order.size) - splits[batches]
        is_whole = np.empty(order.size, np.bool_)
        is_whole[order] = places < (np.diff(splits) // num_parts * num_parts)[batches]
        sizes = np.where(is_whole, 1, ends - begins)
        steps = np.where(is_whole, ends - begins, 1).repeat(sizes)
        begins, batches = np.concatenate(([0], np.cumsum(steps)[:-1])), batches.repeat(sizes)
        ends, tokens = begins + steps, np.add.reduceat(of_records, begins)
        splits = np.searchsorted(batches, np.arange(splits.size))
    order = _longest_first(batches, tokens)
    parts = np.empty(order.size, np.int64)
    totals, counts = np.empty((2, num_parts), np.int64)
    _deal(tokens[order], splits, not divides, totals, counts, parts)
    keys = batches * num_parts + parts  # batches are in order already
    order = order[np.argsort(keys, kind="stable")]
    part_splits = np.zeros((splits.size - 1) * num_parts + 1, np.int64)
    np.cumsum(np.bincount(keys, minlength=part_splits.size - 1), out=part_splits[1:])
    return DealtRows(plan, num_parts, begins[order], ends[order], part_splits)


def _longest_first(batches: NDArray[np.int64], tokens: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return an order of rows, batch after batch, of each those with the most tokens first."""
    return np.argsort(batches * (int(tokens.max(initial=0)) + 1) - tokens, kind="stable")


@kernel
def _deal(
    tokens: NDArray[np.int64],
    splits: NDArray[np.int64],
    is_even: bool,
    totals: NDArray[np.int64],
    counts: NDArray[np.int64],
    parts: NDArray[np.int64],
) -> None:
    """Give each run to the part with the fewest tokens, of those that have room; a tie: the first.

    Args:
      tokens: int64[runs], falling in each batch.
      splits: int64[batches + 1], the runs of each batch.
      is_even: whether parts have room for as many runs as the fullest part must have; otherwise
        for any number.
      totals, counts: scratch space, int64[parts].
      parts: int64[runs], filled.
    """
    for batch in range(splits.size - 1):
        begin, end = splits[batch], splits[batch + 1]
        room = (end - begin + totals.size - 1) // totals.size if is_even else end - begin
        for part in range(totals.size):
            totals[part] = counts[part] = 0
        for i in range(begin, end):
            best: Scalar = np.int64(-1)
            for part in range(totals.size):
                if counts[part] < room and (best < 0 or totals[part] < totals[best]):
                    best = part
            parts[i] = best
            totals[best] += tokens[i]
            counts[best] += 1
