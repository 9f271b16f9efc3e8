r"""JSON Lines: one object per line; one of its fields is the text.

{"id": 1, "text": "One. Two."}\n      ->  TextDocument(row 1, "One. Two.")
{"meta": {"text": "One. Two."}}\n    ->  the same, with text_field="meta.text"
"""

import json
import re
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from bert_data.text.documents import (
    DocumentBlock,
    RowError,
    Span,
    TextConfig,
    TextDocument,
    checked_text,
    decode_text,
)
from bert_data.text.lines import LineBlock, count_lines_before, read_line_blocks

_BYTE_ORDER_MARK = b"\xef\xbb\xbf"
_NUM_KEYS_NAMED = 10
_MOST_NESTED = 900
_NESTING = re.compile(r'"(?:[^"\\]|\\.)*+"?|[\[\]{}]', re.DOTALL)
# What a decoder calls itself, between steps that lines of JSON do not need.
_scan = json.JSONDecoder().scan_once  # type: ignore[attr-defined]


def read_jsonl(spans: Sequence[Span], config: TextConfig) -> Iterator[DocumentBlock]:
    """Yield the documents of files; empty lines are skipped.

    Raises:
      ValueError: a row has no text and `on_error` is "strict", or a line is longer than
        `MAX_LINE_BYTES`; with file and line.
    """
    file, row = -1, 0
    blocks = read_line_blocks(
        spans, max_line_bytes=config.max_row_bytes, drop_longer=config.max_row_bytes is not None
    )
    for block in blocks:
        if block.file != file:
            file, row = block.file, count_lines_before(spans[block.file])
        documents = _parse(block, row, config)
        row += documents.num_rows
        yield documents


def _parse(lines: LineBlock, rows_before: int, config: TextConfig) -> DocumentBlock:
    rows = lines.data.removesuffix(b"\n").split(b"\n")
    block = DocumentBlock(path=lines.path, num_rows=len(rows), num_file_bytes=lines.num_file_bytes)
    if lines.num_dropped_bytes:
        block.too_long.append((rows_before + 1, lines.num_dropped_bytes))
    for row, line in enumerate(rows, rows_before + 1):
        if row == 1:
            line = line.removeprefix(_BYTE_ORDER_MARK)
        if not line or line.isspace():
            continue
        try:
            document, marks = read_row(row, line, config)
            block.documents.append(document)
            block.num_replaced += marks
        except RowError as error:
            block.skip(row, error, config)
    return block


def read_row(number: int, line: bytes, config: TextConfig) -> tuple[TextDocument, int]:
    """Return the document in a line, and how many places of it are not UTF-8.

    Raises:
      RowError: it has no text.
    """
    content, marks = decode_text(line, config.encoding_errors)
    field = config.text_field
    row = load_row(content, (), names_flags=True)
    fields, name = (row, field) if field in row else _find_nested(row, field)
    if not config.keep_fields:
        return TextDocument(number, checked_text(fields[name], field)), marks
    return TextDocument(number, checked_text(fields.pop(name), field), row), marks


def _find_nested(row: dict[str, Any], field: str) -> tuple[dict[str, Any], str]:
    """Return the object that has a field, and its name there: "text" for "meta.text".

    Raises:
      RowError: there is none.
    """
    fields, path = row, field
    while path not in fields:
        outer, dot, rest = path.partition(".")
        inner = fields.get(outer)
        if not dot or not isinstance(inner, dict):
            raise RowError(_describe_missing(field, fields, names_flags=True))
        fields, path = inner, rest
    return fields, path


def load_row(line: str, names: Iterable[str], *, names_flags: bool = False) -> dict[str, Any]:
    """Return the object in a line of JSON.

    Args:
      names_flags: whether errors name the flags that help.

    Raises:
      RowError: it is not such an object.
    """
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
