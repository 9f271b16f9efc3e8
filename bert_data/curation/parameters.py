"""Check and convert the values of a step's parameters by the types of its fields.

tuple[str, ...]  "US" -> ("US",)      ["US", "GB"] -> ("US", "GB")      [1] -> refused
float            3 -> 3               "3" -> refused
bool             false -> False       0 -> refused
"""

import types
import typing
from typing import Any

_NUMBERS = (int, float)
_NEEDED = {bool: "true or false", int: "a number", float: "a number", str: "a string"}


def as_field(kind: Any, value: Any) -> Any:
    """Convert a value to the form of a field: lists to tuples, and a string to a tuple of one."""
    if isinstance(value, str) and typing.get_origin(kind) is tuple:
        return (value,)
    return tuple(value) if isinstance(value, list) else value


def find_refusal(name: str, kind: Any, value: Any) -> str | None:
    """Return why a converted value does not fit its field, or None if it does.

    Args:
      name: of the parameter.
      kind: the annotation of the field.
      value: for it.
    """
    if typing.get_origin(kind) in (types.UnionType, typing.Union):
        if value is None:
            return None
        kind = next(each for each in typing.get_args(kind) if each is not types.NoneType)
    if typing.get_origin(kind) is tuple:
        if isinstance(value, tuple) and all(isinstance(item, str) for item in value):
            return None
        return f"{name} is {value!r}; it must be a list of strings"
    if kind not in _NEEDED or _is_of(kind, value):
        return None
    return f"{name} is {value!r}; {_NEEDED[kind]} is needed"


def _is_of(kind: type, value: Any) -> bool:
    if kind in _NUMBERS:
        return isinstance(value, _NUMBERS) and not isinstance(value, bool)
    return isinstance(value, kind)
