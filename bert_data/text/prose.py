r"""Prose: wrapped lines, blank lines between paragraphs, books with headings.

    CHAPTER I            document_end="heading"     (3, "It was the best of times.")
                                                    (8, "And the worst.\n\nIt was.")
    It was the best      document_end="blank_line"  (1, "CHAPTER I"), (3, "It was the best of ...
    of times.                                       (6, "CHAPTER II"), (8, "And the worst."), ...
                         document_end="file"        (1, all of it)
    CHAPTER II
                         (row, text) of each TextDocument
    And the worst.

    It was.

The end of a file always ends a document. Wrapped lines are joined (`wrapping.py`); headings that
end documents are left out (`headings.py`), others are lines of their own.
"""

import io
from collections.abc import Iterator, Sequence

from bert_data.text.documents import BLANK_LINE, HEADING, DocumentBlock, TextConfig
from bert_data.text.headings import count_heading_lines, is_marked
from bert_data.text.lines import find_after_blank_line, read_bounded_lines
from bert_data.text.runs_of_lines import OpenDocument, TextLines, read_texts
from bert_data.text.spans import Span
from bert_data.text.wrapping import FENCE, join_wrapped_lines

MAX_DOCUMENT_BYTES = 64 << 20
"""The largest document where nothing else is set: it is in memory as a whole."""

_BYTE_ORDER_MARK = "\ufeff"
_MOST_LINES, _MOST_CHARACTERS = 1000, 1 << 20  # of a paragraph that is held to find headings


def read_prose(spans: Sequence[Span], config: TextConfig) -> Iterator[DocumentBlock]:
    """Yield the documents of files of prose; one is kept in memory until it ends.

    Raises:
      ValueError: a line is not UTF-8 and `encoding_errors` is "strict", with file and line; or a
        document is larger than `MAX_DOCUMENT_BYTES`, and there is no other bound.
    """
    reader: _ProseReader | None = None
    file = -1
    blocks = read_bounded_lines(spans, config.max_row_bytes)
    for lines in read_texts(blocks, spans, config, keeps_indents=True):
        if reader is None or lines.block.file != file:
            if reader is not None:
                yield reader.finish()
            file, reader = lines.block.file, _ProseReader(lines.block.path, config)
        yield reader.read(lines)
    if reader is not None:
        yield reader.finish()


class _ProseReader:
    """Makes documents of the lines of a file."""

    def __init__(self, path: str, config: TextConfig) -> None:
        self._path, self._end = path, config.document_end
        self._is_bounded = config.max_row_bytes is not None
        self._document = OpenDocument(config.max_row_bytes or MAX_DOCUMENT_BYTES, _text_of)
        self._block = DocumentBlock(path=path)
        self._paragraph: list[str] = []  # while headings may be at its start
        self._row = self._num_characters = 0  # its first row, and its size
        self._is_long = self._is_fenced = False

    def read(self, lines: TextLines) -> DocumentBlock:
        """Return the documents that end within a block of lines."""
        self._block = DocumentBlock(
            path=self._path,
            num_rows=len(lines.texts),
            num_file_bytes=lines.block.num_file_bytes,
            num_replaced=lines.num_replaced,
        )
        if lines.block.num_dropped_bytes:
            self._release()
            self._document.drop(lines.rows_before + 1, lines.block.num_dropped_bytes)
            return self._block
        for row, line in enumerate(lines.texts, lines.rows_before + 1):
            self._add(row, line.removeprefix(_BYTE_ORDER_MARK) if row == 1 else line)
        return self._block

    def finish(self) -> DocumentBlock:
        """Return the last document of the file, if one is open."""
        self._block = DocumentBlock(path=self._path)
        self._release()
        self._close()
        return self._block

    def _add(self, row: int, line: str) -> None:
        is_fence = FENCE.match(line) is not None
        if is_fence or self._is_fenced:
            self._is_fenced ^= is_fence
            self._release()
            self._keep(row, line)
        elif not line:
            self._release()
            if self._end == BLANK_LINE:
                self._close()
            elif self._document.start:
                self._keep(row, line)
        elif self._end == HEADING and is_marked(line):
            self._release()
            self._close()
        else:
            self._hold(row, line)

    def _hold(self, row: int, line: str) -> None:
        """Add a line to the paragraph."""
        if self._is_long:
            self._keep(row, line)
            return
        self._row = self._row if self._paragraph else row
        self._paragraph.append(line)
        self._num_characters += len(line)
        if len(self._paragraph) >= _MOST_LINES or self._num_characters >= _MOST_CHARACTERS:
            self._release()
            self._is_long = True

    def _release(self) -> None:
        """Add the paragraph to the document, which the headings at its start end."""
        num_headings = count_heading_lines(self._paragraph) if self._end == HEADING else 0
        if num_headings:
            self._close()
        for row, line in enumerate(self._paragraph[num_headings:], self._row + num_headings):
            self._keep(row, line)
        self._paragraph.clear()
        self._num_characters, self._is_long = 0, False

    def _keep(self, row: int, line: str) -> None:
        """Add a line to the document."""
        self._document.add(row, line)
        if self._document.is_dropped and not self._is_bounded:
            ends = "heading or blank_line" if self._end != BLANK_LINE else "heading"
            raise ValueError(
                f"{self._path}:{self._document.start}: the document that begins here has more than"
                f" {MAX_DOCUMENT_BYTES:,} bytes; `document_end={ends}` may end it earlier"
            )

    def _close(self) -> None:
        if self._document.start:
            self._document.close(self._block)


def _text_of(lines: Sequence[str]) -> str:
    return join_wrapped_lines("\n".join(lines)).strip("\n")


def find_document(document_end: str, path: str, position: int) -> int | None:
    """Return the first document of a file that begins at or after a position; None: there is none.

    Where headings end documents, it begins with a heading that follows a blank line.
    """
    if position < 1:
        return 0
    if document_end == BLANK_LINE:
        return find_after_blank_line(path, position)
    if document_end != HEADING:
        return None
    return _find_heading(path, position)


def _find_heading(path: str, position: int) -> int | None:
    start = find_after_blank_line(path, position)
    if start is None:
        return None
    paragraph: list[str] = []
    offset = start
    for block in read_bounded_lines([Span(path, start)], _MOST_CHARACTERS):
        for data in io.BytesIO(block.data):
            line = data.decode(errors="replace").rstrip()
            if line and len(paragraph) < _MOST_LINES:
                start = start if paragraph else offset
                paragraph.append(line)
            elif not line:
                if count_heading_lines(paragraph):
                    return start
                paragraph.clear()
            offset += len(data)
        offset += block.num_dropped_bytes
    return start if count_heading_lines(paragraph) else None
