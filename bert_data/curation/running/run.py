"""Run a pipeline: data sets in, curated files, ledger and summary out.

    files ─▶ shards ─pass 0─▶ shards ─pass 1─▶ ... ─▶ corpus-00000-of-00002.jsonl, ...
                    decide ──┘                        ledger.corpus.jsonl.parquet
                                                      curation.corpus.jsonl.json

Every shard of every pass stays in a work folder until the end, so that a run that was stopped, for
whatever reason, resumes with the shards that are missing. The fingerprint of `describe_work` names
that folder.
"""

import contextlib
import hashlib
import os
import time
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import bert_data
from bert_data import storage
from bert_data.curation.document import StepFieldError
from bert_data.curation.own_steps import read_sources
from bert_data.curation.running.data_sets import (
    TextShard,
    leave_out,
    plan_all_shards,
    put_extract_first,
    warn_of_inputs,
)
from bert_data.curation.running.ledger import with_case
from bert_data.curation.running.output_files import WrittenFile, earlier_files, output_paths
from bert_data.curation.running.pipeline import LabelledStep, Pipeline
from bert_data.curation.running.pipeline_settings import Output
from bert_data.curation.running.result import Curation, describe_as_json, describe_steps
from bert_data.curation.running.stages import NothingLeftError, Stages
from bert_data.curation.running.token_stores import StoreRule
from bert_data.text.without import not_found_path
from bert_data.tokens.store_files import store_paths, voucher_paths
from bert_data.work import THIS_MACHINE, Engine, fingerprint, open_work
from bert_data.work.work_folder import finish_removal, has_committed, note_commit

_RAISED_AGAIN = (NothingLeftError, StepFieldError)
"""Errors in which the same run would end again."""
_PROCESS_BYTES, _BYTES_OF_BYTE = 200_000_000, 30  # of a process, and for each byte of a document

_PROGRAM = (
    *("curation/*.py", "curation/*/*.py", "curation/*/*.toml", "text/*.py", "text/*/*.py"),
    *("text/*/*.txt", "work/*.py"),
    *("tokens/*.py", "reader/planning/*.py", "training/*.py", "hub/*.py"),
)
"""Files of the code that decides what a run writes."""


