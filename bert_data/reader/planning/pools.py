"""Batches of a fixed number of rows, in an order drawn anew each epoch: "plain" and "pools".

    an order of all records    7 3 0 9 4 8 5 1 2 6 ...
    pools of two batches       7 3 0 9 4 8 | 5 1 2 6 ...
    sorted by length           3 9 7 0 8 4 | ...
    batches, shuffled          0 8 4 | 3 9 7 | ...

The last records of the order, if they do not fill a batch, are the last batch of the epoch.
"""

import numpy as np
from numpy.typing import NDArray

from bert_data.kernels import kernel
from bert_data.reader.planning.config import POOLS, PlanConfig
from bert_data.reader.planning.epoch import EpochPlan, Plan
from bert_data.reader.planning.lengths import Lengths, allowed_widths, next_widths
from bert_data.reader.splitmix import BATCHES, ORDER, key_of, shuffle_range, shuffled


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
      order: int32[whole batches * batch_rows].
      is_shuffled: whether batches are mixed.
      counts: int64[longest + 1], zeros before and after.
      pool, batches: scratch space for a pool's records and batches.
      records: int32[at least as many as `order`], filled from the beginning.
    """
    num_batches = order.size // batch_rows
    for first_batch in range(0, num_batches, pool_batches):
        in_pool = min(pool_batches, num_batches - first_batch)
        begin, end = first_batch * batch_rows, (first_batch + in_pool) * batch_rows
        shortest, longest, at = np.int64(counts.size), np.int64(0), np.int64(0)
        for i in range(begin, end):
            length = np.int64(lengths[order[i]])
            counts[length] += 1
            shortest, longest = min(shortest, length), max(longest, length)
        for value in range(shortest, longest + 1):
            count = counts[value]
            counts[value] = at
            at += count
        for i in range(begin, end):
            record = order[i]
            length = np.int64(lengths[record])
            pool[counts[length]] = record
            counts[length] += 1
        for value in range(shortest, longest + 1):
            counts[value] = 0
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
