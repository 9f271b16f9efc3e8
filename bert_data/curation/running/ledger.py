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

import dataclasses
import functools
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import IO, Any

import pyarrow

from bert_data.curation.document import Document, Measured, Verdict, is_number
from bert_data.curation.running.counts import StepCounts, add_example, bin_values
from bert_data.curation.running.field_values import ArrowWriter, json_line
from bert_data.curation.running.pipeline import Pipeline
from bert_data.curation.running.pipeline_settings import ALL
from bert_data.text.documents import TextDocument
from bert_data.text.text_config import DOCUMENT
from bert_data.text.without import ReadText

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
        """Create the file; `rejected` receives the rejected documents in JSON Lines."""
        super().__init__(path, SCHEMA, max_rows=_ROWS_AT_A_TIME)
        self._source, self._rejected = source, rejected
        self.num_rows = self.num_rejected_bytes = 0

    def add(
        self, name: str, step: str, measured: Sequence[Measured], num_bytes: int, *, kept: bool
    ) -> None:
        """Add a row for each measure of a document, by its id, at a step."""
        outcome = OUTCOME_KEPT if kept else OUTCOME_REJECTED
        self.num_rows += len(measured)
        self.add_rows(
            (
                *(name, self._source, step, number, each.rule),
                *_number_and_text(each.value),
                *_number_and_text(each.threshold),
                *(each.failed, outcome, num_bytes),
            )
            for number, each in enumerate(measured)
        )

    def reject(
        self,
        name: str,
        step: str,
        measured: Sequence[Measured],
        num_bytes: int,
        document: Document | None,
    ) -> None:
        """Add a rejected document, which is None where it could not be read."""
        self.add(name, step, measured, num_bytes, kept=False)
        if self._rejected is not None:
            failed = next(each for each in measured if each.failed)
            line = json_line(
                {
                    "id": name,
                    "source": self._source,
                    "step": step,
                    "rule": failed.rule,
                    "value": failed.value,
                    "threshold": failed.threshold,
                    "text": document.text if document else None,
                    "measured": [each._asdict() for each in measured],
                    "fields": document.fields if document else {},
                }
            )
            self._rejected.write(line)
            self.num_rejected_bytes += len(line)


def _number_and_text(value: Any) -> tuple[float | None, str | None]:
    if is_number(value):
        return float(value), None
    return None, str(value).encode(errors="replace").decode()


# Rules of the run itself.
EMPTY_TEXT = "empty_text"
UNREADABLE = "unreadable_row"
DAMAGED = "damaged_file"
TOO_LONG = "max_document_bytes"
ERROR = "error"

_VALUES_AT_A_TIME = 1 << 16


