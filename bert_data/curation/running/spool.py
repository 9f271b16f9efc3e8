"""Documents between two passes: a stream of Arrow, compressed with LZ4.

    with SpoolWriter(path) as spool:
        spool.add(document)                        id | text | fields (JSON)
    read_spool(path, "crawl", 10, 20)  ->  documents 10 .. 19

A batch has about 1 MB of text, which is what is held in memory, and more if a document has more.

What a pass leaves of a shard of files is cut into spooled shards of a bounded size:

    documents of 30, 30 and 50 bytes, at most 70 bytes  ->  0000: 2 documents   0001: 1 document
"""

import dataclasses
import json
import math
import os
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, Self

import pyarrow
from pyarrow import ipc

from bert_data.curation.document import Document
from bert_data.storage import open_input, open_scratch, remove

SPOOL, OBSERVED = "spool.arrow", "observed"
"""What is in the folder of a spooled shard: its documents, and what a `CorpusStep` observed."""

_SCHEMA = pyarrow.schema(
    [("id", pyarrow.string()), ("text", pyarrow.large_string()), ("fields", pyarrow.string())]
)
_BATCH_CHARACTERS = 1 << 20
_BATCH_DOCUMENTS = 4096


def plain_value(value: Any) -> Any:
    """What JSON can hold in place of a value that it cannot: a number of NumPy's, or a text."""
    if hasattr(value, "item"):
        return value.item()
    return value.decode(errors="replace") if isinstance(value, bytes) else str(value)


def _encoder(*, ascii_only: bool, with_nan: bool) -> json.JSONEncoder:
    return json.JSONEncoder(
        ensure_ascii=ascii_only,
        allow_nan=with_nan,
        separators=(",", ":"),
        default=plain_value,
        check_circular=False,
    )


# Made once: `json.dumps` would make one a call.
_ENCODERS = {flag: _encoder(ascii_only=flag, with_nan=False) for flag in (False, True)}
_OF_SPOOL = _encoder(ascii_only=True, with_nan=True)


def dump_fields(value: Any, *, ascii_only: bool = True) -> str:
    """JSON of what is in fields; what JSON does not know (times, bytes) becomes text.

    Numbers that are none, or infinite, become null: no JSON has them, though Python writes them.
    """
    try:
        return _ENCODERS[ascii_only].encode(value)
    except ValueError as error:
        if isinstance(error, UnicodeError):
            raise
        return _ENCODERS[ascii_only].encode(_finite(value))


def _finite(value: Any) -> Any:
    if isinstance(value, Mapping):
        return {key: _finite(each) for key, each in value.items()}
    if isinstance(value, list | tuple):
        return [_finite(each) for each in value]
    value = value.item() if hasattr(value, "item") else value
    return None if isinstance(value, float) and not math.isfinite(value) else value


class SpoolWriter:
    """Writes documents to a file."""

    def __init__(self, path: Path) -> None:
        self._ids: list[str] = []
        self._texts: list[str] = []
        self._fields: list[str | None] = []
        self._num_characters = 0
        self._file = open_scratch(path)
        options = ipc.IpcWriteOptions(compression="lz4")
        self._writer = ipc.new_stream(self._file, _SCHEMA, options=options)

    def add(self, document: Document) -> None:
        """Adds a document."""
        self._ids.append(document.id)
        self._texts.append(document.text)
        self._fields.append(_OF_SPOOL.encode(document.fields) if document.fields else None)
        self._num_characters += len(document.text)
        if self._num_characters >= _BATCH_CHARACTERS or len(self._ids) >= _BATCH_DOCUMENTS:
            self._flush()

    def _flush(self) -> None:
        columns = (self._ids, self._texts, self._fields)
        arrays = [
            pyarrow.array(column, kind) for column, kind in zip(columns, _SCHEMA.types, strict=True)
        ]
        self._writer.write_batch(pyarrow.record_batch(arrays, schema=_SCHEMA))
        self._ids, self._texts, self._fields, self._num_characters = [], [], [], 0

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: object, *_: object) -> None:
        """Writes what is left, unless there was an error."""
        with self._file:
            if kind is None:
                if self._ids:
                    self._flush()
                self._writer.close()


def read_spool(
    path: Path, source: str, start: int = 0, end: int | None = None
) -> Iterator[Document]:
    """Reads documents: those of numbers `start` to `end`, exclusive."""
    before = 0
    with open_input(path) as file, ipc.open_stream(file) as stream:
        for batch in stream:
            first = max(start - before, 0)
            last = batch.num_rows if end is None else min(end - before, batch.num_rows)
            if first < last:
                part = batch.slice(first, last - first)
                columns = [part.column(i).to_pylist() for i in range(3)]
                for name, text, fields in zip(*columns, strict=True):
                    yield Document(name, source, text, json.loads(fields) if fields else {})
            before += batch.num_rows
            if end is not None and before >= end:
                return


@dataclasses.dataclass(frozen=True)
class SpooledShard:
    """What an earlier pass has left of a shard, or of a part of it.

    Attributes:
      number: among all of them, from 0.
      data_set: number of its data set.
      path: its folder.
      num_documents: in it.
      num_bytes: of their texts.
    """

    number: int
    data_set: int
    path: str
    num_documents: int
    num_bytes: int

    @property
    def task_name(self) -> str:
        """The name of its folder in a pass."""
        return f"{self.number:06d}"

    @property
    def spool(self) -> Path:
        """Where its documents are."""
        return Path(self.path, SPOOL)

    @property
    def observed(self) -> Path:
        """Where what was observed of them is."""
        return Path(self.path, OBSERVED)

    def forget(self) -> None:
        """Removes what a later pass has worked up."""
        remove(os.fspath(self.spool))
        remove(os.fspath(self.observed))


class DocumentsOfShard:
    """Documents up to a number of bytes, and the one behind them.

    Attributes:
      following: the first document that is not one of them, or None.
      num_documents, num_bytes: of those that are.
    """

    def __init__(
        self, first: Document | None, documents: Iterator[Document], max_bytes: int | None
    ) -> None:
        self.following = first
        self._documents, self._max_bytes = documents, max_bytes
        self.num_documents = self.num_bytes = 0

    def __iter__(self) -> Iterator[Document]:
        while (document := self.following) is not None:
            num_bytes = self.num_bytes + document.num_bytes
            if self.num_documents and self._max_bytes is not None and num_bytes > self._max_bytes:
                return
            self.num_documents += 1
            self.num_bytes = num_bytes
            yield document
            self.following = next(self._documents, None)
