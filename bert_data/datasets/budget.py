"""How the memory that a run may take is divided among what it keeps there.

    max_memory_mb = program, compiler | blocks of each worker | token store | rows, twice

What does not fit its share is on disk. The order of the records takes up to 16 bytes per instance
in addition.
"""

import dataclasses

from bert_data.settings import check_bounds
from bert_data.tokens.store_making import PARTITION_MB
from bert_data.work import MAX_WORKERS, Engine, count_workers

MIN_MEMORY_MB = 300
_MAX_MEMORY_MB = 1_000_000_000
MAX_BYTES_OF_INSTANCE = 16
"""Memory of an instance whatever the budget is."""

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
      max_memory_mb: in 10**6 bytes.
      num_workers: requested, >= 1.
      reserved_bytes: needed by the format of the shards; the minimum rises by it.

    Raises:
      ValueError: it is less than `MIN_MEMORY_MB` and the reserved bytes.
    """
    min_mb = MIN_MEMORY_MB + reserved_bytes // 1_000_000
    check_bounds("max_memory_mb", max_memory_mb, min_mb, _MAX_MEMORY_MB)
    free = max_memory_mb * 1_000_000 - _BASE_BYTES - reserved_bytes
    workers = max(1, min(num_workers, free // 2 // _WORKER_BYTES))
    free -= workers * _WORKER_BYTES
    return MemoryBudget(
        num_workers=workers,
        max_store_bytes=max(_MIN_SHARE_BYTES, free // 2),
        max_rows_bytes=max(_MIN_SHARE_BYTES, free // 4),
    )


def divide_store_work(engine: Engine, num_workers: int, max_memory_mb: int) -> dict[str, int]:
    """Return `num_workers` and `num_processes` of a `StoreConfig` that stay within this memory."""
    if engine.is_cluster:
        workers = engine.count_workers(num_workers)
    else:
        workers = share_memory(max_memory_mb, count_workers(num_workers)).num_workers
    num_processes = max(1, min(max_memory_mb // PARTITION_MB, MAX_WORKERS))
    return {"num_workers": workers, "num_processes": num_processes}
