"""The entries of a ledger of curation as items: what a step measured of a document, and decided.

entry 0
  document  crawl/a.jsonl:7
  outcome   rejected by gopher_quality
  min_words 7, threshold 50: rejects it
  max_words 7, threshold 100000
"""

import itertools
from collections.abc import Iterator, Sequence
from typing import Any

from bert_data.curation.running.ledger import OUTCOME_REJECTED, SCHEMA
from bert_data.inspection.content import Span, Text
from bert_data.inspection.sources.items import Description, Item, Line, Source, View
from bert_data.inspection.sources.shards import parquet_of
from bert_data.inspection.words import Words

KIND = "entries of a ledger"
_ROWS_AT_A_TIME = 4096


class LedgerSource(Source):
    """The entries of ledgers: one for each document and step."""

    def __init__(self, paths: Sequence[str]) -> None:
        super().__init__(Description(kind=KIND, unit="entry"), paths)

    def stream(self) -> Iterator[Item]:
        """Yield all entries in order."""
        number = 0
        for path in self.paths:
            rows = _rows(path)
            groups = itertools.groupby(rows, key=lambda row: (row["document"], row["step"]))
            for place, ((document, step), group) in enumerate(groups):
                measures = list(group)
                fields = {
                    "document": document,
                    "source": measures[0]["source"],
                    "step": step,
                    "outcome": measures[0]["outcome"],
                    "num_bytes": measures[0]["num_bytes"],
                    **{each["rule"]: _measure(each) for each in measures},
                }
                yield Item(number=number, path=path, place=place, fields=fields)
                number += 1

    def lines(self, item: Item, view: View) -> list[Line]:
        """Return document, outcome and a line for each rule."""
        content = dict(item.fields)
        is_rejected = content["outcome"] == OUTCOME_REJECTED
        outcome = Span(
            f"{content['outcome']} by {content['step']}", "bad" if is_rejected else "good"
        )
        size = Span(f", {content['num_bytes']:,} bytes", "faint")
        lines: list[Line] = [
            ("document", content["document"]),
            ("outcome", [outcome, size] if content["num_bytes"] is not None else [outcome]),
        ]
        for name in ("document", "source", "step", "outcome", "num_bytes"):
            del content[name]
        for rule, measure in content.items():
            lines.append((rule, _shown(measure)))
        return lines

    def measures(self, item: Item) -> dict[str, int | str]:
        """Return the outcome, and by which step."""
        return {"outcome": f"{item.fields['outcome']} by {item.fields['step']}"}

    def row(self, item: Item, words: Words) -> dict[str, Any]:
        """Return the fields, the measures as objects."""
        return {
            name: dict(zip(("value", "threshold", "failed"), value, strict=True))
            if isinstance(value, tuple)
            else value
            for name, value in item.fields.items()
        }


Measure = tuple[float | str | None, float | str | None, bool]


def _measure(row: dict[str, Any]) -> Measure:
    value = row["value"] if row["value_text"] is None else row["value_text"]
    threshold = row["threshold"] if row["threshold_text"] is None else row["threshold_text"]
    return value, threshold, bool(row["failed"])


def _shown(measure: Measure) -> Text:
    value, threshold, failed = (
        f"{part:g}" if isinstance(part, float) else part for part in measure
    )
    text = f"{value}, threshold {threshold}"
    return [Span(text, "bad"), Span("  rejects it", "bad")] if failed else text


def _rows(path: str) -> Iterator[dict[str, Any]]:
    with parquet_of(path) as file:
        for batch in file.iter_batches(_ROWS_AT_A_TIME, columns=SCHEMA.names):
            yield from batch.to_pylist()


def is_ledger(names: Sequence[str]) -> bool:
    """Whether columns are those of a ledger."""
    return set(SCHEMA.names) <= set(names)
