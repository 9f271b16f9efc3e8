"""Show what was traced: documents, the steps and records that hold them, and batches."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

from bert_data.inspection.content import CellTable, Medium, StyledText

if TYPE_CHECKING:
    from bert_data.inspection.tracing.decisions import CuratedDocument
    from bert_data.inspection.tracing.traced_documents import (
        HoldingRecord,
        TracedDocument,
        TracedTokens,
    )
    from bert_data.recipes.finding import Exposure

_MOST_STEPS = 20  # that are shown of a document


def show_documents(output: Medium, traced: "Sequence[TracedDocument]") -> None:
    """Show documents and the steps that read them."""
    if len(traced) > 1:
        output.paragraph(StyledText(f"{len(traced):,} documents", "warning"))
    for each in traced:
        output.heading(f"document {each.number:,} of {each.prefix}")
        for name, value in each.origin._asdict().items():
            output.labelled(name, "not known" if value is None else f"{value}")
        if each.sequences is not None:
            first, stop = each.sequences
            output.labelled("sequences", f"{first:,} to {stop - 1:,}" if stop > first else "none")
        output.labelled("tokens", f"{each.tokens[1] - each.tokens[0]:,}, from {each.tokens[0]:,}")
        for name, found in (each.exposures or {}).items():
            _show_steps(output, name, found)
        if each.exposures == {}:
            output.paragraph("no stage reads this store")
        if each.records is not None:
            _show_records(output, each.records)


def _show_steps(output: Medium, name: str, found: "Sequence[Exposure]") -> None:
    steps = sorted({exposure.step for exposure in found})
    output.labelled("read as", f"{name}, at {len(steps):,} steps")
    rows = [
        (
            f"{each.step:,}",
            str(each.stage + 1),
            str(each.row),
            _columns(each),
            each.segment,
            f"{each.tokens.start:,}-{each.tokens.stop - 1:,}",
        )
        for each in found[:_MOST_STEPS]
    ]
    if rows:
        head = ("step", "stage", "row", "columns", "segment", "tokens")
        output.table(CellTable(head=head, rows=rows, is_text=(3, 4, 5)))
    _show_rest(output, len(found))


def _show_records(output: Medium, found: "Sequence[HoldingRecord]") -> None:
    numbers = {each.record for each in found}
    output.labelled("held by", f"{len(numbers):,} records")
    rows = [
        (
            f"{each.shard}:{each.place}",
            f"{each.record:,}",
            _columns(each),
            each.segment,
            f"{each.tokens.start:,}-{each.tokens.stop - 1:,}",
        )
        for each in found[:_MOST_STEPS]
    ]
    if rows:
        head = ("in", "record", "columns", "segment", "tokens")
        output.table(CellTable(head=head, rows=rows, is_text=(0, 2, 3, 4)))
    _show_rest(output, len(found))


def _columns(each: "Exposure | HoldingRecord") -> str:
    return f"{each.columns.start}-{each.columns.stop - 1}" if each.columns else "-"


def show_decisions(output: Medium, traced: "Sequence[CuratedDocument]") -> None:
    """Show what the steps of curation decided of documents, and changed in them."""
    if len(traced) > 1:
        output.paragraph(StyledText(f"{len(traced):,} documents", "warning"))
    for each in traced:
        output.heading(f"document {each.name}")
        output.labelled("id", each.id or "not known")
        output.labelled("source", each.source or "not known")
        output.labelled("outcome", each.outcome)
        for place in each.written:
            output.labelled("written to", place)
        if each.num_bytes is not None and each.num_bytes_read is not None:
            sizes = f"{each.num_bytes_read:,} bytes in the input, {each.num_bytes:,} in the output"
            output.labelled("text", sizes)
        for name, value in each.new_fields.items():
            output.labelled("new field", f"{name}: {value}")
        rows = []
        for decision in each.decisions:
            size = "-" if decision.num_bytes is None else f"{decision.num_bytes:,}"
            rows.append((decision.step, decision.outcome, size, "", "", "", ""))
            rows += (
                ("", "", "", m.rule, _number(m.value), _number(m.threshold), "fails" * m.failed)
                for m in decision.measures
            )
        head = ("step", "outcome", "bytes", "rule", "value", "threshold", "")
        output.table(CellTable(head=head, rows=rows, is_text=(0, 1, 3, 6)))


def _number(value: float | str | None) -> str:
    return f"{value:g}" if isinstance(value, float) else value or "-"


def _show_rest(output: Medium, size: int) -> None:
    if size > _MOST_STEPS:
        output.paragraph(f"and {size - _MOST_STEPS:,} more, which the output as JSON has")


def show_step(output: Medium, found: "Sequence[TracedTokens]") -> None:
    """Show the documents of a batch, or of a record."""
    rows = [
        (
            str(each.row),
            each.segment,
            f"{each.num_tokens:,}",
            f"{each.prefix} {each.document:,}",
            each.origin.id or "-",
            f"{each.origin.file}:{each.origin.row}" if each.origin.file else "not known",
            each.origin.source or "-",
            each.origin.license or "-",
        )
        for each in found
    ]
    head = ("row", "segment", "tokens", "document", "id", "from", "source", "license")
    output.table(CellTable(head=head, rows=rows, is_text=(1, 3, 4, 5, 6, 7)))
