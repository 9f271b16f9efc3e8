"""Places of documents: the file and row of each, and the fields that say where it came from."""

import dataclasses
from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from bert_data.storage import absolute_path, common_folder
from bert_data.text.documents import DocumentBlock, texts_of_field

FIELDS = ("id", "url", "source", "license", "date")
"""Fields of documents; `ProvenanceConfig` has their names in the input."""


@dataclasses.dataclass(frozen=True, kw_only=True)
class ProvenanceConfig:
    """The fields that say where documents come from.

    Attributes:
      provenance: keep where each document came from in PREFIX.provenance.parquet: its number in the
        store, file, row, id, URL, source, licence and date.
      id_field: key or column of the documents' ids; those without such a field have none. meta.id
        is the field id of the object, or struct, meta.
      url_field: key or column of the URLs where documents were found.
      source_field: key or column of the collections that documents are from.
      license_field: key or column of their licences.
      date_field: key or column of their dates.
    """

    provenance: bool = True
    id_field: str = "id"
    url_field: str = "url"
    source_field: str = "source"
    license_field: str = "license"
    date_field: str = "date"

    @property
    def input_fields(self) -> dict[str, str]:
        """The names of the columns' fields in the input."""
        return {name: getattr(self, f"{name}_field") for name in FIELDS}


class Places(NamedTuple):
    """Places of a block's documents.

    Attributes:
      path: their file.
      starts: int64[documents], sentences of the block before each, ascending.
      rows: int64[documents], from 1.
      columns: texts or None of each document, for those of `FIELDS` that any has.
      first_path: file of the first one, if it is another.
      next_row: of lines, the row after the block; the first place is its own first row.
    """

    path: str
    starts: NDArray[np.int64]
    rows: NDArray[np.int64]
    columns: Mapping[str, list[str | None]] = {}
    first_path: str = ""
    next_row: int = 0


def places_of_documents(
    block: DocumentBlock, breaks: NDArray[np.int64], fields: Mapping[str, str]
) -> Places:
    """Return the places of a block's documents, each of which ends at a break."""
    documents = block.documents
    rows = np.fromiter((document.row for document in documents), np.int64, len(documents))
    columns = {}
    for name, field in fields.items():
        values = texts_of_field(documents, field)
        if values is not None:
            columns[name] = values
    starts = np.concatenate([[0], breaks])[: rows.size]
    return Places(block.path, starts, rows, columns, block.first_path)


def places_of_lines(
    path: str,
    first_row: int,
    num_lines: int,
    breaks: NDArray[np.int64],
    blank_lines: NDArray[np.int64],
) -> Places:
    """Return the places where documents may begin: at a block's start, and after blank lines."""
    starts = np.concatenate([[0], breaks])
    rows = np.concatenate([[0], blank_lines + 1]) + first_row
    return Places(path, starts, rows, next_row=first_row + num_lines)


class EndedDocuments:
    """Finds the places of the documents that end in each block, but of those without sentences."""

    def __init__(self) -> None:
        self._num_sentences = self._document_start = 0
        self._row, self._path = 0, ""  # of the next document to end
        self._goes_on = False  # whether lines of a document go on in the next block

    def add(
        self, places: Places, num_sentences: int, breaks: NDArray[np.int64]
    ) -> tuple[NDArray[np.int64], list[str], NDArray[np.int64]]:
        """Find the documents that end in a block.

        Returns:
          The row of each, some files, and the number of each document's file among these.
        """
        first = int(places.next_row > 0 and self._goes_on)
        paths = [self._path, places.first_path or places.path, places.path]
        files = np.minimum(np.arange(1, 1 + places.rows.size), 2)
        files = np.concatenate([[0], files[first:]])
        rows = np.concatenate([[self._row], places.rows[first:]])
        starts = places.starts[first:] + self._num_sentences
        starts = np.concatenate([[self._document_start], starts])
        ends = np.unique(breaks + self._num_sentences)
        begins = np.concatenate([[self._document_start], ends[ends > self._document_start]])
        chosen = np.searchsorted(starts, begins, side="right") - 1
        chosen, last = chosen[:-1], chosen[-1]
        self._goes_on = places.next_row > places.rows[-1]
        self._num_sentences += num_sentences
        self._document_start = int(begins[-1])
        self._row, self._path = int(rows[last]), paths[files[last]]
        return rows[chosen], paths, files[chosen]

    def finish(self) -> tuple[NDArray[np.int64], list[str], NDArray[np.int64]]:
        """Find the document that the end of the text ends, if there is one; see `add`."""
        size = int(self._num_sentences > self._document_start)
        return np.full(size, self._row), [self._path], np.zeros(size, np.int64)


@dataclasses.dataclass(frozen=True, kw_only=True)
class ProvenanceRule:
    """What is noted of where documents come from.

    Attributes:
      fields: their names in the input, by column.
      folder: that names of files begin in; see `common_folder`.
    """

    fields: Mapping[str, str]
    folder: str = ""

    @classmethod
    def of(cls, config: ProvenanceConfig, paths: Sequence[str]) -> "ProvenanceRule | None":
        """Return the rule of a configuration, or None if nothing is to be noted."""
        if not config.provenance:
            return None
        return cls(fields=config.input_fields, folder=common_folder(paths))

    def name(self, path: str) -> str:
        """Return what a file is called."""
        return absolute_path(path).removeprefix(self.folder).lstrip("/")
