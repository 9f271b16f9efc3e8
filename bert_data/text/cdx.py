r"""Indexes of web archives: chosen pages of a crawl, each read by its place in a WARC file.

    com,example)/b 20240101000000 {"url": "http://example.com/b", "status": "200", "mime":
      "text/html", "filename": "crawl/a.warc.gz", "offset": "812", "length": "4021"}
    ->  the document of the record in bytes 812 to 4832 of crawl/a.warc.gz, as `warc` makes it
        row: the number of the line

A line is JSON after a key and a time (CDXJ), or has the columns that a first line " CDX N b a ..."
names; Common Crawl publishes the former. A file is looked for from the index's folder upwards, so
that the index of a bucket finds what it names from the bucket's root. Lines of other kinds than
pages with status 200 are skipped without a read.
"""

import dataclasses
import functools
import io
import json
import posixpath
import zlib
from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

import numpy as np

from bert_data.errors import CorruptDataError
from bert_data.storage import absolute_path, exists, is_remote, read_many, read_range
from bert_data.text.compression import open_bytes
from bert_data.text.documents import DocumentBlock, RowError, Span, TextConfig
from bert_data.text.html import CONTENT_TYPES, MAX_PAGE_BYTES, add_too_long, max_page_bytes
from bert_data.text.lines import number_blocks, read_line_blocks
from bert_data.text.warc import add_record, is_page_or_text, read_records

_HEAD_BYTES = 1 << 12
_MAGIC = b" CDX "
_COLUMNS = {"a": "url", "m": "mime", "s": "status", "S": "length", "V": "offset", "g": "filename"}
_NEEDED = ("filename", "offset", "length")
_UNKNOWN = ("", "-", "unk")
_MAX_BATCH, _MAX_BATCH_BYTES = 64, 1 << 25  # records that are read at a time
_GZIP = b"\x1f\x8b"
_WARC = b"WARC/"
_HEADERS_BYTES = 1 << 20  # of a record, beside its page


class _Entry(NamedTuple):
    """A line: its number, the file of the record, the record's bytes in it, its languages."""

    row: int
    path: str
    offset: int
    length: int
    languages: str


def read_cdx(spans: Sequence[Span], config: TextConfig) -> Iterator[DocumentBlock]:
    """Yield the pages that indexes name."""
    for span in spans:
        columns = _columns(span.path)
        blocks = read_line_blocks([span], config.max_row_bytes)
        for lines, row in number_blocks(blocks, [span]):
            rows = lines.data.removesuffix(b"\n").split(b"\n")
            block = DocumentBlock(
                path=span.path, num_rows=len(rows), num_file_bytes=lines.num_file_bytes
            )
            for batch in _batches(span.path, rows, row + 1, columns, block, config):
                _add(batch, block, config)
                yield block
                block = DocumentBlock(path=span.path)
            yield block


def _columns(path: str) -> list[str] | None:
    """Return the names of the columns that an index's first line names; None for CDXJ."""
    with open_bytes(path) as (text, _):
        head = text.read(_HEAD_BYTES).partition(b"\n")[0].rstrip(b"\r")
    if not head.startswith(_MAGIC):
        return None
    letters = head.decode("utf-8", "replace").split(head[:1].decode())[2:]
    columns = [_COLUMNS.get(letter, letter) for letter in letters]
    for name in _NEEDED:
        if name not in columns:
            letter = next(letter for letter, column in _COLUMNS.items() if column == name)
            raise ValueError(
                f"{path}: the index has no {name} (column {letter}); its columns are"
                f" {' '.join(letters)}"
            )
    return columns


def _batches(
    path: str,
    rows: Sequence[bytes],
    first: int,
    columns: list[str] | None,
    block: DocumentBlock,
    config: TextConfig,
) -> Iterator[list[_Entry]]:
    """Yield the entries of lines, as many as are read at a time."""
    batch: list[_Entry] = []
    num_bytes = 0
    for row, line in enumerate(rows, first):
        if not line.strip() or line.startswith(_MAGIC):
            continue
        try:
            entry = _parse(path, row, line, columns)
        except RowError as error:
            block.skip(row, error, config)
            continue
        if entry is None:
            continue
        if entry.length > MAX_PAGE_BYTES:
            add_too_long(block, row, entry.length, config)
            continue
        batch.append(entry)
        num_bytes += entry.length
        if len(batch) >= _MAX_BATCH or num_bytes >= _MAX_BATCH_BYTES:
            yield batch
            batch, num_bytes = [], 0
    if batch:
        yield batch


