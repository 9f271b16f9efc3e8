"""A partition of a set: a sample of the text, and the shards that are made of it.

    text, in blocks    0 1 2 3 4 5 6 7
    dealt by the seed  partition 0: 1 2 5 7   partition 1: 0 3 4 6
    shards             0 and 2                1 and 3

A partition is made as a set of its own, by its own stream of random numbers: nothing is exchanged.
"""

import dataclasses
import hashlib
import heapq
import os
from collections.abc import Sequence
from typing import IO, Any

from bert_data.datasets.budget import MemoryBudget
from bert_data.datasets.config import DatasetConfig
from bert_data.datasets.corpus import CorpusPart, join_blocks, load_part
from bert_data.datasets.manifest import Manifest
from bert_data.datasets.spool import read_rows
from bert_data.datasets.streams import share_stream_memory, write_records
from bert_data.datasets.writing import ShardFiles
from bert_data.formats.tfrecord import index_path
from bert_data.objectives.making import make_instances
from bert_data.objectives.mersenne import seeded_stream, shuffled_indices
from bert_data.objectives.rows import decode_row
from bert_data.storage import make_folder, open_scratch, remove
from bert_data.tokens.store_notes import store_paths
from bert_data.tokens.tokenizer_file import Tokenizer
from bert_data.tokens.vocabulary import Vocabulary
from bert_data.work import Filled, open_threads


def derived_seed(random_seed: int, name: object) -> int:
    """Return a seed of 64 bits for one purpose: the start of a SHA-256.

    derived_seed(12345, 3), the seed of partition 3, is the first eight bytes, as a big-endian
    number, of the SHA-256 of "12345/3".
    """
    return int.from_bytes(hashlib.sha256(f"{random_seed}/{name}".encode()).digest()[:8])


def deal_blocks(sizes: Sequence[int], shares: Sequence[int], random_seed: int) -> list[list[int]]:
    """Deal blocks to partitions: shuffled, each to the one that has the least for its share.

    Args:
      sizes: of the blocks, at least as many as partitions.
      shares: of each partition, such as its number of shards.

    Returns:
      The numbers of each partition's blocks, in order, at least one.
    """
    dealt: list[list[int]] = [[] for _ in shares]
    least = [(0.0, partition) for partition in range(len(shares))]
    stream = seeded_stream(derived_seed(random_seed, "blocks"))
    for block in shuffled_indices(stream, len(sizes)).tolist():
        filled, partition = least[0]
        dealt[partition].append(block)
        heapq.heapreplace(least, (filled + sizes[block] / shares[partition], partition))
    return [sorted(blocks) for blocks in dealt]


@dataclasses.dataclass(frozen=True, kw_only=True)
class Partition:
    """What a task makes: the number of a partition, and its text."""

    number: int
    part: CorpusPart

    @property
    def task_name(self) -> str:
        """The name of its folder."""
        return f"{self.number:05d}"


@dataclasses.dataclass(frozen=True, kw_only=True)
class SetWork:
    """What the tasks of a set have in common.

    Attributes:
      config: of the set.
      tokenizer, vocabulary: of its tokens.
      manifest: of the set, without its files and counts.
      paths: of its shards.
      num_threads: of each task.
    """

    config: DatasetConfig
    tokenizer: Tokenizer
    vocabulary: Vocabulary
    manifest: Manifest
    paths: Sequence[str]
    num_threads: int = 1

    def shards(self, partition: int) -> Sequence[int]:
        """Return the numbers of the shards that a partition writes."""
        return range(partition, len(self.paths), self.config.num_partitions)

    def partitions(self, blocks: Sequence[CorpusPart]) -> list[Partition]:
        """Divide the blocks of the text."""
        numbers = range(self.config.num_partitions)
        shares = [len(self.shards(number)) for number in numbers]
        seed = self.config.instances.random_seed
        dealt = deal_blocks([block.size for block in blocks], shares, seed)
        return [
            Partition(number=number, part=join_blocks([blocks[block] for block in own]))
            for number, own in zip(numbers, dealt, strict=True)
        ]

    def share_memory(self) -> tuple[MemoryBudget, int]:
        """Divide the memory of a task; see `share_stream_memory`."""
        return share_stream_memory(self.config, self.num_threads, len(self.shards(0)))


def make_partition(work: SetWork, partition: Partition, folder: str) -> Filled:
    """Write the shards of a partition, each into a folder of its own.

    Returns:
      As JSON: counts of tokens and instances, what the manifest says of each shard, and, of
      partition 0, the first records as `Instance`s.
    """
    config, memory = work.config, work.share_memory()
    prefix, spool_path = os.path.join(folder, "store"), os.path.join(folder, "instances")
    numbers = work.shards(partition.number)
    files = _shards_in(folder, work.paths, numbers)
    seed = derived_seed(config.instances.random_seed, partition.number)
    with open_threads(memory[0].num_workers) as executor:
        store, tokens = load_part(
            partition.part,
            work.tokenizer,
            work.vocabulary,
            prefix,
            text=config.text,
            executor=executor,
        )
        with open_scratch(spool_path) as spool:
            instances = make_instances(
                store,
                work.vocabulary,
                dataclasses.replace(config.instances, random_seed=seed),
                spool,
                max_store_bytes=memory[0].max_store_bytes,
            )
        num_examples = 0 if partition.number else config.num_examples
        rows = read_rows(spool_path, instances.num_words, instances.order[:num_examples])
        examples = [decode_row(row, store.ids, work.vocabulary) for row in rows]
        written = write_records(
            config,
            work.manifest,
            instances,
            spool_path,
            store,
            work.vocabulary,
            shards=files,
            memory=memory,
            executor=executor,
        )
    for path in store_paths(prefix):
        remove(path)
    report: dict[str, Any] = {
        "tokens": dataclasses.asdict(tokens),
        "instances": dataclasses.asdict(instances.counts),
        "files": [dataclasses.asdict(file) for file in written],
        "examples": [dataclasses.asdict(example) for example in examples],
    }
    sums = {
        os.path.join(folder_of(number), file.name): (file.num_bytes, file.crc32c)
        for number, file in zip(numbers, written, strict=True)
    }
    return Filled(report, sums)


def folder_of(shard: int) -> str:
    """Return the name of the folder of a shard in that of its partition."""
    return f"{shard:05d}"


def _shards_in(folder: str, paths: Sequence[str], numbers: Sequence[int]) -> ShardFiles:
    """Return the shards with these numbers; they and their indexes are written into folders."""
    places = {}
    for number in numbers:
        own = os.path.join(folder, folder_of(number))
        make_folder(own)
        for path in (paths[number], index_path(paths[number])):
            places[path] = os.path.join(own, os.path.basename(path))

    def open_file(path: str) -> IO[bytes]:
        return open_scratch(places[path])

    return ShardFiles([paths[number] for number in numbers], open_file)
