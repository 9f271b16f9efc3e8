"""Warnings at the end of a run: texts that could not be read, and steps that do not do as hoped.

step line_duplicates rejected 99,993 of the 100,000 documents that reached it (empty_text 99,993)
"""

from collections.abc import Iterator, Sequence

from bert_data.curation.running.counts import StepCounts
from bert_data.curation.running.pipeline import LabelledStep, Pipeline
from bert_data.curation.running.step_log import DAMAGED, ERROR, UNREADABLE


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
    where = "--rejected_file writes them to a file" if path is None else f"they are in {path}"
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
