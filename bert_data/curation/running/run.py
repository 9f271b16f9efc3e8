"""Run a pipeline: data sets in, curated files, ledger and summary out.

    files ─▶ shards ─pass 0─▶ shards ─pass 1─▶ ... ─▶ corpus-00000-of-00002.jsonl, ...
                    decide ──┘                        ledger.corpus.jsonl.parquet
                                                      curation.corpus.jsonl.json

Every shard of every pass stays in a work folder until the end, so that a run that was stopped, for
whatever reason, resumes with the shards that are missing.
"""

import dataclasses
import functools
import json
import os
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

import bert_data
from bert_data.curation.document import StepFieldError
from bert_data.curation.running.counts import StepCounts
from bert_data.curation.running.data_sets import (
    TextShard,
    check_name,
    plan_all_shards,
    warn_of_inputs,
)
from bert_data.curation.running.document_files import (
    REJECTED_FILE,
    WrittenFile,
    beside,
    earlier_files,
    output_paths,
)
from bert_data.curation.running.field_values import finite
from bert_data.curation.running.markup import put_extract_first
from bert_data.curation.running.pipeline import (
    LabelledStep,
    Output,
    Pipeline,
    describe_step,
    describe_work,
)
from bert_data.curation.running.stages import NothingLeftError, Stages
from bert_data.curation.running.step_log import DAMAGED, ERROR, UNREADABLE
from bert_data.curation.table import Table
from bert_data.storage import OutputSet, exists, is_folder, own_work_folder
from bert_data.work import THIS_MACHINE, Engine, fingerprint, open_work
from bert_data.work.work_folder import finish_removal, has_committed, note_commit


def describe_problems(pipeline: Pipeline, counts: Sequence[StepCounts]) -> Iterator[str]:
    """Yield what a user should know, in one sentence each."""
    yield from _describe_reading(counts[0])
    if not pipeline.steps:
        yield "the pipeline has no steps: all documents are copied"
    for labelled, before, after in zip(pipeline.steps, counts, counts[1:], strict=False):
        use = labelled.step.describe_use(after.of_use())
        if use:
            yield f"step {labelled.label}: {use}"
        if ERROR in after.first:
            yield (
                f"step {labelled.label} could not judge {after.rejected[ERROR]:,} document(s),"
                f" which were rejected by the rule `error`; the first: {after.first[ERROR]}"
            )
        yield from _describe_loss(pipeline, labelled, before, after)


def _describe_reading(read: StepCounts) -> Iterator[str]:
    if UNREADABLE in read.first:
        yield (
            f"{read.rejected[UNREADABLE]:,} row(s) are not documents and were left out; the first:"
            f" {read.first[UNREADABLE]}"
        )
    if DAMAGED in read.first:
        yield (
            f"{read.rejected[DAMAGED]:,} file(s) are damaged, and were left out from the damage on;"
            f" the first: {read.first[DAMAGED]}"
        )
    if read.num_replaced:
        yield f"{read.num_replaced:,} places are not UTF-8 and were replaced or ignored"


def _describe_loss(
    pipeline: Pipeline, labelled: LabelledStep, before: StepCounts, after: StepCounts
) -> Iterator[str]:
    share, path = pipeline.warn_share, pipeline.output.rejected_file
    where = "`rejected_file` writes them to a file" if path is None else f"they are in {path}"
    if labelled.step.is_meant_to_shorten:
        return
    seen = f"step {labelled.label}"
    if after.num_rejected > share * before.num_documents:
        rules = ", ".join(f"{rule} {n:,}" for rule, n in after.rejected.most_common(3))
        yield (
            f"{seen} rejected {after.num_rejected:,} of the {before.num_documents:,} documents that"
            f" reached it ({rules}); {where}"
        )
    elif before.num_bytes - after.num_bytes > share * before.num_bytes:
        yield (
            f"{seen} removed {before.num_bytes - after.num_bytes:,} of the {before.num_bytes:,}"
            " bytes of text that reached it"
        )


_RAISED_AGAIN = (NothingLeftError, StepFieldError)
"""Errors in which the same run would end again."""
_OF_DATA_SETS = ("label", "num_documents", "num_bytes", "num_words", "num_tokens", "num_rejected")
_PROCESS_BYTES, _BYTES_OF_BYTE = 200_000_000, 30  # of a process, and for each byte of a document


