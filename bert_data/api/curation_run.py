"""Runs the steps of `curate`, into files or in memory."""

import contextlib
import json
import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from bert_data.api.arguments import Curated, KeptDocument, Options, RejectedDocument
from bert_data.api.documents import TextFiles
from bert_data.curation.document import RESERVED_FIELDS
from bert_data.curation.running.data_sets import plan_all_shards, put_extract_first
from bert_data.curation.running.ledger import DAMAGED, with_case
from bert_data.curation.running.output_files import output_paths
from bert_data.curation.running.pipeline import JSONL, DataSet, Output, Pipeline, label_steps
from bert_data.curation.running.pipeline_file import DEFAULT_NAME, parse_step_flags, parse_steps
from bert_data.curation.running.presets import preset_steps
from bert_data.curation.running.run import curate
from bert_data.curation.running.stages import NothingLeftError, Stages
from bert_data.curation.step import Step
from bert_data.storage import open_input
from bert_data.text.documents import SKIP, TextConfig
from bert_data.work import open_executor

StepEntry = str | Mapping[str, Mapping[str, Any] | None] | Step | type[Step]
"""A step: as of --steps, {name: parameters}, a step, or its class."""

_KEPT, _REJECTED = "kept.jsonl", "rejected.jsonl"


def make_steps(steps: StepEntry | Sequence[StepEntry], preset: str | None) -> list[Step]:
    """Return the steps of a preset, and then those of entries."""
    all_steps = [] if preset is None else preset_steps(preset, [DEFAULT_NAME])
    entries = [steps] if isinstance(steps, str | Mapping | Step | type) else steps
    for entry in entries:
        if isinstance(entry, Step):
            all_steps.append(entry)
        elif isinstance(entry, type) and issubclass(entry, Step):
            all_steps.append(entry())
        else:
            all_steps += parse_steps(
                parse_step_flags([entry]) if isinstance(entry, str) else [entry]
            )
    return all_steps


class CurationRun:
    """Steps, and the options that say how they run."""

    def __init__(self, options: Options, steps: Sequence[Step], num_workers: int) -> None:
        self._options, self._steps = options, steps
        self._engine = self._options.engine()
        # Other processes cannot import a script, nor a notebook.
        is_local = any(type(step).__module__ == "__main__" for step in steps)
        is_alone = is_local and not self._engine.is_cluster
        self._num_workers = 1 if is_alone else self._engine.count_workers(num_workers)

    def _pipeline(self, files: TextFiles, output_file: str, rejected_file: str | None) -> Pipeline:
        arguments = self._options
        on_error = arguments.take("on_error", SKIP)
        encoding_errors = arguments.take("encoding_errors", "replace")
        text = arguments.config(TextConfig, on_error=on_error, encoding_errors=encoding_errors)
        output = arguments.config(Output, files=output_file, rejected_file=rejected_file)
        return arguments.config(
            Pipeline,
            data_sets=(DataSet(name=DEFAULT_NAME, files=files.names, text=text),),
            steps=label_steps(self._steps),
            output=output,
            on_error=on_error,
        )

    def to_files(
        self, files: TextFiles, output_file: str, rejected_file: str | None, *, overwrite: bool
    ) -> Curated:
        """Curate as the command does."""
        pipeline = self._pipeline(files, output_file, rejected_file)
        work_dir = self._options.take("work_dir", None)
        self._options.end()
        done = curate(
            pipeline,
            num_workers=self._num_workers,
            engine=self._engine,
            overwrite=overwrite,
            work_dir=work_dir,
        )
        return Curated(
            num_documents=done.num_documents,
            num_kept=done.counts[-1].num_documents,
            num_rejected=sum(counts.num_rejected for counts in done.counts),
            files=tuple(file.name for file in done.files),
            ledger=done.ledger[0],
            ledger_files=tuple(output_paths(done.ledger[0])[1]),
        )

    def in_memory(self, files: TextFiles, folder: str) -> Curated:
        """Curate in a temporary folder, and read what is kept and what is rejected."""
        pipeline = self._pipeline(files, _KEPT, _REJECTED)
        self._options.end()
        shards = plan_all_shards(pipeline.data_sets, pipeline.shard_bytes)
        pipeline = with_case(put_extract_first(pipeline, shards))
        with open_executor(self._num_workers, engine=self._engine, folder=folder) as executor:
            run = Stages(pipeline, shards, folder, executor)
            kept: Sequence[str] = ()
            with contextlib.suppress(NothingLeftError):
                run.run_passes()
                kept = [path for _, path in run.write(run.documents(JSONL, [_KEPT]))]
            rejected = [path for _, path in run.write(run.rejected([_REJECTED]))]
            kept_documents = [_kept(row, files) for row in _rows(kept)]
            rejected_documents = [_rejected(row, files) for row in _rows(rejected)]
        read = run.counts[0]
        return Curated(
            num_documents=read.num_documents + read.num_rejected - read.rejected[DAMAGED],
            num_kept=len(kept_documents),
            num_rejected=len(rejected_documents),
            kept=kept_documents,
            rejected=rejected_documents,
        )


def _rows(paths: Iterable[str | os.PathLike[str]]) -> Iterator[dict[str, Any]]:
    for path in paths:
        with open_input(path) as file:
            yield from map(json.loads, file)


def _index(row: Mapping[str, Any], files: TextFiles) -> int | None:
    """Return the place of a document that was written to a file here, one a row."""
    return int(row["id"].rpartition(":")[2]) - 1 if files.are_spooled else None


def _kept(row: Mapping[str, Any], files: TextFiles) -> KeptDocument:
    fields = {name: value for name, value in row.items() if name not in RESERVED_FIELDS}
    return KeptDocument(index=_index(row, files), id=row["id"], text=row["text"], fields=fields)


def _rejected(row: Mapping[str, Any], files: TextFiles) -> RejectedDocument:
    return RejectedDocument(
        index=_index(row, files),
        measured={each["rule"]: each["value"] for each in row["measured"]},
        **{name: row[name] for name in ("id", "text", "step", "rule", "value", "threshold")},
    )
