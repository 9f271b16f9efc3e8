"""Plan every epoch's batches from the lengths of records, before a byte of a record is read.

    plan = make_plan(lengths, PlanConfig(batching="pools", batch_size=256, shuffle=True, seed=7))
    epoch, number = plan.locate(1_000_000)       the 1,000,000th batch of a run, in constant time
    plan.epoch(epoch).batch(number, host_index)  -> records, row splits, width

This uses only NumPy and kernels, and draws only from (seed, epoch). The caller's lengths take 4
bytes per record as uint32. Beyond that, in bytes per record:

    batching                   a plan    an epoch    more while planning an epoch
    plain                      0         4           0
    pools                      0         4           4
    buckets                    4         4           4
    plain, pools by tokens     8         4           4       (24 more while making the plan)
    packed                     4         4           4

and 12 bytes per batch, and for packed rows 8 bytes per row (16 while planning). Planning takes
15 to 150 ns per record and epoch on one core; benchmarks/results/padding.md has the figures.
"""

from collections.abc import Callable

from numpy.typing import ArrayLike

from bert_data.reader.planning.epoch import EMPTY, EpochPlan, HostBatch, Plan
from bert_data.reader.planning.lengths import Lengths, check_planned_lengths
from bert_data.reader.planning.packed import PackedRows
from bert_data.reader.planning.plan_config import BATCHINGS, BUCKETS, PACKED, PlanConfig
from bert_data.reader.planning.slots import BatchesOfRows, batches_of_buckets, batches_of_tokens

__all__ = ["BATCHINGS", "EMPTY", "EpochPlan", "HostBatch", "Plan", "PlanConfig", "make_plan"]


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
    """Check that max_tokens_per_batch holds the rows that a batch must have."""
    widest = lengths.histogram.size - 1
    if isinstance(config.width, tuple):
        widest = max(widest, config.width[-1])
    if not config.rows_of_width(widest):
        unit = config.rows_unit
        rows = f"{unit} rows (by rows_multiple and num_hosts)" if unit > 1 else "one row"
        least = f"it must be at least {unit * widest:,}, which is {rows} of {widest:,} tokens"
        raise ValueError(f"max_tokens_per_batch is {config.max_tokens_per_batch:,}; {least}")
