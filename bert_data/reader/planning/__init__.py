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

from typing import TYPE_CHECKING

from bert_data.packages import import_on_use

if TYPE_CHECKING:
    from bert_data.reader.planning.epoch import EMPTY as EMPTY
    from bert_data.reader.planning.epoch import EpochPlan as EpochPlan
    from bert_data.reader.planning.epoch import HostBatch as HostBatch
    from bert_data.reader.planning.epoch import Plan as Plan
    from bert_data.reader.planning.plan import make_plan as make_plan
    from bert_data.reader.planning.plan_config import BATCHINGS as BATCHINGS
    from bert_data.reader.planning.plan_config import PlanConfig as PlanConfig

__getattr__, __all__ = import_on_use(__name__)
