"""Convert and check the values of a step's parameters by the annotations of its fields.

float                      3, 0.5; never NaN; `min_...` and `max_...` are >= 0
int                        3, 3.0 -> 3
Share                      a number in [0, 1]
Annotated[int, Within(1)]  a whole number >= 1
Name, Names                a string, or a list of them, that is not empty; label=1 -> "1"
NewField                   the same, and not the name of what every document has: id, source, text
Literal["first", "none"]   one of these
tuple[str, ...]            "US" -> ("US",)      ["US", "GB"] -> ("US", "GB")
tuple[float, ...]          30 -> (30,)          [30, 60] -> (30, 60)
Mapping[str, float]        {"en": 0.5}      ["en:0.5"] -> {"en": 0.5}

A `min_...` is at most its `max_...`.
"""

import dataclasses
import math
import types
import typing
from collections.abc import Iterator, Mapping
from typing import Annotated, Any, Literal

from bert_data.curation.document import MAX, MIN, RESERVED_FIELDS
from bert_data.settings import MAX_INT32, NotEmpty, Within
from bert_data.yaml_files import WrittenFloat, WrittenInt, as_written

_NOUNS = {bool: "true or false", int: "a whole number", float: "a number", str: "a string"}
_TRUTHS = {"yes": True, "on": True, "no": False, "off": False}
_THRESHOLD = Within(0)
_LARGEST = 2**63 - 1  # what kernels take


class NotReserved:
    """Of names of fields that a step writes: neither "", nor those that every document has."""


Name = Annotated[str, NotEmpty()]
Names = Annotated[tuple[str, ...], NotEmpty()]
NewField = Annotated[str, NotReserved()]


def convert_fields(config: Any) -> None:
    """Convert the fields of a frozen dataclass, in its `__post_init__`; see `convert_parameter`."""
    hints = typing.get_type_hints(type(config), include_extras=True)
    for field in dataclasses.fields(config):
        value = convert_parameter(field.name, hints[field.name], getattr(config, field.name))
        object.__setattr__(config, field.name, value)
    for low in (name for name in hints if name.startswith(MIN)):
        high = MAX + low.removeprefix(MIN)
        least, most = getattr(config, low), getattr(config, high, None)
        if isinstance(least, int | float) and isinstance(most, int | float) and least > most:
            raise ValueError(f"{low} is {least}; it must be at most {high}, {most}")


def names_of_new_fields(config: Any) -> tuple[str, ...]:
    """Return the values of a dataclass's fields that are annotated as `NewField`."""
    hints = typing.get_type_hints(type(config), include_extras=True)
    return tuple(getattr(config, name) for name, kind in hints.items() if kind == NewField)


def convert_parameter(name: str, kind: Any, value: Any) -> Any:
    """Return a value, as a user or a program wrote it, in the form of its field.

    Args:
      kind: the annotation of the field; an unknown one accepts any value.
    """
    if isinstance(kind, types.UnionType) or typing.get_origin(kind) is typing.Union:
        if value is None:
            return None
        kind = next(each for each in typing.get_args(kind) if each is not types.NoneType)
    extra: object = _THRESHOLD if name.startswith((MIN, MAX)) else None
    if typing.get_origin(kind) is Annotated:
        kind, extra = typing.get_args(kind)
        if isinstance(extra, NotEmpty | NotReserved) and value in ("", (), []):
            raise ValueError(f"{name} is {value!r}; it must not be empty")
        if isinstance(extra, NotReserved) and value in RESERVED_FIELDS:
            raise ValueError(
                f"{name} is {value!r}, which every document has already; name another field"
            )
    within = extra if isinstance(extra, Within) else None
    origin, arguments = typing.get_origin(kind), typing.get_args(kind)
    if origin is Literal:
        value = as_written(value) if any(isinstance(each, str) for each in arguments) else value
        allowed = ", ".join(each or "''" for each in arguments)
        return _accept(name, value, value in arguments, f"one of {allowed}")
    if origin is tuple and str in arguments:
        values = list(map(as_written, value)) if isinstance(value, list) else as_written(value)
        values = (values,) if isinstance(values, str) else values
        fits = isinstance(values, tuple | list) and all(isinstance(each, str) for each in values)
        return tuple(_accept(name, values, fits, "a list of strings"))
    if origin is tuple and float in arguments:
        values = (value,) if isinstance(value, int | float) else value
        _accept(name, values, isinstance(values, tuple | list), "a list of numbers")
        return tuple(_convert_number(name, float, each, within) for each in values)
    if origin is Mapping:
        return _convert_mapping(name, arguments[1], value)
    if kind in (int, float):
        return _convert_number(name, kind, value, within)
    if kind is str:
        value = as_written(value)
    elif kind is bool and isinstance(value, str):
        value = _TRUTHS.get(value.lower(), value)
    return _accept(name, value, kind not in _NOUNS or isinstance(value, kind), _NOUNS.get(kind, ""))


