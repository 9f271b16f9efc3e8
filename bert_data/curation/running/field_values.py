"""The values of documents' fields: as JSON, and as columns of Arrow and Parquet.

    {"url": "a", "year": 1999} {"url": null, "year": 2.5}  ->  url: text, year: number

Fields whose values are all texts, whole numbers, numbers or booleans have columns of that kind, and
so have lists of numbers with a fraction, such as vectors; all others (other lists, objects, values
of several kinds) are JSON in a column of texts.
"""

import json
import math
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import IO, Any, Self

import msgspec
import numpy as np
import pyarrow
from numpy.typing import NDArray
from pyarrow import ipc

from bert_data.storage import open_scratch

_BATCH_CHARACTERS = 1 << 20

NULL, TEXT, WHOLE, NUMBER, TRUTH, JSON = "null", "text", "whole", "number", "truth", "json"
NUMBERS = "numbers"
_KINDS: dict[type, str] = {type(None): NULL, str: TEXT, float: NUMBER, bool: TRUTH}
_ARROW = {
    NULL: pyarrow.string(),
    TEXT: pyarrow.string(),
    WHOLE: pyarrow.int64(),
    NUMBER: pyarrow.float64(),
    TRUTH: pyarrow.bool_(),
    NUMBERS: pyarrow.list_(pyarrow.float64()),
    JSON: pyarrow.string(),
}
_OF_JSON = (str, int, float, list, tuple, dict)
_MAX_EXACT = 1 << 53  # a whole number up to this is the same as a number with a fraction

Kinds = dict[str, str]


def make_column(values: Sequence[Any], kind: pyarrow.DataType) -> pyarrow.Array:
    """Return a column of texts, numbers, truth values or lists of numbers; None is null.

    `pyarrow.array` would do, but wherever pandas is installed it imports pandas, in a third of a
    second.
    """
    is_valid = np.array([value is not None for value in values], np.bool_)
    if pyarrow.types.is_string(kind) or pyarrow.types.is_large_string(kind):
        texts = [b"" if value is None else value.encode() for value in values]
        ends = np.cumsum([0, *map(len, texts)], dtype=np.int64)
        return _array(pyarrow.large_string(), is_valid, ends, b"".join(texts)).cast(kind)
    if pyarrow.types.is_list(kind):
        ends = np.cumsum([0, *(len(value or ()) for value in values)], dtype=np.int32)
        inner = make_column([each for value in values for each in value or ()], kind.value_type)
        buffers = [pyarrow.py_buffer(each) for each in (_bits(is_valid), ends)]
        return pyarrow.Array.from_buffers(kind, len(values), buffers, children=[inner])
    numbers = np.array([value or 0 for value in values], kind.to_pandas_dtype())
    return _array(kind, is_valid, _bits(numbers) if pyarrow.types.is_boolean(kind) else numbers)


def _array(kind: pyarrow.DataType, is_valid: NDArray[np.bool_], *data: Any) -> pyarrow.Array:
    buffers = [pyarrow.py_buffer(each) for each in (_bits(is_valid), *data)]
    return pyarrow.Array.from_buffers(kind, len(is_valid), buffers)


def _bits(truths: NDArray[np.bool_]) -> NDArray[np.uint8]:
    return np.packbits(truths, bitorder="little")


class ArrowWriter:
    """Writes rows to a file."""

    def __init__(self, path: Path, schema: pyarrow.Schema, *, max_rows: int) -> None:
        """Create the file; a batch has about `max_rows` rows, or fewer if their texts are long."""
        self._schema, self._max_rows = schema, max_rows
        self._rows: list[Sequence[Any]] = []
        self._num_characters = 0
        self._file = open_scratch(path)
        options = ipc.IpcWriteOptions(compression="lz4", use_threads=False)
        self._writer = ipc.new_stream(self._file, schema, options=options)

    def add_rows(self, rows: Iterable[Sequence[Any]], num_characters: int = 0) -> None:
        """Add rows, which stay in one batch, with texts of so many characters."""
        self._rows += rows
        self._num_characters += num_characters
        if len(self._rows) >= self._max_rows or self._num_characters >= _BATCH_CHARACTERS:
            self._flush()

    def _flush(self) -> None:
        columns = zip(*self._rows, strict=True)
        arrays = list(map(make_column, columns, self._schema.types))
        self._writer.write_batch(pyarrow.record_batch(arrays, schema=self._schema))
        self._rows, self._num_characters = [], 0

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: object, *_: object) -> None:
        """Write the rest, unless there was an error."""
        with self._file:
            if kind is None:
                if self._rows:
                    self._flush()
                self._writer.close()


