"""From text to a set of shards, by partitions that share no stream of random numbers.

    text, in blocks    0 1 2 3 4 5 6 7
    dealt by the seed  partition 0: 1 2 5 7   partition 1: 0 3 4 6
    shards             0 and 2                1 and 3

Each partition is a sample of the text. Its instances, and their order, are those that Google's
program makes of it with the seed `derived_seed(random_seed, k)`, and fill shards of its own:
nothing is exchanged. Tasks write folders in a work folder beside the set, `.train.partitions`, so
that a run that was killed resumes with the missing ones. Each needs `max_memory_mb` and up to 16
bytes for each instance of a partition.
"""

import dataclasses
import functools
import hashlib
import heapq
import os
from collections.abc import Mapping, Sequence
from typing import IO, Any

from absl import logging

import bert_data
from bert_data import storage
from bert_data.kernels import clock
from bert_data.progress import progress
from bert_data.records.formats.manifest_file import ManifestFile
from bert_data.records.formats.tfrecord import index_path
from bert_data.records.instances.making import InstanceCounts, warn_of_few
from bert_data.records.instances.mersenne import seeded_stream, shuffled_indices
from bert_data.records.instances.rows import Instance
from bert_data.records.sets.config import (
    Dataset,
    MemoryBudget,
    TimedStage,
    describe_set,
    open_set,
    report_left_out,
    share_stream_memory,
    sum_up,
    with_counts,
)
from bert_data.records.sets.corpus import Corpus, CorpusPart, open_corpus
from bert_data.records.sets.dataset_config import DatasetConfig
from bert_data.records.sets.manifest import Manifest, manifest_path
from bert_data.records.sets.record_set import RecordSet, ShardFiles
from bert_data.records.sets.size_forecast import SizeForecast
from bert_data.records.sets.spool import RecordStream
from bert_data.text.without import ReadText
from bert_data.tokens.corpus_warnings import warn_of_empty
from bert_data.tokens.filling import TokenCounts
from bert_data.tokens.store_files import store_paths
from bert_data.work import (
    Executor,
    Filled,
    FolderTask,
    Made,
    fingerprint,
    open_threads,
    open_work,
    run_tasks,
)
from bert_data.work.work_folder import finish_removal, has_committed

_WORK_VERSION = 5  # of what the tasks write
_WITHOUT_EFFECT = (
    "input_file", "output_file", "vocab_file", "tokenizer_file", "tokenizer_backend", "num_workers",
    "max_memory_mb", "work_dir", "overwrite", "engine", "without_documents", "strict_without",
)  # fmt: skip


class NoSentenceError(ValueError):
    """The text has no sentence."""


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
    """The number of a partition, and its text."""

    number: int
    part: CorpusPart

    @property
    def task_name(self) -> str:
        """The name of its folder."""
        return f"{self.number:05d}"


@dataclasses.dataclass(frozen=True, kw_only=True)
class SetWork:
    """A set to make, for its tasks.

    Attributes:
      manifest: of the set, without its files and counts.
      size: of the corpus, in the unit of its parts.
      num_tasks: partitions that are made at a time.
    """

    config: DatasetConfig
    corpus: Corpus
    manifest: Manifest
    paths: Sequence[str]
    num_threads: int = 1
    size: int = 1
    num_tasks: int = 1

    def shards(self, partition: int) -> Sequence[int]:
        """Return the numbers of the shards that a partition writes."""
        return range(partition, len(self.paths), self.config.num_partitions)

    def partitions(self, blocks: Sequence[CorpusPart]) -> list[Partition]:
        """Divide the blocks of the text."""
        shares = [len(self.shards(number)) for number in range(self.config.num_partitions)]
        seed = self.config.instances.random_seed
        dealt = deal_blocks([block.size for block in blocks], shares, seed)
        return [
            Partition(number=number, part=CorpusPart.join([blocks[block] for block in own]))
            for number, own in enumerate(dealt)
        ]

    def share_memory(self) -> tuple[MemoryBudget, int]:
        """Divide the memory of a task; see `share_stream_memory`."""
        return share_stream_memory(self.config, self.num_threads, len(self.shards(0)))


