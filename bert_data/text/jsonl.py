r"""JSON Lines: one object per line; one of its fields is the text.

{"id": 1, "text": "One. Two."}\n      ->  TextDocument(row 1, "One. Two.")
{"meta": {"text": "One. Two."}}\n    ->  the same, with text_field="meta.text"

Here, too, are rows of JSON Lines or Parquet that are lines, the form in which the hub has WikiText:

    {"text": ""}                             rows="wikitext"  b"\n\nRobert is an actor .\n\n"
    {"text": " = Robert Boulter = \n"}       rows="lines"     b"\n= Robert Boulter =\n..."
    {"text": " Robert is an actor . \n"}
    {"text": ""}

As in files of lines, a blank row ends a document, and the end of a file does not. With "wikitext",
headings are blank, too.
"""

import collections
import dataclasses
import io
import json
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any

from bert_data.text.documents import (
    DocumentBlock,
    RowError,
    Span,
    Text,
    TextDocument,
    checked_text,
    decode_text,
)
from bert_data.text.file_kinds import refuse_nested_rows
from bert_data.text.lines import (
    LineBlock,
    find_line_start,
    number_blocks,
    read_line_blocks,
    read_marked_blocks,
)
from bert_data.text.parquet import find_row_group, open_parquet, read_parquet
from bert_data.text.template import fields_of_template, fill_template
from bert_data.text.text_config import SKIP, STRICT, WIKITEXT_ROWS, TextConfig

_NUM_KEYS_NAMED = 10
_MOST_NESTED = 900
_MAX_HELD_BYTES = 8 << 20  # of a row that may end a document
_NESTING = re.compile(r'"(?:[^"\\]|\\.)*+"?|[\[\]{}]', re.DOTALL)
# Escapes of JSON; of half a surrogate pair, the half.
_ESCAPE = re.compile(
    r"\\(?:u[dD][89abAB][\da-fA-F]{2}\\u[dD][c-fC-F][\da-fA-F]{2}|(u[dD][89a-fA-F][\da-fA-F]{2})|.)",
    re.DOTALL,
)
# What a decoder calls itself, between steps that lines of JSON do not need.
_scan = json.JSONDecoder().scan_once  # type: ignore[attr-defined]


def read_jsonl(spans: Sequence[Span], config: TextConfig) -> Iterator[DocumentBlock]:
    """Yield the documents of files; empty lines are skipped."""
    blocks = read_marked_blocks(spans, config.max_row_bytes, check=refuse_nested_rows)
    for block, row in number_blocks(blocks, spans):
        yield _parse(block, row, config)


def _parse(lines: LineBlock, rows_before: int, config: TextConfig) -> DocumentBlock:
    rows = lines.data.removesuffix(b"\n").split(b"\n")
    block = DocumentBlock(path=lines.path, num_rows=len(rows), num_file_bytes=lines.num_file_bytes)
    if lines.num_dropped_bytes:
        block.too_long.append((rows_before + 1, lines.num_dropped_bytes))
    for row, line in enumerate(rows, rows_before + 1):
        if not line or line.isspace():
            continue
        try:
            block.documents.append(read_row(block, row, line, config))
        except RowError as error:
            block.skip(row, error, config)
    return block


def read_row(block: DocumentBlock, number: int, line: bytes, config: TextConfig) -> TextDocument:
    """Return the document in a line; the block gets the counts of what was replaced or left out."""
    content, marks = decode_text(line, config.encoding_errors)
    row = load_row(content, (), names_flags=True)
    if "\\ud" in content or "\\uD" in content:
        mended, num_halves = _replace_halves(content, config.encoding_errors)
        if num_halves and config.encoding_errors == STRICT:
            _text_of(row, config)  # an error if they are in the text
        if num_halves and (config.keep_fields or config.encoding_errors != STRICT):
            content, marks = mended, marks + num_halves
            row = load_row(content, ())
    if config.keep_fields and ("NaN" in content or "Infinity" in content):
        row = _without_constants(content, block)
    text = _text_of(row, config)
    block.num_replaced += marks
    if not config.keep_fields:
        return TextDocument(number, text)
    _remove_text(row, config)
    return TextDocument(number, text, row)


def _text_of(row: dict[str, Any], config: TextConfig) -> Text:
    if config.text_template is not None:
        return fill_template(config.text_template, row)
    fields, name = _find(row, config.text_field)
    return checked_text(fields[name], config.text_field)


