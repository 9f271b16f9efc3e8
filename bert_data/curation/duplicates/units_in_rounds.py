"""Cut runs of words out of the documents of a shard; units of documents as what rounds compare."""

import dataclasses
from array import array
from collections.abc import Iterable, Iterator, Mapping
from typing import Annotated

import numpy as np
from absl import logging
from numpy.typing import NDArray

from bert_data.curation.document import Document, Verdict, measure
from bert_data.curation.duplicates.ranks import (
    COPIES,
    EQUAL,
    KEPT,
    RankedStep,
    add_copies,
    decide_by,
)
from bert_data.curation.step import Decisions, ShardDecisions
from bert_data.curation.text_units import Unit, with_whole_sentences
from bert_data.curation.words import Words, cut_words, runs_of_marked
from bert_data.progress import how_many
from bert_data.settings import Share, Within
from bert_data.work.array_files import ArrayFile, ArrayWriter
from bert_data.work.rounds import Own, Part, PartFunction, Rounds, Writers
from bert_data.work.sorted_records import Layout, SortedRecords

CUTS = Layout(("document", "begin", "end"), num_keys=2)
"""A document, and words that it loses; the end is exclusive."""


def judge_cuts(
    cuts: np.ndarray,
    documents: Iterable[Document],
    min_kept: float,
    name: str,
    unit: Unit = "document",
) -> Iterator[Verdict]:
    """Cut runs of words out of documents, and measure the share of words that is left.

    Args:
      cuts: records of `CUTS`; documents of the shard count from 0. Runs may be next to each other,
        but do not overlap.
      unit: the runs are units of `with_whole_sentences`.
    """
    runs: dict[int, list[tuple[int, int]]] = {}
    for row, begin, end in cuts.tolist():
        runs.setdefault(row, []).append((begin, end))
    for row, document in enumerate(documents):
        if row not in runs:
            yield Verdict(document, (measure("min_kept", 1.0, min_kept),))
            continue
        words = with_whole_sentences(document, unit).words
        marks = np.zeros(len(words), bool)
        for begin, end in runs[row]:
            marks[begin:end] = True
        num_kept = len(words) - int(marks.sum())
        kept = measure("min_kept", num_kept / len(words), min_kept)
        if kept.failed:
            yield Verdict(document, (kept,))
        else:
            text = cut_words(words, runs_of_marked(marks).tolist())
            yield Verdict(document.with_text(text), (kept,), {name: len(runs[row])})


_REJECTED = Layout(("unit",), num_keys=1)

_UNITS = "units"


def long_units(
    words: Words, bounds: NDArray[np.int64], shortest: int
) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.int64]]:
    """Find the units with at least `shortest` words, symbols not counted.

    Args:
      bounds: of all units, as `unit_bounds` returns them.

    Returns:
      Their numbers, [units]; their words from, and to, exclusive, [units, 2]; and characters.
    """
    num_before = np.append(0, np.cumsum(~words.is_symbol))
    chosen = np.flatnonzero(np.diff(num_before[bounds]) >= shortest)
    spans = np.stack([bounds[chosen], bounds[chosen + 1]], 1)
    return chosen, spans, words.ends[spans[:, 1] - 1] - words.starts[spans[:, 0]]


class UnitWriter:
    """Writes where the units of a shard's documents are, in their order."""

    def __init__(self) -> None:
        self._places = array("q")

    def add(self, row: int, spans: NDArray[np.int64]) -> None:
        """Add units of a document of the shard: int64 [units, 2], words from, and to, exclusive."""
        rows = np.full(len(spans), row)
        self._places.frombytes(np.column_stack([rows, spans]).tobytes())

    def write(self, writer: ArrayWriter) -> None:
        """Let a writer write them."""
        writer.arrays[_UNITS] = np.frombuffer(self._places, np.int64).reshape(-1, 3)


@dataclasses.dataclass(frozen=True)
class UnitPart(Part):
    """A part that owns the numbers of units, and begins with `first_document`."""

    first_document: int


def number_units(rounds: Rounds) -> None:
    """Let the parts of rounds own units in place of documents, from now on."""
    rounds.over_parts("units", _count_units, {})
    parts: list[Part] = []
    first = 0
    for part in rounds.parts:
        end = first + (rounds.counted[_units_of(part)] if part.first < part.end else 0)
        parts.append(UnitPart(part.path, part.source, first, end, part.num_bytes, part.first))
        first = end
    rounds.parts = parts