def make_partition(work: SetWork, partition: Partition, folder: str) -> Filled:
    """Write the shards of a partition, each into a folder of its own.

    Returns:
      As JSON: counts of tokens and instances, what was noted of the text, what the manifest says of
      each shard, and, of partition 0, the first records as `Instance`s.
    """
    memory, prefix = work.share_memory(), os.path.join(folder, "store")
    numbers = work.shards(partition.number)
    seed = derived_seed(work.config.instances.random_seed, partition.number)
    instances_config = dataclasses.replace(work.config.instances, random_seed=seed)
    config = dataclasses.replace(work.config, instances=instances_config)
    with open_threads(memory[0].num_workers) as executor:
        shards = _shards_in(folder, work.paths, numbers)
        store, tokens, read = work.corpus.load_part(partition.part, prefix, executor)
        stream = RecordStream(
            config=config,
            store=store,
            vocabulary=work.corpus.vocabulary,
            path=os.path.join(folder, "instances"),
            shards=shards,
            memory=memory,
            executor=executor,
        )
        forecast = SizeForecast(
            output=work.paths[0],
            num_text_bytes=tokens.num_bytes,
            num_store_bytes=store.ids.nbytes,
            num_parts=work.size / partition.part.size,
            num_at_once=work.num_tasks,
        )
        is_first = partition.number == 0  # it speaks for all
        instances, examples = stream.spool_instances(
            config.num_examples if is_first else 0,
            work.manifest,
            forecast.say if is_first else None,
        )
        written = stream.write(instances, work.manifest)
    for path in store_paths(prefix):
        storage.remove(path)
    report: dict[str, Any] = {
        "tokens": dataclasses.asdict(tokens),
        "read": read.as_json(),
        "instances": dataclasses.asdict(instances.counts),
        "files": [dataclasses.asdict(file) for file in written],
        "examples": [dataclasses.asdict(example) for example in examples],
    }
    sums = {
        os.path.join(_folder_of(number), file.name): (file.num_bytes, file.crc32c)
        for number, file in zip(numbers, written, strict=True)
    }
    return Filled(report, sums)


def _folder_of(shard: int) -> str:
    return f"{shard:05d}"


def _shards_in(folder: str, paths: Sequence[str], numbers: Sequence[int]) -> ShardFiles:
    """Return the shards with these numbers; they and their indexes go into folders."""
    places = {}
    for number in numbers:
        own = os.path.join(folder, _folder_of(number))
        storage.make_folder(own)
        for path in (paths[number], index_path(paths[number])):
            places[path] = os.path.join(own, os.path.basename(path))

    def open_file(path: str) -> IO[bytes]:
        return storage.open_scratch(places[path])

    return ShardFiles([paths[number] for number in numbers], open_file)


