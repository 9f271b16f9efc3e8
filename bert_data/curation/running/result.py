"""The result of a run: what was read, counted and written, in words and as the summary's file."""

import dataclasses
import functools
import json
import os
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import bert_data
from bert_data.curation.running.counts import StepCounts
from bert_data.curation.running.data_sets import TextShard
from bert_data.curation.running.field_values import finite
from bert_data.curation.running.ledger import DAMAGED, ERROR, UNREADABLE
from bert_data.curation.running.output_files import REJECTED_FILE, WrittenFile, beside
from bert_data.curation.running.pipeline import LabelledStep, Pipeline, describe_step
from bert_data.curation.step import Table
from bert_data.progress import how_many

_OF_DATA_SETS = ("label", "num_documents", "num_bytes", "num_words", "num_tokens", "num_rejected")
_SETTINGS = (
    *("on_error", "shard_mb", "ledger", "warn_share", "count_words", "vocab_file"),
    *("do_lower_case", "max_document_bytes"),
)
# What reading sets itself, and what is told elsewhere.
_OF_READING = (
    "keep_fields",
    "needed_fields",
    "files_end_documents",
    "max_row_bytes",
    "without_documents",
)
_SORTED = ("edits", "counted", "thresholds")  # whichever document comes first
_NOT_IN_SUMMARY = ("seconds", "bins", "examples", "num_rows", "num_replaced")


@dataclasses.dataclass(frozen=True, kw_only=True)
class Curation:
    """The result of a run.

    Attributes:
      counts: of reading and of all steps, in their order.
      by_data_set: the same of each data set alone, by its name.
      ledger: path of the ledger, or path@N of its files, and its number of rows.
      empty_files: those of the input that gave no document.
      left_out: the SHA-256 of the list of documents to leave out, if there is one, and counts.
      num_resumed: shards of passes that an earlier run had finished.
    """

    pipeline: Pipeline
    shards: Sequence[TextShard]
    counts: Sequence[StepCounts]
    by_data_set: Mapping[str, Sequence[StepCounts]]
    files: Sequence[WrittenFile]
    ledger: tuple[str, int]
    warnings: Sequence[str]
    empty_files: Sequence[str] = ()
    left_out: Mapping[str, Any] = dataclasses.field(default_factory=dict)
    seconds: float = 0.0
    num_resumed: int = 0

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

    def files_of(self, data_set: int) -> list[str]:
        """Return the files of a data set, by its number."""
        own = (shard for shard in self.shards if shard.data_set == data_set)
        return sorted({span.path for shard in own for span in shard.spans})


def describe_problems(pipeline: Pipeline, counts: Sequence[StepCounts]) -> Iterator[str]:
    """Yield what a user should know, in one sentence each."""
    read = counts[0]
    if UNREADABLE in read.first:
        yield (
            f"left out {how_many(read.rejected[UNREADABLE], 'row')} without a readable document;"
            f" the first: {read.first[UNREADABLE]}"
        )
    if DAMAGED in read.first:
        yield (
            f"left out the rest of {how_many(read.rejected[DAMAGED], 'file')}, from the damage on;"
            f" the first: {read.first[DAMAGED]}"
        )
    if read.num_replaced:
        yield f"{read.num_replaced:,} places are not UTF-8 and were replaced or ignored"
    if not pipeline.steps:
        yield "the pipeline has no steps: all documents are copied"
    for labelled, before, after in zip(pipeline.steps, counts, counts[1:], strict=False):
        use = labelled.step.describe_use(after.of_use())
        if use:
            yield f"step {labelled.label}: {use}"
        if ERROR in after.first:
            yield (
                f"step {labelled.label} could not judge"
                f" {how_many(after.rejected[ERROR], 'document')}, rejected by the rule"
                f" `error`; the first: {after.first[ERROR]}"
            )
        if not labelled.step.is_meant_to_shorten:
            yield from _describe_loss(pipeline, labelled, before, after)


def _describe_loss(
    pipeline: Pipeline, labelled: LabelledStep, before: StepCounts, after: StepCounts
) -> Iterator[str]:
    share, path = pipeline.warn_share, pipeline.output.rejected_file
    where = "`rejected_file` writes them to a file" if path is None else f"they are in {path}"
    if after.num_rejected > share * before.num_documents:
        rules = ", ".join(f"{rule} {n:,}" for rule, n in after.rejected.most_common(3))
        yield (
            f"step {labelled.label} rejected {after.num_rejected:,} of the"
            f" {before.num_documents:,} documents that reached it ({rules}); {where}"
        )
    elif before.num_bytes - after.num_bytes > share * before.num_bytes:
        yield (
            f"step {labelled.label} removed {before.num_bytes - after.num_bytes:,} of the"
            f" {before.num_bytes:,} bytes of text that reached it"
        )


def _told(counts: StepCounts) -> dict[str, Any]:
    return {
        key: dict(sorted(value.items())) if key in _SORTED else value
        for key, value in counts.as_json().items()
        if key not in _NOT_IN_SUMMARY
    }


def describe_steps(pipeline: Pipeline) -> list[dict[str, Any]]:
    """Return the steps with all of their parameters."""
    return [{"step": each.label, "parameters": describe_step(each.step)} for each in pipeline.steps]


def describe_settings(pipeline: Pipeline) -> dict[str, Any]:
    """Return what decides the outputs of a run besides the steps, as JSON."""
    return {
        "inputs": [
            {
                **dataclasses.asdict(each),
                "text": {k: v for k, v in each.text.settings().items() if k not in _OF_READING},
            }
            for each in pipeline.data_sets
        ],
        "language": pipeline.output.language,
        **{name: getattr(pipeline, name) for name in _SETTINGS},
    }


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
                "files": done.files_of(number),
            }
            for number, data_set in enumerate(pipeline.data_sets)
        ],
        "steps": describe_steps(pipeline),
        "output_format": pipeline.output.format_of([file.name for file in done.files]),
        "split_sentences": pipeline.output.split_sentences,
        "max_document_bytes": pipeline.max_document_bytes,
        "read": {
            "num_rows": read.num_rows,
            "num_replaced": read.num_replaced,
            "empty_files": list(done.empty_files),
            "first_unreadable": read.first.get(UNREADABLE, ""),
            "first_damaged": read.first.get(DAMAGED, ""),
        },
        "counts": [*map(_told, done.counts)],
        "tables": {label: table.as_json() for label, table in done.tables.items()},
        "ledger": {"name": os.path.basename(done.ledger[0]), "num_rows": done.ledger[1]},
        "files": [file.as_json() for file in done.files],
        "warnings": list(done.warnings),
        "settings": describe_settings(pipeline),
    }
    if done.left_out:
        data["without_documents"] = done.left_out
    if pipeline.output.rejected_file is not None:
        data[REJECTED_FILE] = beside(done.ledger[0], pipeline.output.rejected_file)
    return json.dumps(finite(data), indent=1, default=str, ensure_ascii=False) + "\n"