def items_of(value: Any, *, of_numbers: bool) -> Iterator[tuple[Any, Any]]:
    """Yield the items of a mapping, a list or a text, also of NAME:VALUE.

    ["a:1"], "a:1", and {"a:1": None} and [{"a": "1"}], as YAML reads {a:1} and [a: 1]  ->  "a", "1"

    Args:
      of_numbers: whether values of "NAME:VALUE" become numbers, where they are.
    """
    entries = [value] if isinstance(value, str) else value
    items = entries.items() if isinstance(entries, Mapping) else ((each, None) for each in entries)
    for name, each in items:
        if isinstance(name, Mapping):
            yield from items_of(name, of_numbers=of_numbers)
        elif isinstance(name, str) and each is None and ":" in name:
            first, _, last = name.rpartition(":") if of_numbers else name.partition(":")
            yield first, _number(last) if of_numbers else last
        else:
            yield name, each


def _number(text: str) -> float | str:
    try:
        return float(text)
    except ValueError:
        return text


def _convert_mapping(name: str, of_values: Any, value: Any) -> dict[str, Any]:
    fits = isinstance(value, Mapping | tuple | list | str)
    is_mapping = isinstance(value, Mapping)
    of_numbers = bool({int, float} & {of_values, *typing.get_args(of_values)})
    items = list(items_of(value, of_numbers=of_numbers)) if fits else []
    fits &= all(isinstance(key, str) and (is_mapping or v is not None) for key, v in items)
    _accept(name, value, fits, "a mapping of names, or a list of NAME:VALUE")
    converted: dict[str, Any] = {}
    for key, each in items:
        if key in converted:
            raise ValueError(f"{name} has {key!r:.60} twice")
        converted[key] = convert_parameter(f"{name}[{key}]", of_values, each)
    return converted


def _convert_number(name: str, kind: type, value: Any, within: Within | None) -> Any:
    if isinstance(value, WrittenInt | WrittenFloat):
        value = int(value) if isinstance(value, int) else float(value)
    if kind is int and isinstance(value, float) and value.is_integer():
        value = int(value)
    fits = isinstance(value, int if kind is int else int | float) and not isinstance(value, bool)
    fits = fits and not math.isnan(value) and not (name.startswith(MIN) and math.isinf(value))
    allowed = ""
    if within is not None:
        has_most = within.high != MAX_INT32  # the default
        fits = fits and within.low <= value and not (has_most and value > within.high)
        allowed = f" in [{within.low}, {within.high}]" if has_most else f" >= {within.low}"
        if fits and kind is int and value > _LARGEST:
            raise ValueError(f"{name} is {value!r:.60}; at most {_LARGEST} is allowed")
    return _accept(name, value, fits, f"{_NOUNS[kind]}{allowed}")


def _accept(name: str, value: Any, fits: bool, allowed: str) -> Any:
    if not fits:
        raise ValueError(f"{name} is {value!r:.60}; it must be {allowed}")
    return value
