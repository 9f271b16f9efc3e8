"""The stages of a run: prepare all steps; for each pass: all shards, then decide; write the files.

Each is tasks, which fill folders in the work folder; one whose folder exists is not done again.
"""

import dataclasses
import functools
import os
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any, cast

from absl import logging

from bert_data.curation.running.counts import StepCounts, add_counts, counts_from_json
from bert_data.curation.running.data_sets import TextShard, count_rows_before
from bert_data.curation.running.document_spool import SpooledShard
from bert_data.curation.running.field_values import Kinds, join_kinds
from bert_data.curation.running.ledger import DAMAGED, ERROR, UNREADABLE
from bert_data.curation.running.output_files import (
    FILE,
    Noted,
    SpoolPart,
    join_ledgers,
    join_rejected,
    plan_files,
    share_out,
    write_documents,
)
from bert_data.curation.running.passes import Pass, run_pass, spooled_folder
from bert_data.curation.running.pipeline import LabelledStep, Pipeline, plan_passes
from bert_data.curation.running.result import describe_problems
from bert_data.curation.running.token_stores import StoreRule, write_store
from bert_data.curation.step import CorpusStep, Decisions, Step
from bert_data.kernels import clock
from bert_data.progress import how_many, progress
from bert_data.text.input_warnings import describe_empty, find_empty
from bert_data.text.without import ReadText
from bert_data.work import Executor, FolderTask, Made, fingerprint, run_tasks
from bert_data.work.rounds import Part, Rounds, remove_records
from bert_data.work.sorted_records import placed, records_from_json, relative

ONE_TASK_SHARE = 16
"""Inputs below 1/16 of a task's memory are decided in one task."""


class NothingLeftError(ValueError):
    """No document is left, or none could be read."""


@dataclasses.dataclass(frozen=True)
class _StepTask:
    """A step that prepares, or decides over so little that it is one task.

    It decides over what was observed of each shard, in so many bytes of memory; without `parts`, it
    prepares.
    """

    number: int
    labelled: LabelledStep
    parts: Sequence[Part] | None = None
    max_bytes: int = 0

    @property
    def task_name(self) -> str:
        """Name of its folder."""
        return f"{self.number:02d}-{self.labelled.label}"


def _run_step(task: _StepTask, folder: str) -> dict[str, Any]:
    """Let a step prepare or decide; return the seconds that it took, and its decisions."""
    start = clock()
    if task.parts is None:
        with task.labelled.named_in_errors():
            task.labelled.step.prepare(Path(folder))
        return {"seconds": clock() - start}
    rounds = Rounds(os.path.join(folder, "round"), task.parts, task.max_bytes)
    decisions = _decide(task.labelled, rounds)
    tables = {name: relative(each, folder) for name, each in decisions.tables.items()}
    decisions = dataclasses.replace(decisions, tables=tables)
    return {"seconds": clock() - start, "decisions": dataclasses.asdict(decisions)}


def _decide(labelled: LabelledStep, rounds: Rounds) -> Decisions:
    with labelled.named_in_errors():
        return cast(CorpusStep, labelled.step).decide(rounds)


def _as_decisions(made: Made) -> Decisions:
    decisions = made.report["decisions"]
    tables = {
        name: placed(records_from_json(each), made.folder)
        for name, each in decisions["tables"].items()
    }
    return Decisions(tables=tables, notes=decisions["notes"])


@dataclasses.dataclass(frozen=True)
class OutputFile:
    """A file to write, named `FILE`, to a folder, whose name says what decides its bytes."""

    task_name: str
    write: Callable[[str], dict[str, Any]]


def _write(file: OutputFile, folder: str) -> dict[str, Any]:
    return file.write(folder)


