"""Plan the batches of epochs from records' lengths: which records, how wide, on which host.

    index of the shards -> lengths -> make_plan -> Plan -> epoch(e) -> EpochPlan -> batch(k, host)

This uses only NumPy and kernels. It reads nothing, and draws only from (seed, epoch).

The caller's lengths take 4 bytes per record as uint32. Beyond that, in bytes per record:

    batching                   a plan    an epoch    more while planning an epoch
    plain                      0         4           0
    pools                      0         4           4
    buckets                    4         4           4
    plain, pools by tokens     8         4           4       (24 more while making the plan)
    packed                     4         4           4

and 12 bytes per batch, and for packed rows 8 bytes per row (16 while planning). Planning takes
15 to 150 ns per record and epoch on one core; benchmarks/results/padding.md has the figures.
"""

from bert_data.reader.planning.config import BATCHINGS, PlanConfig
from bert_data.reader.planning.epoch import EMPTY, EpochPlan, HostBatch, Plan
from bert_data.reader.planning.plan import make_plan

__all__ = ["BATCHINGS", "EMPTY", "EpochPlan", "HostBatch", "Plan", "PlanConfig", "make_plan"]
