"""Batches that are cut once, as places in an order that each epoch fills with other records.

    places          0 1 | 2 3 4 | 5 6 7     batches of widths 9, 6, 6
    epoch's order   4 0   2 7 1   5 3 6     records mixed within groups (see `lengths`)
    batches mixed   2 7 1 | 4 0 | 5 3 6

A batch that is not full stays the last one.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from bert_data.kernels import kernel
from bert_data.reader.order.splitmix import BATCHES, ORDER, key_of, shuffled
from bert_data.reader.planning.config import PlanConfig
from bert_data.reader.planning.epoch import EpochPlan
from bert_data.reader.planning.lengths import Groups


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


class BatchesOfSlots:
    """Makes the epochs of batches that were cut before.

    Attributes:
      num_batches, num_rows: of each epoch.
      widths: those that batches may have; None for any.
      max_rows: of a batch.
      max_records_per_row: 1.
    """

    max_records_per_row = 1

    def __init__(self, slots: Slots, config: PlanConfig, widths: tuple[int, ...] | None) -> None:
        self._slots, self._config = slots, config
        self.widths = widths
        self.num_batches = slots.widths.size
        self.num_rows = int(slots.splits[-1])
        self.max_rows = int(np.diff(slots.splits).max(initial=0))

    def epoch(self, number: int) -> EpochPlan:
        """Return the plan of an epoch."""
        slots, config = self._slots, self._config
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
