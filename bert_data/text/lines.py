r"""Read files of lines as blocks of whole lines.

    "one\ntwo\nthr" | "ee\n"   ->   LineBlock(b"one\ntwo\n"), LineBlock(b"three\n")

The file and `block_bytes` alone determine how a file is cut, not the workers.
"""

import contextlib
import dataclasses
import functools
import io
import re
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import IO, Any

from bert_data.settings import AUTO
from bert_data.storage import file_size, naming, open_input
from bert_data.text.compression import COMPRESSED_ENDINGS, open_bytes
from bert_data.text.documents import (
    DocumentBlock,
    RowError,
    Span,
    Text,
    TextDocument,
    as_spans,
    decode_text,
)
from bert_data.text.file_kinds import HEAD_BYTES, JSON_BYTES, refuse_binary, refuse_json
from bert_data.text.text_config import TextConfig

DEFAULT_BLOCK_BYTES = 2 << 20
MAX_LINE_BYTES = 1 << 28
"""The longest line that is read where nothing else is set: it is in memory as a whole."""

SEARCH_BYTES = 64 << 10
# Where only the ends of lines matter, a longer line is skipped piece by piece.
MAX_HELD_BYTES = 8 << 20
_BLANK_LINE = re.compile(rb"(?:\A|\n)[ \t\r\x0b\x0c]*+\n")
# The characters that str.strip removes, without the end of a line, in UTF-8.
_SPACE = (
    rb"[ \t\r\x0b\x0c\x1c-\x1f]|\xc2[\x85\xa0]|\xe1\x9a\x80|\xe2\x80[\x80-\x8a\xa8\xa9\xaf]"
    rb"|\xe2\x81\x9f|\xe3\x80\x80"
)
_BLANK = re.compile(rb"(?:\xef\xbb\xbf)?(?:\n|" + _SPACE + rb")*+")
_BYTE_ORDER_MARK = b"\xef\xbb\xbf"


@dataclasses.dataclass(frozen=True, kw_only=True)
class LineBlock:
    """Whole lines of one file.

    Attributes:
      file: its index among the files that are read, from 0.
      data: the bytes; the last line of a file may lack its newline.
      num_file_bytes: bytes of the (possibly compressed) file that were read for them.
      num_dropped_bytes: of one line that was too long and was skipped; the data is then an empty
        line in its place.
      first_row: number in the file of the first line, from 1; None: it follows from what precedes.
      num_replaced: places that are not UTF-8 and were replaced or ignored before.
    """

    path: str
    file: int
    data: bytes
    num_file_bytes: int
    num_dropped_bytes: int = 0
    first_row: int | None = None
    num_replaced: int = 0
    skipped: Sequence[str] = ()

    @property
    def has_text(self) -> bool:
        """Whether a line is not blank."""
        return _BLANK.fullmatch(self.data) is None


def read_line_blocks(
    files: Sequence[str | Span],
    max_line_bytes: int | None = None,
    *,
    block_bytes: int | None = None,
    check: Callable[[str, bytes], None] | None = None,
) -> Iterator[LineBlock]:
    """Read files in order, in blocks of about `block_bytes` (2 MB) that end with a line.

    A line longer than a block makes its block longer. An empty file has no block.

    Args:
      max_line_bytes: longer lines, unless they are within one block, are dropped. None: a line
        longer than `MAX_LINE_BYTES` is a ValueError.
      check: given a path and the first `JSON_BYTES` of its text, refuses another format.
    """
    block_bytes = block_bytes or DEFAULT_BLOCK_BYTES
    for number, span in enumerate(as_spans(files)):
        with open_bytes(span.path) as (text, file):
            _skip(text, span.start)
            left = sys.maxsize if span.end is None else span.end - span.start
            position = _position(file)
            open_line = _OpenLine(span.path, max_line_bytes)
            new_block = functools.partial(LineBlock, path=span.path, file=number)
            is_head = not span.start
            while data := text.read(min(block_bytes, left)):
                if is_head:
                    is_packed = span.path.endswith(COMPRESSED_ENDINGS)
                    refuse_binary(span.path, data[:HEAD_BYTES], is_decompressed=is_packed)
                    if check is not None:
                        check(span.path, data[:JSON_BYTES])
                    is_head = False
                left -= len(data)
                end = data.rfind(b"\n") + 1
                if end == 0:
                    open_line.add(data)
                    continue
                before, position = position, _position(file)
                if open_line.num_dropped_bytes:
                    first = data.find(b"\n")
                    dropped, num_bytes = open_line.close() + first, position - before
                    yield new_block(data=b"\n", num_file_bytes=num_bytes, num_dropped_bytes=dropped)
                    before, data, end = position, data[first + 1 :], end - first - 1
                if end:
                    lines = b"".join([*open_line.pieces, memoryview(data)[:end]])
                    yield new_block(data=lines, num_file_bytes=position - before)
                open_line.pieces = [data[end:]] if end < len(data) else []
            if open_line.pieces or open_line.num_dropped_bytes:
                yield new_block(
                    data=b"".join(open_line.pieces) or b"\n",
                    num_file_bytes=_position(file) - position,
                    num_dropped_bytes=open_line.close(),
                )


