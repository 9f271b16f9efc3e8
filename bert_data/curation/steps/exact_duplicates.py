"""Remove documents, or lines, that are equal up to case, white space and the like."""

import functools
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Annotated, Literal

import numpy as np
import xxhash
from absl import logging

from bert_data.curation.document import Document, Verdict, measure
from bert_data.curation.duplicates.normal_form import UnicodeForm, normalize
from bert_data.curation.duplicates.ranks import (
    COPIES,
    EQUAL,
    KEPT,
    RANK,
    VALUES,
    RankedStep,
    RankWriter,
    add_copies,
    decide_by,
    judge_duplicates,
    read_ranks,
    write_digests,
)
from bert_data.curation.step import Decisions, ShardDecisions, register
from bert_data.curation.text_units import BLANK_LINES
from bert_data.settings import Share, Within
from bert_data.work.array_files import ArrayFile
from bert_data.work.ranges import RangeReader
from bert_data.work.rounds import Own, Part, Rounds, Writers
from bert_data.work.sorted_records import Layout


@register
class ExactDuplicates(RankedStep):
    """Keeps one of all documents whose texts are equal after normalization.

    Normalized texts are compared by a 128-bit hash (XXH3). The copy that is kept comes from the
    data set with the highest priority; among those it is the longest, and among equally long ones
    the first by a hash of its id. The order of files does not matter, unless documents share an id.
    The measured value is the rank of a document among its copies, from 1.

    Attributes:
      max_copies: number of copies to keep, >= 1.
      unicode_form: "NFKC", with straight quotes and hyphens, underscores as spaces and nothing
        invisible; "NFC"; or "none".
      ignore_case: treat upper and lower case as equal.
      ignore_whitespace: treat any run of white space as one space, and ignore it at both ends.
      ignore_punctuation: ignore punctuation.
    """

    name = "exact_duplicates"
    accepts_markup = True
    max_copies: Annotated[int, Within(1)] = 1
    unicode_form: UnicodeForm = "NFKC"
    ignore_case: bool = True
    ignore_whitespace: bool = True
    ignore_punctuation: bool = False

    def observe(self, folder: str, documents: Iterable[Document], path: Path) -> None:
        with RankWriter(path) as ranks:
            for document in documents:
                normal = normalize(
                    document.text,
                    unicode_form=self.unicode_form,
                    ignore_case=self.ignore_case,
                    ignore_whitespace=self.ignore_whitespace,
                    ignore_punctuation=self.ignore_punctuation,
                )
                ranks.add(document, normal.encode(errors="surrogatepass"))

    def decide(self, rounds: Rounds) -> Decisions:
        write_equal = functools.partial(write_digests, self.levels(rounds.parts))
        equal = rounds.over_parts("digests", write_equal, {"equal": EQUAL})["equal"]
        outputs = {"values": VALUES, "kept": KEPT}
        written = rounds.over_ranges("copies", self._number_copies, equal, outputs)
        with_copies = self.copies_field is not None
        return decide_by(rounds, written["values"], written["kept"], with_copies=with_copies)

    def _number_copies(self, reader: RangeReader, writers: Writers) -> None:
        for batch in reader.batches(2):
            is_copy = batch.sizes > 1
            document, copies = batch.records["document"][is_copy], batch.places[is_copy] + 1.0
            writers["values"].add(document=document, if_rejected=copies, if_kept=copies)
            is_surplus = batch.places >= self.max_copies
            writers["kept"].add(
                kept=batch.firsts("document")[is_surplus],
                document=batch.records["document"][is_surplus],
            )

    def judge_shard(
        self, decided: ShardDecisions, documents: Iterable[Document]
    ) -> Iterator[Verdict]:
        verdicts = judge_duplicates(decided, documents, "max_copies", self.max_copies, default=1.0)
        return self.note_copies(decided, verdicts)


HASHED_LINES = Layout(("line", *RANK), num_keys=4)
"""The hash of a line, and a document with the line."""

LINE_CUTS = Layout(("document", "line"), num_keys=2)
"""A document, and the hash of a line that it loses."""


