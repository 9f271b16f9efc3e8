"""The records of one stream of random numbers: from tokens to shards, in bounded memory.

    spool            [row 0][row 1][row 2] ...       in the order in which they were made
    slots            the place of each row in the order in which the records are written
    chunks           rows of consecutive slots of one shard, with their order

A spool that fits in memory is read whole. A larger one is divided into buckets: one pass sends each
row to the file of its bucket of slots, and then one bucket after the other is read.
"""

import contextlib
import dataclasses
import io
import mmap
from collections.abc import Callable, Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from bert_data.records.formats.manifest_file import ManifestFile
from bert_data.records.instances.making import Instances, make_instances
from bert_data.records.instances.rows import Instance, decode_row, read_columns
from bert_data.records.sets.config import MemoryBudget, make_writer
from bert_data.records.sets.dataset_config import DatasetConfig
from bert_data.records.sets.manifest import Manifest
from bert_data.records.sets.record_set import Chunk, ShardFiles, Turn, take_turns, write_shards
from bert_data.storage import load_values, open_input, open_scratch, read_values, remove
from bert_data.tokens.store import TokenStore
from bert_data.tokens.vocabulary import TokenTable
from bert_data.work import Executor

SaySize = Callable[[int, int], None]
_MAX_BUCKETS = 768  # files open at a time; rather than more, buckets are larger
CHUNK_BYTES = 16 << 20


@dataclasses.dataclass(frozen=True, kw_only=True)
class SlotRun:
    """Rows for consecutive slots from `start` on.

    Attributes:
      rows: uint32[any, words].
      order: uint32[slots], the row of each slot.
    """

    start: int
    rows: NDArray[np.uint32]
    order: NDArray[np.uint32]


def slots_of_turns(
    order: NDArray[np.uint32], num_shards: int, turns: Sequence[Turn]
) -> NDArray[np.uint32]:
    """Deal records to shards in turn: record i goes to shard i mod num_shards.

    Args:
      order: uint32[records], the row of each record.
      turns: the ranges of shards in the order in which they are written.

    Returns:
      uint32[records]: the row of each slot, in the order of the turns.
    """
    if num_shards == 1 or not turns:
        return order
    shards = [order[shard::num_shards] for shard in range(num_shards)]
    return np.concatenate([shards[turn.shard][turn.start : turn.end] for turn in turns])


