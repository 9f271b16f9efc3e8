"""The share of a machine that makes token stores: its memory, and the workers that fit into it.

    max_memory_mb = program, compiler | blocks of each worker | token store | rows, twice

Records are made within the same shares. A token store alone has no rows.
"""

import dataclasses
from typing import Annotated

from bert_data.checks import check_bounds
from bert_data.settings import Within, check_settings
from bert_data.work import MAX_WORKERS, Engine, count_workers

MIN_MEMORY_MB = 300
MAX_MEMORY_MB = 1_000_000_000
PARTITION_MB = 250
"""Memory of a process that makes a partition in one thread, in MB."""

_BASE_BYTES = 220_000_000  # measured; the first run, which compiles, takes the most
_WORKER_BYTES = 10_000_000  # a block of text and its tokens, or a chunk of records
_MIN_SHARE_BYTES = 8_000_000


@dataclasses.dataclass(frozen=True, kw_only=True)
class MemoryBudget:
    """Shares of the memory.

    Attributes:
      num_workers: threads, >= 1; no more than there is memory for.
      max_store_bytes: of the token store in memory at a time.
      max_rows_bytes: of a bucket of instances. There are two at a time, as the next one is read
        while the last is in use.
    """

    num_workers: int
    max_store_bytes: int
    max_rows_bytes: int


def share_memory(max_memory_mb: int, num_workers: int, *, reserved_bytes: int = 0) -> MemoryBudget:
    """Divide memory into shares.

    Args:
      reserved_bytes: needed by the format of the shards; the minimum rises by it.
    """
    min_mb = MIN_MEMORY_MB + reserved_bytes // 1_000_000
    check_bounds("max_memory_mb", max_memory_mb, min_mb, MAX_MEMORY_MB)
    free = max_memory_mb * 1_000_000 - _BASE_BYTES - reserved_bytes
    workers = max(1, min(num_workers, free // 2 // _WORKER_BYTES))
    free -= workers * _WORKER_BYTES
    return MemoryBudget(
        num_workers=workers,
        max_store_bytes=max(_MIN_SHARE_BYTES, free // 2),
        max_rows_bytes=max(_MIN_SHARE_BYTES, free // 4),
    )


@dataclasses.dataclass(frozen=True, kw_only=True)
class StoreWork:
    """The share of a machine that makes token stores.

    Attributes:
      num_workers: threads, or processes that make several partitions at a time; 0 is all cores. The
        files do not depend on it.
      max_memory_mb: memory to use on this machine, in MB; it limits the number of workers.
    """

    num_workers: Annotated[int, Within(0, MAX_WORKERS)] = 0
    max_memory_mb: Annotated[int, Within(MIN_MEMORY_MB, MAX_MEMORY_MB)] = 1000

    def __post_init__(self) -> None:
        check_settings(self)

    def divide(self, engine: Engine) -> dict[str, int]:
        """Return `num_workers` and `num_processes` of a `StoreConfig` within this memory."""
        if engine.is_cluster:
            workers = engine.count_workers(self.num_workers)
        else:
            workers = share_memory(self.max_memory_mb, count_workers(self.num_workers)).num_workers
        num_processes = max(1, min(self.max_memory_mb // PARTITION_MB, MAX_WORKERS))
        return {"num_workers": workers, "num_processes": num_processes}
