"""Ranks of documents, and decisions that keep the best of several in place of the others.

    RankWriter    size, id and digest of each document    ─▶ a shard's file
    read_ranks    data set, size, hash of the id          ─▶ columns by which the best come first
    values        (document 7, 0.91 if it is rejected, 0.2 if it is kept)   a record or several each
    kept          (kept 2, document 7)  ─send_ids─▶  ids  (document 7, "crawl/a.jsonl:3")

Only documents that are compared with others have records. The shard of the document that is kept
sends its id to the shard of the one that is rejected, so that judging opens only its own records.
"""

import dataclasses
from array import array
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path

import numpy as np
import xxhash
from numpy.typing import DTypeLike, NDArray

from bert_data.curation.document import Document, Measured, Verdict
from bert_data.curation.parameters import NewField
from bert_data.curation.step import CorpusStep, Decisions, ShardDecisions
from bert_data.work.array_files import ArrayFile, ArrayWriter
from bert_data.work.ranges import Batch, RangeReader
from bert_data.work.rounds import Own, Part, Rounds, Writers
from bert_data.work.sorted_records import Layout, Ragged, SortedRecords, cut_rows, join_pieces

RANK = ("order", "tie", "document")
"""Fields of records: sorted by them, documents are best first."""

EQUAL = Layout(("high", "low", *RANK), num_keys=5)
"""Digests: documents that agree in `high` and `low` are equal."""

_SIZE_BITS, _LEVEL_BITS = 40, 20
_IDS, _ID_OFFSETS, _SIZES, _ID_HASHES = "ids", "id_offsets", "sizes", "id_hashes"
_DIGESTS = "digests"


@dataclasses.dataclass(frozen=True, kw_only=True)
class RankedStep(CorpusStep):
    """A step that keeps the best of several documents.

    Attributes:
      priority: names of data sets, highest priority first; data sets that are not named follow in
        the order of the pipeline.
      copies_field: field that receives the number of documents (or lines, paragraphs, sentences)
        removed in favour of this one, as a score for later steps; null: no field.
    """

    priority: tuple[str, ...] = ()
    copies_field: NewField | None = None

    def __post_init__(self) -> None:
        super().__post_init__()
        if len(set(self.priority)) < len(self.priority):
            names = ", ".join(self.priority)
            raise ValueError(f"priority is {names}; it may name each data set once")

    def check_data_sets(self, names: Sequence[str]) -> None:
        """Check that `priority` names data sets that the step judges."""
        super().check_data_sets(names)
        names = list(filter(self.judges, names))
        unknown = [name for name in self.priority if name not in names]
        if unknown:
            known = ", ".join(sorted(set(names)))
            raise ValueError(f"priority names {unknown[0]!r}; the data sets are {known}")

    def levels(self, parts: Sequence[Part]) -> dict[str, int]:
        """Return the level of each data set, 0 the best."""
        sources = dict.fromkeys(part.source for part in parts)
        self.check_data_sets(list(sources))
        names = dict.fromkeys((*self.priority, *sources))
        return {name: level for level, name in enumerate(names)}

    def note_copies(
        self, decided: ShardDecisions, verdicts: Iterable[Verdict]
    ) -> Iterator[Verdict]:
        """Give each document that is kept the number of copies that were removed for it."""
        if self.copies_field is None:
            yield from verdicts
            return
        copies: Counter[int] = Counter()
        for row, number in decided.tables["copies"].tolist():
            copies[row] += number
        for row, verdict in enumerate(verdicts):
            if verdict.kept:
                document = verdict.document.with_fields(**{self.copies_field: copies[row]})
                verdict = dataclasses.replace(verdict, document=document)
            yield verdict


