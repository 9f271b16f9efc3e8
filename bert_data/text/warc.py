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
All other records are left out, and counted by what they are. What a record holds is said by its
first bytes, then by WARC-Identified-Payload-Type, then by the server. ISO 28500 defines the format;
Common Crawl publishes its crawls in it.
"""

import functools
import re
from collections.abc import Iterator, Sequence

from bert_data.errors import CorruptDataError
from bert_data.text.documents import (
    DocumentBlock,
    RowError,
    Span,
    TextDocument,
    decode_text,
    fill_blocks,
)
from bert_data.text.file_kinds import HEAD_BYTES, binary_kind, markup_kind
from bert_data.text.html import CONTENT_TYPES, add_too_long, decode_page, max_page_bytes
from bert_data.text.http_content import decode_content
from bert_data.text.text_config import STRICT, TextConfig
from bert_data.text.warc_records import PLAIN, Record, RecordsOfFile, is_page_or_text

_STATUS_OK = 200
_CODINGS = ("Content-Encoding", "Transfer-Encoding")  # the latter are applied last
_PAYLOAD_TYPE = "warc-identified-payload-type"
_NAME = re.compile(r"[a-z0-9][a-z0-9.+/-]{0,60}")  # of a kind of record, or a type of content
_BYTE_ORDER_MARK = b"\xef\xbb\xbf"


class _NoPageError(Exception):
    """A record holds no page; the message says what it holds."""


def read_warc(spans: Sequence[Span], config: TextConfig) -> Iterator[DocumentBlock]:
    """Yield the pages and texts of archives."""
    for span in spans:
        most, goes_on = max_page_bytes(config), config.on_error != STRICT
        records = RecordsOfFile(span.path, most, goes_on=goes_on)
        add = functools.partial(add_record, config)
        yield from fill_blocks(span.path, iter(records), add, position=records.position)


def add_record(
    config: TextConfig, block: DocumentBlock, row: int, record: Record | CorruptDataError
) -> int:
    """Add the document of a record, if it has one, to a block; return its characters."""
    if isinstance(record, CorruptDataError):
        block.skip(row, RowError(f"at byte {record.offset:,}: {record.reason}"), config)
        return 0
    if not is_page_or_text(record.headers):
        block.left_out[f"{_name(record.headers.get('warc-type', ''))} records"] += 1
        return 0
    most = max_page_bytes(config)
    try:
        if record.content is None:
            add_too_long(block, row, record.num_bytes, config)
            return 0
        if record.headers["warc-type"].strip().lower() == "conversion":
            text, num_replaced = decode_text(record.content, config.encoding_errors)
            content_type = PLAIN
        else:
            data, content_type, declared = _open_page(record, most)
            if len(data) > most:
                add_too_long(block, row, len(data), config)
                return 0
            text, num_replaced = decode_page(data, declared, config.encoding_errors)
    except _NoPageError as error:
        block.left_out[str(error)] += 1
        return 0
    except RowError as error:
        block.skip(row, error, config)
        return 0
    block.num_replaced += num_replaced
    fields = _fields(record.headers, content_type) if config.keep_fields else None
    block.documents.append(TextDocument(row, text, fields))
    return len(text)


def _name(text: str) -> str:
    """Return what a record says of itself as a name to count by; archives hold all kinds."""
    name = _NAME.match(text.strip().lower())
    return name[0] if name else "other"


def _refuse_binary(data: bytes) -> None:
    if kind := binary_kind(data[:HEAD_BYTES]):
        raise _NoPageError(kind.partition("; ")[0])


def _open_page(record: Record, most: int) -> tuple[bytes, str, str | None]:
    """Return bytes (at most `most` + 1), type and encoding of a page."""
    from fastwarc.warc import WarcRecord

    # A separate record: if parsing fails within the file's own, its iterator ends.
    answer = WarcRecord()
    answer.is_http = True
    answer.set_bytes_content(record.content or b"")
    try:
        answer.parse_http(auto_decode="none", quirks_mode=True)
        headers = answer.http_headers
        status = (headers and headers.status_code) or _STATUS_OK
        if headers is None or status != _STATUS_OK:
            raise _NoPageError(f"HTTP status {status}" if headers else "answers without headers")
        served = (answer.http_content_type or "").strip().lower()
        identified = record.headers.get(_PAYLOAD_TYPE, "").strip().lower()
        declared = identified or served
        if declared and not {served, identified} & {*CONTENT_TYPES}:
            raise _NoPageError(_name(declared))
        content = answer.reader.read()
    except OSError as error:
        raise RowError(f"unreadable HTTP response ({error})") from None
    codings = [value for name in _CODINGS for value in headers.get_multiple(name)]
    data = decode_content(content, codings, most)
    _refuse_binary(data)
    if declared not in CONTENT_TYPES:
        if markup_kind(data[:HEAD_BYTES].removeprefix(_BYTE_ORDER_MARK)) != "HTML":
            raise _NoPageError(_name(declared) if declared else "answers without a type")
        declared = CONTENT_TYPES[0]
    return data, declared, answer.http_charset


def _fields(headers: dict[str, str], content_type: str) -> dict[str, str]:
    of_headers = {
        "url": headers.get("warc-target-uri", "").strip().removeprefix("<").removesuffix(">"),
        "date": headers.get("warc-date", "").strip(),
        "record_id": headers.get("warc-record-id", "").strip(),
    }
    return {name: value for name, value in of_headers.items() if value} | {
        "content_type": content_type
    }
