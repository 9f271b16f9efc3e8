"""Runs a pipeline: data sets in, curated files, ledger and summary out.

    files ─▶ shards ─pass 0─▶ shards ─pass 1─▶ ... ─▶ corpus-00000-of-00002.jsonl, ...
                    decide ──┘                        ledger.corpus.jsonl.parquet
                                                      curation.corpus.jsonl.json

Every shard of every pass is kept in a work folder until the end, so a run that was stopped, by
whatever, goes on with those that are missing.
"""

import dataclasses
import json
import os
import time
from collections.abc import Callable, Sequence
from typing import Any

import bert_data
from bert_data.curation.running.counts import StepCounts
from bert_data.curation.running.data_sets import TextShard, plan_all_shards
from bert_data.curation.running.description import describe_work
from bert_data.curation.running.document_files import WrittenFile, earlier_files, output_paths
from bert_data.curation.running.ledger import join_ledgers
from bert_data.curation.running.pipeline import Pipeline, describe_step
from bert_data.curation.running.stages import NothingLeftError, Stages
from bert_data.storage import OutputSet, hidden_path
from bert_data.work import fingerprint, open_executor, open_work_folder


@dataclasses.dataclass(frozen=True, kw_only=True)
class Curation:
    """What a run has done.

    Attributes:
      pipeline: what was asked for.
      shards: what was read.
      counts: of all steps in their order, the first is what was read.
      read: rows, undecodable places, and what is said of the first row that is no document.
      files: what was written.
      ledger: path of the ledger, and its rows.
      seconds: from the start to the end.
      num_resumed: shards of passes that an earlier run had done.
      warnings: sentences.
    """

    pipeline: Pipeline
    shards: Sequence[TextShard]
    counts: Sequence[StepCounts]
    read: dict[str, Any]
    files: Sequence[WrittenFile]
    ledger: tuple[str, int]
    seconds: float
    num_resumed: int
    warnings: Sequence[str]


def ledger_path(name: str) -> str:
    """Where the ledger of a set of outputs is."""
    folder, base = os.path.split(name)
    return os.path.join(folder, f"ledger.{base}.parquet")


def summary_path(name: str) -> str:
    """Where the summary of a set of outputs is; it is written last."""
    folder, base = os.path.split(name)
    return os.path.join(folder, f"curation.{base}.json")


def curate(
    pipeline: Pipeline,
    *,
    num_workers: int,
    overwrite: bool = False,
    work_dir: str | None = None,
    more_outputs: dict[str, Callable[[Curation], str]] | None = None,
    reads: Sequence[str] = (),
) -> Curation:
    """Runs a pipeline.

    Args:
      pipeline: what is done.
      num_workers: processes; what is written does not depend on it.
      overwrite: whether files that exist are replaced.
      work_dir: folder for unfinished work; None: a hidden one beside the output.
      more_outputs: texts to write at the end, by the path of their file.
      reads: files that must not be replaced, beside those that the pipeline names.

    Raises:
      ValueError: no document is left, or fewer than there are files to write, or what the steps
        and readers refuse.
      OSError, CorruptDataError: a file cannot be read or written, or a worker died.
    """
    start = time.perf_counter()
    texts = more_outputs or {}
    name, paths = output_paths(pipeline.output.files)
    output_format = pipeline.output.format_of(paths)
    ledger, summary = ledger_path(name), summary_path(name)
    shards = plan_all_shards(pipeline.data_sets, pipeline.shard_bytes)
    work = describe_work(pipeline, shards, name)
    with OutputSet(
        name,
        [*paths, ledger, *texts, summary],
        reads=[path for path, *_ in (*work["files"], *work["lists"])] + list(reads),
        overwrite=overwrite,
        obsolete=lambda: [path for path in earlier_files(summary) if path not in paths],
    ) as outputs:
        parent = work_dir or hidden_path(name, "curation")
        is_own = work_dir is None
        with (
            open_work_folder(
                parent, fingerprint(work), is_own=is_own, useless_after=(NothingLeftError,)
            ) as folder,
            open_executor(num_workers) as executor,
        ):
            run = Stages(pipeline, shards, folder, executor)
            run.run_passes()
            files, written = run.write(output_format, paths)
            for path, made in zip(paths, written, strict=True):
                outputs.link_in(path, made)
            made = os.path.join(outputs.work_dir, "ledger")
            num_rows = join_ledgers(run.ledgers(), made)
            outputs.take_in(ledger, made)
            done = Curation(
                pipeline=pipeline,
                shards=shards,
                counts=run.counts,
                read=run.read,
                files=files,
                ledger=(ledger, num_rows),
                seconds=time.perf_counter() - start,
                num_resumed=run.num_resumed,
                warnings=list(run.warnings()),
            )
            for path, text in {
                **{path: describe(done) for path, describe in texts.items()},
                summary: describe_as_json(done),
            }.items():
                with outputs.open(path) as file:
                    file.write(text.encode(errors="replace"))
            outputs.commit([*paths, ledger, *texts], [summary])
    return done


def describe_as_json(done: Curation) -> str:
    """The text of the summary's file; times are not in it, so that it is the same in each run."""
    pipeline = done.pipeline
    data = {
        "format": "bert_data curation",
        "format_version": 1,
        "created_by": f"bert_data {bert_data.__version__}",
        "data_sets": [
            {
                "name": data_set.name,
                "weight": data_set.weight,
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
        "read": done.read,
        "counts": [_without_seconds(counts) for counts in done.counts],
        "ledger": {"name": os.path.basename(done.ledger[0]), "num_rows": done.ledger[1]},
        "files": [
            {**dataclasses.asdict(file), "name": os.path.basename(file.name)} for file in done.files
        ],
        "warnings": list(done.warnings),
    }
    return json.dumps(data, indent=1, default=str, ensure_ascii=False) + "\n"


def _without_seconds(counts: StepCounts) -> dict[str, Any]:
    hidden = ("seconds", "bins")
    return {key: value for key, value in counts.as_json().items() if key not in hidden}
