"""Where the documents of a token store came from: PREFIX.provenance.parquet, a row for each.

    document  file         row  id   url              source  license  date
           0  a/web.jsonl    1  a17  https://a.org/1  null    CC-BY    2024-05-01

DuckDB, polars and pandas read it. Pages have checksums; groups of rows are small, so that the row
of one document is read soon.
"""

import contextlib
import dataclasses
import operator
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray
from zlib_ng.zlib_ng import crc32

from bert_data.errors import CorruptDataError
from bert_data.storage import absolute_path, common_folder, map_file, open_scratch
from bert_data.storage.changing import SummedFile
from bert_data.text.documents import DocumentBlock, texts_of_field
from bert_data.tokens.store import DROP
from bert_data.tokens.store_config import FIELDS, ProvenanceConfig
from bert_data.tokens.store_writer import FileSummary, StoreWriter, without_repeats

if TYPE_CHECKING:
    import pyarrow

ENDING = "provenance.parquet"
COLUMNS = ("document", "file", "row", *FIELDS)
GROUP_ROWS = 1 << 13
_INTEGERS = ("document", "row")
_LEVELS = {"id": 1, "url": 6, "date": 6}  # random ids are no smaller at a higher one
_ENCODINGS = {
    "document": "DELTA_BINARY_PACKED",
    "row": "DELTA_BINARY_PACKED",
    "id": "DELTA_BYTE_ARRAY",
    "url": "DELTA_BYTE_ARRAY",
    "date": "DELTA_LENGTH_BYTE_ARRAY",
}  # the others have dictionaries


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
        ends = without_repeats(breaks + self._num_sentences)
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


def _schema() -> "pyarrow.Schema":
    import pyarrow as pa

    return pa.schema((name, pa.int64() if name in _INTEGERS else pa.string()) for name in COLUMNS)


def _texts(values: Sequence[str | None]) -> "pyarrow.Array":
    """Return a column; `pyarrow.array` would import pandas, in a third of a second."""
    encoded = [value.encode(errors="replace") if value else b"" for value in values]
    return _strings(np.fromiter(map(len, encoded), np.int32, len(encoded)), b"".join(encoded))


def _repeated(texts: Sequence[str], counts: NDArray[np.int64]) -> "pyarrow.Array":
    """Return a column with each text so many times; `take` would import pyarrow.compute."""
    encoded = [text.encode(errors="replace") for text in texts[: counts.size]]
    sizes = np.repeat(np.fromiter(map(len, encoded), np.int32, len(encoded)), counts)
    return _strings(sizes, b"".join(map(operator.mul, encoded, counts.tolist())))


def _strings(sizes: NDArray[np.int32], joined: bytes) -> "pyarrow.Array":
    """Return a column of texts, given the bytes of each; those without any are null."""
    import pyarrow as pa

    ends = np.concatenate([[0], np.cumsum(sizes)]).astype(np.int32)
    is_valid = np.packbits(sizes > 0, bitorder="little")
    buffers = [pa.py_buffer(each) for each in (is_valid, ends, joined)]
    return pa.Array.from_buffers(pa.string(), sizes.size, buffers)


def _integers(values: NDArray[np.int64]) -> "pyarrow.Array":
    import pyarrow as pa

    buffers = [None, pa.py_buffer(np.ascontiguousarray(values, np.int64))]
    return pa.Array.from_buffers(pa.int64(), values.size, buffers)


