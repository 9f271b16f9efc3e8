r"""Turn lines into texts and documents: a blank line ends a document, the end of a file does not.

one\n two\n\nthree\n  --read_texts-->   ["one", "two", "", "three"]
                      --group_lines-->  TextDocument(row 1, ("one", "two")),
                                        TextDocument(row 4, ("three",))
"""

import dataclasses
import io
from collections.abc import Callable, Iterable, Iterator, Sequence

from bert_data.text.documents import (
    DocumentBlock,
    RowError,
    Text,
    TextConfig,
    TextDocument,
    decode_text,
)
from bert_data.text.lines import LineBlock, count_lines_before
from bert_data.text.spans import Span


@dataclasses.dataclass(frozen=True, kw_only=True)
class TextLines:
    """The lines of a block.

    Attributes:
      block: the block.
      rows_before: lines of the file before it.
      texts: the lines, stripped (or only at their ends); "" for a blank one.
      num_replaced: places that are not UTF-8 and were replaced or ignored.
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
    """Decode the lines of blocks.

    Args:
      spans: what is read; for messages.
      config: how to decode bytes that are not UTF-8.
      keeps_indents: whether lines keep the white space that they begin with.

    Raises:
      ValueError: a line is not UTF-8 and `encoding_errors` is "strict"; with file and line.
    """
    file, row = -1, 0
    for block in blocks:
        if block.file != file:
            file, row = block.file, 0
            if block.first_row is None:
                row = count_lines_before(spans[block.file])
        if block.first_row is not None:
            row = block.first_row - 1
        texts, num_replaced = [], block.num_replaced
        for number, data in enumerate(io.BytesIO(block.data), row + 1):
            try:
                line, marks = decode_text(data, config.encoding_errors)
            except RowError as error:
                raise ValueError(f"{block.path}:{number}: {error}") from None
            num_replaced += marks
            texts.append(line.rstrip() if keeps_indents else line.replace("\r", "").strip())
        yield TextLines(block=block, rows_before=row, texts=texts, num_replaced=num_replaced)
        row += len(texts)


def group_lines(
    blocks: Iterable[LineBlock], spans: Sequence[Span], config: TextConfig
) -> Iterator[DocumentBlock]:
    """Group lines into documents; one is kept in memory until it ends.

    Takes the arguments and raises the errors of `read_texts`.
    """
    path = ""
    open_document = OpenDocument(config.max_row_bytes)
    for lines in read_texts(blocks, spans, config):
        path = lines.block.path
        block = DocumentBlock(
            path=path,
            num_rows=len(lines.texts),
            num_file_bytes=lines.block.num_file_bytes,
            num_replaced=lines.num_replaced,
            skipped=[*lines.block.skipped],
        )
        if lines.block.num_dropped_bytes:
            open_document.drop(lines.rows_before + 1, lines.block.num_dropped_bytes)
        else:
            for row, text in enumerate(lines.texts, lines.rows_before + 1):
                if text:
                    open_document.add(row, text)
                elif open_document.start:
                    open_document.close(block)
        yield block
    if open_document.start:
        block = DocumentBlock(path=path)
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
