"""The records of one stream of random numbers: from a spool of instances to shards.

spool, order  --read_chunks-->  rows  --read_columns, encode--> chunks  --write_shards--> shards
"""

import mmap
from collections.abc import Iterator
from typing import Any

from bert_data.datasets.budget import MIN_MEMORY_MB, MemoryBudget, share_memory
from bert_data.datasets.config import DatasetConfig, make_writer
from bert_data.datasets.manifest import Manifest
from bert_data.datasets.spool import RowChunk, read_chunks
from bert_data.datasets.writing import Chunk, ShardFiles, write_shards
from bert_data.formats.registry import find_format
from bert_data.formats.summed_file import ManifestFile
from bert_data.objectives.making import Instances
from bert_data.objectives.rows import read_columns
from bert_data.tokens.store import TokenStore
from bert_data.tokens.vocabulary import Vocabulary
from bert_data.work import Executor


def share_stream_memory(
    config: DatasetConfig, num_workers: int, num_shards: int
) -> tuple[MemoryBudget, int]:
    """Divide the memory of a process; return also the number of shards to write at a time.

    Raises:
      ValueError: max_memory_mb is less than the format of the shards needs.
    """
    shard_format = find_format(config.output_format)
    reserved = shard_format.reserved_bytes
    free = (config.max_memory_mb - MIN_MEMORY_MB) * 1_000_000 - reserved
    num_open = shard_format.count_open(num_workers, num_shards, free // 2)
    reserved += (num_open - 1) * (shard_format.open_bytes or 0)
    return share_memory(config.max_memory_mb, num_workers, reserved_bytes=reserved), num_open


def write_records(
    config: DatasetConfig,
    manifest: Manifest,
    instances: Instances,
    spool_path: str,
    store: TokenStore,
    vocabulary: Vocabulary,
    *,
    shards: ShardFiles,
    memory: tuple[MemoryBudget, int],
    executor: Executor,
) -> tuple[ManifestFile, ...]:
    """Write the shards of all instances, and remove their spool.

    Args:
      manifest: of the set, without its files.
      store: that the rows of the spool point into.
      memory: see `share_stream_memory`.

    Returns:
      What the manifest says about each shard.
    """
    writer = make_writer(config, manifest)
    budget, num_open = memory

    def encode(chunk: RowChunk) -> Any:
        batch = read_columns(chunk.rows, chunk.order, store.ids, vocabulary, writer.kind)
        return writer.encode(batch)

    chunks = read_chunks(
        spool_path,
        instances.num_words,
        instances.order,
        num_shards=len(shards.paths),
        num_open=num_open,
        chunk_size=config.chunk_size,
        turn_size=config.group_size,
        max_bytes=budget.max_rows_bytes,
    )
    return write_shards(
        shards,
        writer,
        _release_memory(chunks, store, budget.max_store_bytes),
        encode,
        num_records=instances.order.size,
        num_open=num_open,
        executor=executor,
    )


def _release_memory(chunks: Iterator[Chunk], store: TokenStore, max_bytes: int) -> Iterator[Chunk]:
    """Release the store's pages from time to time: each record touches at least two of them."""
    num_records, max_records = 0, max_bytes // (2 * mmap.PAGESIZE)
    for chunk in chunks:
        num_records += chunk.num_records
        if num_records > max_records:
            store.release_memory(max_bytes)
            num_records = 0
        yield chunk
