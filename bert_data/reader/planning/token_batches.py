"""Batches of a number of tokens, padding included: "plain" and "pools" with `max_tokens`.

    max_tokens 12    lengths 5 4 2 3 6 6 1     plain: (5 4) (2 3) (6 6) (1)      pools of all: (6 6)
                                                                                (5 4) (3 2 1)

The number of batches depends on the order of the lengths. So that every epoch has the same number
and any batch of a run is found at once, the lengths are ordered and cut once, in an order drawn
from the seed; each epoch gives the places to other records of the same lengths, and mixes the
batches of the whole epoch. The lengths of a batch thus stay together in every epoch; the records do
not. That matters if hardly any two records have the same length, as in small sets: use `batch_size`
for those.
"""

import numpy as np
from numpy.typing import NDArray

from bert_data.kernels import Scalar, inner, kernel
from bert_data.reader.order.splitmix import TEMPLATE, key_of, shuffled
from bert_data.reader.planning.config import PLAIN, PlanConfig
from bert_data.reader.planning.lengths import Lengths, group_by_length
from bert_data.reader.planning.slots import BatchesOfSlots, Slots
from bert_data.reader.planning.widths import allowed_widths, next_widths


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
      order: int32[records].
      lengths: of each record.
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
      order: int32[records], sorted in place.
      lengths: of each record.
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
        for i in range(begin, end):
            counts[lengths[order[i]]] += 1
        at = begin
        for length in range(counts.size - 1, -1, -1):
            count = counts[length]
            counts[length] = at
            at += count
        for i in range(begin, end):
            record = order[i]
            pool[counts[lengths[record]]] = record
            counts[lengths[record]] += 1
        for length in range(counts.size):
            counts[length] = 0
        for i in range(begin, end):
            order[i] = pool[i]
        while begin < end and begin + rows_of_length[_length(lengths, order[begin])] <= end:
            begin += rows_of_length[_length(lengths, order[begin])]


def batches_of_tokens(lengths: Lengths, config: PlanConfig) -> BatchesOfSlots:
    """Order the lengths, cut them into batches, and return those as slots."""
    assert config.max_tokens is not None
    widths = allowed_widths(lengths.histogram, config)
    every_length = np.maximum(np.arange(lengths.histogram.size), 1)
    width_of_length = next_widths(every_length, widths)
    unit = config.rows_unit
    rows_of_length = config.max_tokens // width_of_length.astype(np.int64) // unit * unit
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
            config.pool_batches * config.max_tokens,
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
    return BatchesOfSlots(slots, config, widths)
