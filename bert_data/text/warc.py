r"""WARC: pages that a crawler archived; and WET, the texts extracted from such pages.

    WARC/1.0                                        WARC/1.0
    WARC-Type: response                             WARC-Type: request      (skipped)
    WARC-Target-URI: http://a.example/b             ...
    WARC-Date: 2024-01-01T00:00:00Z
                                      ->   TextDocument(row 1, "<p>One.", {"url": "http://a.example/b",
    HTTP/1.1 200 OK                          "date": "2024-01-01T00:00:00Z",
    Content-Type: text/html                  "content_type": "text/html"})
                                             row: the number of the record in the file
    <p>One.

Pages are `response` records with HTML and status 200; texts are `conversion` records of plain text.
All other records are skipped. ISO 28500 defines the format; Common Crawl publishes its crawls in
it.
"""

import contextlib
import dataclasses
import functools
import io
import re
from collections.abc import Iterator, Sequence
from typing import IO, TYPE_CHECKING

from bert_data.errors import CorruptDataError
from bert_data.packages import load_package
from bert_data.storage import naming, open_input
from bert_data.text.compression import DAMAGE, StreamsFile, describe_damage, open_bytes
from bert_data.text.documents import (
    STRICT,
    DocumentBlock,
    RowError,
    Span,
    TextConfig,
    TextDocument,
    decode_text,
    fill_blocks,
)
from bert_data.text.file_kinds import HEAD_BYTES, binary_kind
from bert_data.text.html import CONTENT_TYPES, add_too_long, decode_page, max_page_bytes
from bert_data.text.http_content import decode_content

if TYPE_CHECKING:
    from fastwarc.warc import WarcRecord

_STATUS_OK = 200
_PLAIN = "text/plain"
_MAGIC = b"WARC/"
_CODINGS = ("Content-Encoding", "Transfer-Encoding")  # the latter are applied last
# How a member or a frame begins, and the bytes that show whether it begins with a record: zstandard
# gives nothing of a block of up to 128 KB before it is whole.
_MEMBERS = {
    ".gz": (re.compile(rb"\x1f\x8b\x08[\0-\x1f]"), 4 << 10),
    ".zst": (re.compile(rb"\x28\xb5\x2f\xfd"), 132 << 10),
}
_SEARCH_BYTES = 1 << 20


def read_warc(spans: Sequence[Span], config: TextConfig) -> Iterator[DocumentBlock]:
    """Yield the pages and texts of archives."""
    for span in spans:
        records = _RecordsOfFile(span.path, config)
        add = functools.partial(add_record, config)
        yield from fill_blocks(span.path, iter(records), add, position=records.position)


class _RecordsOfFile:
    """The records of a file; of `.gz` and `.zst`, the members after a damaged one, too."""

    def __init__(self, path: str, config: TextConfig) -> None:
        self._path, self._config = path, config
        self._position = 0

    def position(self) -> int:
        """Return how far the file has been read; of a pipe, which has no positions, 0."""
        return self._position

    def __iter__(self) -> Iterator["Record | CorruptDataError"]:
        """Yield records, and an error in the place of those that damage took."""
        start: int | None = 0
        while start is not None:
            with open_bytes(self._path, start) as (stream, file):
                try:
                    for record in read_records(self._path, stream, max_page_bytes(self._config)):
                        self._position = file.tell() if file.seekable() else 0
                        yield record
                    self._position = file.tell() if file.seekable() else 0
                    return
                except DAMAGE as error:
                    can_go_on = (
                        self._path.endswith((*_MEMBERS,)) and self._config.on_error != STRICT
                    )
                    if not can_go_on or not isinstance(stream, StreamsFile):
                        raise
                    damaged = stream.stream_start
                    start = _find_member(self._path, damaged + 1)
                    if start is None:
                        raise
                    reason = f"{describe_damage(error)}; skipped to byte {start:,}"
            yield CorruptDataError(self._path, damaged, reason)


def _find_member(path: str, position: int) -> int | None:
    """Return where the first member with a record at or after a place in a file begins."""
    ending = next(each for each in _MEMBERS if path.endswith(each))
    beginning, num_head_bytes = _MEMBERS[ending]
    with naming(path), open_input(path) as file:
        if not file.seekable():
            return None
        file.seek(position)
        data = b""
        while more := file.read(_SEARCH_BYTES):
            position -= len(data)
            data += more
            for match in beginning.finditer(data):
                if len(data) - match.start() < num_head_bytes and len(more) == _SEARCH_BYTES:
                    break
                head = io.BytesIO(data[match.start() : match.start() + num_head_bytes])
                with contextlib.suppress(*DAMAGE):
                    if StreamsFile(head, ending).read(len(_MAGIC)) == _MAGIC:
                        return position + match.start()
            position += len(data)
            data = data[-num_head_bytes:]
    return None


class _Counted:
    """A stream that knows its position, as fastwarc requires."""

    def __init__(self, stream: IO[bytes]) -> None:
        self._stream = stream
        self._position = 0
        self.head = b""  # what was read first

    def read(self, size: int = -1) -> bytes:
        data = self._stream.read(size)
        self.head = self.head or data[:HEAD_BYTES]
        self._position += len(data)
        return data

    def tell(self) -> int:
        return self._position


