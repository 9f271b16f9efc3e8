"""Dataclasses in YAML files: their fields are the keys, with their types and checks.

    masking: {rule: tokens, rat: 0.3}
      -> ValueError: recipe.yaml: line 9: masking has no key 'rat' (did you mean rate?); there are

Where a dataclass refuses its values, its sentence begins with the key, which gives the line.
"""

import dataclasses
import difflib
import re
import types
import typing
from collections.abc import Iterator, Mapping, Sequence
from typing import Annotated, Any, NamedTuple, TypeVar

from bert_data.errors import named_in_errors
from bert_data.settings import REQUIRED, settings_of
from bert_data.storage import read_bytes
from bert_data.yaml_files import WrittenMapping, as_written, load_yaml

_Config = TypeVar("_Config")
_NOUNS = {bool: "true or false", int: "a whole number", float: "a number", str: "a string"}


class WrittenAs(NamedTuple):
    """Of a field: its key, where Python does not allow that as a name."""

    key: str


class _Mistake(ValueError):
    """A sentence that names its line already."""


def read_config(config: type[_Config], path: str) -> _Config:
    """Return the dataclass that a file describes."""
    with named_in_errors(path):
        value = load_yaml(read_bytes(path))
        if not isinstance(value, WrittenMapping):
            shown = "empty" if value is None else f"{value!r:.60}"
            keys = ", ".join(_keys_of(config))
            raise ValueError(f"the file is {shown}; it must be a mapping with {keys}")
        made: _Config = _make(config, "the file", value)
        return made


def _keys_of(config: Any) -> dict[str, tuple[str, Any]]:
    """Return the names and types of the fields of a dataclass or a named tuple, by their keys."""
    hints = typing.get_type_hints(config, include_extras=True)
    keys = {}
    for name in _names_of(config):
        extras = typing.get_args(hints[name])[1:] if _is_annotated(hints[name]) else ()
        key = next((each.key for each in extras if isinstance(each, WrittenAs)), name)
        keys[key] = name, hints[name]
    return keys


def _names_of(config: Any) -> list[str]:
    """Return the names of the fields of a dataclass or a named tuple."""
    if dataclasses.is_dataclass(config):
        return [field.name for field in dataclasses.fields(config)]
    return list(config._fields)


def _required(config: Any) -> set[str]:
    if dataclasses.is_dataclass(config):
        every = settings_of(typing.cast("type", config)).items()
        return {name for name, setting in every if setting.default is REQUIRED}
    return set(config._fields)


def _make(config: Any, where: str, mapping: WrittenMapping) -> Any:
    keys, values = _keys_of(config), {}
    for key, value in mapping.items():
        key = str(as_written(key))
        if key not in keys:
            raise _Mistake(f"line {mapping.lines[key]}: {_unknown(where, key, keys)}")
        name, kind = keys[key]
        if value is not None:
            values[name] = _convert(key, kind, value, mapping.lines[key])
    for key, (name, _) in keys.items():
        if name in _required(config) and name not in values:
            raise _Mistake(f"line {mapping.line}: {where} has no {key}; it needs one")
    try:
        return config(**values)
    except _Mistake:
        raise
    except ValueError as error:
        raise _Mistake(f"line {_line_of(mapping, str(error))}: {error}") from None


def _unknown(where: str, key: str, keys: Mapping[str, tuple[str, Any]]) -> str:
    close = difflib.get_close_matches(key, keys, n=1)
    inside = [name for name, (_, kind) in keys.items() if key in _keys_inside(kind)]
    hint = f" (did you mean {close[0]}?)" if close else ""
    hint = f" (it is one of {inside[0]})" if inside else hint
    return f"{where} has no key {key[:60]!r}{hint}; there are {', '.join(keys)}"


def _keys_inside(kind: Any) -> Iterator[str]:
    for each in _alternatives(kind):
        of_items = typing.get_args(each)[:1] if typing.get_origin(each) is tuple else (each,)
        for one in of_items:
            if _is_record(one):
                yield from _keys_of(one)