@register
class LineDuplicates(RankedStep):
    """Removes lines that occur in several documents, such as menus, notices and licences.

    CCNet does this with paragraphs (Wenzek et al. 2020, arXiv:1911.00359): lines are compared in
    lower case, without punctuation and with every digit replaced by 0, by a 64-bit hash (XXH3).
    (CCNet also removes accents; this step does not.) A line that occurs several times in one
    document counts once. The best document with a line keeps it: the one from the data set with the
    highest priority, then the longest, then the first by a hash of its id.

    The measured value is the share of the document's characters that is left.

    Attributes:
      max_documents: lines in more documents than this are duplicates, >= 1.
      keep: which documents keep a duplicate line: "first" (the best `max_documents`) or "none".
      unit: "line", or "paragraph": the text between blank lines.
      shortest: lines with fewer characters after normalization are left alone, >= 1.
      min_kept: least share of a document's characters that must be left, in [0, 1].
      unicode_form: "NFKC", with straight quotes and hyphens, underscores as spaces and nothing
        invisible; "NFC"; or "none".
      ignore_case: treat upper and lower case as equal.
      ignore_punctuation: ignore punctuation.
      ignore_digits: treat numbers with the same number of digits as equal.
    """

    name = "line_duplicates"
    max_documents: Annotated[int, Within(1)] = 1
    keep: Literal["first", "none"] = "first"
    unit: Literal["line", "paragraph"] = "line"
    shortest: Annotated[int, Within(1)] = 1
    min_kept: Share = 0.0
    unicode_form: UnicodeForm = "NFKC"
    ignore_case: bool = True
    ignore_punctuation: bool = True
    ignore_digits: bool = True

    def observe(self, folder: str, documents: Iterable[Document], path: Path) -> None:
        with RankWriter(path) as writer:
            for document in documents:
                writer.add(document)
                hashes = {line for line in self._hashes(document.text) if line is not None}
                writer.append(np.fromiter(hashes, np.uint64, len(hashes)))

    def decide(self, rounds: Rounds) -> Decisions:
        write_lines = functools.partial(_write_lines, self.levels(rounds.parts))
        lines = rounds.over_parts("lines", write_lines, {"lines": HASHED_LINES})["lines"]
        outputs = {"cuts": LINE_CUTS, **({"copies": COPIES} if self.copies_field else {})}
        written = rounds.over_ranges("cuts", self._find_cuts, lines, outputs)
        number = rounds.counted["duplicate lines"]
        logging.info("%s: %d different %ss have duplicates", self.name, number, self.unit)
        return Decisions(tables=written)

    def _find_cuts(self, reader: RangeReader, writers: Writers) -> dict[str, int]:
        num_kept, num_lines = self.max_documents if self.keep == "first" else 0, 0
        for batch in reader.batches(1):
            is_duplicate = batch.sizes > self.max_documents
            num_lines += int((is_duplicate & (batch.places == 0)).sum())
            cut = batch.records[is_duplicate & (batch.places >= num_kept)]
            writers["cuts"].add(document=cut["document"], line=cut["line"])
            if num_kept and "copies" in writers:
                is_cut = is_duplicate & (batch.places >= num_kept)
                add_copies(writers, batch.firsts("document")[is_cut])
        return {"duplicate lines": num_lines}

    def judge_shard(
        self, decided: ShardDecisions, documents: Iterable[Document]
    ) -> Iterator[Verdict]:
        return self.note_copies(decided, self._cut(decided, documents))

    def _cut(self, decided: ShardDecisions, documents: Iterable[Document]) -> Iterator[Verdict]:
        cuts: dict[int, set[int]] = {}
        for row, line in decided.tables["cuts"].tolist():
            cuts.setdefault(row, set()).add(line)
        for row, document in enumerate(documents):
            text, num_cut = document.text, 0
            if row in cuts:
                text, num_cut = self._without(text, cuts[row])
            kept = measure("min_kept", len(text) / max(len(document.text), 1), self.min_kept)
            if kept.failed or not num_cut:
                yield Verdict(document, (kept,))
            else:
                yield Verdict(document.with_text(text), (kept,), {f"{self.unit}s": num_cut})

    def _hashes(self, text: str) -> Iterator[int | None]:
        """Yield the hash of each line, or None for one that is too short."""
        # The normal form keeps line breaks, so all lines are normalized at once; but a line that
        # consists of punctuation must not turn into the end of a paragraph.
        if self.unit == "line":
            units = self._normalize(text).split("\n")
        else:
            units = [self._normalize(unit) for unit in BLANK_LINES.split(text)]
        for unit in units:
            normal = " ".join(unit.split())
            if len(normal) < self.shortest:
                yield None
            else:
                yield xxhash.xxh3_64_intdigest(normal.encode(errors="surrogatepass"))

    def _normalize(self, text: str) -> str:
        return normalize(
            text,
            unicode_form=self.unicode_form,
            ignore_case=self.ignore_case,
            ignore_whitespace=False,
            ignore_punctuation=self.ignore_punctuation,
            ignore_digits=self.ignore_digits,
        )

    def _without(self, text: str, lines: set[int]) -> tuple[str, int]:
        separator = "\n" if self.unit == "line" else "\n\n"
        units = text.split("\n") if self.unit == "line" else BLANK_LINES.split(text)
        hashes = self._hashes(text)
        kept = [unit for unit, line in zip(units, hashes, strict=True) if line not in lines]
        return separator.join(kept), len(units) - len(kept)


def _write_lines(levels: Mapping[str, int], part: Part, own: Own, writers: Writers) -> None:
    """Write the lines of a shard's documents, with the documents' ranks."""
    lines = ArrayFile(part.path).rows()
    rows = np.repeat(np.arange(len(lines)), lines.lengths())
    ranks = {name: column[rows] for name, column in read_ranks(part, levels).items()}
    writers["lines"].add(line=lines.values, **ranks)
