"""The log of a step on a shard: counts, rows of the ledger, rejected documents, examples.

    StepLog(...).note(document, verdict)  ->  the document that passes, or None

A document is also rejected, by the rule `empty_text`, if a step leaves nothing of its text.
"""

import dataclasses
from collections.abc import Callable

from bert_data.curation.document import Document
from bert_data.curation.running.counts import READ, StepCounts, bin_values
from bert_data.curation.running.examples import add_example
from bert_data.curation.running.ledger import LedgerWriter
from bert_data.curation.verdict import Measured, Verdict, is_number

EMPTY_TEXT = "empty_text"
UNREADABLE = "unreadable_row"
DAMAGED = "damaged_file"
TOO_LONG = "max_document_bytes"
ERROR = "error"

_VALUES_AT_A_TIME = 1 << 16

CountTokens = Callable[[str], int]


@dataclasses.dataclass(frozen=True, kw_only=True)
class LogConfig:
    """Configuration of the logs of a run.

    Attributes:
      with_kept: whether the ledger also has the measures of documents that are kept.
      with_examples: whether to collect examples of each rule.
      count_words: whether to count words.
      count_tokens: counts the tokens of a text; None: tokens are not counted.
    """

    with_kept: bool = False
    with_examples: bool = False
    count_words: bool = True
    count_tokens: CountTokens | None = None


class StepLog:
    """Notes the verdicts of a step."""

    def __init__(self, label: str, ledger: LedgerWriter, config: LogConfig | None = None) -> None:
        """Begin with zero counts."""
        self.counts = StepCounts(label=label)
        self._ledger = ledger
        self._config = config or LogConfig()
        self._values: dict[str, list[float]] = {}
        self._num_values = 0

    def note(self, document: Document, verdict: Verdict) -> Document | None:
        """Note a verdict.

        Returns:
          The document that passes, or None.
        """
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
            if self._config.with_examples:
                add_example(counts.examples, document, measured, kept=kept)
        if not kept:
            self.reject(document.id, measured, document.num_bytes, document)
            return None
        if measured and self._config.with_kept:
            self._ledger.add(document.id, counts.label, measured, document.num_bytes, kept=True)
        if verdict.edits:
            counts.edits.update(verdict.edits)
        self.count(after, verdict.num_copies)
        return after

    def reject(
        self,
        name: str,
        measured: tuple[Measured, ...],
        num_bytes: int,
        document: Document | None = None,
    ) -> None:
        """Count a rejection, and write it to the ledger; of a row, there may be no document."""
        self.counts.num_rejected += 1
        self.counts.num_rejected_bytes += num_bytes
        self.counts.rejected.update([each.rule for each in measured if each.failed])
        text, fields = (document.text, document.fields) if document else (None, {})
        self._ledger.reject(name, self.counts.label, measured, num_bytes, text, fields)

    def count(self, document: Document, num_copies: int = 1) -> None:
        """Count a document that passes."""
        counts = self.counts
        counts.num_documents += num_copies
        counts.num_bytes += num_copies * document.num_bytes
        if self._config.count_words:
            counts.num_words += num_copies * document.num_words
        if self._config.count_tokens is not None:
            counts.num_tokens += num_copies * document.count_tokens(self._config.count_tokens)

    def fail(self, document: Document, error: Exception) -> None:
        """Reject a document that the step could not judge."""
        description = f"{type(error).__name__}: {error}"
        self.counts.first.setdefault(ERROR, f"{document.id}: {description}")
        self.note(document, Verdict(document, (Measured(ERROR, description, "none", failed=True),)))

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
            self.close()

    def close(self) -> None:
        """Count the values that wait to be counted."""
        for rule, values in self._values.items():
            if values:
                bins = self.counts.bins.setdefault(rule, bin_values([]))
                bins.update(bin_values(values))
                values.clear()
        self._num_values = 0


class ReadLog(StepLog):
    """Notes which rows of a shard are rejected while they are read."""

    def __init__(self, ledger: LedgerWriter, config: LogConfig | None = None) -> None:
        super().__init__(READ, ledger, config)

    def reject_row(self, sentence: str) -> None:
        """Reject a row that is not a document; the sentence begins with its file and row."""
        self.counts.first.setdefault(UNREADABLE, sentence)
        place, _, reason = sentence.partition(": ")
        self.reject(place, (Measured(UNREADABLE, reason, "readable", failed=True),), 0)

    def reject_file(self, path: str, sentence: str) -> None:
        """Reject the rest of a file, from its damage on."""
        self.counts.first.setdefault(DAMAGED, sentence)
        self.reject(path, (Measured(DAMAGED, sentence, "whole", failed=True),), 0)

    def reject_size(self, name: str, num_bytes: int, max_bytes: int) -> None:
        """Reject a document of too many bytes."""
        self.reject(name, (Measured(TOO_LONG, num_bytes, max_bytes, failed=True),), num_bytes)

    def reject_blank(self, name: str) -> None:
        """Reject a document without a text."""
        self.reject(name, (Measured(EMPTY_TEXT, 0, 1, failed=True),), 0)