def create_from_partitions(config: DatasetConfig) -> Dataset:
    """Make a set of shards; see `masked_lm.create_dataset`."""
    work, is_own = _plan(config), not config.work_dir
    blocks = work.corpus.cut(config.num_partitions)
    num_workers = config.engine.count_workers(config.num_workers)
    num_tasks = min(num_workers, config.num_partitions)
    size = sum(block.size for block in blocks)
    work = dataclasses.replace(work, size=size, num_tasks=num_tasks)
    if not config.engine.is_cluster:
        work = dataclasses.replace(work, num_threads=num_workers // num_tasks)
    key = fingerprint(_describe(work, blocks))
    names = storage.expand_outputs(config.output_file)
    parent = config.work_dir or storage.hidden_work_folder(
        names.name, "partitions", is_shared=config.engine.is_cluster
    )
    finish_removal(parent, is_own=is_own)
    folder = os.path.dirname(names.paths[0])
    manifest = manifest_path(os.path.join(folder, os.path.basename(names.name)))
    was_killed_at_its_end = has_committed(parent, key, manifest)
    with (
        open_set(
            config, work.corpus.files.paths, overwrite=config.overwrite or was_killed_at_its_end
        ) as record_set,
        open_work(
            parent,
            key,
            is_own=is_own,
            keeps_inputs=True,
            num_workers=num_tasks,
            engine=config.engine,
            task_bytes=config.max_memory_mb * 1_000_000,
            useless_after=(NoSentenceError,),
        ) as (folder, executor),
    ):
        dataset = _make(work, blocks, record_set, folder, executor)
        record_set.commit(dataset.manifest, work_folder=folder)
    return dataset


def _plan(config: DatasetConfig) -> SetWork:
    corpus = open_corpus(config)
    corpus.check()
    paths = storage.expand_outputs(config.output_file).paths
    if len(paths) < config.num_partitions:
        raise ValueError(
            f"num_partitions is {config.num_partitions:,}, but the files of `output_file` are"
            f" {len(paths):,}; each partition writes at least one of its own"
        )
    work = SetWork(
        config=config,
        corpus=corpus,
        manifest=describe_set(config, corpus.text, corpus.tokenizer, corpus.vocabulary),
        paths=paths,
    )
    work.share_memory()  # or refuse
    return work


def _describe(work: SetWork, blocks: Sequence[CorpusPart]) -> dict[str, Any]:
    settings, corpus = dataclasses.asdict(work.config), work.corpus
    return {
        "version": [bert_data.__version__, _WORK_VERSION],
        "settings": {k: v for k, v in settings.items() if k not in _WITHOUT_EFFECT},
        "text": corpus.text.settings(),
        "vocabulary": [corpus.vocabulary.sha256, corpus.tokenizer.do_lower_case],
        "outputs": [os.path.abspath(path) for path in work.paths],
        "inputs": list(
            map(_identity, corpus.files.paths, storage.read_statuses(corpus.files.paths))
        ),
        "partitions": [repr(each) for each in work.partitions(blocks)],
    }


def _identity(path: str, status: storage.Status | None) -> list[Any]:
    numbers = [status.num_bytes, status.modified_ns, status.inode] if status else []
    return [os.path.abspath(path), *numbers]


def _make(
    work: SetWork,
    blocks: Sequence[CorpusPart],
    record_set: RecordSet,
    folder: str,
    executor: Executor,
) -> Dataset:
    """Run the tasks that are missing; the shards then have hidden names."""
    start = clock()
    partitions = work.partitions(work.corpus.count_rows_before(blocks, executor))
    task = FolderTask(
        parent=os.path.join(folder, "make"), function=functools.partial(make_partition, work)
    )
    done: list[Made] = []
    with progress("partitions", total=len(partitions), unit="partition") as advance:
        for made, _ in run_tasks("partitions", task, partitions, executor):
            done.append(made)
            advance(1)
    reports = [made.report for made in done]
    tokens = sum_up(TokenCounts, [each["tokens"] for each in reports])
    counts = sum_up(InstanceCounts, [each["instances"] for each in reports])
    _check(work, tokens, reports)
    read = ReadText()
    for each in reports:
        read.add(**each["read"])
    empty_inputs = warn_of_empty(work.corpus.files.paths, read.with_text)
    left_out = report_left_out(work.config, work.corpus.text, read, record_set)
    files = _link(work, record_set, done)
    stage = TimedStage(name="make partitions", seconds=clock() - start, num_bytes=tokens.num_bytes)
    warn_of_few(counts, work.config.instances)
    manifest = with_counts(work.manifest, tokens, counts, left_out)
    return Dataset(
        inputs=work.corpus.files.paths,
        tokens=tokens,
        instances=counts,
        stages=[stage],
        manifest=dataclasses.replace(manifest, files=files, empty_inputs=empty_inputs),
        paths=record_set.paths,
        examples=list(map(_example, reports[0]["examples"])),
        vocabulary=work.corpus.vocabulary,
    )


def _example(values: Mapping[str, Any]) -> Instance:
    """Return an instance from JSON, which has lists in place of tuples."""
    fields: dict[str, Any] = {k: tuple(v) if isinstance(v, list) else v for k, v in values.items()}
    return Instance(**fields)


def _link(work: SetWork, record_set: RecordSet, done: Sequence[Made]) -> tuple[ManifestFile, ...]:
    """Add the shards of all partitions to the set, in their order."""
    files = {}
    for partition, (folder, report, _) in enumerate(done):
        for number, file in zip(work.shards(partition), report["files"], strict=True):
            files[number] = ManifestFile(**file)
            record_set.link_shard(number, os.path.join(folder, _folder_of(number)))
    return tuple(files[number] for number in range(len(files)))


def _check(work: SetWork, tokens: TokenCounts, reports: Sequence[Mapping[str, Any]]) -> None:
    """Refuse text without a sentence, and warn of text that was probably not meant."""
    if not tokens.num_tokens:
        paths = work.corpus.files.paths
        first, num_others = paths[0], len(paths) - 1
        others = f" and {num_others:,} other file{'s' * (num_others > 1)}" if num_others else ""
        raise NoSentenceError(f"no sentences in {first}{others}")
    objective = work.config.instances.objective
    work.corpus.warn_of(tokens, objective)
    num_alone = sum(each["tokens"]["num_documents"] == 1 for each in reports)
    if objective.label is not None and num_alone and tokens.num_documents > 1:
        logging.warning(
            "%d of the %d partitions have a single document, so the random next sentences"
            " there come from that document, too; use fewer partitions",
            num_alone,
            len(reports),
        )
