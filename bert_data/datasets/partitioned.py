"""From text to a set of shards, by partitions that share no stream of random numbers.

    text --cut_corpus--> blocks, dealt --make_partition--> shards 0 and 2
                                       --make_partition--> shards 1 and 3
    then the manifests, last

Each partition is a sample of the text, in blocks. Its instances, and their order, are those that
Google's program makes of it with the seed `derived_seed(random_seed, k)`, and fill shards of its
own. All tasks write folders in a work folder beside the set, `.train.partitions`, so that a run
that was killed resumes with the missing ones. Each needs --max_memory_mb and up to 16 bytes for
each instance of a partition.
"""

import dataclasses
import functools
import os
from collections.abc import Mapping, Sequence
from typing import Any, TypeVar

from absl import logging

import bert_data
from bert_data.datasets.config import (
    Dataset,
    DatasetConfig,
    Stage,
    describe_set,
    load_checked_tokenizer,
    open_set,
    with_counts,
)
from bert_data.datasets.corpus import (
    check_corpus,
    count_rows_before,
    cut_corpus,
    find_corpus,
    warn_of_tokens,
)
from bert_data.datasets.manifest import manifest_path, parse_file
from bert_data.datasets.partition_tasks import SetWork, folder_of, make_partition
from bert_data.datasets.record_set import RecordSet
from bert_data.formats.summed_file import ManifestFile
from bert_data.kernels import clock
from bert_data.objectives.making import InstanceCounts
from bert_data.objectives.rows import Instance
from bert_data.progress import progress
from bert_data.storage import JsonObject, Status, expand_outputs, own_work_folder, read_statuses
from bert_data.tokens.filling import TokenCounts
from bert_data.work import (
    Executor,
    FolderTask,
    Made,
    fingerprint,
    open_work,
    run_tasks,
)
from bert_data.work.work_folder import finish_removal, has_committed, note_commit

Counts = TypeVar("Counts", TokenCounts, InstanceCounts)

_WORK_VERSION = 3  # of what the tasks write
_WITHOUT_EFFECT = (
    "input_file", "output_file", "vocab_file", "tokenizer_file", "tokenizer_backend", "num_workers",
    "max_memory_mb", "work_dir", "overwrite", "engine",
)  # fmt: skip


class NoSentenceError(ValueError):
    """The text has no sentence."""


def create_from_partitions(config: DatasetConfig) -> Dataset:
    """Make a set of shards; see `masked_lm.create_dataset`."""
    run = _Run(config)
    with (
        open_set(
            config, run.corpus.paths, overwrite=config.overwrite or run.has_committed()
        ) as record_set,
        open_work(
            run.parent,
            run.fingerprint,
            is_own=not config.work_dir,
            keeps_inputs=True,
            num_workers=run.num_tasks,
            engine=config.engine,
            task_bytes=config.max_memory_mb * 1_000_000,
            useless_after=(NoSentenceError,),
        ) as (folder, executor),
    ):
        dataset = run.make(record_set, folder, executor)
        *_, (_, text) = record_set.manifest_texts(dataset.manifest)
        note_commit(folder, text)
        record_set.commit(dataset.manifest)
    return dataset


