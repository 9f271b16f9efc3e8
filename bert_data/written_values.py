"""Values as people and programs write them: the forms that mean the same."""

import contextlib
import os
import sys
import typing
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

_TRUTHS = {"true": True, "t": True, "1": True, "false": False, "f": False, "0": False}


def as_written(value: Any) -> Any:
    """Return the text that a number or a truth of a YAML file is written as."""
    if isinstance(value, bool):
        return str(value).lower()
    return getattr(value, "text", value) if isinstance(value, int | float) else value


def number_of(text: str) -> float | str:
    """Return the number that a text stands for, or the text."""
    for kind in (int, float):
        with contextlib.suppress(ValueError):
            return kind(text)
    return text


def read_typed(text: str, kind: Any) -> Any:
    """Return what the text of a flag stands for: a value of a kind, or the text itself.

    "1e6", int  ->  1000000.0        "1,2", Sequence[int]  ->  [1, 2]        "true", bool  ->  True
    """
    if kind is bool:
        return _TRUTHS.get(text.lower(), text)
    if kind in (int, float):
        return number_of(text)
    if typing.get_origin(kind) is Sequence:
        return [number_of(part) for part in text.split(",")]
    return text


def plain(value: Any) -> Any:
    """Return a number of NumPy, and a path, as int, float, bool or str; another value as it is."""
    numpy = sys.modules.get("numpy")
    if numpy is not None and isinstance(value, numpy.generic):
        return value.item()
    if isinstance(value, os.PathLike):
        return os.fspath(value)
    return value


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
            yield first, number_of(last) if of_numbers else last
        else:
            yield name, each