class Stages:
    """A run of a pipeline over shards.

    Attributes:
      counts: of reading and of the steps, in their order; grows with each pass.
      by_data_set: the same counts of each data set alone, by its name.
      num_resumed: shards of passes that an earlier run finished.
      read: what was noted of text.
      empty_files: those of the input that gave no document.
      warnings: what a user should know, in one sentence each.
    """

    def __init__(
        self, pipeline: Pipeline, shards: Sequence[TextShard], folder: str, executor: Executor
    ) -> None:
        """Describe a run; those of the tasks' folders in `folder` that exist are finished."""
        self._pipeline, self._folder = pipeline, folder
        self._text_shards = shards
        self._shards: Sequence[TextShard | SpooledShard] = ()  # what the next pass reads
        self._executor = executor
        self._passes = plan_passes(pipeline.steps)
        self._prepared = FolderTask(parent=os.path.join(folder, "prepared"), function=_run_step)
        self._decided: Decisions | None = None  # by the step that judges in the next pass
        self._seconds: dict[str, float] = {}
        self._noted: list[Noted] = []  # by each pass on each shard
        self._latest: tuple[FolderTask, list[TextShard | SpooledShard]] | None = None
        self._kinds: Kinds = {}
        self.counts: list[StepCounts] = []
        self.by_data_set: dict[str, list[StepCounts]] = {d.name: [] for d in pipeline.data_sets}
        self.num_resumed = 0
        self.empty_files: list[str] = []
        self.warnings: list[str] = []
        self.read = ReadText()

    def run_passes(self) -> None:
        """Prepare the steps, and do all passes."""
        data_sets = self._pipeline.data_sets
        self._shards = count_rows_before(self._text_shards, data_sets, self._executor)
        tasks = [_StepTask(number, each) for number, each in enumerate(self._pipeline.steps)]
        needed = [task for task in tasks if type(task.labelled.step).prepare is not Step.prepare]
        self._run_step_tasks("prepare", self._prepared, needed)
        for number, steps in enumerate(self._passes):
            self._run_pass(
                Pass(
                    pipeline=self._pipeline,
                    number=number,
                    steps=steps,
                    is_last=number == len(self._passes) - 1,
                    prepared={n: self._prepared.path(tasks[n]) for n in steps.all},
                    decided=self._decided,
                )
            )
            self._refuse_nothing()
            if steps.observing is not None:
                self._decided = self._decide(steps.observing)
        for counts in self.counts:
            counts.seconds += self._seconds.get(counts.label, 0.0)
        files = sorted({span.path for shard in self._text_shards for span in shard.spans})
        self.empty_files = find_empty(files, self.read.with_text)
        self.warnings += describe_problems(self._pipeline, self.counts)
        self.warnings += describe_empty(self.empty_files, len(files))

    def _decide(self, number: int) -> Decisions:
        labelled, max_bytes = self._pipeline.steps[number], self._pipeline.max_memory_bytes
        parts = [
            shard.part(source)
            for shard in self._spooled_shards()
            if labelled.step.judges(source := self._source(shard))
        ]
        logging.info("%s: deciding over %s", labelled.label, how_many(len(parts), "shard"))
        if sum(part.num_bytes for part in parts) <= max_bytes // ONE_TASK_SHARE:
            task = _StepTask(number, labelled, parts, max_bytes)
            decide = FolderTask(parent=os.path.join(self._folder, "decided"), function=_run_step)
            return _as_decisions(*self._run_step_tasks("decide", decide, [task]))
        start = clock()
        folder = os.path.join(self._folder, f"decided-{number:02d}-{labelled.label}")
        decisions = _decide(labelled, Rounds(folder, parts, max_bytes, self._executor))
        self._spend(labelled.label, clock() - start)
        return decisions

    def _run_step_tasks(
        self, name: str, function: FolderTask, tasks: Sequence[_StepTask]
    ) -> list[Made]:
        done = [made for made, _ in run_tasks(name, function, tasks, self._executor)]
        for task, made in zip(tasks, done, strict=True):
            self._spend(task.labelled.label, made.report["seconds"])
        return done

    def _spend(self, label: str, seconds: float) -> None:
        self._seconds[label] = self._seconds.get(label, 0.0) + seconds

    def _source(self, shard: TextShard | SpooledShard) -> str:
        return self._pipeline.data_sets[shard.data_set].name

    def _spooled_shards(self) -> list[SpooledShard]:
        return [shard for shard in self._shards if isinstance(shard, SpooledShard)]

    def _run_pass(self, config: Pass) -> None:
        """Do a pass: add to the counts, and replace the shards by those that it leaves."""
        left: list[SpooledShard] = []
        noted: list[Noted] = []
        seen: list[TextShard | SpooledShard] = []
        counts: dict[str, list[StepCounts]] = {}
        self._kinds = {}
        task = FolderTask(
            parent=os.path.join(self._folder, f"pass-{config.number}"),
            function=functools.partial(run_pass, config),
        )
        for shard, made in self._work(config, task):  # one report at a time: all are much
            if made is None:
                assert isinstance(shard, SpooledShard)
                left.append(shard)
                continue
            folder, report, begin = made
            source = self._source(shard)
            shard_counts = [*map(counts_from_json, report["counts"])]
            counts[source] = add_counts([counts.get(source, []), shard_counts])
            if config.steps.observing is not None:
                label = self._pipeline.steps[config.steps.observing].label
                self._spend(label, report["observe_seconds"])
            self._kinds = join_kinds([self._kinds, report["kinds"]])
            self.read.add(**report["read"])
            sizes = report["num_rejected_bytes"], report["num_ledger_rows"]
            noted.append(Noted(folder, begin, *sizes))
            seen.append(shard)
            left += [
                SpooledShard(0, shard.data_set, spooled_folder(task.path(shard), i), 0, *each)
                for i, each in enumerate(report["spooled"])
            ]
        labels = [self._pipeline.steps[step].label for step in config.steps.judging]
        for source, before in self.by_data_set.items():
            if source not in counts:
                counts[source] = [before[-1].passed_by(label) for label in labels]
            before += counts[source]
        self.counts += add_counts(counts[source] for source in self.by_data_set)
        self._shards = _numbered(left)
        if self._decided is not None:
            remove_records(*self._decided.tables.values())
        self._join_noted()
        self._noted += noted
        self._latest = task, seen

    def _join_noted(self) -> None:
        """Join what the pass before has noted of shards whose documents are processed now."""
        if self._latest is None:
            return
        task, seen = self._latest
        waiting = {os.path.dirname(shard.path) for shard in self._spooled_shards()}
        first = len(self._noted) - len(seen)
        numbers = [n for n, shard in enumerate(seen) if task.path(shard) not in waiting]
        joined = task.join([seen[n] for n in numbers], self._executor, with_files=True)
        for number, (folder, _, begin) in zip(numbers, joined, strict=True):
            noted = self._noted[first + number]
            self._noted[first + number] = noted._replace(folder=folder, begin=begin)

    def _is_seen(self, shard: TextShard | SpooledShard, config: Pass) -> bool:
        """Whether a pass does anything with a shard; if not, it stays as it is."""
        if isinstance(shard, TextShard) or config.is_last:
            return True
        steps, source = self._pipeline.steps, self._source(shard)
        return any(steps[number].step.judges(source) for number in config.steps.all)

    def _work(
        self, config: Pass, task: FolderTask
    ) -> Iterator[tuple[TextShard | SpooledShard, Made | None]]:
        """Do a pass; yield each shard, and what it made of it: None if it leaves it as it is."""
        name = f"pass {config.number + 1} of {len(self._passes)}"
        seen = [shard for shard in self._shards if self._is_seen(shard, config)]
        total = sum(shard.num_bytes for shard in seen)
        with progress(name, total=total, unit="B") as advance:
            done = run_tasks(name, task, seen, self._executor)
            for shard in self._shards:
                if not self._is_seen(shard, config):
                    yield shard, None
                    continue
                made, is_new = next(done)
                if isinstance(shard, SpooledShard):
                    shard.forget()
                advance(shard.num_bytes)
                self.num_resumed += not is_new
                yield shard, made

    def _refuse_nothing(self) -> None:
        last = next((i for i, each in enumerate(self.counts) if not each.num_documents), None)
        if last is None:
            return
        empty, first = self.counts[last], self.counts[0]
        rules = ", ".join(f"{rule} {n:,}" for rule, n in empty.rejected.most_common(5))
        if last == 0:
            first_problem = first.first.get(UNREADABLE) or first.first.get(DAMAGED)
            why = f"{rules}; the first: {first_problem}" if first_problem else rules
            raise NothingLeftError(
                f"no document could be read of the inputs ({why or 'the files are empty'})"
            )
        use = self._pipeline.steps[last - 1].step.describe_use(empty.of_use())
        rules += f"; {use}" if use else ""
        if ERROR in empty.first:
            rules += f"; the first error: {empty.first[ERROR]}"
        raise NothingLeftError(
            f"no document is left: step {empty.label} rejected the last"
            f" {self.counts[last - 1].num_documents:,} of {first.num_documents:,} ({rules})"
        )

    def documents(self, output_format: str, paths: Sequence[str]) -> list[OutputFile]:
        """Return the files of the documents that the last pass left."""
        return _files_to_write(
            "documents",
            [output_format, paths],
            [
                functools.partial(write_documents, path, parts, output_format, self._kinds)
                for path, parts in zip(paths, self._parts(len(paths)), strict=True)
            ],
        )

    def _parts(self, num_files: int) -> list[list[SpoolPart]]:
        spools = [
            (shard.spool, self._source(shard), shard.num_documents)
            for shard in self._spooled_shards()
        ]
        return plan_files(spools, num_files)

    def stores(self, rule: StoreRule, prefixes: Sequence[str]) -> list[OutputFile]:
        """Return the token stores of the documents that the last pass left."""
        return _files_to_write(
            "stores",
            [rule.describe(), prefixes],
            [
                functools.partial(write_store, prefix, parts, rule)
                for prefix, parts in zip(prefixes, self._parts(len(prefixes)), strict=True)
            ],
        )

    def ledger(self, num_files: int) -> list[OutputFile]:
        """Return the files of the ledger."""
        shares = share_out(self._noted, "num_ledger_rows", num_files)
        writers = [functools.partial(join_ledgers, share) for share in shares]
        return _files_to_write("ledger", num_files, writers)

    def rejected(self, paths: Sequence[str]) -> list[OutputFile]:
        """Return the files of the rejected documents, which are in the order of the ledger."""
        shares = share_out(self._noted, "num_rejected_bytes", len(paths))
        writers = [
            functools.partial(join_rejected, path, share)
            for path, share in zip(paths, shares, strict=True)
        ]
        return _files_to_write("rejected", paths, writers)

    def write(self, files: Sequence[OutputFile]) -> Iterator[tuple[Any, str]]:
        """Write files; yield the report of each, and where it is in the work folder."""
        task = FolderTask(parent=os.path.join(self._folder, "files"), function=_write)
        with progress("writing", total=len(files), unit="file") as advance:
            for made, _ in run_tasks("writing", task, files, self._executor):
                yield made.report, os.path.join(made.folder, FILE)
                advance(1)


def _numbered(shards: Sequence[SpooledShard]) -> list[SpooledShard]:
    """Return shards with their places among all, and the numbers of their first documents."""
    numbered, first = [], 0
    for number, shard in enumerate(shards):
        numbered.append(dataclasses.replace(shard, number=number, first=first))
        first += shard.num_documents
    return numbered


def _files_to_write(
    kind: str, description: Any, writers: Sequence[Callable[[str], dict[str, Any]]]
) -> list[OutputFile]:
    """Name files by their kind, all that decides how many they are, and their number."""
    digest = fingerprint(description)
    return [OutputFile(f"{kind}-{digest}-{n:05d}", write) for n, write in enumerate(writers)]