def read_slots(
    path: str, num_words: int, rows_of_slots: NDArray[np.uint32], *, max_bytes: int
) -> Iterator[SlotRun]:
    """Yield the rows of a spool in runs that cover its slots in order.

    Args:
      path: of the spool, which is removed after reading. Buckets are written beside it.
      rows_of_slots: uint32[rows], the row of each slot.
      max_bytes: of rows in memory at a time.
    """
    num_rows = rows_of_slots.size
    num_bytes = 4 * num_words * num_rows
    if num_bytes <= max_bytes:
        rows = read_values(path, np.uint32).reshape(num_rows, num_words)
        remove(path)
        yield SlotRun(start=0, rows=rows, order=rows_of_slots)
        return
    num_buckets = min(_MAX_BUCKETS, -(-num_bytes // max_bytes))
    bucket_size = -(-num_rows // num_buckets)
    paths = _deal_out(path, num_words, rows_of_slots, bucket_size)
    remove(path)
    for number, bucket in enumerate(paths):
        rows = read_values(bucket, np.uint32).reshape(-1, num_words + 1)
        remove(bucket)
        start = number * bucket_size
        order = np.empty(len(rows), np.uint32)
        order[rows[:, num_words] - start] = np.arange(len(rows), dtype=np.uint32)
        yield SlotRun(start=start, rows=rows, order=order)


def _deal_out(
    path: str, num_words: int, rows_of_slots: NDArray[np.uint32], bucket_size: int
) -> list[str]:
    """Write each row, with its slot as an additional word, to the file of its bucket."""
    num_rows = rows_of_slots.size
    slots_of_rows = np.empty(num_rows, np.uint32)
    slots_of_rows[rows_of_slots] = np.arange(num_rows, dtype=np.uint32)
    paths = [f"{path}.{number}" for number in range(-(-num_rows // bucket_size))]
    chunk_size = max(1, CHUNK_BYTES // (4 * num_words))
    with contextlib.ExitStack() as stack:
        spool = stack.enter_context(open_input(path))
        files = [stack.enter_context(open_scratch(bucket)) for bucket in paths]
        for start in range(0, num_rows, chunk_size):
            slots = slots_of_rows[start : start + chunk_size]
            rows = np.empty((slots.size, num_words + 1), np.uint32)
            values = read_values(spool, np.uint32, slots.size * num_words)
            rows[:, :num_words] = values.reshape(slots.size, num_words)
            rows[:, num_words] = slots
            buckets = slots // bucket_size
            by_bucket = np.argsort(buckets, kind="stable")
            bounds = np.searchsorted(buckets[by_bucket], np.arange(len(paths) + 1))
            for number in range(len(paths)):
                part = by_bucket[bounds[number] : bounds[number + 1]]
                files[number].write(rows[part].data)
    return paths


def read_rows(path: str, num_words: int, numbers: NDArray[np.uint32]) -> NDArray[np.uint32]:
    """Return the rows of a spool with these numbers: uint32[rows, num_words]."""
    spool = load_values(path, np.uint32).reshape(-1, num_words)
    return np.array(spool[numbers])


class RowChunk(NamedTuple):
    """Instances of one shard: `order` (uint32[records]) are their rows in `rows`."""

    rows: NDArray[np.uint32]
    order: NDArray[np.uint32]


def read_chunks(
    path: str,
    num_words: int,
    order: NDArray[np.uint32],
    *,
    num_shards: int,
    num_open: int,
    chunk_size: int,
    turn_size: int,
    max_bytes: int,
) -> Iterator[Chunk]:
    """Read a spool as chunks of `RowChunk`, in the order of `take_turns`.

    Chunks do not depend on what fits in memory: one that continues in the next run of slots is
    joined.

    Args:
      path: of the spool, which is removed after reading.
      order: uint32[records], the row of each record; record i goes to shard i mod num_shards.
      chunk_size: records per chunk at most, >= 1.
      turn_size: consecutive records of a shard when several are written at a time; a multiple of
        chunk_size.
      max_bytes: of rows in memory at a time.
    """
    size = turn_size if num_open > 1 else max(1, order.size)
    turns = list(take_turns(order.size, num_shards, num_open=num_open, turn_size=size))
    starts = np.cumsum([0, *(turn.end - turn.start for turn in turns)])
    number = start = 0  # of the turn, and of the chunk's first slot
    begun: list[NDArray[np.uint32]] = []  # the first rows of a chunk that continues
    slots = slots_of_turns(order, num_shards, turns)
    for run in read_slots(path, num_words, slots, max_bytes=max_bytes):
        at, stop = run.start, run.start + run.order.size
        while at < stop:
            while starts[number + 1] <= start:
                number += 1
            end = min(int(starts[number + 1]), start + chunk_size)
            rows, of_slots = run.rows, run.order[at - run.start : end - run.start]
            at += of_slots.size
            if begun or at < end:
                begun.append(rows[of_slots])
                if at < end:
                    break
                rows = np.concatenate(begun)
                of_slots = np.arange(len(rows), dtype=np.uint32)
                begun.clear()
            yield Chunk(turns[number].shard, of_slots.size, RowChunk(rows, of_slots), number)
            start = end


@dataclasses.dataclass(frozen=True, kw_only=True)
class RecordStream:
    """The records that one stream of random numbers makes of tokens.

    Attributes:
      config: of the set, with the seed of the stream.
      path: of the spool.
      memory: see `share_stream_memory`.
    """

    config: DatasetConfig
    store: TokenStore
    vocabulary: TokenTable
    path: str
    shards: ShardFiles
    memory: tuple[MemoryBudget, int]
    executor: Executor

    def spool_instances(
        self, num_examples: int, manifest: Manifest, say_size: SaySize | None = None
    ) -> tuple[Instances, list[Instance]]:
        """Make all instances, and return also the first records.

        Args:
          manifest: of the set, without its files.
          say_size: called early with an estimate of the bytes of the records, and of the spool.
        """
        budget, _ = self.memory

        def look(rows: NDArray[np.uint32], num_rows: int) -> None:
            if say_size is not None:
                size = self._bytes_of_record(rows[: self.config.chunk_size], manifest)
                say_size(round(size * num_rows), rows[0].nbytes * num_rows)

        with open_scratch(self.path) as spool:
            instances = make_instances(
                self.store,
                self.vocabulary,
                self.config.instances,
                spool,
                max_store_bytes=budget.max_store_bytes,
                look=look,
            )
        rows = read_rows(self.path, instances.num_words, instances.order[:num_examples])
        return instances, [decode_row(row, self.store.ids, self.vocabulary) for row in rows]

    def _bytes_of_record(self, rows: NDArray[np.uint32], manifest: Manifest) -> float:
        """Write these rows to memory, as a shard; return its bytes for each."""
        writer, order = make_writer(manifest, len(rows)), np.arange(len(rows), dtype=np.uint32)
        with writer.open_shard(lambda _: io.BytesIO(), "sample", len(rows)) as shard:
            batch = read_columns(rows, order, self.store.ids, self.vocabulary, writer.kind)
            shard.add(writer.encode(batch))
            return shard.finish().num_bytes / len(rows)

    def write(self, instances: Instances, manifest: Manifest) -> tuple[ManifestFile, ...]:
        """Write the shards of all instances, and remove their spool.

        Args:
          manifest: of the set, without its files.
        """
        writer = make_writer(manifest, self.config.group_size)
        budget, num_open = self.memory

        def encode(chunk: RowChunk) -> Any:
            self.store.check_sizes()
            batch = read_columns(
                chunk.rows, chunk.order, self.store.ids, self.vocabulary, writer.kind
            )
            self.store.check_sizes()
            return writer.encode(batch)

        chunks = read_chunks(
            self.path,
            instances.num_words,
            instances.order,
            num_shards=len(self.shards.paths),
            num_open=num_open,
            chunk_size=self.config.chunk_size,
            turn_size=self.config.group_size,
            max_bytes=budget.max_rows_bytes,
        )
        return write_shards(
            self.shards,
            writer,
            _release_memory(chunks, self.store, budget.max_store_bytes),
            encode,
            num_records=instances.order.size,
            num_open=num_open,
            executor=self.executor,
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