def open_arrow(file: IO[bytes]) -> ipc.RecordBatchStreamReader:
    """Open a stream that an `ArrowWriter` wrote; no threads read it, as workers are forks."""
    return ipc.open_stream(file, options=ipc.IpcReadOptions(use_threads=False))


def plain_value(value: Any) -> Any:
    """Return a number or a text for a value that JSON does not know, such as one of NumPy's."""
    if hasattr(value, "item"):
        return value.item()
    return value.decode(errors="replace") if isinstance(value, bytes) else str(value)


def _encoder(*, ascii_only: bool, with_nan: bool) -> json.JSONEncoder:
    return json.JSONEncoder(
        ensure_ascii=ascii_only,
        allow_nan=with_nan,
        separators=(",", ":"),
        default=plain_value,
        check_circular=False,
    )


# Made once: `json.dumps` would make one a call.
_ENCODERS = {flag: _encoder(ascii_only=flag, with_nan=False) for flag in (False, True)}
_encode = msgspec.json.Encoder().encode
dump_exactly = _encoder(ascii_only=True, with_nan=True).encode
"""Returns JSON for our own use: Python writes and reads NaN and infinite values in it."""


def dump_fields(value: Any, *, ascii_only: bool = True) -> str:
    """Return JSON; values that it does not know (times, bytes) become texts.

    NaN and infinite values are written as null.
    """
    try:
        return _ENCODERS[ascii_only].encode(value)
    except ValueError as error:
        if isinstance(error, UnicodeError):
            raise
        return _ENCODERS[ascii_only].encode(finite(value))


def json_line(row: Mapping[str, Any]) -> bytes:
    """Return a row of a JSON Lines file."""
    if not all(type(key) is str for key in row):
        return f"{dump_fields(row, ascii_only=False)}\n".encode()
    try:
        parts = [b"%b:%b" % (_encode(key), _encode_value(value)) for key, value in row.items()]
        return b"{%b}\n" % b",".join(parts)
    except UnicodeEncodeError:  # half of a surrogate pair
        return f"{dump_fields(row)}\n".encode()


def _encode_value(value: Any) -> bytes:
    # msgspec writes texts as `json` does, ten times as fast; of numbers, it writes some otherwise.
    return _encode(value) if type(value) is str else dump_fields(value, ascii_only=False).encode()


def finite(value: Any) -> Any:
    """Return a value of JSON with null for NaN and infinite numbers, at any depth."""
    if isinstance(value, Mapping):
        return {key: finite(each) for key, each in value.items()}
    if isinstance(value, list | tuple):
        return [finite(each) for each in value]
    value = value.item() if hasattr(value, "item") else value
    return None if isinstance(value, float) and not math.isfinite(value) else value


def note_kinds(kinds: Kinds, fields: Mapping[str, Any]) -> None:
    """Join the kinds of a document's fields with those known so far."""
    for name, value in fields.items():
        kind = _KINDS.get(type(value)) or _kind(value)
        known = kinds.get(name)
        if known != kind:
            kinds[name] = _join(known or NULL, kind)


def _kind(value: Any) -> str:
    if not isinstance(value, _OF_JSON):
        value = plain_value(value)  # as the spool writes it
    if isinstance(value, int) and not isinstance(value, bool):
        return WHOLE if abs(value) <= _MAX_EXACT else JSON
    if isinstance(value, list | tuple) and value and all(type(each) is float for each in value):
        return NUMBERS
    return _KINDS.get(type(value), JSON)


def _join(one: str, other: str) -> str:
    kinds = {one, other} - {NULL}
    if len(kinds) <= 1:
        return kinds.pop() if kinds else NULL
    return NUMBER if kinds == {WHOLE, NUMBER} else JSON


def join_kinds(several: Iterable[Kinds]) -> Kinds:
    """Return the kinds of the fields of several shards, by name."""
    joined: Kinds = {}
    for kinds in several:
        for name, kind in kinds.items():
            joined[name] = _join(joined.get(name, NULL), kind)
    return dict(sorted(joined.items()))


def arrow_column(values: list[Any], kind: str) -> pyarrow.Array:
    """Return the column of a field."""
    if kind == JSON:
        values = [None if value is None else dump_fields(value) for value in values]
    elif kind == TEXT:
        values = [v if v is None or v.isascii() else _encodable(v) for v in values]
    return make_column(values, _ARROW[kind])


def arrow_schema(kinds: Kinds) -> pyarrow.Schema:
    """Return the columns of documents with such fields."""
    own = [("id", pyarrow.string()), ("source", pyarrow.string()), ("text", pyarrow.large_string())]
    return pyarrow.schema([*own, *((name, _ARROW[kind]) for name, kind in kinds.items())])


def _encodable(text: str) -> str:
    return text.encode(errors="replace").decode()
