"""Cut runs of words out of the documents of a shard; units of documents as what rounds compare."""

import dataclasses
import os
from array import array
from collections.abc import Iterable, Iterator
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from bert_data.curation.document import Document
from bert_data.curation.lines import Unit, with_whole_sentences
from bert_data.curation.verdict import Verdict, measure
from bert_data.curation.words import cut_words, runs_of_marked
from bert_data.storage import load_array, save_array
from bert_data.work.ranges import Range, RangeReader
from bert_data.work.records import Layout, Records
from bert_data.work.rounds import Own, Part, Rounds, Writers

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


REJECTED = Layout(("unit",), num_keys=1)

_COUNTS = Layout(("document", "units"), num_keys=1)
"""The first document of a part, and the number of its units."""

_UNITS = "units.npy"


class UnitWriter:
    """Writes where the units of a shard's documents are, in their order."""

    def __init__(self) -> None:
        self._places = array("q")

    def add(self, row: int, spans: NDArray[np.int64]) -> None:
        """Add units of a document of the shard: int64 [units, 2], words from, and to, exclusive."""
        rows = np.full(len(spans), row)
        self._places.frombytes(np.column_stack([rows, spans]).tobytes())

    def write(self, path: Path) -> None:
        """Write them to a folder that exists."""
        save_array(path / _UNITS, np.frombuffer(self._places, np.int64).reshape(-1, 3))


@dataclasses.dataclass(frozen=True)
class UnitPart(Part):
    """A part that owns the numbers of units, and begins with `first_document`."""

    first_document: int


def number_units(rounds: Rounds) -> None:
    """Let the parts of rounds own units in place of documents, from now on."""
    counts = rounds.over_parts("units", _count_units, {"counts": _COUNTS})["counts"]
    records = RangeReader(counts, Range(), rounds.portion_bytes).records()
    numbers = dict(zip(records["document"].tolist(), records["units"].tolist(), strict=True))
    rounds.remove(counts)
    parts: list[Part] = []
    first = 0
    for part in rounds.parts:
        end = first + (numbers[part.first] if part.first < part.end else 0)
        parts.append(UnitPart(part.path, part.source, first, end, part.num_bytes, part.first))
        first = end
    rounds.parts = parts


def find_cuts(rounds: Rounds, rejected: Records) -> Records:
    """Return the cuts of rejected units, and remove these; the layouts are CUTS and REJECTED."""
    cuts = rounds.over_parts("cuts", _write_cuts, {"cuts": CUTS}, {"rejected": rejected})["cuts"]
    rounds.remove(rejected)
    return cuts


def _count_units(part: Part, own: Own, writers: Writers) -> None:
    if part.first < part.end:
        writers["counts"].add(document=[part.first], units=[len(_load_units(part))])


def _write_cuts(part: Part, own: Own, writers: Writers) -> None:
    assert isinstance(part, UnitPart)
    rejected = own["rejected"].records()["unit"]
    rows, begins, ends = _load_units(part)[(rejected - np.uint64(part.first)).astype(np.int64)].T
    writers["cuts"].add(document=rows + part.first_document, begin=begins, end=ends)


def _load_units(part: Part) -> np.ndarray:
    return load_array(os.path.join(part.path, _UNITS))