def read_marked_blocks(
    spans: Sequence[Span], *args: Any, keeps_lone: bool = False, **kwargs: Any
) -> Iterator[LineBlock]:
    """Do the same, but drop the byte order marks at the start of files, or those before text."""
    file = -1
    for block in read_line_blocks(spans, *args, **kwargs):
        begins = block.file != file and not spans[block.file].start
        if begins and not (keeps_lone and _BLANK.fullmatch(block.data.partition(b"\n")[0])):
            data = block.data.removeprefix(_BYTE_ORDER_MARK) or b"\n"
            block = dataclasses.replace(block, data=data)
        file = block.file
        yield block


def read_numbered_lines(path: str) -> Iterator[tuple[int, bytes]]:
    """Yield the lines of a file without their ends, and their numbers from 1."""
    lines = (line for block in read_line_blocks([path]) for line in block.data.splitlines())
    return enumerate(lines, 1)


class _OpenLine:
    """The pieces of a line that has not ended yet, or the size of those that were dropped."""

    def __init__(self, path: str, max_line_bytes: int | None) -> None:
        self._path, self._max_line_bytes = path, max_line_bytes
        self.pieces: list[bytes] = []
        self.num_dropped_bytes = 0

    def add(self, piece: bytes) -> None:
        """Add a piece without an end of the line."""
        if self.num_dropped_bytes:
            self.num_dropped_bytes += len(piece)
            return
        self.pieces.append(piece)
        num_bytes = sum(map(len, self.pieces))
        if num_bytes <= (self._max_line_bytes or MAX_LINE_BYTES):
            return
        if self._max_line_bytes is None:
            raise ValueError(
                f"{self._path}: a line has more than {MAX_LINE_BYTES:,} bytes; is it a file of this"
                " format?"
            )
        self.pieces, self.num_dropped_bytes = [], num_bytes

    def close(self) -> int:
        """End the line; return how many bytes of it were dropped."""
        dropped, self.num_dropped_bytes = self.num_dropped_bytes, 0
        return dropped


def count_lines(span: Span) -> int:
    """Count the lines of a part of a file by reading it."""
    blocks = read_line_blocks([span], MAX_HELD_BYTES)
    return sum(block.data.count(b"\n") for block in blocks)


def count_lines_before(span: Span) -> int:
    """Return the lines of the file before the span, for messages."""
    if span.rows_before is not None:
        return span.rows_before
    return count_lines(Span(span.path, 0, span.start)) if span.start else 0


def number_blocks(
    blocks: Iterable[LineBlock], spans: Sequence[Span]
) -> Iterator[tuple[LineBlock, int]]:
    """Yield blocks of spans, each with the number of lines of the file before it."""
    file, row = -1, 0
    for block in blocks:
        if block.first_row is not None:
            row = block.first_row - 1
        elif block.file != file:
            row = count_lines_before(spans[block.file])
        file = block.file
        yield block, row
        row += block.data.count(b"\n") + (block.data[-1:] not in (b"", b"\n"))


def find_line_start(path: str, position: int) -> int | None:
    """Return the first line of a file that begins at or after a position; None if there is none."""
    if position < 1:
        return 0
    with naming(path), open_input(path) as file:
        file.seek(position - 1)
        while data := file.read(SEARCH_BYTES):
            end = data.find(b"\n")
            if end >= 0:
                start = file.tell() - len(data) + end + 1
                return start if start < file_size(path) else None
    return None


def find_after_blank_line(path: str, position: int) -> int | None:
    """Return where, in decompressed text, the first blank line from a place on ends, or None."""
    offset = max(0, position - 1)
    is_line_start = position == 0
    blocks = read_line_blocks([Span(path, offset)], MAX_HELD_BYTES, block_bytes=SEARCH_BYTES)
    for block in blocks:
        first = 0 if is_line_start else block.data.find(b"\n") + 1
        is_line_start = True
        blank = None if block.num_dropped_bytes else _BLANK_LINE.search(block.data[first:])
        if blank:
            return offset + first + blank.end()
        offset += len(block.data) + block.num_dropped_bytes
    return None


def _skip(text: IO[bytes], num_bytes: int) -> None:
    if num_bytes and hasattr(text, "seek"):
        text.seek(num_bytes)
        return
    while num_bytes and (data := text.read(min(num_bytes, DEFAULT_BLOCK_BYTES))):
        num_bytes -= len(data)


def _position(file: IO[bytes]) -> int:
    """Return how far a file is read; 0 for a pipe, which does not know."""
    return file.tell() if file.seekable() else 0


@dataclasses.dataclass(frozen=True, kw_only=True)
class TextLines:
    """The lines of a block.

    Attributes:
      rows_before: lines of the file before it.
      texts: the lines, stripped (or only at their ends); "" for a blank one.
    """

    block: LineBlock
    rows_before: int
    texts: Sequence[str]
    num_replaced: int


