"""The two kinds of tasks that make a set from partitions; each fills a folder.

deal_partition   part of the text  -->  its instances, dealt to the shards: `lanes.py`
gather_shard     these of all partitions  -->  one shard and its index
"""

import dataclasses
import os
from collections.abc import Iterator, Sequence
from typing import Any

from bert_data.datasets.budget import MemoryBudget, share_memory
from bert_data.datasets.config import DatasetConfig, make_writer
from bert_data.datasets.corpus import CorpusPart, load_part
from bert_data.datasets.dealing import (
    Dealer,
    LaneShuffler,
    count_lanes,
    derived_seed,
    hand_of,
    shard_sizes,
)
from bert_data.datasets.gathering import Hand, InstanceChunk, ShardLanes
from bert_data.datasets.lanes import LaneWriter
from bert_data.datasets.manifest import Manifest
from bert_data.datasets.writing import OutputShard, write_shard
from bert_data.formats.registry import find_format
from bert_data.objectives.columns import read_columns
from bert_data.objectives.making import RowMaker
from bert_data.objectives.rows import decode_row
from bert_data.storage import remove
from bert_data.tokens.store_notes import store_paths
from bert_data.tokens.tokenizer_file import Tokenizer
from bert_data.tokens.vocabulary import Vocabulary
from bert_data.work import Filled, open_threads


@dataclasses.dataclass(frozen=True, kw_only=True)
class Partition:
    """A part of the text: its number, and where it is."""

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
      num_shards: of the set.
      num_threads: of each task.
    """

    config: DatasetConfig
    tokenizer: Tokenizer
    vocabulary: Vocabulary
    num_shards: int
    num_threads: int = 1

    @property
    def num_lanes(self) -> int:
        """Number of lanes of each shard."""
        return count_lanes(self.num_shards, self.config.num_partitions)

    def share_memory(self, reserved_bytes: int = 0) -> MemoryBudget:
        """Divide the memory of a process."""
        return share_memory(
            self.config.max_memory_mb, self.num_threads, reserved_bytes=reserved_bytes
        )


@dataclasses.dataclass(frozen=True, kw_only=True)
class DealtPartitions:
    """What the first tasks made.

    Attributes:
      folders: of the partitions, in order.
      num_instances: in each.
      num_words: of a row.
      dtype: of tokens.
      manifest: of the set, without its files.
    """

    folders: Sequence[str]
    num_instances: Sequence[int]
    num_words: int
    dtype: str
    manifest: Manifest

    def hands(self, shard: int, num_shards: int) -> Iterator[Hand]:
        """Yield what a shard gets of each partition that has instances."""
        num_before = 0
        for folder, num_instances in zip(self.folders, self.num_instances, strict=True):
            if num_instances:
                yield Hand(folder, hand_of(shard, num_before, num_shards))
            num_before += num_instances


def deal_partition(work: SetWork, partition: Partition, folder: str) -> Filled:
    """Make the instances of a partition, and write them by lane into a folder.

    Returns:
      As JSON: counts of tokens and instances, the words of a row, and the dtype of tokens.
    """
    config, budget = work.config, work.share_memory()
    prefix = os.path.join(folder, "store")
    with open_threads(budget.num_workers) as executor:
        store, tokens = load_part(
            partition.part,
            work.tokenizer,
            work.vocabulary,
            prefix,
            text=config.text,
            executor=executor,
        )
    seed = derived_seed(config.instances.random_seed, partition.number)
    maker = RowMaker(
        store,
        work.vocabulary,
        dataclasses.replace(config.instances, random_seed=seed),
        max_store_bytes=budget.max_store_bytes,
    )
    dealer = Dealer(config.instances.random_seed, partition.number, work.num_shards, work.num_lanes)
    with LaneWriter(
        folder,
        store,
        dealer,
        num_lanes=work.num_shards * work.num_lanes,
        num_words=maker.num_words,
        max_rows_bytes=2 * budget.max_rows_bytes,
        max_store_bytes=budget.max_store_bytes,
    ) as writer:
        for rows in maker:
            writer.add(rows)
    for path in store_paths(prefix):
        remove(path)
    report = {
        "tokens": dataclasses.asdict(tokens),
        "instances": dataclasses.asdict(maker.counts),
        "num_words": maker.num_words,
        "dtype": store.ids.dtype.name,
    }
    return Filled(report, writer.sums)


def gather_shard(dealt: DealtPartitions, work: SetWork, shard: OutputShard, folder: str) -> Filled:
    """Write a shard, and its index, into a folder.

    Returns:
      As JSON: what the manifest says about it; of shard 0 also the first records, as `Instance`s.
    """
    config = work.config
    budget = work.share_memory(find_format(config.output_format).reserved_bytes)
    writer = make_writer(config, dealt.manifest)
    num_records = shard_sizes(sum(dealt.num_instances), work.num_shards)[shard.number]
    lanes = ShardLanes(
        list(dealt.hands(shard.number, work.num_shards)),
        num_shards=work.num_shards,
        num_lanes=work.num_lanes,
        num_words=dealt.num_words,
        dtype=dealt.dtype,
    )
    examples: list[dict[str, Any]] = []
    num_examples = 0 if shard.number else config.num_examples

    def read() -> Iterator[InstanceChunk]:
        shuffler = LaneShuffler(config.instances.random_seed, shard.number)
        for chunk in lanes.read_chunks(
            shuffler, config.chunk_size, max_bytes=budget.max_rows_bytes
        ):
            for row in chunk.rows[chunk.order[: num_examples - len(examples)]]:
                instance = decode_row(row, chunk.ids, work.vocabulary)
                examples.append(dataclasses.asdict(instance))
            yield chunk

    def encode(chunk: InstanceChunk) -> tuple[int, Any]:
        batch = read_columns(chunk.rows, chunk.order, chunk.ids, work.vocabulary, writer.kind)
        return chunk.order.size, writer.encode(batch)

    written = write_shard(
        shard.path, folder, writer, read(), encode, num_records, budget.num_workers
    )
    report = {"file": dataclasses.asdict(written), "examples": examples}
    return Filled(report, written.sums)
