"""Check the lengths that a plan is made from, group records by length, and choose widths.

    lengths 5 9 5 9 5                       histogram 0 0 0 0 0 3 0 0 0 2
    grouped by length                       records 0 2 4 | 1 3     splits 0 3 5
    an epoch's order of them                        4 0 2 | 3 1

Batches are planned once, as places in the order of the groups. The groups are the same in every
epoch, and so are the widths and the number of batches, whichever records take the places.

    lengths 3 3 4 9 9 10, two widths   ->  (4, 10)    padding 2 + 2 tokens; no other two have less

A row is padded to the next width that holds it.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from bert_data.kernels import kernel
from bert_data.reader.planning.plan_config import BUCKETS, PlanConfig
from bert_data.reader.splitmix import shuffle_parts

MAX_RECORDS = 2**31 - 1
_MAX_LENGTH = 2**24  # of a record; a histogram has an entry for each length


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
    """Check and count the lengths of records."""
    counts = np.asarray(lengths)
    if not 1 <= counts.size <= MAX_RECORDS:
        raise ValueError(f"lengths has {counts.size:,} records; it must have 1 to {MAX_RECORDS:,}")
    if counts.ndim != 1 or not np.issubdtype(counts.dtype, np.integer):
        raise ValueError(
            f"lengths is {counts.dtype}{list(counts.shape)}; it must be integers [records]"
        )
    limit = _MAX_LENGTH if max_seq_length is None else max_seq_length
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


@kernel
def _choose_last_cuts(
    lengths: NDArray[np.int64],
    below: NDArray[np.int64],
    before: NDArray[np.int64],
    best: NDArray[np.int64],
    cuts: NDArray[np.int64],
) -> None:
    """Add one width to the best choices of one width fewer.

    Args:
      lengths: int64[n], ascending.
      below: int64[n + 1], records of the first j lengths.
      before: int64[n + 1], fewest padded tokens of these records with one width fewer.
      best: int64[n + 1], filled: with one width more.
      cuts: int64[n + 1], filled: how many of the first j lengths the widths before the last cover.
    """
    n = lengths.size
    best[0] = cuts[0] = 0
    step = 1
    while 2 * step <= n:
        step *= 2
    while step:
        # The best cut never moves back as j grows, so those of the neighbours bound it.
        for j in range(step, n + 1, 2 * step):
            last = min(j - 1, cuts[j + step]) if j + step <= n else j - 1
            width, count = lengths[j - 1], below[j]
            cut = cuts[j - step]
            least = before[cut] + width * (count - below[cut])
            for i in range(cut + 1, last + 1):
                tokens = before[i] + width * (count - below[i])
                if tokens < least:
                    least, cut = tokens, i
            best[j], cuts[j] = least, cut
        step //= 2


def choose_widths(histogram: NDArray[np.integer], num_widths: int) -> tuple[int, ...]:
    """Choose the widths that pad records to the fewest tokens in all.

    Dynamic programming over the lengths that occur: the fewest for the first j of them with k
    widths is the minimum over i < j of that for the first i with k - 1, plus the j-th length for
    the rest. As the cost is the j-th length times a count, the best i grows with j, and a search
    between the best of neighbours takes O(n log n) per width (Aggarwal et al. 1987, on monotone
    matrices; here by halving).

    Args:
      histogram: int[any], records of each length; at least one.

    Returns:
      At most `num_widths` ascending lengths that occur, ending with the longest.
    """
    lengths = np.flatnonzero(histogram)
    below = np.concatenate(([0], np.cumsum(histogram[lengths], dtype=np.int64)))
    num_widths = min(num_widths, lengths.size)
    best = np.concatenate(([0], lengths * below[1:]))
    cuts = np.zeros((num_widths, lengths.size + 1), np.int64)
    for number in range(1, num_widths):
        before, best = best, np.empty_like(best)
        _choose_last_cuts(lengths, below, before, best, cuts[number])
    widths: list[int] = []
    end = lengths.size
    for number in reversed(range(num_widths)):
        if end:
            widths.append(int(lengths[end - 1]))
            end = int(cuts[number, end])
    return tuple(reversed(widths))


def allowed_widths(histogram: NDArray[np.integer], config: PlanConfig) -> tuple[int, ...] | None:
    """Return the widths that batches of these records may have, or None for any."""
    if config.fits_longest_row:
        is_chosen = config.batching == BUCKETS
        return choose_widths(histogram, config.num_buckets) if is_chosen else None
    given = config.width if isinstance(config.width, tuple) else ()
    longest = histogram.size - 1
    return given if given and given[-1] >= longest else (*given, longest)


def next_widths(longest: NDArray[np.integer], widths: tuple[int, ...] | None) -> NDArray[np.int32]:
    """Return the smallest of `widths` that holds each length; with None, the length itself."""
    if widths is None:
        return longest.astype(np.int32)
    return np.array(widths, np.int32)[np.searchsorted(widths, longest)]