class ProvenanceWriter:
    """Writes where the documents of a store come from, as they stream by.

    Attributes:
      num_documents: so far.
      files: size and checksum by `ENDING`; when done.
    """

    def __init__(self, store: StoreWriter, rule: ProvenanceRule) -> None:
        """Begin the file beside those of a store; leave this writer after the store's."""
        from pyarrow import parquet

        self._store, self._rule = store, rule
        self._drops_empty = store.shape.empty_documents == DROP
        self._ended = EndedDocuments()
        self.num_documents = 0
        self.files: dict[str, FileSummary] = {}
        self._waiting: list[pyarrow.RecordBatch] = []
        self._num_waiting = 0
        self._file = SummedFile(open_scratch(f"{store.prefix}.{ENDING}"), crc32)
        self._schema = _schema()
        self._writer = parquet.ParquetWriter(
            self._file,
            self._schema,
            compression="zstd",
            compression_level=dict.fromkeys(COLUMNS, 3) | _LEVELS,
            use_dictionary=[name for name in COLUMNS if name not in _ENCODINGS],
            column_encoding=_ENCODINGS,
            write_statistics=["document"],
            write_page_checksum=True,
        )

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        with self._file.file:
            if kind is None:
                rows, paths, numbers = self._ended.finish()
                self._add(rows, paths, numbers, {})
                if self._num_waiting:
                    self._write_group()
                assert self.num_documents == self._store.num_documents
            else:
                self._file.give_up()
            self._writer.close()
        self.files = {ENDING: FileSummary.of(self._file)}

    def add(self, places: Places, num_sentences: int, breaks: NDArray[np.int64]) -> None:
        """Add the documents that end in a block, which has so many sentences."""
        if self._drops_empty:
            assert not places.columns  # lines have no fields
            self._add(*self._ended.add(places, num_sentences, breaks), {})
        else:
            paths = [places.first_path or places.path, places.path]
            numbers = np.minimum(np.arange(places.rows.size), 1)
            self._add(places.rows, paths, numbers, places.columns)

    def _add(
        self,
        rows: NDArray[np.int64],
        paths: Sequence[str],
        numbers: NDArray[np.int64],
        columns: Mapping[str, list[str | None]],
    ) -> None:
        if not rows.size:
            return
        files = _repeated(list(map(self._rule.name, paths)), np.bincount(numbers))
        texts = {name: _texts(values) for name, values in columns.items()}
        self.add_rows(rows.size, {"file": files, "row": _integers(rows), **texts})

    def add_rows(self, size: int, columns: "Mapping[str, pyarrow.Array]") -> None:
        """Add so many documents; of what is in no column, nothing is known."""
        import pyarrow as pa

        documents = np.arange(self.num_documents, self.num_documents + size)
        known = {**columns, "document": _integers(documents)}
        arrays = [
            known[field.name] if field.name in known else pa.nulls(size, field.type)
            for field in self._schema
        ]
        batch = pa.RecordBatch.from_arrays(arrays, schema=self._schema)
        self.num_documents += size
        while batch.num_rows:
            part = batch.slice(0, GROUP_ROWS - self._num_waiting)
            batch = batch.slice(part.num_rows)
            self._waiting.append(part)
            self._num_waiting += part.num_rows
            if self._num_waiting == GROUP_ROWS:
                self._write_group()

    def _write_group(self) -> None:
        import pyarrow as pa

        table = pa.Table.from_batches(self._waiting, self._schema).combine_chunks()
        self._waiting, self._num_waiting = [], 0
        self._writer.write_table(table, row_group_size=GROUP_ROWS)


def write_provenance(
    store: StoreWriter, rule: ProvenanceRule | None
) -> "contextlib.AbstractContextManager[ProvenanceWriter | None]":
    """Begin the provenance of a store, if there is to be one."""
    return contextlib.nullcontext() if rule is None else ProvenanceWriter(store, rule)


class Provenance:
    """An open file of where a store's documents came from.

    Attributes:
      num_documents: that it has a row of.
    """

    def __init__(self, path: str) -> None:
        """Open a file."""
        import pyarrow as pa
        from pyarrow import parquet

        self.path = path
        with self._damage():
            reader = pa.BufferReader(pa.py_buffer(map_file(path).data))
            self._file = parquet.ParquetFile(reader, page_checksum_verification=True)
            if not self._file.schema_arrow.equals(_schema()):
                raise pa.ArrowInvalid(f"its columns are not {', '.join(COLUMNS)}")
            groups = map(self._file.metadata.row_group, range(self._file.num_row_groups))
            self._splits = np.cumsum([0, *(group.num_rows for group in groups)])
        self.num_documents = int(self._splits[-1])
        self._held: tuple[int, pyarrow.Table] | None = None

    @contextlib.contextmanager
    def _damage(self) -> Iterator[None]:
        import pyarrow as pa

        try:
            yield
        except (pa.ArrowException, OSError, UnicodeDecodeError) as error:
            reason = f"not a readable file of where documents came from ({error})"
            raise CorruptDataError(self.path, 0, reason) from error

    def groups(self) -> "Iterator[pyarrow.Table]":
        """Yield the rows of all documents, in order."""
        for number in range(self._splits.size - 1):
            yield self._group(number)

    def _group(self, number: int) -> "pyarrow.Table":
        """Return a group of rows, which is kept until another one is read."""
        if self._held is None or self._held[0] != number:
            with self._damage():
                table = self._file.read_row_group(number, use_threads=False).combine_chunks()
            documents = table.column("document").chunk(0)
            first, end = self._splits[number : number + 2]
            if not documents.equals(_integers(np.arange(first, end))):
                raise CorruptDataError(self.path, 0, "its documents are not in order")
            self._held = number, table
        return self._held[1]

    def row(self, document: int) -> dict[str, Any]:
        """Return the row of a document by its number in the store; what is not known is None."""
        number = int(np.searchsorted(self._splits, document, side="right")) - 1
        table, place = self._group(number), document - int(self._splits[number])
        with self._damage():
            return {name: table.column(name)[place].as_py() for name in COLUMNS}
