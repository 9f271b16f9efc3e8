"""The ledger: for each rejected document, a row per rule that measured it.

    document        source  step            measure  rule       value  threshold  failed  outcome
    crawl/a.jsonl:7 crawl   gopher_quality  0        min_words    7.0       50.0  true    rejected
    crawl/a.jsonl:7 crawl   gopher_quality  1        max_words    7.0   100000.0  false   rejected

It holds everything that the rejecting step measured, so that another threshold can be tried. Values
and thresholds that are texts are in `value_text` and `threshold_text`. `measure` counts the rows of
one document at one step, from 0; `num_bytes` is the size of its text when it reached the step. With
`--ledger=all`, it also has the rows of documents that a step kept (outcome "kept").

The rejected documents themselves, in JSON Lines, if a run is to write them; the rule, value and
threshold are those of the first rule that failed:

    {"id": "crawl/a.jsonl:7", "source": "crawl", "step": "gopher_quality", "rule": "min_words",
     "value": 7.0, "threshold": 50.0, "text": "...", "measured": [...], "fields": {...}}
"""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import IO, Any

import pyarrow

from bert_data.curation.running.arrow_files import ArrowWriter
from bert_data.curation.running.field_values import json_line
from bert_data.curation.verdict import Measured, is_number

REJECTED, ALL = LEDGER_MODES = ("rejected", "all")
"""Whose rows the ledger holds: rejected documents', or all."""

OUTCOME_KEPT, OUTCOME_REJECTED = "kept", "rejected"

SCHEMA = pyarrow.schema(
    [
        ("document", pyarrow.string()),
        ("source", pyarrow.string()),
        ("step", pyarrow.string()),
        ("measure", pyarrow.int32()),
        ("rule", pyarrow.string()),
        ("value", pyarrow.float64()),
        ("value_text", pyarrow.string()),
        ("threshold", pyarrow.float64()),
        ("threshold_text", pyarrow.string()),
        ("failed", pyarrow.bool_()),
        ("outcome", pyarrow.string()),
        ("num_bytes", pyarrow.int64()),
    ]
)
_ROWS_AT_A_TIME = 8192


class LedgerWriter(ArrowWriter):
    """Writes the part of the ledger that belongs to a shard, and its rejected documents.

    Attributes:
      num_rows: of the ledger.
      num_rejected_bytes: of the rejected documents in JSON Lines.
    """

    def __init__(self, path: Path, source: str, rejected: IO[bytes] | None = None) -> None:
        """Create the file.

        Args:
          rejected: for the rejected documents in JSON Lines, or None.
        """
        super().__init__(path, SCHEMA, max_rows=_ROWS_AT_A_TIME)
        self._source, self._rejected = source, rejected
        self.num_rows = self.num_rejected_bytes = 0

    def add(
        self, document: str, step: str, measured: Sequence[Measured], num_bytes: int, *, kept: bool
    ) -> None:
        """Add a row for each measure of a document at a step."""
        outcome = OUTCOME_KEPT if kept else OUTCOME_REJECTED
        self.num_rows += len(measured)
        self.add_rows(
            (
                *(document, self._source, step, number, each.rule),
                *_number_and_text(each.value),
                *_number_and_text(each.threshold),
                *(each.failed, outcome, num_bytes),
            )
            for number, each in enumerate(measured)
        )

    def reject(
        self,
        document: str,
        step: str,
        measured: Sequence[Measured],
        num_bytes: int,
        text: str | None,
        fields: Mapping[str, Any],
    ) -> None:
        """Add a rejected document; its text is None where it could not be read."""
        self.add(document, step, measured, num_bytes, kept=False)
        if self._rejected is not None:
            failed = next(each for each in measured if each.failed)
            row = {
                "id": document,
                "source": self._source,
                "step": step,
                "rule": failed.rule,
                "value": failed.value,
                "threshold": failed.threshold,
                "text": text,
                "measured": [each._asdict() for each in measured],
                "fields": fields,
            }
            line = json_line(row)
            self._rejected.write(line)
            self.num_rejected_bytes += len(line)


def _number_and_text(value: Any) -> tuple[float | None, str | None]:
    if is_number(value):
        return float(value), None
    return None, str(value).encode(errors="replace").decode()
