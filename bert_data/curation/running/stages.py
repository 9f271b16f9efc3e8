"""The stages of a run, one after the other, each over all shards in several processes.

prepare all steps; for each pass: the shards that are missing, then decide; write the files

A stage leaves its work in the work folder, and what is there is not done again.
"""

import functools
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, cast

from absl import logging

from bert_data.curation.running.counts import StepCounts, add_counts, counts_from_json
from bert_data.curation.running.data_sets import Shard
from bert_data.curation.running.document_files import Writing, WrittenFile, plan_files, write_file
from bert_data.curation.running.field_kinds import Kinds, join_kinds
from bert_data.curation.running.passes import Pass, run_pass
from bert_data.curation.running.pipeline import PassSteps, Pipeline, plan_passes
from bert_data.curation.running.spooled_shards import SpooledShard, forget, spooled_name
from bert_data.curation.running.step_log import DAMAGED, ERROR, UNREADABLE
from bert_data.curation.running.work_folder import LEDGER, OBSERVED, SPOOL, WorkFolder
from bert_data.curation.step import CorpusStep
from bert_data.progress import progress
from bert_data.work import Executor

# Of what was read: what is added up over shards, and what is said of the first of its kind.
_NUMBERS = ("num_rows", "num_replaced")
_SENTENCES = ("first_unreadable", "first_damaged")
_PREPARED, _DECIDING, _DECIDED = "prepared", "deciding", "decided"


class NothingLeftError(ValueError):
    """No document is left, or none could be read."""