class RankWriter(ArrayWriter):
    """Writes sizes, ids and digests of a shard's documents, in their order, beside other arrays."""

    def __init__(self, path: Path, dtype: DTypeLike = np.uint64) -> None:
        super().__init__(path, dtype)
        self._ids, self._id_offsets = bytearray(), array("q", [0])
        self._sizes, self._id_hashes = array("Q"), array("Q")
        self._digests = bytearray()

    def __exit__(self, *error: object) -> None:
        self.arrays |= {
            _IDS: np.frombuffer(self._ids, np.uint8),
            _ID_OFFSETS: np.frombuffer(self._id_offsets, np.int64),
            _SIZES: np.frombuffer(self._sizes, np.uint64),
            _ID_HASHES: np.frombuffer(self._id_hashes, np.uint64),
            _DIGESTS: np.frombuffer(self._digests, np.uint64).reshape(-1, 2),
        }
        super().__exit__(*error)

    def add(
        self, document: Document, content: bytes | memoryview = b"", size: int | None = None
    ) -> None:
        """Add the next document, or a unit of it, which has a size of its own.

        Those of the same content have the same 128-bit digest (XXH3).
        """
        self._ids += _name(document)
        self._id_offsets.append(len(self._ids))
        self.add_unit(document.num_bytes if size is None else size, id_hash(document), content)

    def add_unit(self, size: int, tie: int, content: bytes | memoryview) -> None:
        """Add a unit of a document, which has no id; `tie` is the document's `id_hash`."""
        self._sizes.append(size)
        self._id_hashes.append(tie)
        self._digests += xxhash.xxh3_128_digest(content)


def id_hash(document: Document) -> int:
    """Return a 64-bit hash of the id of a document and its data set."""
    seed = xxhash.xxh3_64_intdigest(document.source.encode(errors="surrogatepass"))
    return xxhash.xxh3_64_intdigest(_name(document), seed)


def _name(document: Document) -> bytes:
    return document.id.encode(errors="surrogatepass")


def read_ranks(part: Part, levels: Mapping[str, int]) -> dict[str, NDArray[np.uint64]]:
    """Return the columns `RANK`, uint64 [documents], of a shard's documents."""
    arrays = ArrayFile(part.path)
    sizes = np.minimum(arrays[_SIZES], np.uint64(2**_SIZE_BITS - 1))
    best = np.uint64((levels[part.source] + 1 << _SIZE_BITS) - 1)
    return {
        "order": best - sizes,
        "tie": arrays[_ID_HASHES],
        "document": np.arange(part.first, part.end, dtype=np.uint64),
    }


def level_of(order: NDArray[np.uint64]) -> NDArray[np.uint64]:
    """Return the levels of data sets that `order`, a column of ranks, holds."""
    return order >> np.uint64(_SIZE_BITS)


def size_first(order: NDArray[np.uint64]) -> NDArray[np.uint64]:
    """Return the column `order` of ranks so that the largest come first, of any data set."""
    return (order & np.uint64(2**_SIZE_BITS - 1)) << np.uint64(_LEVEL_BITS) | level_of(order)


def read_digests(part: Part) -> NDArray[np.uint64]:
    """Return the digests of a shard's documents, uint64 [documents, 2]: high and low halves."""
    return ArrayFile(part.path)[_DIGESTS]


def write_digests(
    levels: Mapping[str, int],
    part: Part,
    own: Own,
    writers: Writers,
    chosen: NDArray[np.bool_] | None = None,
) -> None:
    """Write digests and ranks of a shard's documents, or of those chosen, as `EQUAL` says."""
    high, low = read_digests(part).T
    columns = {"high": high, "low": low, **read_ranks(part, levels)}
    rows = slice(None) if chosen is None else chosen
    writers["equal"].add(**{name: column[rows] for name, column in columns.items()})


def open_ids(part: Part) -> Ragged:
    """Open the ids of a shard's documents, in UTF-8."""
    arrays = ArrayFile(part.path)
    return Ragged(arrays[_IDS], arrays[_ID_OFFSETS])


DOCUMENTS = Layout(("document",), num_keys=1)

DUPLICATE_OF = "duplicate_of"
"""Name of the measure that holds the id of the document that is kept instead."""

VALUES = Layout(("document", "if_rejected", "if_kept"), num_keys=3)
"""Measured values >= 0; the largest one of a document counts."""

