"""Write the origins of a token store's documents: PREFIX.provenance, a row for each document.

    file          row   id      url                source   license   date
    a/web.jsonl     1   "a17"   "https://a.org/1"  null     "CC-BY"   "2024-05-01"

It is a Parquet file, whose name keeps it out of patterns such as *.parquet, with a checksum for
each page. After each group of rows lies a Bloom filter of its ids, 16 bits for each, so that a
document is found by its id and few groups are read.
"""

import contextlib
import dataclasses
import itertools
import json
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any, Self

import numpy as np
import xxhash
from numpy.typing import NDArray
from zlib_ng.zlib_ng import crc32

from bert_data.storage import open_scratch
from bert_data.storage.changing import SummedFile
from bert_data.tokens.places import FIELDS, DocumentEnds, Places, ProvenanceRule
from bert_data.tokens.store import DROP
from bert_data.tokens.store_writer import FileSummary, StoreWriter

if TYPE_CHECKING:
    import pyarrow

ENDING = "provenance"

COLUMNS = ("file", "row", *FIELDS)
METADATA_KEY = b"bert_data.provenance"
FORMAT_VERSION = 1
GROUP_ROWS = 1 << 16
_COMPARED_ROWS = 1 << 22  # so many hashes are in memory
_BITS_OF_ID, BITS_SET = 16, 11
_LEVELS = {"id": 1, "url": 6, "date": 6}  # random ids are no smaller at a higher one
_PAGE_BYTES = 16 << 20  # URLs are smaller in larger pages


def hash_of(name: str) -> int:
    """Return the hash of an id."""
    return xxhash.xxh3_64_intdigest(name.encode())


def filter_bit(
    hashes: NDArray[np.uint64], num_bits: int | NDArray[np.int64], number: int
) -> NDArray[np.uint64]:
    """Return uint64[ids], one of the `BITS_SET` bits of filters of some size that each id sets."""
    second = hashes >> np.uint64(32) | np.uint64(1)
    return (hashes + np.uint64(number) * second) % np.asarray(num_bits, np.uint64)


def text_array(values: Sequence[str | None]) -> "pyarrow.Array":
    """Return a column; `pyarrow.array` would import pandas, in a third of a second."""
    texts: Any = [value or "" for value in values] if None in values else values
    joined = "".join(texts)
    if joined.isascii():
        return _texts_of_bytes(map(len, texts), joined.encode(), len(texts))
    encoded = [text.encode(errors="replace") for text in texts]
    return _texts_of_bytes(map(len, encoded), b"".join(encoded), len(texts))


def _texts_of_bytes(lengths: Iterable[int], data: bytes, size: int) -> "pyarrow.Array":
    import pyarrow as pa

    sizes = np.fromiter(lengths, np.int64, size)
    ends = np.zeros(size + 1, np.int64)
    np.cumsum(sizes, out=ends[1:])
    is_valid = np.packbits(sizes > 0, bitorder="little")
    buffers = [pa.py_buffer(each) for each in (is_valid, ends.astype(np.int32), data)]
    return pa.Array.from_buffers(pa.string(), size, buffers)


def integer_array(values: NDArray[np.int64]) -> "pyarrow.Array":
    """Return a column."""
    import pyarrow as pa

    buffer = pa.py_buffer(np.ascontiguousarray(values))
    return pa.Array.from_buffers(pa.int64(), values.size, [None, buffer])


def integers(array: "pyarrow.Array") -> NDArray[Any]:
    """Return the values of a column; `to_numpy` would import pandas."""
    values = np.frombuffer(array.buffers()[1], f"{array.type}")
    return values[array.offset : array.offset + len(array)]


def _hashes(ids: "pyarrow.ChunkedArray") -> NDArray[np.uint64]:
    """Return the hashes of ids, those that are null left out."""
    names = filter(None, ids.cast("binary").to_pylist())
    return np.array([*map(xxhash.xxh3_64_intdigest, names)], np.uint64)


