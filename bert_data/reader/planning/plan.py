"""The plan of all epochs, and one that goes on behind batches of another size, or cut otherwise.

    epoch 0, rows of 2    7 3 | 0 9 | ...        two batches were read
    its rest, rows of 3   1 4 8 | 2 5 6          the other records, planned as an epoch of their own
    epoch 1, rows of 3    5 0 2 | ...            as if every batch had been cut so

So each record of an epoch is read once, however often the cut has changed.
"""

import dataclasses
from collections.abc import Callable, Iterator, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from bert_data.reader.planning.epoch import EpochPlan, Plan
from bert_data.reader.planning.lengths import Lengths, check_planned_lengths
from bert_data.reader.planning.packed import PackedRows
from bert_data.reader.planning.plan_config import BUCKETS, PACKED, PlanConfig
from bert_data.reader.planning.slots import BatchesOfRows, batches_of_buckets, batches_of_tokens


def make_plan(lengths: ArrayLike, config: PlanConfig, *, may_be_empty: bool = False) -> Plan:
    """Plan what is the same in every epoch.

    Args:
      lengths: integers [records], tokens of each record, in [0, max_seq_length]. Unsigned arrays
        are kept without a copy.
      may_be_empty: whether the plan may have no batch, and then no epoch.
    """
    checked = check_planned_lengths(lengths, config.max_seq_length)
    _check_tokens(checked, config)
    make: Callable[[Lengths, PlanConfig], Plan]
    if config.batching == PACKED:
        make = PackedRows
    elif config.batching == BUCKETS:
        make = batches_of_buckets
    else:
        make = batches_of_tokens if config.batch_size is None else BatchesOfRows
    plan = make(checked, config)
    if not plan.num_batches and not may_be_empty:
        records = f"{plan.num_records:,} records"
        raise ValueError(f"{records} do not fill a batch, and drop_remainder is True")
    return plan


def _check_tokens(lengths: Lengths, config: PlanConfig) -> None:
    widest = lengths.histogram.size - 1
    if isinstance(config.width, tuple):
        widest = max(widest, config.width[-1])
    if not config.rows_of_width(widest):
        unit = config.rows_unit
        rows = f"{unit} rows (by rows_multiple and num_hosts)" if unit > 1 else "one row"
        least = f"it must be at least {unit * widest:,}, which is {rows} of {widest:,} tokens"
        raise ValueError(f"max_tokens_per_batch is {config.max_tokens_per_batch:,}; {least}")


class PlannedBefore(NamedTuple):
    """A number of batches, and how they were planned; only the bound of a batch may differ."""

    config: PlanConfig
    num_batches: int


def continue_plan(
    lengths: NDArray[np.unsignedinteger], config: PlanConfig, before: Sequence[PlannedBefore]
) -> "ContinuedPlan":
    """Plan an endless run from behind batches on; see `make_plan`.

    Args:
      before: those that were read from the beginning of epoch 0 on, in order.
    """
    epoch, left = 0, None
    for each in before:
        epoch, left = ContinuedPlan(lengths, each.config, epoch, left).left_after(each.num_batches)
    return ContinuedPlan(lengths, config, epoch, left)


class ContinuedPlan:
    """The plan of an endless run whose first epoch has only the records that are left of it.

    Attributes:
      all: the plan of the epochs behind it.
      max_records_per_row: of both.
    """

    def __init__(
        self,
        lengths: NDArray[np.unsignedinteger],
        config: PlanConfig,
        epoch: int,
        left: NDArray[np.int32] | None,
    ) -> None:
        """Plan what is the same in every epoch, and the rest of the first one.

        Args:
          epoch: the number of the first one.
          left: int32[records], what is left of it, ascending; None: all.
        """
        self.all = make_plan(lengths, config)
        self.max_records_per_row = self.all.max_records_per_row
        self._epoch, self._left = epoch, left
        self._rest: EpochPlan | None = None
        if left is not None and left.size:
            if self.all.widths is not None:  # those of all records
                config = dataclasses.replace(config, width=self.all.widths)
            plan = make_plan(lengths[left], config, may_be_empty=True)
            self.max_records_per_row = max(self.max_records_per_row, plan.max_records_per_row)
            if plan.num_batches:
                rest = plan.epoch(epoch)
                self._rest = dataclasses.replace(rest, records=left[rest.records])

    def epochs(self, start_batch: int) -> Iterator[tuple[int, EpochPlan, int]]:
        """Yield each epoch: its number, its plan, and its first batch that is read."""
        in_rest = 0 if self._rest is None else self._rest.num_batches
        if self._rest is not None and start_batch < in_rest:
            yield self._epoch, self._rest, start_batch
            start_batch = in_rest
        first = self._epoch + (self._left is not None)
        yield from self.all.epochs(None, first * self.all.num_batches + start_batch - in_rest)

    def left_after(self, num_batches: int) -> tuple[int, NDArray[np.int32] | None]:
        """Return the epoch of a batch, and which of its records come from there on; None: all."""
        number, epoch, start = next(self.epochs(num_batches))
        is_rest = epoch is self._rest
        if not start and not is_rest:
            return number, None
        end = int(epoch.batch_splits[start])
        if epoch.row_splits is not None:
            end = int(epoch.row_splits[end])
        is_left = np.full(self.all.num_records, not is_rest)
        if is_rest:
            is_left[self._left] = True
        is_left[epoch.records[:end]] = False
        return number, np.flatnonzero(is_left).astype(np.int32)
