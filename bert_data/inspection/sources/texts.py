"""Documents of text, of every format that commands read, and the entries of ledgers, as items."""

import itertools
import json
from collections.abc import Iterator, Sequence
from typing import Any

from bert_data.curation.running.ledger import OUTCOME_REJECTED, SCHEMA
from bert_data.inspection.readable_ids import TokenNames
from bert_data.inspection.sources.items import Description, Item, Line, Source, View, show_text
from bert_data.inspection.terminal import ShownText, StyledText
from bert_data.text.formats import read_documents
from bert_data.text.parquet import open_parquet
from bert_data.text.text_config import TextConfig

KIND_OF_TEXTS = "documents of text"
TEXT = "text"
LEDGERS = "entries of a ledger"
_ROWS_AT_A_TIME = 4096
Measure = tuple[float | str | None, float | str | None, bool]


class TextSource(Source):
    """The documents of files."""

    def __init__(self, paths: Sequence[str], config: TextConfig) -> None:
        super().__init__(Description(kind=KIND_OF_TEXTS, unit="document"), paths)
        self._config = config

    def count(self) -> int:
        """Return the number of documents; the files are read for it."""
        return sum(len(block.documents) for block in read_documents(self.paths, self._config))

    def stream(self) -> Iterator[Item]:
        """Yield all documents in order."""
        number = 0
        for block in read_documents(self.paths, self._config):
            for document in block.documents:
                text = document.whole_text
                others = {name: _content(v) for name, v in (document.fields or {}).items()}
                yield Item(
                    number=number,
                    path=block.path,
                    place=document.row,
                    fields={**others, TEXT: text},
                )
                number += 1

    def lines(self, item: Item, view: View) -> list[Line]:
        """Return the other fields, then the lines of the text."""
        lines: list[Line] = [
            (name, show_text(value if isinstance(value, str) else json.dumps(value), view))
            for name, value in item.fields.items()
            if name != TEXT
        ]
        text, *rest = show_text(item.fields[TEXT], view)
        for i, line in enumerate(text.text.split("\n")):
            lines.append((TEXT if i == 0 else "", line))
        return [*lines, *(("", more) for more in rest)]


def _content(value: Any) -> Any:
    """Return a field's value as content: numbers and texts as they are, others as JSON."""
    if value is None or isinstance(value, str | int | float | bool):
        return value
    return json.dumps(value, sort_keys=True, ensure_ascii=False, default=str)


class LedgerSource(Source):
    """The entries of ledgers: one for each document and step."""

    def __init__(self, paths: Sequence[str]) -> None:
        super().__init__(Description(kind=LEDGERS, unit="entry"), paths)

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
        outcome = StyledText(
            f"{content['outcome']} by {content['step']}", "bad" if is_rejected else "good"
        )
        size = StyledText(f", {content['num_bytes']:,} bytes", "faint")
        lines: list[Line] = [
            ("document", content["document"]),
            ("outcome", [outcome, size] if content["num_bytes"] is not None else [outcome]),
        ]
        for name in ("document", "source", "step", "outcome", "num_bytes"):
            del content[name]
        for rule, measure in content.items():
            lines.append((rule, _shown_measure(measure)))
        return lines

    def row(self, item: Item, words: TokenNames) -> dict[str, Any]:
        """Return the fields, the measures as objects."""
        return {
            name: dict(zip(("value", "threshold", "failed"), value, strict=True))
            if isinstance(value, tuple)
            else value
            for name, value in item.fields.items()
        }


def _measure(row: dict[str, Any]) -> Measure:
    value = row["value"] if row["value_text"] is None else row["value_text"]
    threshold = row["threshold"] if row["threshold_text"] is None else row["threshold_text"]
    return value, threshold, bool(row["failed"])


def _shown_measure(measure: Measure) -> ShownText:
    value, threshold, failed = (
        f"{part:g}" if isinstance(part, float) else part for part in measure
    )
    text = f"{value}, threshold {threshold}"
    return [StyledText(text, "bad"), StyledText("  rejects it", "bad")] if failed else text


def _rows(path: str) -> Iterator[dict[str, Any]]:
    with open_parquet(path) as file:
        for batch in file.iter_batches(_ROWS_AT_A_TIME, columns=SCHEMA.names):
            yield from batch.to_pylist()


def is_ledger(names: Sequence[str]) -> bool:
    """Whether columns are those of a ledger."""
    return set(SCHEMA.names) <= set(names)
