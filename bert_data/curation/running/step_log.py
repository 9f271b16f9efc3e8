"""Takes down what becomes of documents at a step of a shard: counts, and rows of the ledger.

    StepLog(...).note(document, verdict)  ->  the document that goes on, or None

A document is also rejected, by the rule `empty_text`, when a step leaves nothing of its text.
"""

from collections.abc import Callable

from bert_data.curation.document import Document
from bert_data.curation.running.counts import READ, StepCounts, bin_values, is_number
from bert_data.curation.running.ledger import LedgerWriter
from bert_data.curation.verdict import Measured, Verdict

EMPTY_TEXT = "empty_text"
UNREADABLE = "unreadable_row"
DAMAGED = "damaged_file"
TOO_LONG = "max_document_bytes"
ERROR = "error"

_VALUES_AT_A_TIME = 1 << 16

CountTokens = Callable[[str], int]


class StepLog:
    """Takes down what a step says."""

    def __init__(
        self,
        label: str,
        ledger: LedgerWriter,
        *,
        with_kept: bool = False,
        count_words: bool = True,
        count_tokens: CountTokens | None = None,
    ) -> None:
        """Begins with nothing.

        Args:
          label: of the step.
          ledger: of the shard.
          with_kept: whether the measures of documents that are kept go there, too.
          count_words: whether words are counted.
          count_tokens: of a text, if tokens are to be counted.
        """
        self.counts = StepCounts(label=label)
        self._ledger = ledger
        self._with_kept = with_kept
        self._count_words = count_words
        self._count_tokens = count_tokens
        self._values: dict[str, list[float]] = {}
        self._num_values = 0

    def note(self, document: Document, verdict: Verdict) -> Document | None:
        """Takes a verdict down.

        Args:
          document: as it came to the step.
          verdict: on it.

        Returns:
          The document that goes on, or None.
        """
        measured, counts, after = verdict.measured, self.counts, verdict.document
        kept = verdict.kept
        if kept and after.text is not document.text:
            counts.num_edited += after.text != document.text
            if not after.text or after.text.isspace():
                measured, kept = (*measured, Measured(EMPTY_TEXT, 0, 1, failed=True)), False
        if measured:
            self._take_values(measured)
            if self._with_kept or not kept:
                self._ledger.add(document.id, counts.label, measured, document.num_bytes, kept=kept)
        if verdict.counted:
            counts.counted.update(verdict.counted)
        if not kept:
            counts.num_rejected += 1
            counts.num_rejected_bytes += document.num_bytes
            counts.rejected.update([each.rule for each in measured if each.failed])
            return None
        if verdict.edits:
            counts.edits.update(verdict.edits)
        self.count(after, verdict.num_copies)
        return after

    def count(self, document: Document, num_copies: int = 1) -> None:
        """Counts a document that goes on."""
        counts = self.counts
        counts.num_documents += num_copies
        counts.num_bytes += num_copies * document.num_bytes
        if self._count_words:
            counts.num_words += num_copies * len(document.words)
        if self._count_tokens is not None:
            counts.num_tokens += num_copies * _num_tokens(document, self._count_tokens)

    def fail(self, document: Document, error: Exception) -> None:
        """Takes down that a step could not judge a document: it is rejected."""
        description = f"{type(error).__name__}: {error}"
        self.counts.first_error = self.counts.first_error or f"{document.id}: {description}"
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
        """Counts the values that wait for it."""
        for rule, values in self._values.items():
            if values:
                bins = self.counts.bins.setdefault(rule, bin_values([]))
                bins.update(bin_values(values))
                values.clear()
        self._num_values = 0


def _num_tokens(document: Document, count_tokens: CountTokens) -> int:
    """Tokens of a text, counted once as long as the document is the same."""
    known = document.__dict__.get("num_tokens")
    if known is None:
        known = document.__dict__["num_tokens"] = count_tokens(document.text)
    return known


class ReadLog(StepLog):
    """Takes down what becomes of the rows of a shard when they are read.

    Attributes:
      num_rows: rows or lines.
      num_replaced: places that were not UTF-8.
      first_unreadable: what is said of the first row that is no document, or "".
      first_damaged: what is said of the first file that is damaged, or "".
    """

    def __init__(
        self,
        ledger: LedgerWriter,
        *,
        count_words: bool = True,
        count_tokens: CountTokens | None = None,
    ) -> None:
        super().__init__(READ, ledger, count_words=count_words, count_tokens=count_tokens)
        self.num_rows = 0
        self.num_replaced = 0
        self.first_unreadable = ""
        self.first_damaged = ""

    def reject_row(self, sentence: str) -> None:
        """A row that is no document; the sentence begins with its file and row."""
        self.first_unreadable = self.first_unreadable or sentence
        place, _, reason = sentence.partition(": ")
        self._reject(place, Measured(UNREADABLE, reason, "readable", failed=True), 0)

    def reject_file(self, path: str, sentence: str) -> None:
        """What is behind the damage of a file."""
        self.first_damaged = self.first_damaged or sentence
        self._reject(path, Measured(DAMAGED, sentence, "whole", failed=True), 0)

    def reject_size(self, name: str, num_bytes: int, max_bytes: int) -> None:
        """A document of too many bytes."""
        self._reject(name, Measured(TOO_LONG, num_bytes, max_bytes, failed=True), num_bytes)

    def reject_blank(self, name: str) -> None:
        """A document without a text."""
        self._reject(name, Measured(EMPTY_TEXT, 0, 1, failed=True), 0)

    def _reject(self, name: str, measured: Measured, num_bytes: int) -> None:
        self.counts.num_rejected += 1
        self.counts.num_rejected_bytes += num_bytes
        self.counts.rejected[measured.rule] += 1
        self._ledger.add(name, READ, (measured,), num_bytes, kept=False)
