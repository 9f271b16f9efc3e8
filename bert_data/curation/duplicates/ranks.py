"""Arrays of different lengths, one after the other in a file; any of them can be read.

    with RaggedWriter(path, np.uint64) as writer:      path/values        3 1 4 | 1 5 |  | 9
        writer.append(np.array([3, 1, 4], np.uint64))  path/offsets.npy   0 3 5 5 6
    open_ragged(path, np.uint64).row(1)  ->  [1 5]

The writer holds eight bytes a row in memory; the reader maps the file.
"""

import dataclasses
import os
from array import array
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Self

import numpy as np
import xxhash
from numpy.typing import DTypeLike, NDArray

from bert_data.curation.document import Document
from bert_data.curation.step import CorpusStep
from bert_data.storage import load_array, load_values, make_folder, open_scratch, save_array
from bert_data.work.records import Layout, Ragged
from bert_data.work.rounds import Own, Part, Writers

_BUFFER_BYTES = 1 << 20


class RaggedWriter:
    """Writes rows to a new folder."""

    def __init__(self, path: Path, dtype: DTypeLike) -> None:
        make_folder(path)
        self._path = path
        self._dtype = np.dtype(dtype)
        self._offsets = array("q", [0])
        self._file = open_scratch(path / "values", buffering=_BUFFER_BYTES)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: object, *_: object) -> None:
        self._file.close()
        if kind is None:
            save_array(self._path / "offsets.npy", np.frombuffer(self._offsets, np.int64))

    def append(self, row: np.ndarray) -> None:
        """Add a row of the writer's type."""
        assert row.dtype == self._dtype
        self._file.write(row.data)
        self._offsets.append(self._offsets[-1] + len(row))


def open_ragged(path: str, dtype: DTypeLike) -> Ragged:
    """Open the rows that a writer left in a folder."""
    return Ragged(
        load_values(os.path.join(path, "values"), dtype),
        load_array(os.path.join(path, "offsets.npy")),
    )


RANK = ("order", "tie", "document")
"""Fields of records: sorted by them, documents are best first."""

EQUAL = Layout(("high", "low", *RANK), num_keys=5)
"""Digests: documents that agree in `high` and `low` are equal."""

_SIZE_BITS = 40
_IDS = "ids"
_SIZES = "sizes.npy"
_ID_HASHES = "id_hashes.npy"
_DIGESTS = "digests.npy"


@dataclasses.dataclass(frozen=True, kw_only=True)
class RankedStep(CorpusStep):
    """A step that keeps the best of several documents.

    Attributes:
      priority: names of data sets, highest priority first; data sets that are not named follow in
        the order of the pipeline.
    """

    priority: tuple[str, ...] = ()

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
        """Return the level of each data set, 0 the best.

        Raises:
          ValueError: `priority` names a data set that does not exist.
        """
        sources = dict.fromkeys(part.source for part in parts)
        self.check_data_sets(list(sources))
        names = dict.fromkeys((*self.priority, *sources))
        return {name: level for level, name in enumerate(names)}


class RankWriter:
    """Writes sizes, ids and digests of a shard's documents, in their order, to a new folder."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._ids = RaggedWriter(path / _IDS, np.uint8)
        self._sizes = array("Q")
        self._id_hashes = array("Q")
        self._digests = bytearray()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: object, *rest: object) -> None:
        self._ids.__exit__(kind, *rest)
        if kind is None:
            save_array(self._path / _SIZES, np.frombuffer(self._sizes, np.uint64))
            save_array(self._path / _ID_HASHES, np.frombuffer(self._id_hashes, np.uint64))
            digests = np.frombuffer(self._digests, np.uint64).reshape(-1, 2)
            save_array(self._path / _DIGESTS, digests)

    def add(self, document: Document, content: bytes | memoryview = b"") -> None:
        """Add the next document; those of the same content have the same 128-bit digest (XXH3)."""
        self._ids.append(np.frombuffer(_name(document), np.uint8))
        self.add_unit(document.num_bytes, id_hash(document), content)

    def add_unit(self, size: int, tie: int, content: bytes | memoryview) -> None:
        """Add what is ranked by itself but has no id: a unit of a document.

        Args:
          size: longer ones are better.
          tie: `id_hash` of the document.
          content: see `add`.
        """
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
    sizes = np.minimum(load_array(os.path.join(part.path, _SIZES)), np.uint64(2**_SIZE_BITS - 1))
    best = np.uint64((levels[part.source] + 1 << _SIZE_BITS) - 1)
    return {
        "order": best - sizes,
        "tie": load_array(os.path.join(part.path, _ID_HASHES)),
        "document": np.arange(part.first, part.end, dtype=np.uint64),
    }


def level_of(order: NDArray[np.uint64]) -> NDArray[np.uint64]:
    """Return the levels of data sets that `order`, a column of ranks, holds."""
    return order >> np.uint64(_SIZE_BITS)


def read_digests(part: Part) -> NDArray[np.uint64]:
    """Return the digests of a shard's documents, uint64 [documents, 2]: high and low halves."""
    return load_array(os.path.join(part.path, _DIGESTS))


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
    return open_ragged(os.path.join(part.path, _IDS), np.uint8)