def read_texts(
    blocks: Iterable[LineBlock],
    spans: Sequence[Span],
    config: TextConfig,
    *,
    keeps_indents: bool = False,
) -> Iterator[TextLines]:
    """Decode the lines of blocks."""
    for block, row in number_blocks(blocks, spans):
        lines, num_replaced = _decode_lines(block, row, config.encoding_errors)
        if keeps_indents:
            texts = [line.rstrip() for line in lines]
        else:
            texts = [line.replace("\r", "").strip() for line in lines]
        num_replaced += block.num_replaced
        yield TextLines(block=block, rows_before=row, texts=texts, num_replaced=num_replaced)


def _decode_lines(block: LineBlock, rows_before: int, errors: str) -> tuple[list[str], int]:
    """Return the lines of a block, and how many places in them are not UTF-8."""
    with contextlib.suppress(UnicodeDecodeError):  # all at once takes a fifth of the time
        lines = block.data.decode().split("\n")
        return lines if lines[-1] else lines[:-1], 0
    lines, num_replaced = [], 0
    for number, data in enumerate(io.BytesIO(block.data), rows_before + 1):
        try:
            line, marks = decode_text(data, errors)
        except RowError as error:
            raise ValueError(f"{block.path}:{number}: {error}") from None
        lines.append(line)
        num_replaced += marks
    return lines, num_replaced


def group_lines(
    blocks: Iterable[LineBlock], spans: Sequence[Span], config: TextConfig
) -> Iterator[DocumentBlock]:
    """Group lines, as `read_texts` decodes them, into documents; one is in memory until it ends."""
    path = begun_in = ""
    file = -1
    open_document = OpenDocument(config.max_row_bytes)
    for lines in read_texts(blocks, spans, config):
        if config.files_end_documents and lines.block.file != file and open_document.start:
            block = DocumentBlock(path=path, has_lines=False)
            open_document.close(block)
            yield block
        path, file = lines.block.path, lines.block.file
        begun_in = begun_in if open_document.start else path
        block = DocumentBlock(
            path=path,
            num_rows=len(lines.texts),
            num_file_bytes=lines.block.num_file_bytes,
            num_replaced=lines.num_replaced,
            skipped=[*lines.block.skipped],
            first_path=begun_in if begun_in != path else "",
            has_lines=any(lines.texts),
        )
        if lines.block.num_dropped_bytes:
            open_document.drop(lines.rows_before + 1, lines.block.num_dropped_bytes)
        else:
            for row, text in enumerate(lines.texts, lines.rows_before + 1):
                if text:
                    open_document.add(row, text)
                elif open_document.start:
                    open_document.close(block)
                    begun_in = path
        yield block
    if open_document.start:
        first_path = begun_in if begun_in != path else ""
        block = DocumentBlock(path=path, first_path=first_path, has_lines=False)
        open_document.close(block)
        yield block


class OpenDocument:
    """The lines of the current document; none if it is too large."""

    def __init__(
        self, max_bytes: int | None, make_text: Callable[[Sequence[str]], Text] = tuple
    ) -> None:
        """Take the size of the largest document, and what makes a text of lines."""
        self._max_bytes, self._make_text = max_bytes, make_text
        self.start = 0  # its first row, or 0: there is none
        self.is_dropped = False
        self._lines: list[str] = []
        self._num_bytes = 0

    def add(self, row: int, line: str) -> None:
        """Add a line."""
        self.start = self.start or row
        if self._max_bytes is None:
            self._lines.append(line)
            return
        self._num_bytes += len(line) if line.isascii() else len(line.encode())
        self.is_dropped = self.is_dropped or self._num_bytes > self._max_bytes
        if self.is_dropped:
            self._lines.clear()
        else:
            self._lines.append(line)

    def drop(self, row: int, num_bytes: int) -> None:
        """Drop a line that was too long by itself."""
        self.start = self.start or row
        self._num_bytes += num_bytes
        self.is_dropped = True
        self._lines.clear()

    def close(self, block: DocumentBlock) -> None:
        """Add the document to a block, or to what the block says is too long."""
        if self.is_dropped:
            block.too_long.append((self.start, self._num_bytes))
        else:
            block.documents.append(TextDocument(self.start, self._make_text(self._lines)))
        self.start, self._num_bytes, self.is_dropped = 0, 0, False
        self._lines.clear()


_HEADING = re.compile(rb"\n(?:" + _SPACE + rb")*+=[^\n]*+")


def read_plain_lines(spans: Sequence[Span], config: TextConfig) -> Iterator[LineBlock]:
    """Yield files as blocks of lines; JSON is refused, unless lines were asked for."""
    check = refuse_json if config.input_format == AUTO else None
    # A mark alone on its line ends no document in Google's program.
    return read_marked_blocks(spans, config.max_row_bytes, check=check, keeps_lone=True)


def read_wikitext_lines(spans: Sequence[Span], config: TextConfig) -> Iterator[LineBlock]:
    """Yield files as blocks of lines; headings become empty lines."""
    for block in read_marked_blocks(spans, config.max_row_bytes):
        data = _HEADING.sub(b"\n", b"\n" + block.data)[1:]
        yield dataclasses.replace(block, data=data)