@dataclasses.dataclass(frozen=True, kw_only=True)
class Curation:
    """The result of a run.

    Attributes:
      pipeline: that was run.
      shards: that were read.
      counts: of reading and of all steps, in their order.
      by_data_set: the same of each data set alone, by its name.
      files: that were written.
      ledger: path of the ledger, or path@N of its files, and its number of rows.
      seconds: from the start to the end.
      num_resumed: shards of passes that an earlier run had finished.
      warnings: sentences.
    """

    pipeline: Pipeline
    shards: Sequence[TextShard]
    counts: Sequence[StepCounts]
    by_data_set: Mapping[str, Sequence[StepCounts]]
    files: Sequence[WrittenFile]
    ledger: tuple[str, int]
    seconds: float
    num_resumed: int
    warnings: Sequence[str]

    @property
    def num_documents(self) -> int:
        """Documents in the input: those that were read, and those that reading rejected."""
        read = self.counts[0]
        return read.num_documents + read.num_rejected - read.rejected[DAMAGED]

    @functools.cached_property
    def tables(self) -> Mapping[str, Table]:
        """Tables of what steps did, by the labels of the steps that make one."""
        tables = {
            labelled.label: labelled.step.tabulate(counts.counted)
            for labelled, counts in zip(self.pipeline.steps, self.counts[1:], strict=True)
        }
        return {label: table for label, table in tables.items() if table is not None}


def ledger_name(output_file: str) -> str:
    """Return the path of the ledger of a set of outputs, or path@N, as it has as many files."""
    name, files = output_paths(output_file)
    folder, base = os.path.split(name)
    path = os.path.join(folder, f"ledger.{base}.parquet")
    return path if len(files) == 1 else f"{path}@{len(files)}"


def summary_path(name: str) -> str:
    """Return the path of the summary of a set of outputs, which is written last."""
    folder, base = os.path.split(name)
    return os.path.join(folder, f"curation.{base}.json")


def curate(
    pipeline: Pipeline,
    *,
    num_workers: int,
    engine: Engine = THIS_MACHINE,
    overwrite: bool = False,
    work_dir: str | None = None,
    more_outputs: dict[str, Callable[[Curation], str]] | None = None,
    reads: Sequence[str] = (),
) -> Curation:
    """Run a pipeline.

    Args:
      num_workers: tasks at a time, see `open_executor`; the output does not depend on it.
      overwrite: whether to replace existing files.
      work_dir: folder for unfinished work, local or remote; None: a hidden one beside the output
        or, without a cluster, among the temporary files for a remote output.
      more_outputs: texts to write at the end, by the path of their file.
      reads: files that must not be replaced, besides those that the pipeline names.

    Raises:
      ValueError: no document is left, or fewer than there are files to write, or a step or a reader
        refuses its parameters or input.
      OSError, CorruptDataError: a file cannot be read or written, or a worker died.
    """
    start = time.perf_counter()
    texts = more_outputs or {}
    paths = _OutputPaths(pipeline.output, tuple(texts))
    shards = plan_all_shards(pipeline.data_sets, pipeline.shard_bytes)
    warn_of_inputs(pipeline.data_sets)
    pipeline = put_extract_first(pipeline, shards)
    work = describe_work(pipeline, shards, paths.name)
    run_name = fingerprint(work)
    parent = _work_parent(work_dir, paths.name, engine)
    finish_removal(parent, is_own=not work_dir)
    # Outputs that are there may be of this very run, which was killed after it had named them.
    is_ours = has_committed(parent, run_name, paths.summary)
    with (
        OutputSet(
            paths.name,
            [*paths.all, paths.summary],
            reads=[path for path, *_ in (*work["files"], *work["lists"])] + list(reads),
            overwrite=overwrite or is_ours,
            obsolete=paths.find_obsolete,
        ) as outputs,
        open_work(
            parent,
            run_name,
            is_own=not work_dir,
            keeps_inputs=False,
            useless_after=_RAISED_AGAIN,
            num_workers=num_workers,
            engine=engine,
            task_bytes=_task_bytes(pipeline),
        ) as (folder, executor),
    ):
        run = Stages(pipeline, shards, folder, executor)
        run.run_passes()
        files, num_rows = _write_files(run, outputs, paths)
        done = Curation(
            pipeline=pipeline,
            shards=shards,
            counts=run.counts,
            by_data_set=run.by_data_set,
            files=files,
            ledger=(paths.ledger, num_rows),
            seconds=time.perf_counter() - start,
            num_resumed=run.num_resumed,
            warnings=list(describe_problems(pipeline, run.counts)),
        )
        summary = describe_as_json(done)
        _write_texts(outputs, {**texts, paths.summary: lambda _: summary}, done)
        note_commit(folder, summary.encode(errors="replace"))
        outputs.commit(paths.all, [paths.summary])
    return done


def _task_bytes(pipeline: Pipeline) -> int:
    """Return the memory that a task may need."""
    passing = _PROCESS_BYTES + _BYTES_OF_BYTE * pipeline.max_document_bytes
    return max(passing, pipeline.max_memory_bytes)


