"""HTML: one page per file.

    a.html  b"<!doctype html><meta charset=gbk>..."  ->  TextDocument(row 1, "<!doctype html>...",
                                                             {"content_type": "text/html"})

The text of the document is the page with its tags; the step `extract` of `bert_data.curation`
turns it into what a reader sees.
"""

import codecs
import contextlib
import re
from collections.abc import Iterator, Sequence

from bert_data.packages import load_package
from bert_data.text.compression import open_bytes
from bert_data.text.documents import STRICT, DocumentBlock, RowError, Span, TextConfig, TextDocument
from bert_data.text.file_kinds import HEAD_BYTES, binary_kind

MAX_PAGE_BYTES = 1 << 28
CONTENT_TYPES = ("text/html", "application/xhtml+xml")

_BYTE_ORDER_MARKS = (
    (codecs.BOM_UTF8, "utf-8"),
    (codecs.BOM_UTF16_LE, "utf-16-le"),
    (codecs.BOM_UTF16_BE, "utf-16-be"),
)
_NUM_BYTES_DECLARING = 1024
_DECLARED = re.compile(
    rb"<meta[^<>]{1,300}?charset\s{0,9}=\s{0,9}[\"']?\s{0,9}([\w.:-]{1,40})"
    rb"|\A\s{0,9}<\?xml[^<>]{1,100}?encoding\s{0,9}=\s{0,9}[\"']([\w.:-]{1,40})",
    re.IGNORECASE,
)


def read_html(spans: Sequence[Span], config: TextConfig) -> Iterator[DocumentBlock]:
    """Yield pages.

    Raises:
      ValueError: a file is no page, a page cannot be decoded or has more than `MAX_PAGE_BYTES`, and
        `on_error` is "strict"; with the file. Or the package that detects encodings is missing.
    """
    most = max_page_bytes(config)
    for span in spans:
        block = DocumentBlock(path=span.path, num_rows=1)
        with open_bytes(span.path) as (text, file):
            parts, num_bytes = [], 0
            while num_bytes <= most and (part := text.read(most + 1 - num_bytes)):
                parts.append(part)
                num_bytes += len(part)
            block.num_file_bytes = file.tell() if file.seekable() else 0
        try:
            if num_bytes > most:
                add_too_long(block, 1, num_bytes, config)
            else:
                data = b"".join(parts)
                if kind := binary_kind(data[:HEAD_BYTES]):
                    raise RowError(f"not HTML: it is {kind}")
                page, block.num_replaced = decode_page(data, None, config.encoding_errors)
                fields = {"content_type": CONTENT_TYPES[0]} if config.keep_fields else None
                block.documents.append(TextDocument(1, page, fields))
        except RowError as error:
            block.skip(1, error, config)
        yield block


def max_page_bytes(config: TextConfig) -> int:
    """Return the size of the largest page that is read."""
    return min(MAX_PAGE_BYTES, config.max_row_bytes or MAX_PAGE_BYTES)


def add_too_long(block: DocumentBlock, row: int, num_bytes: int, config: TextConfig) -> None:
    """Note a page of more than `max_page_bytes`.

    Raises:
      RowError: no `max_row_bytes` is set.
    """
    if config.max_row_bytes is None:
        raise RowError(f"a page has more than {MAX_PAGE_BYTES:,} bytes")
    block.too_long.append((row, num_bytes))


def decode_page(data: bytes, declared: str | None, errors: str) -> tuple[str, int]:
    """Decode a page by its byte order mark, its declaration, UTF-8, or detection.

    The order is that of the HTML standard (13.2.3.2), but a page that declares UTF-8 and is valid
    UTF-8 is that; an encoding that does not fit the bytes is skipped. uchardet detects encodings.

    Args:
      data: the page.
      declared: the encoding that the server named, if any.
      errors: "strict", or how to treat bytes that fit no encoding: "replace", "ignore".

    Returns:
      The text, and the number of places that were replaced or ignored.

    Raises:
      RowError: no encoding fits, and `errors` is "strict".
      ValueError: the package that detects encodings is missing.
    """
    for mark, encoding in _BYTE_ORDER_MARKS:
        if data.startswith(mark):
            candidates = [encoding]
            data = data[len(mark) :]
            break
    else:
        if data.isascii() and b"\x1b" not in data:
            return data.decode("ascii"), 0
        in_page = _DECLARED.search(data[:_NUM_BYTES_DECLARING])
        named = (declared, (in_page[1] or in_page[2]).decode() if in_page else None)
        candidates = [each for each in map(_python_encoding, named) if each] + ["utf-8"]
        if candidates[1:] == ["utf-8", "utf-8"]:  # many servers name Latin-1 for all pages
            candidates.reverse()
    for encoding in candidates:
        with contextlib.suppress(UnicodeDecodeError):
            return data.decode(encoding), 0
    detected = _detect(data)
    with contextlib.suppress(UnicodeDecodeError):
        return data.decode(detected), 0
    if errors == STRICT:
        raise RowError(
            f"no text in any encoding (tried {', '.join(dict.fromkeys([*candidates, detected]))});"
            " `encoding_errors=replace` or ignore reads it anyway"
        )
    page = data.decode(candidates[0], errors="replace")
    num_replaced = page.count("\ufffd")
    return (page if errors == "replace" else page.replace("\ufffd", "")), num_replaced


def _python_encoding(label: str | None) -> str | None:
    """Return Python's name of the encoding that a label means on the web; None if it is unknown.

    By the Encoding standard, Latin-1 means windows-1252 and GB2312 means GB18030; a page whose
    declaration could be read cannot be UTF-16, and UTF-7 cannot be declared.
    """
    if not label:
        return None
    name = label.strip().lower()
    if name.startswith(("utf-16", "utf-7", "utf-32", "ucs-")):
        return None
    try:
        codec = codecs.lookup(_WEB_ENCODINGS.get(name, name))
    except (LookupError, ValueError):
        return None
    name = _WEB_ENCODINGS.get(codec.name, codec.name)
    is_text = getattr(codec, "_is_text_encoding", True)
    return name if is_text and name.replace("-", "_") not in _NO_PAGES else None


_WEB_ENCODINGS = {
    "ascii": "cp1252",
    "iso8859-1": "cp1252",
    "iso8859-9": "cp1254",
    "iso8859-11": "cp874",
    "tis-620": "cp874",
    "gb2312": "gb18030",
    "gbk": "gb18030",
    "shift_jis": "cp932",
    "x-sjis": "cp932",
    "euc_kr": "cp949",
    "ks_c_5601-1987": "cp949",
    "big5": "big5hkscs",
    "x-gbk": "gb18030",
    "iso-8859-8-i": "iso8859-8",
    "x-x-big5": "big5hkscs",
    "x-user-defined": "utf-8",
}
_NO_PAGES = ("idna", "punycode", "raw_unicode_escape", "unicode_escape", "undefined", "mbcs", "oem")


def _detect(data: bytes) -> str:
    encoding = load_package("resiliparse.parse.encoding", "a page that does not name its encoding")
    return _python_encoding(encoding.detect_encoding(data)) or "utf-8"