def _parse(index: str, row: int, line: bytes, columns: list[str] | None) -> _Entry | None:
    """Return the entry in a line, None if it is not one of a page."""
    values = _values(line.decode("utf-8", "replace"), columns)
    status, mime = (str(values.get(name, "")) for name in ("status", "mime"))
    if status not in (*_UNKNOWN, "200") or mime not in (*_UNKNOWN, *CONTENT_TYPES, "text/plain"):
        return None
    numbers = []
    for name in _NEEDED[1:]:
        value = str(values.get(name, ""))
        if not (value.isascii() and value.isdigit() and len(value) < 19):
            raise RowError(f"{name} is {value!r:.40}; it must be a number of bytes")
        numbers.append(int(value))
    offset, length = numbers
    if not values.get("filename"):
        raise RowError("no filename")
    inner, file = posixpath.split(str(values["filename"]))
    if ".." in inner.split("/"):
        raise RowError(
            f"the filename leads out of the archive's folder: {values['filename']!r:.80}"
        )
    place = _find_folder(posixpath.dirname(absolute_path(index)), inner, file)
    path = posixpath.join(place, file)
    return _Entry(row, path, offset, length, str(values.get("languages", "")))


def _values(line: str, columns: list[str] | None) -> Mapping[str, object]:
    if columns is not None:
        parts = line.split()
        if len(parts) != len(columns):
            raise RowError(f"{len(parts)} columns; there must be {len(columns)}")
        return dict(zip(columns, parts, strict=True))
    _, brace, rest = line.partition("{")
    try:
        values = json.loads(brace + rest)
    except ValueError:
        values = None
    if not isinstance(values, dict):
        raise RowError("not CDXJ: a key, a time and an object of JSON")
    return values


@functools.lru_cache(maxsize=4096)
def _find_folder(folder: str, inner: str, name: str) -> str:
    """Return the folder of a WARC file, named from the index's folder or one above it."""
    if inner.startswith("/") or is_remote(inner):
        return inner
    above = folder
    while True:
        place = posixpath.join(above, inner)
        if exists(posixpath.join(place, name)):
            return place
        parent = posixpath.dirname(above)
        if parent in ("", above) or parent.endswith(":/"):
            break
        above = parent
    raise RowError(f"no file {posixpath.join(inner, name)} in {folder} or a folder above it")


def _add(batch: Sequence[_Entry], block: DocumentBlock, config: TextConfig) -> None:
    most = max_page_bytes(config)
    contents = read_many(_read, batch, [entry.path for entry in batch])
    for entry, content in zip(batch, contents, strict=True):
        before = len(block.documents)
        try:
            if content is None:
                raise RowError(
                    f"{entry.path}: the archive ends before bytes {entry.offset:,} to"
                    f" {entry.offset + entry.length - 1:,}, which the index names"
                )
            data = _decompressed(content)
            if not data.startswith(_WARC):
                raise RowError(
                    f"{entry.path}: no WARC record at byte {entry.offset:,}; is the offset right?"
                )
            for record in read_records(entry.path, io.BytesIO(data), most):
                if is_page_or_text(record.headers):
                    add_record(config, block, entry.row, record)
                    break
            else:
                raise RowError(f"{entry.path}: no page at byte {entry.offset:,}")
        except CorruptDataError as error:
            reason = f"{entry.path}, record at byte {entry.offset:,}: {error.reason}"
            block.skip(entry.row, RowError(reason), config)
        except RowError as error:
            block.skip(entry.row, error, config)
        for number, document in enumerate(block.documents[before:], before):
            if document.fields is not None and entry.languages:
                fields = {**document.fields, "languages": entry.languages}
                block.documents[number] = dataclasses.replace(document, fields=fields)


def _read(entry: _Entry) -> bytes | None:
    """Return the bytes of a record, or None if the file ends before them or within them."""
    content = np.empty(entry.length, np.uint8)
    try:
        read_range(entry.path, entry.offset, content)
    except CorruptDataError:
        return None
    return content.tobytes()


def _decompressed(content: bytes) -> bytes:
    """Return the bytes of a record, decompressed, up to the most that a page may have."""
    if not content.startswith(_GZIP):
        return content
    stream = zlib.decompressobj(31)  # of gzip
    try:
        data = stream.decompress(content, MAX_PAGE_BYTES + _HEADERS_BYTES)
    except zlib.error as error:
        raise RowError(f"the compressed record is damaged ({error})") from None
    if not stream.eof and not stream.unconsumed_tail:
        raise RowError("the compressed record is cut off; is its length right?")
    return data