class _OutputPaths:
    """The paths of a run's outputs; `all` are those but the summary, which vouches for them."""

    def __init__(self, output: Output, texts: Sequence[str]) -> None:
        self.name, self.files = output_paths(output.files)
        self.format = output.format_of(self.files)
        self.ledger, self.summary = ledger_name(output.files), summary_path(self.name)
        self.ledger_files = output_paths(self.ledger)[1]
        self.rejected = output.rejected_file
        self.rejected_files = [] if self.rejected is None else output_paths(self.rejected)[1]
        for path in texts:
            check_name("output", path)
        self.written_by_tasks = [*self.files, *self.ledger_files, *self.rejected_files]
        self.all = [*self.written_by_tasks, *texts]

    def find_obsolete(self) -> list[str]:
        """Return the files of an earlier set that this one does not replace."""
        ours = set(self.all)
        return [path for path in earlier_files(self.summary, self.rejected) if path not in ours]


def _write_files(
    run: Stages, outputs: OutputSet, paths: _OutputPaths
) -> tuple[list[WrittenFile], int]:
    """Write documents, ledger and rejected documents; return the files and the ledger's rows."""
    ledger_from, rejected_from = len(paths.files), len(paths.files) + len(paths.ledger_files)
    files = [
        *run.documents(paths.format, paths.files),
        *run.ledger(len(paths.ledger_files)),
        *run.rejected(paths.rejected_files),
    ]
    reports = []
    for name, (report, path) in zip(paths.written_by_tasks, run.write(files), strict=True):
        outputs.link_in(name, path)
        reports.append(report)
    num_rows = sum(report["num_rows"] for report in reports[ledger_from:rejected_from])
    return [WrittenFile(**report) for report in reports[:ledger_from]], num_rows


def _write_texts(
    outputs: OutputSet, texts: Mapping[str, Callable[[Curation], str]], done: Curation
) -> None:
    for path, describe in texts.items():
        with outputs.open(path) as file:
            file.write(describe(done).encode(errors="replace"))


def _work_parent(work_dir: str | None, name: str, engine: Engine) -> str:
    """Return the folder above the run's work folder."""
    if work_dir and exists(work_dir) and not is_folder(work_dir):
        raise ValueError(f"work_dir is {work_dir!r}, which is a file; it must be a folder")
    return work_dir or own_work_folder(name, "curation", is_shared=engine.is_cluster)


def describe_as_json(done: Curation) -> str:
    """Return the text of the summary's file, without times, so that it is the same in each run."""
    pipeline, read = done.pipeline, done.counts[0]
    data = {
        "format": "bert_data curation",
        "format_version": 1,
        "created_by": f"bert_data {bert_data.__version__}",
        "data_sets": [
            {
                "name": data_set.name,
                "weight": data_set.weight,
                "counts": [
                    {key: getattr(counts, key) for key in _OF_DATA_SETS}
                    for counts in done.by_data_set[data_set.name]
                ],
                "files": sorted(
                    {s.path for each in done.shards if each.data_set == n for s in each.spans}
                ),
            }
            for n, data_set in enumerate(pipeline.data_sets)
        ],
        "steps": [
            {"step": each.label, "parameters": describe_step(each.step)} for each in pipeline.steps
        ],
        "output_format": pipeline.output.format_of([file.name for file in done.files]),
        "split_sentences": pipeline.output.split_sentences,
        "max_document_bytes": pipeline.max_document_bytes,
        "read": {
            "num_rows": read.num_rows,
            "num_replaced": read.num_replaced,
            "first_unreadable": read.first.get(UNREADABLE, ""),
            "first_damaged": read.first.get(DAMAGED, ""),
        },
        "counts": [_lasting(counts) for counts in done.counts],
        "tables": {label: table.as_json() for label, table in done.tables.items()},
        "ledger": {"name": os.path.basename(done.ledger[0]), "num_rows": done.ledger[1]},
        "files": [
            {**dataclasses.asdict(file), "name": os.path.basename(file.name)} for file in done.files
        ],
        "warnings": list(done.warnings),
    }
    if pipeline.output.rejected_file is not None:
        data[REJECTED_FILE] = beside(done.ledger[0], pipeline.output.rejected_file)
    return json.dumps(finite(data), indent=1, default=str, ensure_ascii=False) + "\n"


def _lasting(counts: StepCounts) -> dict[str, Any]:
    hidden = ("seconds", "bins", "examples", "num_rows", "num_replaced")
    return {key: value for key, value in counts.as_json().items() if key not in hidden}