def run_pipeline(
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
    """
    start, texts, rule = time.perf_counter(), more_outputs or {}, StoreRule.of(pipeline)
    shards = plan_all_shards(pipeline.data_sets, pipeline.shard_bytes)
    pipeline = leave_out(pipeline, shards)
    without = pipeline.data_sets[0].text.without
    paths = _OutputPaths(pipeline.output, tuple(texts), lists_not_found=without is not None)
    warn_of_inputs(pipeline.data_sets)
    pipeline = with_case(put_extract_first(pipeline, shards))
    work = describe_work(pipeline, shards, paths.name)
    run_name = fingerprint(work)
    parent = _work_parent(work_dir, paths.name, engine)
    finish_removal(parent, is_own=not work_dir)
    # Outputs that are there may be of this very run, which was killed after it had named them.
    is_ours = has_committed(parent, run_name, paths.summary)
    with (
        storage.OutputSet(
            paths.name,
            [*paths.all, paths.summary],
            reads=[*_files_read(work, pipeline), *reads],
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
        files, num_rows = _write_files(run, outputs, paths, rule)
        done = Curation(
            pipeline=pipeline,
            shards=shards,
            counts=run.counts,
            by_data_set=run.by_data_set,
            files=files,
            ledger=(paths.ledger, num_rows),
            seconds=time.perf_counter() - start,
            num_resumed=run.num_resumed,
            empty_files=run.empty_files,
            left_out=_report_left_out(pipeline, run, outputs, paths.name),
            warnings=run.warnings,
        )
        _commit(outputs, paths, texts, done, folder)
    return done


def _files_read(work: dict[str, Any], pipeline: Pipeline) -> Iterator[str]:
    """Yield the files that the run reads, which its outputs must not replace."""
    for path, *_ in (*work["files"], *work["lists"]):
        yield path
    store = pipeline.output.store
    if store is not None:
        yield from filter(None, (store.vocab_file, store.tokenizer_file))


def _report_left_out(
    pipeline: Pipeline, run: Stages, outputs: storage.OutputSet, name: str
) -> dict[str, Any]:
    """List the documents to leave out that were not found; return the entry of the summary."""
    without = pipeline.data_sets[0].text.without
    if without is None:
        return {}
    without.report(run.read, name, outputs.open, is_strict=pipeline.strict_without)
    return {"sha256": without.sha256, **without.counts(run.read)}


def _commit(
    outputs: storage.OutputSet,
    paths: "_OutputPaths",
    texts: dict[str, Callable[[Curation], str]],
    done: Curation,
    folder: str,
) -> None:
    """Write the summary and other texts, and give all outputs their names."""
    summary = describe_as_json(done)
    written = {path: describe(done) for path, describe in texts.items()} | {paths.summary: summary}
    for path, text in written.items():
        with outputs.open(path) as file:
            file.write(text.encode(errors="replace"))
    note_commit(folder, summary.encode(errors="replace"))
    first = [path for path in paths.all if path not in paths.vouchers]
    outputs.commit(first, [*paths.vouchers, paths.summary])


def _work_parent(work_dir: str | None, name: str, engine: Engine) -> str:
    if work_dir and storage.exists(work_dir) and not storage.is_folder(work_dir):
        raise ValueError(f"work_dir is {work_dir!r}, which is a file; it must be a folder")
    return work_dir or storage.hidden_work_folder(name, "curation", is_shared=engine.is_cluster)


def _task_bytes(pipeline: Pipeline) -> int:
    """Return the memory that a task may need."""
    passing = _PROCESS_BYTES + _BYTES_OF_BYTE * pipeline.max_document_bytes
    return max(passing, pipeline.max_memory_bytes)


def ledger_name(output_file: str) -> str:
    """Return the path of the ledger of a set of outputs, or path@N, as it has as many files."""
    name, files = output_paths(output_file)
    path = _named_after(name, "ledger", "parquet")
    return path if len(files) == 1 else f"{path}@{len(files)}"


def _named_after(path: str, kind: str, ending: str) -> str:
    folder, base = os.path.split(path)
    return os.path.join(folder, f"{kind}.{base}.{ending}")


class _OutputPaths:
    """The paths of a run's outputs; `all` are those but the summary, which vouches for them."""

    def __init__(self, output: Output, texts: Sequence[str], *, lists_not_found: bool) -> None:
        self.name, self.files = output_paths(output.files)
        self.format = output.format_of(self.files)
        self.endings, self._stores = [""], list[str]()
        if output.store is not None:
            self._stores = self.files
            self.endings = store_paths("", has_provenance=output.store.provenance)
        self.vouchers = [path for prefix in self._stores for path in voucher_paths(prefix)]
        self.ledger = ledger_name(output.files)
        self.summary = _named_after(self.name, "curation", "json")
        self.ledger_files = output_paths(self.ledger)[1]
        self.rejected = output.rejected_file
        self.rejected_files = [] if self.rejected is None else output_paths(self.rejected)[1]
        for path in texts:
            storage.refuse_undecodable("output", path)
        self.written_by_tasks = [*self.files, *self.ledger_files, *self.rejected_files]
        self._not_found = not_found_path(self.name)
        written = [path + ending for path in self.files for ending in self.endings]
        written += [*self.ledger_files, *self.rejected_files]
        self.all = [*written, *texts, *([self._not_found] if lists_not_found else [])]

    def find_obsolete(self) -> list[str]:
        """Return the files of an earlier set that this one does not replace."""
        ours = set(self.all)
        earlier = [*earlier_files(self.summary, self.rejected), self._not_found]
        earlier += [path for prefix in self._stores for path in store_paths(prefix)]
        return [path for path in earlier if path not in ours]


def _write_files(
    run: Stages, outputs: storage.OutputSet, paths: _OutputPaths, rule: StoreRule | None
) -> tuple[list[WrittenFile], int]:
    """Write documents, ledger and rejected documents; return the files and the ledger's rows."""
    if rule is None:
        documents = run.documents(paths.format, paths.files)
    else:
        documents = run.stores(rule, paths.files)
    files = [*documents, *run.ledger(len(paths.ledger_files)), *run.rejected(paths.rejected_files)]
    reports = []
    for number, (report, path) in enumerate(run.write(files)):
        for ending in paths.endings if number < len(paths.files) else [""]:
            outputs.link_in(paths.written_by_tasks[number] + ending, path + ending)
        reports.append(report)
    num_rows = sum(report.get("num_rows", 0) for report in reports)
    written = reports[: len(paths.files)]
    if rule is not None:
        rule.warn([report.pop("tokens") for report in written])
    return [WrittenFile(**report) for report in written], num_rows


def describe_work(pipeline: Pipeline, shards: Sequence[TextShard], name: str) -> dict[str, Any]:
    """Return everything that decides what the tasks of a run write."""
    paths = sorted({span.path for shard in shards for span in shard.spans})
    steps = describe_steps(pipeline)
    of_steps = (path for each in pipeline.steps for path in each.step.files())
    named = [pipeline.vocab_file, pipeline.without_documents]
    lists = sorted({*_files_named(steps), *of_steps, *filter(None, named)})
    return {
        "version": bert_data.__version__,
        "program": _digest_of_program(pipeline.steps),
        "output": storage.absolute_path(name),
        "split_sentences": [pipeline.output.split_sentences, pipeline.output.language],
        "max_document_bytes": pipeline.max_document_bytes,
        "ledger": pipeline.ledger,
        "on_error": pipeline.on_error,
        "notes": [pipeline.with_examples, pipeline.output.rejected_file is not None],
        "counted": [pipeline.count_words, pipeline.vocab_file, pipeline.do_lower_case],
        "data_sets": [repr(data_set) for data_set in pipeline.data_sets],
        "steps": steps,
        "max_memory_bytes": pipeline.max_memory_bytes,
        "shards": [[[span.path, span.start, span.end] for span in shard.spans] for shard in shards],
        "files": list(map(_identity, paths, storage.read_statuses(paths))),
        "lists": list(map(_identity, lists, storage.read_statuses(lists))),
    }


def _identity(path: str, status: storage.Status | None) -> list[Any]:
    numbers = [status.num_bytes, status.modified_ns, status.inode] if status else []
    return [storage.absolute_path(path), *numbers]


def _files_named(value: Any) -> Iterator[str]:
    """Yield the files whose names occur in parameters: lists, models."""
    if isinstance(value, dict):
        for each in value.values():
            yield from _files_named(each)
    elif isinstance(value, list | tuple):
        for each in value:
            yield from _files_named(each)
    elif isinstance(value, str | os.PathLike) and value and "\0" not in str(value):
        for name in [str(value), *str(value).split(",")]:
            with contextlib.suppress(OSError, ValueError):  # ValueError: https://..., not a file
                yield from filter(
                    storage.is_file, [name] if storage.exists(name) else storage.glob(name)
                )


def _digest_of_program(steps: Sequence[LabelledStep]) -> str:
    """Return a digest of the code, as other code cannot resume its unfinished work."""
    package = storage.escape(os.path.dirname(bert_data.__file__))
    digest = hashlib.sha256()
    for part in _PROGRAM:
        for path in storage.glob(f"{package}/{part}"):
            digest.update(storage.read_bytes(path))
    for source in read_sources(type(each.step) for each in steps):
        digest.update(source)
    return digest.hexdigest()