@dataclasses.dataclass(frozen=True)
class Record:
    """A record: its headers, its content if it is needed, and the content's size."""

    record: "WarcRecord"
    headers: dict[str, str]
    content: bytes | None
    num_bytes: int


def read_records(path: str, stream: IO[bytes], most: int) -> Iterator[Record]:
    """Yield the records of a stream, with the content of pages and texts."""
    warc = load_package("fastwarc.warc", f"{path}: WARC")
    offset = 0
    counted = _Counted(stream)
    records = warc.ArchiveIterator(
        counted, parse_http=False, stream_detect=False, fsspec_args=False
    )
    while True:
        try:
            record = next(records, None)
            if record is None:
                return
            offset = record.stream_pos
            yield _read(path, offset, record, most)
        except OSError as error:
            # Errors of the stream itself have a number, or are the decompressor's.
            if type(error) is not OSError or error.errno is not None:
                raise
            kind = "" if counted.head.startswith(_MAGIC) else binary_kind(counted.head)
            if kind:
                raise CorruptDataError(path, 0, f"not WARC: it is {kind}") from error
            raise CorruptDataError(path, offset, f"not WARC from here on ({error})") from error


def _read(path: str, offset: int, record: "WarcRecord", most: int) -> Record:
    """Read a record's whole content, to notice if it ends too early."""
    headers = {name.lower(): value for name, value in record.headers.items()}
    content_length = headers.get("content-length", "").strip()
    if not (content_length.isascii() and content_length.isdigit()):
        raise CorruptDataError(path, offset, "a WARC record has no Content-Length")
    num_bytes = int(content_length)
    if num_bytes > most or not is_page_or_text(headers):
        num_read = record.consume() if num_bytes else 0
        content = None
    else:
        content = record.reader.read()
        num_read = len(content)
    if num_read != num_bytes:
        raise CorruptDataError(
            path, offset, f"the file ends within a WARC record ({num_read} of {num_bytes} bytes)"
        )
    return Record(record, headers, content, num_bytes)


def is_page_or_text(headers: dict[str, str]) -> bool:
    """Whether a record may be a document, by its headers."""
    kind = headers.get("warc-type", "").strip().lower()
    if kind == "response":
        return headers.get("content-type", "").strip().lower().startswith("application/http")
    return kind == "conversion" and headers.get("content-type", "").lower().startswith(_PLAIN)


def add_record(
    config: TextConfig, block: DocumentBlock, row: int, record: Record | CorruptDataError
) -> int:
    """Add the document of a record, if it has one, to a block; return its characters."""
    if isinstance(record, CorruptDataError):
        block.skip(row, RowError(f"at byte {record.offset:,}: {record.reason}"), config)
        return 0
    if not is_page_or_text(record.headers):
        return 0
    most = max_page_bytes(config)
    try:
        if record.content is None:
            add_too_long(block, row, record.num_bytes, config)
            return 0
        if record.headers["warc-type"].strip().lower() == "conversion":
            text, num_replaced = decode_text(record.content, config.encoding_errors)
            content_type = _PLAIN
        else:
            page = _open_page(record, most)
            if page is None:
                return 0
            data, content_type, declared = page
            if len(data) > most:
                add_too_long(block, row, len(data), config)
                return 0
            text, num_replaced = decode_page(data, declared, config.encoding_errors)
    except RowError as error:
        block.skip(row, error, config)
        return 0
    block.num_replaced += num_replaced
    fields = _fields(record.headers, content_type) if config.keep_fields else None
    block.documents.append(TextDocument(row, text, fields))
    return len(text)


def _open_page(record: Record, most: int) -> tuple[bytes, str, str | None] | None:
    """Return bytes (at most `most` + 1), type and encoding of a page; None if it is not one."""
    from fastwarc.warc import WarcRecord

    # A separate record: if parsing fails within the file's own, its iterator ends.
    answer = WarcRecord()
    answer.is_http = True
    answer.set_bytes_content(record.content or b"")
    try:
        answer.parse_http(auto_decode="none", quirks_mode=True)
        headers = answer.http_headers
        if headers is None or (headers.status_code or _STATUS_OK) != _STATUS_OK:
            return None
        content_type = (answer.http_content_type or "").lower()
        if content_type not in CONTENT_TYPES:
            return None
        content = answer.reader.read()
    except OSError as error:
        raise RowError(f"unreadable HTTP response ({error})") from None
    codings = [value for name in _CODINGS for value in headers.get_multiple(name)]
    return decode_content(content, codings, most), content_type, answer.http_charset


def _fields(headers: dict[str, str], content_type: str) -> dict[str, str]:
    of_headers = {
        "url": headers.get("warc-target-uri", "").strip().removeprefix("<").removesuffix(">"),
        "date": headers.get("warc-date", "").strip(),
        "record_id": headers.get("warc-record-id", "").strip(),
    }
    return {name: value for name, value in of_headers.items() if value} | {
        "content_type": content_type
    }
