"""Order the documents of a corpus, best first, to decide which of several similar ones to keep.

    shard 0 of "crawl"   a/0 800 bytes, a/1 90 bytes        order  2 0 1      by priority
    shard 1 of "wiki"    w/0 100 bytes                             w/0 a/0 a/1

Documents with the same digest are equal:

    groups_of_equals(paths, roster)  ->  ranks [0 3], [1 2 7], best first

The order depends on the documents alone: by data set (those of a parameter `priority`, then the
others in the order of the pipeline), then longer texts first, then by a hash of the id. It is the
same for any order of files, any division into shards and any number of workers.
"""

import dataclasses
from array import array
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Self

import numpy as np
import xxhash
from numpy.typing import NDArray

from bert_data.curation.document import Document
from bert_data.curation.duplicates.ragged_files import (
    Ragged,
    RaggedWriter,
    merge_ragged,
    open_ragged,
)
from bert_data.curation.duplicates.sorted_runs import runs_of_equals
from bert_data.curation.step import CorpusStep
from bert_data.storage import load_array, save_array

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
        """Check that `priority` names data sets of the pipeline."""
        check_priority(self.priority, names)


class RosterWriter:
    """Writes sizes, ids and digests of a shard's documents, in their order, to a new folder."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._ids = RaggedWriter(path / _IDS, np.uint8)
        self._sizes = array("q")
        self._id_hashes = array("Q")
        self._digests = bytearray()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: object, *rest: object) -> None:
        self._ids.__exit__(kind, *rest)
        if kind is None:
            save_array(self._path / _SIZES, np.frombuffer(self._sizes, np.int64))
            save_array(self._path / _ID_HASHES, np.frombuffer(self._id_hashes, np.uint64))
            digests = np.frombuffer(self._digests, np.uint64).reshape(-1, 2)
            save_array(self._path / _DIGESTS, digests)

    def add(self, document: Document, content: bytes | memoryview = b"") -> None:
        """Add the next document; those of the same content have the same 128-bit digest (XXH3)."""
        name = document.id.encode(errors="surrogatepass")
        seed = xxhash.xxh3_64_intdigest(document.source.encode(errors="surrogatepass"))
        self._ids.append(np.frombuffer(name, np.uint8))
        self._sizes.append(document.num_bytes)
        self._id_hashes.append(xxhash.xxh3_64_intdigest(name, seed))
        self._digests += xxhash.xxh3_128_digest(content)


@dataclasses.dataclass(frozen=True, slots=True)
class Roster:
    """The documents of all shards, numbered one shard after the other.

    Attributes:
      first: int64 [shards + 1], number of each shard's first document, and of all documents.
      order: int64 [documents], their numbers, best first.
    """

    first: NDArray[np.int64]
    order: NDArray[np.int64]

    def __len__(self) -> int:
        return len(self.order)

    def ranks(self) -> NDArray[np.int64]:
        """int64 [documents], the place of each one in the order, from 0."""
        ranks = np.empty_like(self.order)
        ranks[self.order] = np.arange(len(self.order))
        return ranks


def check_priority(priority: Sequence[str], names: Sequence[str]) -> None:
    """Refuse a priority that names a data set which is not among `names`.

    Raises:
      ValueError: with the name, and the known ones.
    """
    unknown = [name for name in priority if name not in names]
    if unknown:
        known = ", ".join(sorted(set(names)))
        raise ValueError(f"priority names {unknown[0]!r}; the data sets are {known}")


def read_roster(paths: Sequence[Path], sources: Sequence[str], priority: Sequence[str]) -> Roster:
    """Order the documents of all shards; takes 40 bytes of memory per document.

    Args:
      paths: of the shards' rosters.
      sources: name of the data set of each shard.
      priority: names of data sets, best first; the others follow in the order of `sources`.

    Raises:
      ValueError: `priority` names a data set that does not exist.
    """
    check_priority(priority, sources)
    sizes = [load_array(path / _SIZES) for path in paths]
    first = np.concatenate([[0], np.cumsum([len(each) for each in sizes])]).astype(np.int64)
    places = {name: place for place, name in enumerate(dict.fromkeys((*priority, *sources)))}
    level = np.repeat(np.array([places[name] for name in sources], np.int32), np.diff(first))
    hashes = [load_array(path / _ID_HASHES) for path in paths]
    if not sizes:
        return Roster(first, np.empty(0, np.int64))
    order = np.lexsort((np.concatenate(hashes), -np.concatenate(sizes), level))
    return Roster(first, order.astype(np.int64, copy=False))


def merge_ids(paths: Sequence[Path], folder: Path) -> None:
    """Write the ids of all documents to a folder."""
    merge_ragged([path / _IDS for path in paths], folder / _IDS, np.uint8)


def open_ids(folder: Path) -> Ragged:
    """Open what `merge_ids` wrote."""
    return open_ragged(folder / _IDS, np.uint8)


def id_of(ids: Ragged, number: int) -> str:
    """Return the id of a document by its number."""
    return ids.row(number).tobytes().decode(errors="surrogatepass")


def groups_of_equals(paths: Sequence[Path], roster: Roster) -> Iterator[NDArray[np.int64]]:
    """Yield each group of two or more documents that share a digest.

    Takes about 50 bytes of memory per document.

    Args:
      paths: folders of all shards.
      roster: of all documents.

    Yields:
      int64 [two or more], ranks of documents, increasing.
    """
    digests = np.concatenate([load_array(path / _DIGESTS) for path in paths])[roster.order]
    ranks = np.lexsort((digests[:, 0], digests[:, 1]))  # stable, so equal digests keep their order
    ordered = digests[ranks]
    for begin, end in runs_of_equals(ordered[:, 0], ordered[:, 1]).tolist():
        yield ranks[begin:end]
