"""The stage from instances to shards: files of any format, in the records' order.

    spool --in the order of slots--> chunks of records --workers--> encoded --in order--> shards

A chunk is a run of records of one shard. What it holds depends on the records alone; workers only
decide who makes which chunk.
"""

import dataclasses
import mmap
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bert_data.objectives.making import Instances
from bert_data.progress import progress
from bert_data.records.formats import ShardFormat
from bert_data.records.manifest import ManifestFile
from bert_data.records.spool import SlotRun, read_slots, slots_by_shard
from bert_data.storage import OutputSet, naming
from bert_data.tokens.store import TokenStore
from bert_data.work import Executor


@dataclasses.dataclass(frozen=True, kw_only=True)
class _Chunk:
    """Records of one shard to make: `order` are their rows."""

    shard: int
    rows: NDArray[np.uint32]
    order: NDArray[np.uint32]


def write_shards(
    shard_format: ShardFormat,
    store: TokenStore,
    instances: Instances,
    spool_path: str,
    outputs: OutputSet,
    paths: Sequence[str],
    *,
    max_rows_bytes: int,
    max_store_bytes: int,
    executor: Executor,
) -> tuple[ManifestFile, ...]:
    """Writes all records into shards.

    Args:
      shard_format: makes the files.
      store: of the instances.
      instances, spool_path: what was made; the spool is removed.
      outputs: where files are made.
      paths: of the shards; record i goes to shard i mod len(paths).
      max_rows_bytes: of instances in memory at a time.
      max_store_bytes: of the store in memory at a time.
      executor: encodes chunks, which stay in memory. The files do not depend on it.

    Returns:
      What the manifest says of each shard.
    """
    num_records = instances.order.size
    starts = np.cumsum([0, *(len(range(i, num_records, len(paths))) for i in range(len(paths)))])
    slots = slots_by_shard(instances.order, len(paths))
    runs = read_slots(spool_path, instances.num_words, slots, max_bytes=max_rows_bytes)
    chunks = _cut(runs, starts, shard_format.chunk_size, store, max_store_bytes)

    def encode(chunk: _Chunk) -> tuple[_Chunk, Any]:
        return chunk, shard_format.encode(chunk.rows, chunk.order)

    made = executor.ordered_map(encode, chunks)
    files = []
    with progress("write records", total=num_records, unit="record") as advance:
        following = next(made, None)
        for number, path in enumerate(paths):
            size = int(starts[number + 1] - starts[number])
            with naming(path), shard_format.open_shard(outputs, path, size) as shard:
                while following is not None and following[0].shard == number:
                    chunk, encoded = following
                    shard.add(encoded)
                    advance(chunk.order.size)
                    following = next(made, None)
                shard.finish()
            files.append(shard.describe(path))
    return tuple(files)


def _cut(
    runs: Iterator[SlotRun],
    starts: NDArray[np.int64],
    chunk_size: int,
    store: TokenStore,
    max_store_bytes: int,
) -> Iterator[_Chunk]:
    """Cuts runs of slots into chunks of one shard each.

    Where chunks are cut does not depend on the runs: one that goes on in the next run is put
    together. Each record touches two pages of the store at least, so from time to time they are let
    go of.
    """
    shard = num_records = 0
    max_records = max_store_bytes // (2 * mmap.PAGESIZE)
    for_next: list[NDArray[np.uint32]] = []  # the first rows of a chunk that goes on
    start = 0
    for run in runs:
        at, stop = run.start, run.start + run.order.size
        while at < stop:
            while starts[shard + 1] <= start:
                shard += 1
            end = min(int(starts[shard + 1]), start + chunk_size)
            rows, order = run.rows, run.order[at - run.start : end - run.start]
            at += order.size
            if for_next or at < end:
                for_next.append(rows[order])
                if at < end:
                    break
                rows = np.concatenate(for_next)
                order = np.arange(len(rows), dtype=np.uint32)
                for_next.clear()
            num_records += order.size
            if num_records > max_records:
                store.release_memory(max_store_bytes)
                num_records = 0
            yield _Chunk(shard=shard, rows=rows, order=order)
            start = end