def _remove_text(row: dict[str, Any], config: TextConfig) -> None:
    if config.text_template is None:
        fields, name = _find(row, config.text_field)
        del fields[name]
        return
    for name in fields_of_template(config.text_template, row):
        del row[name]


def _replace_halves(content: str, errors: str) -> tuple[str, int]:
    """Replace escapes of half a surrogate pair, which is no character; return their number, too."""
    num_halves = 0
    mark = "" if errors == "ignore" else "\\ufffd"

    def replace(escape: re.Match[str]) -> str:
        nonlocal num_halves
        num_halves += escape[1] is not None
        return escape[0] if escape[1] is None else mark

    return _ESCAPE.sub(replace, content), num_halves


def _without_constants(content: str, block: DocumentBlock) -> dict[str, Any]:
    """Return a row with null for NaN and infinite numbers, which JSON does not have."""

    def count(name: str) -> None:
        block.left_out[f"numbers {name}"] += 1

    return json.loads(content, parse_constant=count)


def _find(row: dict[str, Any], field: str) -> tuple[dict[str, Any], str]:
    return (row, field) if field in row else _find_nested(row, field)


def _find_nested(row: dict[str, Any], field: str) -> tuple[dict[str, Any], str]:
    """Return the object that has a field, and its name there: "text" for "meta.text"."""
    fields, path = row, field
    while path not in fields:
        outer, dot, rest = path.partition(".")
        inner = fields.get(outer)
        if not dot or not isinstance(inner, dict):
            raise RowError(_describe_missing(field, fields, names_flags=True))
        fields, path = inner, rest
    return fields, path


def load_row(line: str, names: Iterable[str], *, names_flags: bool = False) -> dict[str, Any]:
    """Return the object in a line of JSON; RowError if it is none, or lacks one of the names."""
    try:
        row = _load(line)
    except RecursionError:
        raise RowError("unreadable JSON (nested too deeply)") from None
    except ValueError as error:  # also raised for a number with too many digits
        # Python from 3.13 on reads deeper, and then says that something is missing.
        if line.count("[") + line.count('{"') > _MOST_NESTED and _nests_too_deep(line):
            raise RowError("unreadable JSON (nested too deeply)") from None
        is_text = names_flags and not line.lstrip().startswith("{")
        hint = "; `input_format=lines` reads lines of text" if is_text else ""
        raise RowError(f"not JSON ({error}){hint}") from None
    if not isinstance(row, dict):
        raise RowError(f"not a JSON object: {line.strip()[:20]!r}")
    for name in names:
        if name not in row:
            raise RowError(_describe_missing(name, row, names_flags=names_flags))
    return row


def _nests_too_deep(line: str) -> bool:
    depth = 0
    for mark in _NESTING.finditer(line):
        depth += {"[": 1, "{": 1, "]": -1, "}": -1}.get(mark[0], 0)
        if depth > _MOST_NESTED:
            return True
    return False


def _describe_missing(name: str, fields: dict[str, Any], *, names_flags: bool) -> str:
    keys = ", ".join(map(repr, list(fields)[:_NUM_KEYS_NAMED])) or "none"
    hint = " (`text_field`)" if names_flags else ""
    return f"no field {name!r}{hint}; the fields are {keys}"


def _load(line: str) -> Any:
    """Do the same as `json.loads`, in half the time for lines of a single value."""
    try:
        value, end = _scan(line, 0)
    except StopIteration:
        end = -1
    return value if end == len(line) else json.loads(line)


def read_rows_as_lines(
    read_rows: Callable[[Sequence[Span], TextConfig], Iterator[DocumentBlock]],
    spans: Sequence[Span],
    config: TextConfig,
) -> Iterator[LineBlock]:
    """Yield the rows of files, which `read_rows` reads, as blocks of lines, one line per row."""
    for number, span in enumerate(spans):
        for block in read_rows([span], config):
            yield from _line_blocks(number, block, config)


def _line_blocks(file: int, block: DocumentBlock, config: TextConfig) -> Iterator[LineBlock]:
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
    for block in read_line_blocks([Span(path, start)], _MAX_HELD_BYTES):
        for line in io.BytesIO(block.data):
            start += len(line)
            if not block.num_dropped_bytes and _ends_document(line, config):
                return start
        start += block.num_dropped_bytes
    return None


def _ends_document(line: bytes, config: TextConfig) -> bool:
    try:
        document = read_row(DocumentBlock(path=""), 0, line, config)
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
