"""The lengths that a plan is made from, checked, and records grouped by them.

    lengths 5 9 5 9 5                       histogram 0 0 0 0 0 3 0 0 0 2
    grouped by length                       records 0 2 4 | 1 3     splits 0 3 5
    an epoch's order of them                        4 0 2 | 3 1

Nothing is planned from lengths that do not fit the model. Batches are planned once, in numbers of
places in the groups' order; as the groups are the same in every epoch, so are the widths and
numbers of the batches, whichever records the places hold.
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
      of_record: uint[records], tokens of each; not copied from the caller where it is unsigned.
      histogram: int64[max_seq_length + 1], records of each length; those of no tokens count as
        records of one, for no row is narrower.
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
    """Looks at the lengths of records.

    Args:
      lengths: integers [records], in [0, max_seq_length].
      max_seq_length: the longest allowed; None takes the longest that there is.

    Raises:
      ValueError: there are none, too many, or one is out of range.
    """
    given = np.asarray(lengths)
    if not 1 <= given.size <= MAX_RECORDS:
        raise ValueError(f"lengths has {given.size:,} records; 1 to {MAX_RECORDS:,} are allowed")
    if given.ndim != 1 or not np.issubdtype(given.dtype, np.integer):
        raise ValueError(f"lengths is {given.dtype}{list(given.shape)}; must be integers [records]")
    limit = MAX_LENGTH if max_seq_length is None else max_seq_length
    bad = int(given.argmin()) if given.min() < 0 else int(given.argmax())
    if not 0 <= given[bad] <= limit:
        allowed = f"0 to {limit:,} are allowed"
        raise ValueError(f"record {bad} has {given[bad]:,} tokens; {allowed}")
    if not np.issubdtype(given.dtype, np.unsignedinteger):
        given = given.astype(np.uint32)
    most = max(1, int(given.max())) if max_seq_length is None else max_seq_length
    histogram = np.zeros(most + 1, np.int64)
    _count(given, histogram)
    histogram[1] += histogram[0]
    histogram[0] = 0
    return Lengths(given, histogram)


class Groups(NamedTuple):
    """Records by group.

    Attributes:
      records: int32[records], group after group, ascending in each.
      splits: int64[groups + 1], where each begins.
    """

    records: NDArray[np.int32]
    splits: NDArray[np.int64]

    def shuffled(self, key: np.uint64) -> NDArray[np.int32]:
        """The records of each group in an order drawn from the key; int32[records]."""
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
    """Groups records by their lengths.

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
    """A group for each length from 0 to max_seq_length; records of no tokens are in that of one."""
    return group_records(lengths, np.maximum(np.arange(lengths.histogram.size, dtype=np.int32), 1))