@dataclasses.dataclass(frozen=True, kw_only=True)
class UnitStep(RankedStep):
    """A step that keeps the best of several documents, or of several units of documents.

    Attributes:
      unit: what is compared and removed: "document", "paragraph" (the text between blank lines),
        "line" or "sentence".
      shortest: paragraphs, lines and sentences with fewer words are left alone, >= 1.
      min_kept: least share of a document's words that must be left, in [0, 1]; not for "document".
    """

    unit: Unit = "document"
    shortest: Annotated[int, Within(1)] = 10
    min_kept: Share = 0.0
    max_similarity: float

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.min_kept and self.unit == "document":
            raise ValueError(
                f"min_kept is {self.min_kept}; it needs unit=paragraph, line or sentence"
            )
        if self.max_similarity >= 1:
            raise ValueError(f"max_similarity is {self.max_similarity}; it must be in [0, 1)")

    def find_equal(self, rounds: Rounds, write: PartFunction) -> SortedRecords:
        """Return the digests of documents, or of units, which the parts own from now on."""
        if self.unit != "document":
            number_units(rounds)
        return rounds.over_parts("digests", write, {"equal": EQUAL})["equal"]

    def outputs(self) -> dict[str, Layout]:
        """Return what `reject` writes."""
        if self.unit == "document":
            return {"kept": KEPT}
        return {"rejected": _REJECTED, **({"best": KEPT} if self.copies_field else {})}

    def decide_by(
        self, rounds: Rounds, values: SortedRecords, written: Mapping[str, SortedRecords]
    ) -> Decisions:
        """Return the decisions by what `reject` has written, and remove that."""
        if self.unit == "document":
            with_copies = self.copies_field is not None
            return decide_by(rounds, values, written["kept"], with_copies=with_copies)
        reads = {"rejected": written["rejected"]}
        cuts = rounds.over_parts("cuts", _write_cuts, {"cuts": CUTS}, reads)["cuts"]
        logging.info("%s: cut %s", self.name, how_many(len(written["rejected"]), self.unit))
        rounds.remove(values)
        if self.copies_field is None:
            return Decisions(tables={"cuts": cuts})
        best = {"best": written["best"]}
        copies = rounds.over_parts("copies", _write_copies, {"copies": COPIES}, best)["copies"]
        return Decisions(tables={"cuts": cuts, "copies": copies})

    def judge_units(
        self, decided: ShardDecisions, documents: Iterable[Document]
    ) -> Iterator[Verdict]:
        """Cut the rejected units out of documents."""
        cuts = decided.tables["cuts"]
        verdicts = judge_cuts(cuts, documents, self.min_kept, f"{self.unit}s", self.unit)
        return self.note_copies(decided, verdicts)


def reject(writers: Writers, documents: NDArray[np.uint64], kept: NDArray[np.uint64]) -> None:
    """Write documents, or units, that are rejected for the sake of others, [documents]."""
    if "kept" in writers:
        writers["kept"].add(kept=kept, document=documents)
    else:
        writers["rejected"].add(unit=documents)
    if "best" in writers:
        writers["best"].add(kept=kept, document=documents)


def _count_units(part: Part, own: Own, writers: Writers) -> dict[str, int]:
    return {_units_of(part): len(_load_units(part))} if part.first < part.end else {}


def _units_of(part: Part) -> str:
    return f"units of documents from {part.first}"


def _write_cuts(part: Part, own: Own, writers: Writers) -> None:
    assert isinstance(part, UnitPart)
    rejected = own["rejected"].records()["unit"]
    rows, begins, ends = _load_units(part)[(rejected - np.uint64(part.first)).astype(np.int64)].T
    writers["cuts"].add(document=rows + part.first_document, begin=begins, end=ends)


def _write_copies(part: Part, own: Own, writers: Writers) -> None:
    """Count, for the documents of units that are kept, the units that were removed for these."""
    assert isinstance(part, UnitPart)
    rows = _load_units(part)[:, 0].astype(np.uint64) + np.uint64(part.first_document)
    for words in own["best"].portions():
        add_copies(writers, rows[(words[:, 0] - np.uint64(part.first)).astype(np.int64)])


def _load_units(part: Part) -> np.ndarray:
    return ArrayFile(part.path)[_UNITS]
