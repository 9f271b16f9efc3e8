"""Plan every epoch from the lengths of records, before a byte of a record is read.

    plan = make_plan(lengths, PlanConfig(batching="pools", batch_size=256, shuffle=True, seed=7))
    epoch, number = plan.locate(1_000_000)       the 1,000,000th batch of a run, in constant time
    plan.epoch(epoch).batch(number, host_index)  -> records, row splits, width

For the time and memory that planning needs, see `bert_data.reader.planning`.
"""

import dataclasses
from typing import Protocol

from numpy.typing import ArrayLike

from bert_data.reader.planning.config import BUCKETS, PACKED, PlanConfig
from bert_data.reader.planning.epoch import EpochPlan
from bert_data.reader.planning.lengths import Lengths, check_planned_lengths
from bert_data.reader.planning.packed import PackedRows
from bert_data.reader.planning.pools import BatchesOfRows
from bert_data.reader.planning.slots import batches_of_buckets, batches_of_tokens


class Batching(Protocol):
    """A way to batch records; see the attributes of `Plan`."""

    num_batches: int
    num_rows: int
    max_rows: int
    max_records_per_row: int
    widths: tuple[int, ...] | None

    def epoch(self, number: int) -> EpochPlan:
        """Return the plan of an epoch."""


@dataclasses.dataclass(frozen=True, kw_only=True, eq=False)
class Plan:
    """The plan of a run: what is the same in every epoch.

    Attributes:
      config: the configuration.
      num_records, num_tokens: of the whole set.
      num_batches: batches of an epoch, >= 1, the same in every one.
      num_rows: rows of an epoch, without those of a last batch that is left out.
      max_rows: most rows of a batch of all hosts.
      max_records_per_row: 1 unless packed.
      widths: the widths that batches may have, ascending; None for any up to `max_width`.
      max_width: the widest that a batch can be.
    """

    config: PlanConfig
    num_records: int
    num_tokens: int
    num_batches: int
    num_rows: int
    max_rows: int
    max_records_per_row: int
    widths: tuple[int, ...] | None
    max_width: int
    _batching: Batching = dataclasses.field(repr=False)

    def epoch(self, number: int) -> EpochPlan:
        """Plan an epoch; the same lengths, configuration and number give the same plan.

        Args:
          number: >= 0.
        """
        if number < 0:
            raise ValueError(f"epoch is {number}; it must be >= 0")
        return self._batching.epoch(number)

    def locate(self, batch: int) -> tuple[int, int]:
        """Return the epoch of a batch of an endless run, and its number there, in constant time.

        Args:
          batch: >= 0, counted from the beginning of epoch 0.
        """
        if batch < 0:
            raise ValueError(f"batch is {batch}; it must be >= 0")
        return divmod(batch, self.num_batches)


def make_plan(lengths: ArrayLike, config: PlanConfig) -> Plan:
    """Plan what is the same in every epoch.

    Args:
      lengths: integers [records], tokens of each record, in [0, max_seq_length]. Unsigned arrays
        are kept without a copy.
      config: how records become batches.

    Raises:
      ValueError: there are no records, one is too long, or they do not make a batch.
    """
    checked = check_planned_lengths(lengths, config.max_seq_length)
    _check_tokens(checked, config)
    batching = _choose_batching(checked, config)
    if not batching.num_batches:
        records = f"{checked.num_records:,} records"
        raise ValueError(f"{records} do not fill a batch, and drop_remainder is True")
    max_width = checked.histogram.size - 1 if batching.widths is None else batching.widths[-1]
    return Plan(
        config=config,
        num_records=checked.num_records,
        num_tokens=checked.num_tokens,
        num_batches=batching.num_batches,
        num_rows=batching.num_rows,
        max_rows=batching.max_rows,
        max_records_per_row=batching.max_records_per_row,
        widths=batching.widths,
        max_width=max_width,
        _batching=batching,
    )


def _choose_batching(lengths: Lengths, config: PlanConfig) -> Batching:
    if config.batching == PACKED:
        return PackedRows(lengths, config)
    if config.batching == BUCKETS:
        return batches_of_buckets(lengths, config)
    if config.batch_size is not None:
        return BatchesOfRows(lengths, config)
    return batches_of_tokens(lengths, config)


def _check_tokens(lengths: Lengths, config: PlanConfig) -> None:
    """Check that max_tokens holds the rows that a batch must have."""
    widest = lengths.histogram.size - 1
    if isinstance(config.widths, tuple):
        widest = max(widest, config.widths[-1])
    if not config.rows_of_width(widest):
        least = f"it must be at least {config.rows_unit * widest:,}"
        rows = f"{config.rows_unit} rows (by rows_multiple and num_hosts) of {widest:,} tokens"
        raise ValueError(f"max_tokens is {config.max_tokens:,}; {least} for {rows}")
