"""The values of documents' fields: as JSON, and as columns of Parquet, whose kinds they share.

    {"url": "a", "year": 1999} {"url": null, "year": 2.5}  ->  url: text, year: number

Fields whose values are all texts, whole numbers, numbers or booleans have columns of that kind, and
so have lists of numbers with a fraction, such as vectors; all others (other lists, objects, values
of several kinds) are JSON in a column of texts.
"""

import json
import math
from collections.abc import Iterable, Mapping
from typing import Any

import pyarrow

from bert_data.curation.running.arrow_files import make_column

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
    try:
        return f"{dump_fields(row, ascii_only=False)}\n".encode()
    except UnicodeEncodeError:  # half of a surrogate pair
        return f"{dump_fields(row)}\n".encode()


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