class RepeatedIds:
    """Counts ids that repeat, by their hashes, of which those of 4,194,304 documents are in memory.

    Attributes:
      num_repeated: documents whose id an earlier one has, as far as they were compared.
    """

    def __init__(self) -> None:
        self.num_repeated = self._num_documents = 0
        self._hashes: list[NDArray[np.uint64]] = []

    def add(self, hashes: NDArray[np.uint64], num_documents: int) -> None:
        """Add documents, and the hashes of those ids that they have."""
        self._hashes.append(hashes)
        self._num_documents += num_documents
        if self._num_documents >= _COMPARED_ROWS:
            self.compare()

    def compare(self) -> None:
        """Compare the ids in memory, and forget them."""
        hashes = np.concatenate([*self._hashes, np.empty(0, np.uint64)])
        hashes.sort()  # np.unique, by a hash table, takes ten times as long and more
        self.num_repeated += int(np.count_nonzero(hashes[1:] == hashes[:-1]))
        self._hashes.clear()
        self._num_documents = 0


@dataclasses.dataclass(frozen=True)
class GroupNote:
    """A group of rows.

    Attributes:
      file, first_row: of its first document.
      num_files: that its documents are of.
      offset: of the filter of its ids, in bytes.
      num_bits: of this filter, a multiple of 8; 0: no document has an id.
    """

    file: str
    first_row: int
    num_files: int
    offset: int
    num_bits: int


