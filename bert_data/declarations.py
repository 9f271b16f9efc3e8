"""What the declaration of a dataclass or a named tuple says: texts, defaults and annotations."""

import dataclasses
import functools
import inspect
import operator
import types
import typing
from collections.abc import Iterable, Iterator
from typing import Annotated, Any

UNIONS = (types.UnionType, typing.Union)


def attribute_texts(config: type) -> dict[str, str]:
    """Return the texts under "Attributes:", each in one line, by name; of its base classes, too."""
    inherited = map(attribute_texts, reversed(config.__mro__[1:-1]))
    texts = {name: text for each in inherited for name, text in each.items()}
    lines = inspect.cleandoc(config.__doc__ or "").splitlines()
    start = lines.index("Attributes:") + 1 if "Attributes:" in lines else len(lines)
    names: list[str] = []
    for line in lines[start:]:
        if line and not line.startswith(" "):
            break  # the next section
        if line.startswith("  ") and not line.startswith("   "):
            first, _, text = line.partition(":")
            names = [name.strip() for name in first.split(",")]
            texts |= dict.fromkeys(names, text.strip())
        elif line:
            texts |= {name: f"{texts[name]} {line.strip()}" for name in names}
    return texts


def defaults_of(config: Any) -> Iterator[tuple[str, Any]]:
    """Yield (name, default) of each field of a dataclass or a named tuple."""
    missing = dataclasses.MISSING
    if not dataclasses.is_dataclass(config):
        yield from ((name, config._field_defaults.get(name, missing)) for name in config._fields)
        return
    for field in dataclasses.fields(config):
        factory = field.default_factory
        yield field.name, field.default if factory is missing else factory()


def is_record(kind: Any) -> bool:
    """Return whether an annotation is a dataclass or a named tuple."""
    return isinstance(kind, type) and (dataclasses.is_dataclass(kind) or hasattr(kind, "_fields"))


@functools.cache
def without_extras(hint: Any) -> tuple[Any, bool, list[Any]]:
    """Return an annotation without None and extras, whether it has None, and the extras."""
    is_optional, all_extras = False, []
    while True:
        if typing.get_origin(hint) is Annotated:
            hint, *extras = typing.get_args(hint)
            all_extras += extras
        elif typing.get_origin(hint) in UNIONS:
            kinds = [each for each in typing.get_args(hint) if each is not types.NoneType]
            is_optional |= len(kinds) < len(typing.get_args(hint))
            if len(kinds) > 1:
                return functools.reduce(operator.or_, kinds), is_optional, all_extras
            hint = kinds[0]
        else:
            return hint, is_optional, all_extras


def extra_of(extras: Iterable[Any], kinds: Any) -> Any:
    """Return the first of the extras of an annotation that is of some kinds, or None."""
    return next((each for each in extras if isinstance(each, kinds)), None)