def _line_of(mapping: WrittenMapping, sentence: str) -> int:
    """Return the line of what a sentence begins with: "stage 2: masking: rate is 3; ..."."""
    for key in sorted(mapping.lines, key=len, reverse=True):
        value = mapping.get(key)
        match = re.match(rf"`?{re.escape(key)}\b`?(?:: )?", sentence)
        of_list = re.match(rf"{re.escape(key.removesuffix('s'))} (\d+): ", sentence)
        if of_list and isinstance(value, list):
            match, value = of_list, value[int(of_list[1]) - 1]
        if match is None:
            continue
        if isinstance(value, WrittenMapping):
            first = value.line if of_list else mapping.lines[key]
            found = _line_of(value, sentence[match.end() :])
            return first if found == value.line else found
        return mapping.lines[key]
    return mapping.line


def _is_annotated(kind: Any) -> bool:
    return typing.get_origin(kind) is Annotated


def _is_record(kind: Any) -> bool:
    """Whether a type is a dataclass or a named tuple, which are mappings in a file."""
    return dataclasses.is_dataclass(kind) or hasattr(kind, "_fields")


def _alternatives(kind: Any) -> list[Any]:
    """Return the types of a union, without None and what annotates them."""
    if _is_annotated(kind):
        return _alternatives(typing.get_args(kind)[0])
    if typing.get_origin(kind) in (types.UnionType, typing.Union):
        return [each for part in typing.get_args(kind) for each in _alternatives(part)]
    return [] if kind is types.NoneType else [kind]


def _convert(name: str, kind: Any, value: Any, line: int) -> Any:
    """Return a value of a file in the form of its field."""
    every = _alternatives(kind)
    for each in every:
        origin, arguments = typing.get_origin(each), typing.get_args(each)
        if isinstance(value, WrittenMapping) and _is_record(each):
            return _make(each, name, value)
        if isinstance(value, WrittenMapping) and origin is Mapping:
            return _convert_mapping(name, arguments[1], value)
        if isinstance(value, list) and origin is tuple and _fits(arguments, value):
            return _convert_list(name, arguments, value, line)
        if each in _NOUNS and not isinstance(value, Mapping | list):
            converted = _convert_scalar(each, value)
            if converted is not None:
                return converted
    allowed = " or ".join(map(_noun, every))
    raise _Mistake(f"line {line}: {name} is {value!r:.60}; it must be {allowed}")


def _convert_mapping(name: str, kind: Any, value: WrittenMapping) -> dict[str, Any]:
    converted = {}
    for key, each in value.items():
        written = str(as_written(key))
        converted[written] = _convert(f"{name}: {written}", kind, each, value.lines[written])
    return converted


def _fits(arguments: Sequence[Any], value: Sequence[Any]) -> bool:
    return arguments[-1] is ... or len(arguments) == len(value)


def _convert_list(
    name: str, arguments: Sequence[Any], value: Sequence[Any], line: int
) -> tuple[Any, ...]:
    one, is_any = name.removesuffix("s"), arguments[-1] is ...
    kinds = [arguments[0]] * len(value) if is_any else arguments
    return tuple(
        _convert(f"{one} {number}" if is_any else name, kind, each, getattr(each, "line", line))
        for number, (kind, each) in enumerate(zip(kinds, value, strict=True), 1)
    )


def _convert_scalar(kind: type, value: Any) -> Any:
    """Return a value without how it was written, or None if it is of another type."""
    if kind is str:
        written = as_written(value)
        return written if isinstance(written, str) else None
    if isinstance(value, bool) or kind is bool:
        return value if isinstance(value, bool) and kind is bool else None
    if isinstance(value, float) and kind is int and value.is_integer():
        return int(value)
    if isinstance(value, int):
        return int(value)
    return float(value) if isinstance(value, float) and kind is float else None


def _noun(kind: Any) -> str:
    origin, arguments = typing.get_origin(kind), typing.get_args(kind)
    if _is_record(kind):
        return f"a mapping with {', '.join(_keys_of(kind))}"
    if origin is Mapping:
        return f"a mapping from names to {_NOUNS.get(arguments[1], 'values').removeprefix('a ')}s"
    if origin is tuple and arguments[-1] is ...:
        return f"a list, each {_noun(arguments[0])}"
    if origin is tuple:
        return f"[{', '.join(map(_noun, arguments))}]"
    return _NOUNS[kind]
