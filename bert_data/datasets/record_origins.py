"""The documents that records come from: two kinds of files beside the shards of a set.

    origins.train-00000-of-00008.records      for each record, where A and B begin in the tokens of
                                              the set's text, and their lengths
    origins.train-00000-of-00008.documents    this text, in order: lines of JSON, compressed by gzip

    {"tokens": 523, "file": "web.jsonl", "row": 17, "id": "a17"}
    {"tokens": 99000, "store": "/data/web", "start": 0, "stop": 170, "crc32": 2908}

A line is a document, or some of a token store. A set has a list of them for each stream of random
numbers, with the name of its first shard. The other kind is a line of JSON, padded to 64 bytes, the
words of the records' rows (see `objectives.rows`) that say this, and a CRC-32.
"""

import contextlib
import dataclasses
import gzip
import json
import os
import zlib
from collections.abc import Iterable, Iterator, Sequence
from typing import IO, Any, Self

import msgspec
import numpy as np
from numpy.typing import NDArray
from zlib_ng.zlib_ng import crc32

from bert_data.datasets.manifest import origins_path
from bert_data.errors import CorruptDataError
from bert_data.formats.manifest_file import ManifestFile, OpenFile
from bert_data.formats.registry import OpenShard, ShardWriter
from bert_data.storage import Count, absolute_path, decode_json, exists, map_file, open_input
from bert_data.storage.changing import SummedFile
from bert_data.tokens.merging import StoreSpan
from bert_data.tokens.places import DocumentEnds, Places, ProvenanceRule
from bert_data.tokens.provenance import RepeatedIds, hash_of
from bert_data.tokens.store import open_store
from bert_data.tokens.store_files import read_notes

_FORMAT_VERSION, _ALIGNMENT, _SUM_BYTES = 1, 64, 4
_NARROW, _WIDE = (0, 2, 4), (0, 1, 2, 3, 4)  # words of a row, for up to 2**32 tokens and for more


class ListedDocument(msgspec.Struct, omit_defaults=True):
    """A document, or documents `start` to `stop`, exclusive, of a store, by their tokens.

    Attributes:
      crc32: of the store's .idx.
    """

    tokens: int
    file: str | None = None
    row: int | None = None
    id: str | None = None
    url: str | None = None
    source: str | None = None
    license: str | None = None
    date: str | None = None
    store: str | None = None
    start: int = 0
    stop: int = 0
    crc32: int | None = None


class DocumentList:
    """Writes the list of documents of a stream."""

    def __init__(self, file: IO[bytes], rule: ProvenanceRule) -> None:
        """Begin a list."""
        self._rule = rule
        self._file = gzip.GzipFile("", "wb", compresslevel=1, fileobj=file, mtime=0)
        self._encode = msgspec.json.Encoder().encode_lines
        self._ends = DocumentEnds()
        self._open: ListedDocument | None = None  # the next one to end
        self._num_listed = self._num_tokens = 0
        self._repeated = RepeatedIds()

    def count_repeated(self) -> int:
        """Return how many documents have the id of an earlier one; when all were added."""
        if self._open is not None and self._ends.is_open:
            self._count_ids([self._open])
        self._repeated.compare()
        return self._repeated.num_repeated

    def _count_ids(self, documents: Sequence[ListedDocument]) -> None:
        hashes = [hash_of(each.id) for each in documents if each.id]
        self._repeated.add(np.array(hashes, np.uint64), len(documents))

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        if kind is None:
            if self._open is not None and self._ends.is_open:
                self._write([self._open], [self._num_tokens - self._num_listed])
            self._file.close()

    def _write(self, documents: Sequence[ListedDocument], tokens: Sequence[int]) -> None:
        for document, size in zip(documents, tokens, strict=True):
            document.tokens = size
        self._file.write(self._encode(documents))

    def add(self, places: Places, lengths: NDArray[np.integer], breaks: NDArray[np.int64]) -> None:
        """Add the documents that end in a block, whose sentences have these lengths."""
        known = self._documents(places)[self._ends.num_repeated(places) :]
        if self._open is not None:
            known = [self._open, *known]
        chosen, ends = self._ends.add(places, lengths.size, breaks)
        sums = np.concatenate([[0], np.cumsum(lengths, dtype=np.int64)]) + self._num_tokens
        totals = np.concatenate([[self._num_listed], sums[ends]])
        *own, last = (known[place] for place in chosen.tolist())
        self._write(own, np.diff(totals).tolist())
        self._count_ids(own)
        self._open = last
        self._num_listed, self._num_tokens = int(totals[-1]), int(sums[-1])

    def _documents(self, places: Places) -> list[ListedDocument]:
        name = _written(self._rule.name(places.path))
        listed = [ListedDocument(0, name, row) for row in places.rows.tolist()]
        if places.first_path and listed:
            listed[0].file = _written(self._rule.name(places.first_path))
        for column, values in places.columns.items():
            for document, value in zip(listed, values, strict=True):
                setattr(document, column, _written(value) if value else None)
        return listed

    def add_spans(self, spans: Sequence[StoreSpan]) -> None:
        """Add documents of token stores."""
        opened = {prefix: open_store(prefix) for prefix in {span.prefix for span in spans}}
        for span in spans:
            store, notes = opened[span.prefix], read_notes(span.prefix)
            stop = store.num_documents if span.stop is None else span.stop
            self._file.write(
                self._encode(
                    [
                        ListedDocument(
                            store.first_token(stop) - store.first_token(span.start),
                            store=_written(absolute_path(span.prefix)),
                            start=span.start,
                            stop=stop,
                            crc32=None if notes is None else notes.files["idx"].crc32,
                        )
                    ]
                )
            )

    def add_list(self, path: str) -> None:
        """Add a list that another task wrote."""
        with open_input(path) as file:
            self._file.writelines(gzip.GzipFile(fileobj=file))


