r"""Rows of JSON Lines or Parquet that are lines: the form in which the hub has WikiText.

    {"text": ""}                             rows="wikitext"  b"\n\nRobert is an actor .\n\n"
    {"text": " = Robert Boulter = \n"}       rows="lines"     b"\n= Robert Boulter =\n..."
    {"text": " Robert is an actor . \n"}
    {"text": ""}

As in files of lines, a blank row ends a document, and the end of a file does not. With "wikitext",
headings are blank, too (`wikitext.py`).
"""

import collections
import dataclasses
import io
from collections.abc import Callable, Iterator, Sequence

from bert_data.text.documents import (
    SKIP,
    WIKITEXT_ROWS,
    DocumentBlock,
    RowError,
    Span,
    Text,
    TextConfig,
    TextDocument,
)
from bert_data.text.jsonl import read_row
from bert_data.text.lines import LineBlock, find_line_start, read_bounded_lines
from bert_data.text.parquet import find_row_group, open_parquet, read_parquet

ReadRows = Callable[[Sequence[Span], TextConfig], Iterator[DocumentBlock]]

_MAX_HELD_BYTES = 8 << 20  # of a row that may end a document


def read_rows_as_lines(
    read_rows: ReadRows, spans: Sequence[Span], config: TextConfig
) -> Iterator[LineBlock]:
    """Yield the rows of files as blocks of lines, one line per row.

    Args:
      read_rows: of a format, `read_jsonl` or `read_parquet`.
      config: how.

    Raises:
      ValueError, OSError, CorruptDataError: as `read_rows`.
    """
    for number, span in enumerate(spans):
        for block in read_rows([span], config):
            yield from _line_blocks(number, block, config)


def _line_blocks(file: int, block: DocumentBlock, config: TextConfig) -> Iterator[LineBlock]:
    """Yield a block of lines for each run of consecutive rows."""
    num_dropped = dict(block.too_long)
    texts: dict[int, Text] = {document.row: document.text for document in block.documents}
    run: list[int] = []
    runs = [run]
    for row in sorted([*texts, *num_dropped]):
        if run and (row != run[-1] + 1 or row in num_dropped or run[-1] in num_dropped):
            run = []
            runs.append(run)
        run.append(row)
    for number, run in enumerate(runs):
        is_first = number == 0  # it has what is counted for the whole block
        yield LineBlock(
            path=block.path,
            file=file,
            data=b"".join(_line(texts.get(row, ""), config) for row in run),
            num_file_bytes=block.num_file_bytes if is_first else 0,
            num_dropped_bytes=num_dropped.get(run[0], 0) if run else 0,
            first_row=run[0] if run else 1,  # without rows, any number
            num_replaced=block.num_replaced if is_first else 0,
            skipped=block.skipped if is_first else (),
        )


def _line(text: Text, config: TextConfig) -> bytes:
    """Return the line that a row is; an empty one ends a document."""
    line = " ".join([text] if isinstance(text, str) else text)
    line = line.replace("\r", " ").replace("\n", " ").strip()
    is_heading = config.rows == WIKITEXT_ROWS and line.startswith("=")
    return b"\n" if is_heading else line.encode() + b"\n"


def find_after_blank_line_of_json(config: TextConfig, path: str, position: int) -> int | None:
    """Return where the first row at or after a position that ends a document ends, or None."""
    start = find_line_start(path, position)
    if start is None:
        return None
    for block in read_bounded_lines([Span(path, start)], _MAX_HELD_BYTES):
        for line in io.BytesIO(block.data):
            start += len(line)
            if not block.num_dropped_bytes and _ends_document(line, config):
                return start
        start += block.num_dropped_bytes
    return None


def _ends_document(line: bytes, config: TextConfig) -> bool:
    try:
        document, _ = read_row(0, line, config)
    except RowError:  # a blank line of the file, or one that the reader will report
        return False
    return _line(document.text, config) == b"\n"


def find_group_after_blank_row(config: TextConfig, path: str, position: int) -> int | None:
    """Return the first row group from a byte of a file on where a document begins, or None.

    A document begins there if the group's first row, or the last one before it, is blank.
    """
    group = find_row_group(path, position) if position > 0 else 0
    if group is None:
        return None
    with open_parquet(path) as file:
        num_groups = file.num_row_groups
    for number in range(group, num_groups):
        rows = [*_edges(path, number - 1, config)[1:], *_edges(path, number, config)[:1]]
        if any(_line(row.text, config) == b"\n" for row in rows):
            return number
    return None


def _edges(path: str, group: int, config: TextConfig) -> list[TextDocument]:
    """Return the first and the last row of a row group; none before the first group."""
    if group < 0:
        return []
    config = dataclasses.replace(config, on_error=SKIP)
    blocks = read_parquet([Span(path, group, group + 1)], config)
    rows = (document for block in blocks for document in block.documents)
    first = next(rows, None)
    if first is None:
        return []
    return [first, *(collections.deque(rows, maxlen=1) or [first])]