class StepLog:
    """Counts what a step, or reading, does with the documents of a shard, and fills the ledger.

    A document is also rejected, by the rule `empty_text`, if a step leaves nothing of its text.
    """

    def __init__(self, label: str, ledger: LedgerWriter, pipeline: Pipeline) -> None:
        """Begin with zero counts; the label of reading is "read"."""
        self.counts = StepCounts(label=label)
        self.read = ReadText()  # what reading notes
        self._ledger, self._pipeline = ledger, pipeline
        self._count_tokens: Callable[[str], int] | None = None
        if pipeline.vocab_file is not None:
            assert pipeline.do_lower_case is not None  # see `with_case`
            self._count_tokens = token_counter(pipeline.vocab_file, pipeline.do_lower_case)
        self._latest: tuple[Document, int] | None = None  # whose words are not counted yet
        self._values: dict[str, list[float]] = {}
        self._num_values = 0

    def note(self, document: Document, verdict: Verdict) -> Document | None:
        """Note a verdict, and return the document that passes, or None."""
        measured, counts, after = verdict.measured, self.counts, verdict.document
        kept = verdict.kept
        if kept and after.text is not document.text:
            counts.num_edited += after.text != document.text
            if not after.text or after.text.isspace():
                measured, kept = (*measured, Measured(EMPTY_TEXT, 0, 1, failed=True)), False
        if verdict.counted:
            counts.counted.update(verdict.counted)
        if measured:
            self._take_values(measured)
            if self._pipeline.with_examples:
                add_example(counts.examples, document, measured, kept=kept)
        if not kept:
            self._reject(document.id, measured, document.num_bytes, document)
            return None
        if measured and self._pipeline.ledger == ALL:
            self._ledger.add(document.id, counts.label, measured, document.num_bytes, kept=True)
        if verdict.edits:
            counts.edits.update(verdict.edits)
        self.count(after, verdict.num_copies)
        return after

    def count(self, document: Document, num_copies: int = 1) -> None:
        """Count a document that passes; its words are counted once the next one has come.

        Steps that follow have then split them, if they need them, and counting alone takes half the
        time of that.
        """
        counts = self.counts
        counts.num_documents += num_copies
        counts.num_bytes += num_copies * document.num_bytes
        if self._pipeline.count_words:
            self._count_words()
            self._latest = document, num_copies
        if self._count_tokens is not None:
            counts.num_tokens += num_copies * document.count_tokens(self._count_tokens)

    def _count_words(self) -> None:
        if self._latest is not None:
            document, num_copies = self._latest
            self.counts.num_words += num_copies * document.num_words
            self._latest = None

    def fail(self, document: Document, error: Exception) -> None:
        """Reject a document that the step could not judge."""
        description = f"{type(error).__name__}: {error}"
        self.counts.first.setdefault(ERROR, f"{document.id}: {description}")
        self.note(document, Verdict(document, (Measured(ERROR, description, "none", failed=True),)))

    def reject_row(self, sentence: str) -> None:
        """Reject a row that is not a document; the sentence begins with its file and row."""
        self.counts.first.setdefault(UNREADABLE, sentence)
        place, _, reason = sentence.partition(": ")
        self._reject(place, (Measured(UNREADABLE, reason, "readable", failed=True),), 0)

    def reject_file(self, path: str, sentence: str) -> None:
        """Reject the rest of a file, from its damage on."""
        self.counts.first.setdefault(DAMAGED, sentence)
        self._reject(path, (Measured(DAMAGED, sentence, "whole", failed=True),), 0)

    def reject_size(self, name: str, num_bytes: int) -> None:
        """Reject a document of too many bytes."""
        most = self._pipeline.max_document_bytes
        self._reject(name, (Measured(TOO_LONG, num_bytes, most, failed=True),), num_bytes)

    def reject_blank(self, name: str) -> None:
        """Reject a document without a text."""
        self._reject(name, (Measured(EMPTY_TEXT, 0, 1, failed=True),), 0)

    def _reject(
        self,
        name: str,
        measured: tuple[Measured, ...],
        num_bytes: int,
        document: Document | None = None,
    ) -> None:
        self.counts.num_rejected += 1
        self.counts.num_rejected_bytes += num_bytes
        self.counts.rejected.update([each.rule for each in measured if each.failed])
        self._ledger.reject(name, self.counts.label, measured, num_bytes, document)

    def _take_values(self, measured: tuple[Measured, ...]) -> None:
        for rule, value, threshold, _ in measured:
            if is_number(value):
                if rule not in self._values:
                    self._values[rule] = []
                    if is_number(threshold):
                        self.counts.thresholds[rule] = float(threshold)
                self._values[rule].append(value)  # type: ignore[arg-type]
        self._num_values += len(measured)
        if self._num_values >= _VALUES_AT_A_TIME:
            self._count_values()

    def close(self) -> None:
        """Count what waits to be counted."""
        self._count_words()
        self._count_values()

    def _count_values(self) -> None:
        for rule, values in self._values.items():
            if values:
                bins = self.counts.bins.setdefault(rule, bin_values([]))
                bins.update(bin_values(values))
                values.clear()
        self._num_values = 0


def with_case(pipeline: Pipeline) -> Pipeline:
    """Return a pipeline that says whether text is lower-cased to count its tokens."""
    lower = pipeline.do_lower_case
    if lower is None and pipeline.vocab_file is not None:
        from bert_data.tokens.tokenizer_file import read_tokenizer

        lower = read_tokenizer(pipeline.vocab_file, do_lower_case=None).do_lower_case
    return dataclasses.replace(pipeline, do_lower_case=lower is not False)


@functools.lru_cache(maxsize=1)
def token_counter(vocab_file: str, do_lower_case: bool) -> Callable[[str], int]:
    """Return a counter of tokens; made once per process, as a vocabulary takes time to load."""
    from bert_data.tokens.tokenizer_file import read_tokenizer

    tokenizer = read_tokenizer(vocab_file, do_lower_case=do_lower_case)

    def count(text: str) -> int:
        document = TextDocument(1, text.encode(errors="replace").decode())
        return int(tokenizer.tokenize_documents([document], DOCUMENT, "").ids.size)

    return count