class Stages:
    """A run of a pipeline over shards.

    Attributes:
      counts: of what was read and of the steps, in their order; grows with each pass.
      read: rows, undecodable places, and what is said of the first row that is no document.
      num_resumed: shards of passes that an earlier run had done.
    """

    def __init__(
        self,
        pipeline: Pipeline,
        shards: Sequence[Shard],
        folder: WorkFolder,
        executor: Executor,
    ) -> None:
        self._pipeline, self._folder = pipeline, folder
        self._shards: Sequence[Shard | SpooledShard] = shards  # what the next pass reads
        self._executor = executor
        self._passes = plan_passes(pipeline.steps)
        self._seconds: dict[str, float] = {}
        self._ledgers: list[Path] = []
        self._kinds: Kinds = {}
        self.counts: list[StepCounts] = []
        self.read: dict[str, Any] = dict.fromkeys(_NUMBERS, 0) | dict.fromkeys(_SENTENCES, "")
        self.num_resumed = 0

    def run_passes(self) -> None:
        """Prepares and goes through all passes.

        Raises:
          NothingLeftError: a pass leaves no document.
        """
        for number in range(len(self._pipeline.steps)):
            self._prepare(number)
        for number, steps in enumerate(self._passes):
            self._run_pass(number, steps)
            self._refuse_nothing()
            if steps.observing is not None:
                self._decide(steps.observing)
        for counts in self.counts:
            counts.seconds += self._seconds.get(counts.label, 0.0)

    def _step(self, number: int) -> tuple[str, Any, Path]:
        """(label, step, folder)."""
        labelled = self._pipeline.steps[number]
        return labelled.label, labelled.step, self._folder.prepared(number, labelled.label)

    def _spend(self, label: str, seconds: float) -> None:
        self._seconds[label] = self._seconds.get(label, 0.0) + seconds

    def _prepare(self, number: int) -> None:
        label, step, folder = self._step(number)
        if self._folder.is_marked(folder, _DECIDING) and not self._folder.is_marked(
            folder, _DECIDED
        ):  # a run was killed amid it, and nobody knows what it has left
            self._folder.unmark(folder, _PREPARED)
            self._folder.unmark(folder, _DECIDING)
        work = functools.partial(step.prepare, folder)
        try:
            seconds = self._folder.once(folder, _PREPARED, work, anew=True)
        except ValueError as error:
            raise ValueError(f"step {label}: {error}") from error
        self._spend(label, seconds)

    def _decide(self, number: int) -> None:
        label, step, folder = self._step(number)
        paths = [Path(cast(SpooledShard, shard).path) / OBSERVED for shard in self._shards]
        sources = [self._pipeline.data_sets[shard.data_set].name for shard in self._shards]

        def decide() -> None:
            self._folder.mark(folder, _DECIDING)
            cast(CorpusStep, step).decide(folder, paths, sources)

        logging.info("%s: deciding over %d shard(s)", label, len(paths))
        try:
            seconds = self._folder.once(folder, _DECIDED, decide, anew=False)
        except ValueError as error:
            raise ValueError(f"step {label}: {error}") from error
        self._spend(label, seconds)

    def _run_pass(self, number: int, steps: PassSteps) -> None:
        config = Pass(
            pipeline=self._pipeline,
            root=str(self._folder.root),
            number=number,
            steps=steps,
            is_last=number == len(self._passes) - 1,
        )
        missing = [s for s in self._shards if not self._folder.is_done(number, s.number)]
        num_done = len(self._shards) - len(missing)
        self.num_resumed += num_done
        if num_done:
            logging.info(
                "pass %d of %d: %d of %d shards were done by an earlier run",
                number + 1,
                len(self._passes),
                num_done,
                len(self._shards),
            )
        self._folder.remove_partial_shards(number)
        self._work_on(config, missing)
        spooled: list[SpooledShard] = []
        counts: list[StepCounts] = []
        self._kinds = {}
        for shard in self._shards:  # one at a time, as all of them may be much
            forget(shard)
            report = self._folder.read_report(number, shard.number)
            counts = add_counts([counts, [*map(counts_from_json, report["counts"])]])
            self._take_in(number, report, steps)
            folder = self._folder.shard(number, shard.number)
            self._ledgers.append(folder / LEDGER)
            for i, (num_documents, num_bytes) in enumerate(report["spooled"]):
                path = str(folder / spooled_name(i))
                spooled.append(
                    SpooledShard(len(spooled), shard.data_set, path, num_documents, num_bytes)
                )
        self.counts += counts
        self._shards = spooled

    def _work_on(self, config: Pass, shards: Sequence[Shard | SpooledShard]) -> None:
        name = f"pass {config.number + 1} of {len(self._passes)}"
        total = sum(shard.num_bytes for shard in shards)
        work = functools.partial(run_pass, config)
        with progress(name, total=total, unit="B") as advance:
            done = self._executor.ordered_map(work, shards)
            for shard, _ in zip(shards, done, strict=True):
                forget(shard)
                advance(shard.num_bytes)

    def _take_in(self, number: int, report: dict[str, Any], steps: PassSteps) -> None:
        """Takes in what a shard's report has besides its counts and shards."""
        if steps.observing is not None:
            self._spend(self._pipeline.steps[steps.observing].label, report["observe_seconds"])
        if number == 0:
            for key in _NUMBERS:
                self.read[key] += report["read"][key]
            for key in _SENTENCES:
                self.read[key] = self.read[key] or report["read"][key]
        self._kinds = join_kinds([self._kinds, report["kinds"]])

    def _refuse_nothing(self) -> None:
        last = next((i for i, each in enumerate(self.counts) if not each.num_documents), None)
        if last is None:
            return
        empty, first = self.counts[last], self.counts[0]
        rules = ", ".join(f"{rule} {n:,}" for rule, n in empty.rejected.most_common(5))
        if last == 0:
            told = self.read["first_unreadable"] or self.read["first_damaged"]
            why = f"{rules}; the first: {told}" if told else rules or "the files are empty"
            raise NothingLeftError(f"no document could be read of the inputs ({why})")
        if empty.first_error:
            rules += f"; the first error: {empty.first_error}"
        raise NothingLeftError(
            f"no document is left: step {empty.label} rejected the last"
            f" {self.counts[last - 1].num_documents:,} of {first.num_documents:,} ({rules})"
        )

    def write(
        self, output_format: str, paths: Sequence[str], folder: str
    ) -> tuple[list[WrittenFile], list[str]]:
        """Writes what the last pass has left.

        Args:
          output_format: `lines`, `jsonl` or `parquet`.
          paths: of the files.
          folder: where they are written before they have their names.

        Returns:
          What was written, and where it is in the folder.
        """
        spools = [
            (
                str(Path(shard.path) / SPOOL),
                self._pipeline.data_sets[shard.data_set].name,
                shard.num_documents,
            )
            for shard in cast(Sequence[SpooledShard], self._shards)
        ]
        plans = plan_files(spools, paths, folder)
        work = functools.partial(
            write_file, Writing(output_format=output_format, kinds=self._kinds)
        )
        files = []
        with progress("writing", total=self.counts[-1].num_bytes, unit="B") as advance:
            for file in self._executor.ordered_map(work, plans):
                advance(file.num_text_bytes)
                files.append(file)
        return files, [plan.made for plan in plans]

    def ledgers(self) -> Sequence[Path]:
        """The parts of the ledger, pass by pass and shard by shard."""
        return self._ledgers

    def warnings(self) -> Iterator[str]:
        """What a user should know."""
        first = self.read["first_unreadable"]
        if first:
            number = self.counts[0].rejected[UNREADABLE]
            yield f"{number:,} row(s) are no documents and were left out; the first: {first}"
        if self.read["first_damaged"]:
            number = self.counts[0].rejected[DAMAGED]
            yield (
                f"{number:,} file(s) are damaged, and what is behind the damage was left out; the"
                f" first: {self.read['first_damaged']}"
            )
        if self.read["num_replaced"]:
            yield f"{self.read['num_replaced']:,} places are not UTF-8 and were replaced or ignored"
        for labelled, counts in zip(self._pipeline.steps, self.counts[1:], strict=True):
            counted = {**counts.edits, **counts.counted, **counts.rejected}
            told = labelled.step.describe_use(counted)
            if told:
                yield f"step {labelled.label}: {told}"
            number = counts.rejected[ERROR]
            if number:
                yield (
                    f"step {labelled.label} could not judge {number:,} document(s), which were"
                    f" rejected by the rule `error`; the first: {counts.first_error}"
                )
