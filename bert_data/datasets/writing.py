"""Writes the shards of a set, whatever its records are.

    chunks, shard by shard --encode, in workers--> bytes, or rows --in order--> shards

A chunk is a run of records of one shard. What it holds depends on the records alone; workers only
decide who encodes which chunk.
"""

from collections.abc import Callable, Iterable
from typing import Any, NamedTuple

from bert_data.datasets.record_set import RecordSet
from bert_data.formats.registry import ShardWriter
from bert_data.formats.summed_file import ManifestFile
from bert_data.progress import progress
from bert_data.storage import naming
from bert_data.work import Executor


class Chunk(NamedTuple):
    """Records of one shard.

    Attributes:
      shard: its number.
      num_records: >= 1.
      item: what `encode` takes.
    """

    shard: int
    num_records: int
    item: Any


def write_shards(
    record_set: RecordSet,
    writer: ShardWriter,
    chunks: Iterable[Chunk],
    encode: Callable[[Any], Any],
    *,
    num_records: int,
    executor: Executor,
    label: str = "write records",
    unit: str = "record",
) -> tuple[ManifestFile, ...]:
    """Writes all shards of a set.

    Args:
      record_set: the set; record i goes to shard i mod the number of its shards.
      writer: of the set.
      chunks: of shard 0, then of shard 1, and so on.
      encode: makes of a chunk's item what the writer's shards take; called in workers.
      num_records: of the set.
      executor: its workers share memory. The files do not depend on it.
      label, unit: what progress is called, and what it counts.

    Returns:
      What the manifest says of each shard.
    """

    def encode_chunk(chunk: Chunk) -> tuple[Chunk, Any]:
        return chunk, encode(chunk.item)

    encoded_chunks = executor.ordered_map(encode_chunk, chunks)
    files, num_shards = [], len(record_set.paths)
    with progress(label, total=num_records, unit=unit) as advance:
        following = next(encoded_chunks, None)
        for number, path in enumerate(record_set.paths):
            size = len(range(number, num_records, num_shards))
            with naming(path), writer.open_shard(record_set.outputs, path, size) as shard:
                while following is not None and following[0].shard == number:
                    chunk, encoded = following
                    shard.add(encoded)
                    advance(chunk.num_records)
                    following = next(encoded_chunks, None)
                files.append(shard.finish())
    return tuple(files)