KEPT = Layout(("kept", "document"), num_keys=2)
"""A document that is rejected, and the one that is kept instead."""

_ID_PIECES = Layout(("document", "piece", "size"), num_keys=2, width=6)
_RECORDS_AT_A_TIME = 1 << 14


def find_twins(batch: Batch, writers: Writers) -> tuple[NDArray[np.uint64], NDArray[np.uint64]]:
    """Note the documents with the content of a better one, whose value is 1, and return both.

    Only the better one is compared with others.
    """
    is_twin = batch.places > 0
    twins, values = batch.records["document"][is_twin], np.ones(int(is_twin.sum()))
    writers["twins"].add(document=twins)
    writers["values"].add(document=twins, if_rejected=values, if_kept=values)
    return twins, batch.firsts("document")[is_twin]


def rows_without(part: Part, twins: RangeReader) -> NDArray[np.int64]:
    """Return the rows of a shard's documents that are no twins."""
    is_chosen = np.ones(part.end - part.first, bool)
    is_chosen[twins.records()["document"] - np.uint64(part.first)] = False
    return np.flatnonzero(is_chosen)


COPIES = Layout(("document", "copies"), num_keys=2)
"""Numbers of copies that were removed for a document; all of its records count."""


def add_copies(writers: Writers, documents: NDArray[np.uint64]) -> None:
    """Count a copy for each time that a document occurs."""
    numbers, counts = np.unique(documents, return_counts=True)
    writers["copies"].add(document=numbers, copies=counts.astype(np.uint64))


def decide_by(
    rounds: Rounds, values: SortedRecords, kept: SortedRecords, *, with_copies: bool = False
) -> Decisions:
    """Return the decisions that `judge_duplicates`, and `note_copies` if asked, read."""
    outputs = {"ids": _ID_PIECES, **({"copies": COPIES} if with_copies else {})}
    written = rounds.over_parts("ids", send_ids, outputs, {"kept": kept})
    return Decisions(tables={"values": values, **written})


def send_ids(part: Part, own: Own, writers: Writers) -> None:
    """Send the ids of a shard's documents to those that are rejected for their sake; count them."""
    ids = open_ids(part)
    for words in own["kept"].portions():
        for start in range(0, len(words), _RECORDS_AT_A_TIME):
            kept, documents = words[start : start + _RECORDS_AT_A_TIME].T
            if "copies" in writers:
                add_copies(writers, kept)
            cut = cut_rows(ids, (kept - np.uint64(part.first)).astype(np.int64), _ID_PIECES.width)
            writers["ids"].add(
                document=documents[cut.rows], piece=cut.pieces, size=cut.sizes, values=cut.values
            )


def judge_duplicates(
    decided: ShardDecisions,
    documents: Iterable[Document],
    rule: str,
    threshold: float,
    default: float,
) -> Iterator[Verdict]:
    """Reject the documents of a shard for which another one is kept.

    The threshold has already been applied; `default` is the value of documents without a record.
    """
    ids, firsts = join_pieces(decided.tables["ids"], np.uint8)
    rejected = decided.tables["ids"]["document"][firsts].tolist()
    kept = dict(zip(rejected, range(len(ids)), strict=True))
    table = decided.tables["values"]
    names = ("if_kept", "if_rejected")
    numbers, starts = np.unique(table["document"], return_index=True)
    values = [
        dict(zip(numbers.tolist(), column.tolist(), strict=True))
        for column in (
            np.maximum.reduceat(table[name].view(np.float64), starts) if len(starts) else starts
            for name in names
        )
    ]
    for row, document in enumerate(documents):
        is_rejected = row in kept
        value = values[is_rejected].get(row, default)
        measured = [Measured(rule, value, threshold, failed=is_rejected)]
        if is_rejected:
            name = ids.row(kept[row]).tobytes().decode(errors="surrogatepass")
            measured.append(Measured(DUPLICATE_OF, name, ""))
        yield Verdict(document, tuple(measured))