class ProvenanceWriter:
    """Writes where the documents of a store come from, as they stream by.

    Attributes:
      num_documents: so far.
      files: size and checksum by `ENDING`; when done.
    """

    def __init__(self, store: StoreWriter, rule: ProvenanceRule) -> None:
        """Begin the file beside those of a store; leave this writer after the store's."""
        import pyarrow as pa
        from pyarrow import parquet

        self._store, self._rule = store, rule
        self._drops_empty = store.shape.empty_documents == DROP
        self.files: dict[str, FileSummary] = {}
        text = pa.string()
        self._schema = pa.schema(
            [("file", text), ("row", pa.int64()), *((name, text) for name in FIELDS)]
        )
        self._file = SummedFile(open_scratch(f"{store.prefix}.{ENDING}"), crc32)
        self._sink = pa.PythonFile(self._file, mode="w")
        self._writer = parquet.ParquetWriter(
            self._sink,
            self._schema,
            compression="zstd",
            compression_level=dict.fromkeys(COLUMNS, 3) | _LEVELS,
            data_page_size=_PAGE_BYTES,
            use_dictionary=["file", "source", "license"],
            column_encoding={
                "row": "DELTA_BINARY_PACKED",
                "id": "DELTA_BYTE_ARRAY",
                "url": "DELTA_BYTE_ARRAY",
                "date": "DELTA_LENGTH_BYTE_ARRAY",
            },
            write_statistics=False,  # damaged ones make Arrow end the process
            write_page_checksum=True,
        )
        self.num_documents, self._repeated = 0, RepeatedIds()
        self._ends = DocumentEnds()
        self._open: pyarrow.RecordBatch | None = None  # of the next document to end
        self._waiting: list[pyarrow.RecordBatch] = []
        self._num_waiting = 0
        self._groups: list[GroupNote] = []

    def count_repeated(self) -> int:
        """Return how many documents have the id of an earlier one, see `RepeatedIds`."""
        return self._repeated.num_repeated

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        with self._file.file:
            if kind is None:
                self._finish()
            else:
                self._file.give_up()
            self._writer.close()
        self.files = {ENDING: FileSummary.of(self._file)}

    def add(self, places: Places, lengths: NDArray[np.integer], breaks: NDArray[np.int64]) -> None:
        """Add the documents that end in a block, whose sentences have these lengths."""
        import pyarrow as pa

        batch = self._batch(places)
        if not self._drops_empty:
            assert breaks.size == batch.num_rows
            self._add_rows(batch)
            return
        batch = batch.slice(self._ends.num_repeated(places))
        if self._open is not None:
            batch = pa.concat_batches([self._open, batch])
        chosen, _ = self._ends.add(places, lengths.size, breaks)
        self._add_rows(batch.take(integer_array(chosen[:-1])))
        self._open = batch.slice(int(chosen[-1]), 1)

    def _batch(self, places: Places) -> "pyarrow.RecordBatch":
        import pyarrow as pa

        size, text = places.rows.size, pa.string()
        file = self._rule.name(places.path).encode(errors="replace")
        files = _texts_of_bytes(itertools.repeat(len(file), size), file * size, size)
        if places.first_path and size:
            first = text_array([self._rule.name(places.first_path)])
            files = pa.concat_arrays([first, files.slice(1)])
        columns = [files, integer_array(places.rows)]
        for name in FIELDS:
            values = places.columns.get(name)
            columns.append(pa.nulls(size, text) if values is None else text_array(values))
        return pa.RecordBatch.from_arrays(columns, schema=self._schema)

    def add_all(self, rows: "Iterable[pyarrow.RecordBatch]") -> None:
        """Add the documents of other stores."""
        for batch in rows:
            self._add_rows(batch)

    def add_unknown(self, num_documents: int) -> None:
        """Add documents of which nothing is known."""
        import pyarrow as pa

        for start in range(0, num_documents, GROUP_ROWS):
            size = min(num_documents - start, GROUP_ROWS)
            nulls = [pa.nulls(size, field.type) for field in self._schema]
            self._add_rows(pa.RecordBatch.from_arrays(nulls, schema=self._schema))

    def _add_rows(self, batch: "pyarrow.RecordBatch") -> None:
        while batch.num_rows:
            part = batch.slice(0, GROUP_ROWS - self._num_waiting)
            self._waiting.append(part)
            self._num_waiting += part.num_rows
            batch = batch.slice(part.num_rows)
            if self._num_waiting == GROUP_ROWS:
                self._write_group()

    def _write_group(self) -> None:
        import pyarrow as pa

        table = pa.Table.from_batches(self._waiting, self._schema).combine_chunks()
        self._waiting, self._num_waiting = [], 0
        self._writer.write_table(table, row_group_size=GROUP_ROWS)
        hashes = _hashes(table.column("id"))
        num_bits = _BITS_OF_ID * hashes.size
        offset = self._sink.tell()
        if num_bits:
            bits = np.zeros(num_bits, np.bool_)
            for number in range(BITS_SET):
                bits[filter_bit(hashes, num_bits, number)] = True
            self._sink.write(np.packbits(bits).tobytes())
        first = table.slice(0, 1).select(["file", "row"]).to_pylist()[0]
        num_files = len(table.column("file").unique())
        note = GroupNote(first["file"] or "", first["row"] or 0, num_files, offset, num_bits)
        self._groups.append(note)
        self.num_documents += table.num_rows
        self._repeated.add(hashes, table.num_rows)

    def _finish(self) -> None:
        """End the last document, and write the metadata, which tell the store's .idx."""
        if self._open is not None and self._ends.is_open:
            self._add_rows(self._open)
        if self._num_waiting:
            self._write_group()
        self._repeated.compare()
        assert self.num_documents == self._store.num_documents
        told = {
            "format_version": FORMAT_VERSION,
            "num_documents": self.num_documents,
            "num_repeated_ids": self.count_repeated(),
            "store_index": dataclasses.asdict(self._store.files["idx"]),
            "fields": dict(self._rule.fields),
            "groups": [dataclasses.asdict(group) for group in self._groups],
        }
        self._writer.add_key_value_metadata({METADATA_KEY: json.dumps(told).encode()})


def write_provenance(
    store: StoreWriter, rule: ProvenanceRule | None
) -> "contextlib.AbstractContextManager[ProvenanceWriter | None]":
    """Begin the list of where the documents of a store come from, if there is to be one."""
    return contextlib.nullcontext() if rule is None else ProvenanceWriter(store, rule)
