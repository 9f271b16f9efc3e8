r"""Labelled texts, read row by row from CSV, TSV or JSON Lines, each also compressed.

    reviews.csv     text,label\n"so, so",bad\n        ->  LabelledText(line 2, ("so, so",), "bad")
    reviews.tsv     text\tlabel\nso "so"\tbad\n       ->  LabelledText(line 2, ('so "so"',), "bad")
    reviews.jsonl   {"text": "so so", "label": 1}\n   ->  LabelledText(line 1, ("so so",), 1)

CSV is RFC 4180's: quotes around fields with commas, quotes (doubled) or line ends. TSV has no
quotes (as registered with IANA): a tab always separates columns, a line end always rows.
"""

import csv
import dataclasses
import io
import json
import os
from collections.abc import Callable, Iterator, Sequence
from typing import Any

from bert_data.labelled.label_config import TEXT_FORMATS, LabelledTextConfig
from bert_data.text.compression import COMPRESSED_ENDINGS
from bert_data.text.documents import RowError, Text, checked_text
from bert_data.text.file_kinds import refuse_nested_rows
from bert_data.text.formats import JSONL
from bert_data.text.jsonl import load_row
from bert_data.text.lines import read_line_blocks

_MAX_FIELD_CHARACTERS = 1 << 27  # an open quote would swallow the rest of a file


@dataclasses.dataclass(frozen=True, kw_only=True)
class LabelledText:
    """One row.

    Attributes:
      line: the row's first line in it, from 1.
      texts: for each text column, the text, or from JSON also its sentences.
      label: a non-empty text or, from JSON, an integer.
    """

    path: str
    line: int
    texts: tuple[Text, ...]
    label: str | int

    def error(self, reason: str) -> ValueError:
        """Return an error about this row: file, line, reason."""
        return ValueError(f"{self.path}:{self.line}: {reason}")


def file_format(path: str, config: LabelledTextConfig) -> str:
    """Return the format of a file."""
    if config.input_format is not None:
        return config.input_format
    name = path
    for ending in COMPRESSED_ENDINGS:
        name = name.removesuffix(ending)
    ending = os.path.splitext(name)[1].lower()
    if ending in JSONL.endings:
        return JSONL.name
    if ending[1:] not in TEXT_FORMATS:
        raise ValueError(
            f"{path}: unknown ending; it must be .csv, .tsv, .jsonl or .json, or set `input_format`"
        )
    return ending[1:]


def read_labelled_texts(
    path: str, config: LabelledTextConfig, advance: Callable[[int], object] = lambda _: None
) -> Iterator[LabelledText]:
    """Yield the rows of a file; `advance` gets the numbers of bytes that were read of it."""
    kind = file_format(path, config)
    lines = _decoded_lines(path, advance, refuse_nested_rows if kind == JSONL.name else None)
    if kind == JSONL.name:
        return _read_json_lines(path, lines, config)
    rows = _read_csv_rows(path, lines) if kind == "csv" else _read_tsv_rows(lines)
    return _read_table(path, rows, config)


def _decoded_lines(
    path: str, advance: Callable[[int], object], check: Callable[[str, bytes], None] | None
) -> Iterator[str]:
    """Yield the lines of a file with their ends, without a byte order mark."""
    number = 0
    for block in read_line_blocks([path], check=check):
        for line in io.BytesIO(block.data):
            number += 1
            try:
                text = line.decode()
            except UnicodeDecodeError as error:
                raise ValueError(
                    f"{path}:{number}: not UTF-8 ({error.reason}); if it is Latin-1: iconv -f"
                    " LATIN1 -t UTF-8"
                ) from error
            yield text.removeprefix("\ufeff") if number == 1 else text
        advance(block.num_file_bytes)


def _read_csv_rows(path: str, lines: Iterator[str]) -> Iterator[tuple[int, list[str]]]:
    """Yield (first line, fields) of each row."""
    if csv.field_size_limit() < _MAX_FIELD_CHARACTERS:
        csv.field_size_limit(_MAX_FIELD_CHARACTERS)
    rows = csv.reader(lines, strict=True)
    while True:
        line = rows.line_num + 1
        try:
            row = next(rows, None)
        except csv.Error as error:
            raise ValueError(f"{path}:{line}: not CSV ({error})") from error
        if row is None:
            return
        yield line, row


def _read_tsv_rows(lines: Iterator[str]) -> Iterator[tuple[int, list[str]]]:
    for number, line in enumerate(lines, 1):
        content = line.removesuffix("\n").removesuffix("\r")
        yield number, content.split("\t") if content else []


def _read_table(
    path: str, rows: Iterator[tuple[int, list[str]]], config: LabelledTextConfig
) -> Iterator[LabelledText]:
    filled = ((line, row) for line, row in rows if row)
    names: Sequence[str] = config.column_names
    if not names:
        line, names = next(filled, (1, []))
        if not names:
            raise ValueError(f"{path}: is empty; the first line must name the columns")
        for name in (*config.text_columns, config.label_column):
            if names.count(name) != 1:
                columns = ", ".join(map(repr, names))
                raise ValueError(
                    f"{path}:{line}: {names.count(name)} columns are named {name!r}; one is needed;"
                    f" the columns are {columns}"
                )
    texts = [names.index(name) for name in config.text_columns]
    label = names.index(config.label_column)
    for line, row in filled:
        if len(row) != len(names):
            raise ValueError(
                f"{path}:{line}: {len(row)} columns; {len(names)} are named ({', '.join(names)})"
            )
        if tuple(row) == tuple(names):
            raise ValueError(f"{path}:{line}: these are the names of the columns; remove the line")
        yield _checked(path, line, tuple(row[i] for i in texts), row[label].strip())


def _read_json_lines(
    path: str, lines: Iterator[str], config: LabelledTextConfig
) -> Iterator[LabelledText]:
    for number, line in enumerate(lines, 1):
        if not line.strip():
            continue
        try:
            row = load_row(line, (*config.text_columns, config.label_column))
            texts = tuple(checked_text(row[name], name, "") for name in config.text_columns)
            label = row[config.label_column]
            if isinstance(label, str):
                label = str(checked_text(label.strip(), config.label_column, ""))
        except RowError as error:
            raise ValueError(f"{path}:{number}: {error}") from error
        yield _checked(path, number, texts, label)


def _checked(path: str, line: int, texts: tuple[Text, ...], label: Any) -> LabelledText:
    """Return a row whose label can be stored."""
    row = LabelledText(path=path, line=line, texts=texts, label=label)
    if isinstance(label, bool) or not isinstance(label, str | int):
        raise row.error(f"the label is {json.dumps(label)}; it must be a text or an integer")
    if label == "":
        raise row.error("the label is empty")
    return row
