"""Batches of rows that are one record each: "plain", "pools" and "buckets".

With `batch_size`, "plain" and "pools" cut an order of all records that is drawn anew each epoch:

    an order of all records    7 3 0 9 4 8 5 1 2 6 ...
    pools of two batches       7 3 0 9 4 8 | 5 1 2 6 ...
    sorted by length           3 9 7 0 8 4 | ...
    batches, shuffled          0 8 4 | 3 9 7 | ...

The others are cut once, as places in an order that each epoch fills with other records:

    places          0 1 | 2 3 4 | 5 6 7     batches of widths 9, 6, 6
    epoch's order   4 0   2 7 1   5 3 6     records mixed within groups (see `lengths`)
    batches mixed   2 7 1 | 4 0 | 5 3 6

A batch that is not full stays the last one. There are two ways to cut:

    "buckets", widths 4 and 9, rows of 2    lengths 3 4 2 | 8 5 9 6
                                            (3 4) width 4,  (2 8) (5 9) width 9,  (6) the last one

The bucket of a record is the smallest width that holds it. Records that do not fill a batch of
their bucket move to the next wider one, so every batch but the last is full.

    max_tokens 12    lengths 5 4 2 3 6 6 1     plain: (5 4) (2 3) (6 6) (1)      pools of all: (6 6)
                                                                                (5 4) (3 2 1)

The number of such batches depends on the order of the lengths. So that every epoch has the same
number and any batch of a run is found at once, the lengths are ordered and cut once, in an order
drawn from the seed. The lengths of a batch thus stay together in every epoch; the records do not.
That matters if hardly any two records have the same length, as in small sets: use `batch_size` for
those.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from bert_data.kernels import Scalar, inner, kernel
from bert_data.reader.planning.epoch import EpochPlan, Plan
from bert_data.reader.planning.lengths import (
    Groups,
    Lengths,
    allowed_widths,
    group_by_length,
    group_records,
    next_widths,
)
from bert_data.reader.planning.plan_config import PLAIN, POOLS, PlanConfig
from bert_data.reader.splitmix import BATCHES, ORDER, TEMPLATE, key_of, shuffle_range, shuffled


@inner
def _sort_pool(
    order: NDArray[np.int32],
    lengths: NDArray[np.unsignedinteger],
    longest_first: bool,
    counts: NDArray[np.int64],
    pool: NDArray[np.int32],
) -> None:
    """Sort records by length into `pool`, keeping the order of ties; `counts` are zeros again."""
    shortest, longest, at = np.int64(counts.size), np.int64(0), np.int64(0)
    for i in range(order.size):
        length = np.int64(lengths[order[i]])
        counts[length] += 1
        shortest, longest = min(shortest, length), max(longest, length)
    for step in range(longest - shortest + 1):
        value = longest - step if longest_first else shortest + step
        count = counts[value]
        counts[value] = at
        at += count
    for i in range(order.size):
        record = order[i]
        length = np.int64(lengths[record])
        pool[counts[length]] = record
        counts[length] += 1
    counts[shortest : longest + 1] = 0


@kernel
def _sort_pools(
    key: np.uint64,
    order: NDArray[np.int32],
    lengths: NDArray[np.unsignedinteger],
    is_shuffled: bool,
    batch_rows: int,
    pool_batches: int,
    counts: NDArray[np.int64],
    pool: NDArray[np.int32],
    batches: NDArray[np.int32],
    records: NDArray[np.int32],
) -> None:
    """Sort each pool of whole batches by length, keeping the order of ties, and mix its batches.

    Args:
      counts: int64[longest + 1], zeros before and after.
      pool, batches: scratch space for a pool's records and batches.
    """
    num_batches = order.size // batch_rows
    for first_batch in range(0, num_batches, pool_batches):
        in_pool = min(pool_batches, num_batches - first_batch)
        begin, end = first_batch * batch_rows, (first_batch + in_pool) * batch_rows
        _sort_pool(order[begin:end], lengths, False, counts, pool)
        for batch in range(in_pool):
            batches[batch] = batch
        if is_shuffled:
            key = shuffle_range(key, batches, 0, in_pool)
        for batch in range(in_pool):
            source, target = batches[batch] * batch_rows, begin + batch * batch_rows
            for row in range(batch_rows):
                records[target + row] = pool[source + row]


@kernel
def _find_longest(
    records: NDArray[np.int32],
    lengths: NDArray[np.unsignedinteger],
    splits: NDArray[np.int64],
    longest: NDArray[np.int32],
) -> None:
    """Find the longest record of each batch, at least 1."""
    for batch in range(splits.size - 1):
        most = np.int64(1)
        for i in range(splits[batch], splits[batch + 1]):
            most = max(most, np.int64(lengths[records[i]]))
        longest[batch] = most


class BatchesOfRows(Plan):
    """Plans "plain" and "pools" with `batch_size`."""

    def __init__(self, lengths: Lengths, config: PlanConfig) -> None:
        super().__init__(lengths, config, allowed_widths(lengths.histogram, config))
        assert config.batch_size is not None
        self._lengths, self._batch_rows = lengths, config.batch_size
        self._count_batches(lengths.num_records, config.batch_size)

    def _epoch(self, number: int) -> EpochPlan:
        config, num_records = self.config, self.num_records
        if config.shuffle:
            records = shuffled(num_records, key_of(config.seed, number, ORDER))
        else:
            records = np.arange(num_records, dtype=np.int32)
        if config.batching == POOLS:
            records = self._sorted_in_pools(records, number)
        splits = np.minimum(np.arange(self.num_batches + 1) * self._batch_rows, self.num_rows)
        longest = np.empty(self.num_batches, np.int32)
        _find_longest(records, self._lengths.of_record, splits, longest)
        return EpochPlan(
            records=records[: self.num_rows],
            row_splits=None,
            batch_splits=splits,
            widths=next_widths(longest, self.widths),
            num_hosts=config.num_hosts,
        )

    def _sorted_in_pools(self, records: NDArray[np.int32], number: int) -> NDArray[np.int32]:
        config, lengths, batch_rows = self.config, self._lengths, self._batch_rows
        num_full = records.size // batch_rows
        pool_batches = min(config.pool_batches, num_full)
        out = records.copy()
        _sort_pools(
            key_of(config.seed, number, BATCHES),
            records[: num_full * batch_rows],
            lengths.of_record,
            config.shuffle,
            batch_rows,
            config.pool_batches,
            np.zeros(lengths.histogram.size, np.int64),
            np.empty(pool_batches * batch_rows, np.int32),
            np.empty(pool_batches, np.int32),
            out,
        )
        return out


class Slots(NamedTuple):
    """Batches of an epoch, before their records are known.

    Attributes:
      groups: what each epoch mixes.
      places: int32[slots], the place of each slot in the groups' order; None: slot s is place s.
      splits: int64[batches + 1], the slots of each batch.
      widths: int32[batches], of each.
      num_mixed: batches whose order is mixed; any others follow them.
    """

    groups: Groups
    places: NDArray[np.int32] | None
    splits: NDArray[np.int64]
    widths: NDArray[np.int32]
    num_mixed: int


@kernel
def _fill(
    order: NDArray[np.int32],
    places: NDArray[np.int32],
    has_places: bool,
    batches: NDArray[np.int32],
    splits: NDArray[np.int64],
    new_splits: NDArray[np.int64],
    records: NDArray[np.int32],
) -> None:
    """Fill `records` and `new_splits`, batch after batch in the order of `batches`."""
    at = np.int64(0)
    new_splits[0] = 0
    for number in range(batches.size):
        batch = batches[number]
        for slot in range(splits[batch], splits[batch + 1]):
            records[at] = order[places[slot] if has_places else slot]
            at += 1
        new_splits[number + 1] = at


class BatchesOfSlots(Plan):
    """Plans batches that are cut once."""

    def __init__(
        self, slots: Slots, lengths: Lengths, config: PlanConfig, widths: tuple[int, ...] | None
    ) -> None:
        super().__init__(lengths, config, widths)
        self._slots = slots
        self.num_batches = slots.widths.size
        self.num_rows = int(slots.splits[-1])

    def _epoch(self, number: int) -> EpochPlan:
        slots, config = self._slots, self.config
        order = slots.groups.records
        batches = np.arange(self.num_batches, dtype=np.int32)
        if config.shuffle:
            order = slots.groups.shuffled(key_of(config.seed, number, ORDER))
            key = key_of(config.seed, number, BATCHES)
            batches[: slots.num_mixed] = shuffled(slots.num_mixed, key)
        splits = np.empty(self.num_batches + 1, np.int64)
        records = np.empty(self.num_rows, np.int32)
        places = order if slots.places is None else slots.places
        _fill(order, places, slots.places is not None, batches, slots.splits, splits, records)
        return EpochPlan(
            records=records,
            row_splits=None,
            batch_splits=splits,
            widths=slots.widths[batches],
            num_hosts=config.num_hosts,
        )


def batches_of_buckets(lengths: Lengths, config: PlanConfig) -> BatchesOfSlots:
    """Cut the records, by ascending bucket, into batches.

    A batch begins in the narrowest bucket with records left and has as many rows as a batch of that
    bucket; if too few records are left in it, the batch still begins there but takes the next
    bucket's width and rows. Records that do not fill a batch of the widest bucket form the last
    batch, or are left out with drop_remainder.
    """
    widths = allowed_widths(lengths.histogram, config)
    assert widths is not None
    bucket_of_length = np.searchsorted(widths, np.arange(lengths.histogram.size))
    bucket_of_length[0] = bucket_of_length[1]
    groups = group_records(lengths, bucket_of_length.astype(np.int32))
    starts, batch_widths, at = [np.empty(0, np.int64)], [np.empty(0, np.int32)], 0
    for end, width in zip(groups.splits[1:].tolist(), widths, strict=False):
        rows = config.rows_of_width(width)
        num_full = (end - at) // rows
        starts.append(at + rows * np.arange(num_full))
        batch_widths.append(np.full(num_full, width, np.int32))
        at += rows * num_full
    num_full = sum(map(len, starts))
    if at < lengths.num_records and not config.drop_remainder:
        starts.append(np.array([at]))
        batch_widths.append(np.array([widths[-1]], np.int32))
        at = lengths.num_records
    splits = np.concatenate((*starts, [at]))
    slots = Slots(groups, None, splits, np.concatenate(batch_widths), num_full)
    return BatchesOfSlots(slots, lengths, config, widths)


@inner
def _length(lengths: NDArray[np.unsignedinteger], record: Scalar) -> Scalar:
    """Return the tokens of a record, at least 1."""
    return max(np.int64(1), np.int64(lengths[record]))


@kernel
def _cut(
    order: NDArray[np.int32],
    lengths: NDArray[np.unsignedinteger],
    rows_of_length: NDArray[np.int64],
    splits: NDArray[np.int32],
    longest: NDArray[np.int32],
) -> int:
    """Cut an order of records into batches, each as long as possible.

    Args:
      rows_of_length: int64[max_seq_length + 1], rows of a batch whose longest record has each.
      splits: int32[records + 1], filled with the first record of each batch, and the end.
      longest: int32[records], filled with the longest record of each batch, at least 1.

    Returns:
      How many batches there are.
    """
    num_batches, most = 0, np.int64(1)
    splits[0] = 0
    for i in range(order.size):
        length = _length(lengths, order[i])
        longer = max(most, length)
        if i - splits[num_batches] + 1 > rows_of_length[longer]:
            longest[num_batches] = most
            num_batches += 1
            splits[num_batches] = i
            longer = length
        most = longer
    longest[num_batches] = most
    splits[num_batches + 1] = order.size
    return num_batches + 1


@kernel
def _sort_pools_longest_first(
    order: NDArray[np.int32],
    lengths: NDArray[np.unsignedinteger],
    rows_of_length: NDArray[np.int64],
    pool_tokens: int,
    counts: NDArray[np.int64],
    pool: NDArray[np.int32],
) -> None:
    """Sort each pool, longest first; records that do not fill a batch move to the next pool.

    Args:
      rows_of_length: int64[max_seq_length + 1], see `_cut`.
      pool_tokens: the least tokens of a pool, except the last one.
      counts: int64[max_seq_length + 1], zeros before and after.
      pool: int32[records], scratch space.
    """
    begin = end = 0
    while end < order.size:
        num_tokens = np.int64(0)
        for i in range(begin, end):
            num_tokens += _length(lengths, order[i])
        while end < order.size and num_tokens < pool_tokens:
            num_tokens += _length(lengths, order[end])
            end += 1
        _sort_pool(order[begin:end], lengths, True, counts, pool)
        for i in range(begin, end):
            order[i] = pool[i - begin]
        while begin < end and begin + rows_of_length[_length(lengths, order[begin])] <= end:
            begin += rows_of_length[_length(lengths, order[begin])]


def batches_of_tokens(lengths: Lengths, config: PlanConfig) -> BatchesOfSlots:
    """Order the lengths, cut them into batches, and return those as slots."""
    assert config.max_tokens_per_batch is not None
    widths = allowed_widths(lengths.histogram, config)
    every_length = np.maximum(np.arange(lengths.histogram.size), 1)
    width_of_length = next_widths(every_length, widths)
    unit = config.rows_unit
    rows_of_length = config.max_tokens_per_batch // width_of_length.astype(np.int64) // unit * unit
    num_records = lengths.num_records
    if config.shuffle:
        order = shuffled(num_records, key_of(config.seed, TEMPLATE))
    else:
        order = np.arange(num_records, dtype=np.int32)
    if config.batching != PLAIN:
        _sort_pools_longest_first(
            order,
            lengths.of_record,
            rows_of_length,
            config.pool_batches * config.max_tokens_per_batch,
            np.zeros(lengths.histogram.size, np.int64),
            np.empty(num_records, np.int32),
        )
    splits, longest = np.empty(num_records + 1, np.int32), np.empty(num_records, np.int32)
    num_batches = _cut(order, lengths.of_record, rows_of_length, splits, longest)
    groups = group_by_length(lengths)
    place_of_record = np.empty(num_records, np.int32)
    place_of_record[groups.records] = np.arange(num_records, dtype=np.int32)
    slots = Slots(
        groups,
        place_of_record[order],
        splits[: num_batches + 1].astype(np.int64),
        width_of_length[longest[:num_batches]],
        num_batches,
    )
    return BatchesOfSlots(slots, lengths, config, widths)