class _Run:
    """A set to make: its partitions, and how.

    Attributes:
      corpus: the input.
      fingerprint: of all that the set depends on.
      parent: of the work folder.
      num_tasks: at a time, see `open_executor`.
    """

    def __init__(self, config: DatasetConfig) -> None:
        self.config = config
        self._names = expand_outputs(config.output_file)
        self.corpus = find_corpus(config.input_file, config.text)
        tokenizer, vocabulary = load_checked_tokenizer(config)
        check_corpus(self.corpus, tokenizer, vocabulary, text=config.text)
        paths = self._names.paths
        if len(paths) < config.num_partitions:
            raise ValueError(
                f"num_partitions is {config.num_partitions:,}, but the files of `output_file` are"
                f" {len(paths):,}; each partition writes at least one of its own"
            )
        self._work = SetWork(
            config=config,
            tokenizer=tokenizer,
            vocabulary=vocabulary,
            manifest=describe_set(config, tokenizer, vocabulary),
            paths=paths,
        )
        self._work.share_memory()  # or refuse
        self._blocks = cut_corpus(self.corpus, config.text, config.num_partitions)
        num_workers = config.engine.count_workers(config.num_workers)
        self.num_tasks = min(num_workers, config.num_partitions)
        if not config.engine.is_cluster:
            num_threads = num_workers // self.num_tasks
            self._work = dataclasses.replace(self._work, num_threads=num_threads)
        self.fingerprint = fingerprint(self._describe())
        self.parent = config.work_dir or own_work_folder(
            self._names.name, "partitions", is_shared=config.engine.is_cluster
        )

    def _describe(self) -> dict[str, Any]:
        """Return all that the set depends on."""
        settings, paths = dataclasses.asdict(self.config), self.corpus.paths
        return {
            "version": [bert_data.__version__, _WORK_VERSION],
            "settings": {k: v for k, v in settings.items() if k not in _WITHOUT_EFFECT},
            "vocabulary": [self._work.vocabulary.sha256, self._work.tokenizer.do_lower_case],
            "outputs": [os.path.abspath(path) for path in self._names.paths],
            "inputs": list(map(_identity, paths, read_statuses(paths))),
            "partitions": [repr(each) for each in self._work.partitions(self._blocks)],
        }

    def has_committed(self) -> bool:
        """Whether the set is there, made by this run, which was killed before its end."""
        finish_removal(self.parent, is_own=not self.config.work_dir)
        folder = os.path.dirname(self._names.paths[0])
        manifest = manifest_path(os.path.join(folder, os.path.basename(self._names.name)))
        return has_committed(self.parent, self.fingerprint, manifest)

    def make(self, record_set: RecordSet, folder: str, executor: Executor) -> Dataset:
        """Run the tasks that are missing; the shards then have hidden names."""
        config, work, start = self.config, self._work, clock()
        blocks = count_rows_before(self.corpus, config.text, work.tokenizer, self._blocks, executor)
        partitions = work.partitions(blocks)
        task = FolderTask(
            parent=os.path.join(folder, "make"), function=functools.partial(make_partition, work)
        )
        done: list[Made] = []
        with progress("partitions", total=len(partitions), unit="partition") as advance:
            for made, _ in run_tasks("partitions", task, partitions, executor):
                done.append(made)
                advance(1)
        reports = [made.report for made in done]
        tokens = _sum_up(TokenCounts, [each["tokens"] for each in reports])
        counts = _sum_up(InstanceCounts, [each["instances"] for each in reports])
        self._check(tokens, reports)
        files = self._link(record_set, done)
        stage = Stage(name="make partitions", seconds=clock() - start, num_bytes=tokens.num_bytes)
        manifest = with_counts(work.manifest, tokens, counts)
        return Dataset(
            inputs=self.corpus.paths,
            tokens=tokens,
            instances=counts,
            stages=[stage],
            manifest=dataclasses.replace(manifest, files=files),
            paths=record_set.paths,
            examples=[Instance(**_with_tuples(each)) for each in reports[0]["examples"]],
            vocabulary=work.vocabulary,
        )

    def _link(self, record_set: RecordSet, done: Sequence[Made]) -> tuple[ManifestFile, ...]:
        """Add the shards of all partitions to the set, in their order."""
        files = {}
        for partition, (folder, report) in enumerate(done):
            shards = self._work.shards(partition)
            for number, file in zip(shards, report["files"], strict=True):
                files[number] = parse_file(JsonObject(file, folder))
                record_set.link_shard(number, os.path.join(folder, folder_of(number)))
        return tuple(files[number] for number in range(len(files)))

    def _check(self, tokens: TokenCounts, reports: Sequence[Mapping[str, Any]]) -> None:
        """Refuse text without a sentence, and warn of text that was probably not meant."""
        if not tokens.num_tokens:
            first = self.corpus.paths[0]
            num_others = len(self.corpus.paths) - 1
            others = f" and {num_others:,} other file{'s' * (num_others > 1)}" if num_others else ""
            raise NoSentenceError(f"no sentences in {first}{others}")
        config, objective = self.config, self.config.instances.objective
        warn_of_tokens(self.corpus, config.text, self._work.tokenizer, tokens, objective)
        num_alone = sum(each["tokens"]["num_documents"] == 1 for each in reports)
        if objective.label is not None and num_alone and tokens.num_documents > 1:
            logging.warning(
                "%d of the %d partitions have a single document, so the random next sentences"
                " there come from that document, too; use fewer partitions",
                num_alone,
                len(reports),
            )


def _identity(path: str, status: Status | None) -> list[Any]:
    numbers = [status.num_bytes, status.modified_ns, status.inode] if status else []
    return [os.path.abspath(path), *numbers]


def _sum_up(kind: type[Counts], counts: Sequence[Mapping[str, Any]]) -> Counts:
    """Add counts of partitions; those that are None stay None."""
    sums: dict[str, Any] = {
        name: None if number is None else sum(each[name] for each in counts)
        for name, number in counts[0].items()
    }
    return kind(**sums)


def _with_tuples(values: Mapping[str, Any]) -> dict[str, Any]:
    return {k: tuple(v) if isinstance(v, list) else v for k, v in values.items()}
