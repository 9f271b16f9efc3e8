"""The lengths that a plan is made from, checked, and records grouped by length.

    lengths 5 9 5 9 5                       histogram 0 0 0 0 0 3 0 0 0 2
    grouped by length                       records 0 2 4 | 1 3     splits 0 3 5
    an epoch's order of them                        4 0 2 | 3 1

Batches are planned once, as places in the order of the groups. The groups are the same in every
epoch, and therefore so are the widths and the number of batches, whichever records take the places.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from bert_data.kernels import kernel
from bert_data.reader.order.splitmix import shuffle_parts

MAX_RECORDS = 2**31 - 1
MAX_LENGTH = 2**24  # of a record; a histogram has an entry for each length


class Lengths(NamedTuple):
    """Lengths of records.

    Attributes:
      of_record: uint[records], tokens of each; the caller's array if that is unsigned.
      histogram: int64[max_seq_length + 1], records of each length; those without tokens count as
        records of one, since no row is narrower.
    """

    of_record: NDArray[np.unsignedinteger]
    histogram: NDArray[np.int64]

    @property
    def num_records(self) -> int:
        """The number of records."""
        return self.of_record.size

    @property
    def num_tokens(self) -> int:
        """Tokens of all records."""
        return int(self.of_record.sum(dtype=np.int64))


@kernel
def _count(lengths: NDArray[np.unsignedinteger], histogram: NDArray[np.int64]) -> None:
    for i in range(lengths.size):
        histogram[lengths[i]] += 1


def check_planned_lengths(lengths: ArrayLike, max_seq_length: int | None) -> Lengths:
    """Check and count the lengths of records.

    Args:
      lengths: integers [records], in [0, max_seq_length].
      max_seq_length: the longest allowed; None allows the longest that occurs.

    Raises:
      ValueError: there are none, too many, or one is out of range.
    """
    counts = np.asarray(lengths)
    if not 1 <= counts.size <= MAX_RECORDS:
        raise ValueError(f"lengths has {counts.size:,} records; it must have 1 to {MAX_RECORDS:,}")
    if counts.ndim != 1 or not np.issubdtype(counts.dtype, np.integer):
        raise ValueError(
            f"lengths is {counts.dtype}{list(counts.shape)}; it must be integers [records]"
        )
    limit = MAX_LENGTH if max_seq_length is None else max_seq_length
    bad = int(counts.argmin()) if counts.min() < 0 else int(counts.argmax())
    if not 0 <= counts[bad] <= limit:
        allowed = f"it must have 0 to {limit:,}"
        raise ValueError(f"record {bad} has {counts[bad]:,} tokens; {allowed}")
    if not np.issubdtype(counts.dtype, np.unsignedinteger):
        counts = counts.astype(np.uint32)
    most = max(1, int(counts.max())) if max_seq_length is None else max_seq_length
    histogram = np.zeros(most + 1, np.int64)
    _count(counts, histogram)
    histogram[1] += histogram[0]
    histogram[0] = 0
    return Lengths(counts, histogram)


class Groups(NamedTuple):
    """Records by group.

    Attributes:
      records: int32[records], group after group, ascending in each.
      splits: int64[groups + 1], where each begins.
    """

    records: NDArray[np.int32]
    splits: NDArray[np.int64]

    def shuffled(self, key: np.uint64) -> NDArray[np.int32]:
        """Return the records of each group in an order drawn from the key; int32[records]."""
        records = self.records.copy()
        shuffle_parts(key, records, self.splits)
        return records


@kernel
def _group(
    lengths: NDArray[np.unsignedinteger],
    group_of_length: NDArray[np.int32],
    at: NDArray[np.int64],
    records: NDArray[np.int32],
) -> None:
    for record in range(lengths.size):
        group = group_of_length[lengths[record]]
        records[at[group]] = record
        at[group] += 1


def group_records(lengths: Lengths, group_of_length: NDArray[np.int32]) -> Groups:
    """Group records by length.

    Args:
      lengths: of the records.
      group_of_length: int32[max_seq_length + 1], of each length, >= 0; [0] and [1] are the same.
    """
    counts = np.bincount(group_of_length, weights=lengths.histogram).astype(np.int64)
    splits = np.concatenate(([0], np.cumsum(counts)))
    records = np.empty(lengths.num_records, np.int32)
    _group(lengths.of_record, group_of_length, splits[:-1].copy(), records)
    return Groups(records, splits)


def group_by_length(lengths: Lengths) -> Groups:
    """Return a group per length from 0 to max_seq_length; empty records are in group 1."""
    return group_records(lengths, np.maximum(np.arange(lengths.histogram.size, dtype=np.int32), 1))