def _written(text: str) -> str:
    return text if text.isascii() else text.encode(errors="replace").decode()


@contextlib.contextmanager
def list_documents(
    open_file: OpenFile, path: str, rule: ProvenanceRule | None
) -> Iterator[DocumentList | None]:
    """Begin a list of documents, if there is to be one."""
    if rule is None:
        yield None
    else:
        with open_file(path) as file, DocumentList(file, rule) as documents:
            yield documents


def read_documents(path: str) -> Iterator[tuple[int, ListedDocument]]:
    """Yield the lines of a list, each with the tokens before it."""
    decode, start = msgspec.json.Decoder(ListedDocument).decode, 0
    with open_input(path) as raw:
        try:
            for line in gzip.GzipFile(fileobj=raw):
                document = decode(line)
                yield start, document
                start += document.tokens
        except (OSError, EOFError, zlib.error, msgspec.MsgspecError) as error:
            reason = f"not a readable list of documents ({error})"
            raise CorruptDataError(path, 0, reason) from error


@dataclasses.dataclass(frozen=True)
class _Header:
    """The first line of a file of origins; `documents` is the name of the list."""

    format_version: int
    documents: str
    num_records: Count
    num_words: int


@dataclasses.dataclass(frozen=True)
class OriginsWriter:
    """Writes shards, and beside each where its records begin.

    Attributes:
      documents: path of the list of documents.
      num_tokens: of the stream.
    """

    writer: ShardWriter
    documents: str
    num_tokens: int

    @property
    def _words(self) -> tuple[int, ...]:
        return _NARROW if self.num_tokens <= 1 << 32 else _WIDE

    def words_of(self, rows: NDArray[np.uint32], order: NDArray[np.uint32]) -> NDArray[np.uint32]:
        """Return uint32[records, words], what is kept of the rows in `order`."""
        return rows[order[:, None], np.array(self._words)]

    @contextlib.contextmanager
    def open_shard(
        self, open_file: OpenFile, path: str, num_records: int
    ) -> Iterator["_ShardWithOrigins"]:
        """Begin a shard and the file beside it."""
        header = {
            "format_version": _FORMAT_VERSION,
            "documents": os.path.basename(self.documents),
            "num_records": num_records,
            "num_words": len(self._words),
        }
        text = json.dumps(header)
        with (
            self.writer.open_shard(open_file, path, num_records) as shard,
            open_file(origins_path(path)) as file,
        ):
            summed = SummedFile(file, crc32)
            summed.write(text.ljust(-(-len(text) // _ALIGNMENT) * _ALIGNMENT).encode())
            yield _ShardWithOrigins(shard, summed)


@dataclasses.dataclass(frozen=True)
class _ShardWithOrigins:
    """A shard that is being written; see `OriginsWriter`."""

    shard: OpenShard
    origins: SummedFile

    def add(self, encoded: tuple[Any, NDArray[np.uint32]]) -> None:
        """Add encoded records, and their words."""
        self.shard.add(encoded[0])
        self.origins.write(encoded[1].data)

    def finish(self) -> ManifestFile:
        """End both files."""
        self.origins.file.write(self.origins.checksum.to_bytes(_SUM_BYTES, "little"))
        return self.shard.finish()


class RecordOrigins:
    """Places of a shard's records in the tokens of the set's text; they stay on disk.

    Attributes:
      documents: path of the list of documents.
      num_records: of the shard.
    """

    def __init__(self, shard: str, folders: Iterable[str]) -> None:
        """Read and check the file beside a shard; the list may be in other folders of its set."""
        path = origins_path(shard)
        data = map_file(path).data
        place = data[:4096].tobytes().find(b"}") + 1
        header = decode_json(data[:place].tobytes(), path, _Header)
        if header.format_version != _FORMAT_VERSION:
            raise CorruptDataError(path, 0, f"not of version {_FORMAT_VERSION}")
        first = -(-place // _ALIGNMENT) * _ALIGNMENT
        end = first + 4 * header.num_words * header.num_records
        if header.num_words not in (len(_NARROW), len(_WIDE)) or end + _SUM_BYTES != data.size:
            reason = f"has {data.size} bytes; its header says {end + _SUM_BYTES}"
            raise CorruptDataError(path, data.size, reason)
        if crc32(data[:end]) != int.from_bytes(data[end:].tobytes(), "little"):
            raise CorruptDataError(path, end, "its CRC-32 is wrong")
        self._words = data[first:end].view("<u4").reshape(header.num_records, header.num_words)
        self.num_records = header.num_records
        places = (os.path.dirname(shard), *sorted(folders))
        lists = [os.path.join(folder, header.documents) for folder in places]
        self.documents = next(filter(exists, lists), lists[0])

    def segments(self, records: slice) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Return of A and B where they begin, and their tokens: none if there is no B.

        Returns:
          Two int64[2, records].
        """
        *begins, lengths = self._words[records].T.astype(np.int64)
        if len(begins) == len(_WIDE) - 1:
            low, high = begins[::2], begins[1::2]
            begins = [one | other << 32 for one, other in zip(low, high, strict=True)]
        return np.stack(begins), np.stack([lengths & 0xFFFF, lengths >> 16])
