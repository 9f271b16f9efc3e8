"""The plan of all epochs: what is the same in each of them."""

from collections.abc import Callable

from numpy.typing import ArrayLike

from bert_data.reader.planning.epoch import Plan
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
