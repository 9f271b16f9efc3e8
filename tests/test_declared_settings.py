"""Settings of all configurations: what their bounds refuse, and that released bounds stay."""

import dataclasses
import importlib
import math
import re
import typing
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest

from bert_data.settings import REQUIRED, NotEmpty, OneOf, Setting, Within, settings_of

CHECKOUT = Path(__file__).resolve().parent.parent
# Configuration, setting, bounds or words. `python -m tests.test_declared_settings` writes it again.
RELEASED = CHECKOUT / "tests" / "goldens" / "settings.tsv"


def configurations() -> Iterator[type]:
    """All classes whose settings are checked, first of all, when they are made."""
    checks = re.compile(r"check_settings\(self\)|class \w+\((?:\w+, )?\w+Config\)")
    for path in sorted((CHECKOUT / "bert_data").glob("*/**/*.py")):
        if checks.search(path.read_text("utf-8")):
            parts = path.relative_to(CHECKOUT).with_suffix("").parts
            module = importlib.import_module(".".join(parts))
            yield from (
                value
                for value in vars(module).values()
                if getattr(value, "__module__", "") == module.__name__
                and "__dataclass_fields__" in vars(value)
                and hasattr(value, "__post_init__")
                and any(each.constraint for each in settings_of(value).values())
            )


CONFIGURATIONS = {f"{each.__module__}.{each.__name__}": each for each in configurations()}


def allowed_values(setting: Setting) -> str:
    """Bounds as "1 9", words as "nsp|sop|none", "" for anything and for any text."""
    if isinstance(setting.constraint, OneOf):
        return "|".join(setting.constraint.words)
    is_bounds = isinstance(setting.constraint, Within)
    return " ".join(map(repr, setting.constraint)) if is_bounds else ""


def test_what_was_released_is_allowed_as_it_was() -> None:
    """Words may be added, bounds may not move."""
    for line in RELEASED.read_text("utf-8").splitlines():
        config, name, allowed = line.split("\t")
        now = allowed_values(settings_of(CONFIGURATIONS[config])[name])
        is_kept = now == allowed or set(now.split("|")) > set(allowed.split("|"))
        assert is_kept, f"{line}: if it is meant, python -m {__name__} writes the table"


_VALUES = {int: 1, float: 1.0, bool: True}


def some_value(setting: Setting) -> Any:
    """A value that a required setting may have."""
    if isinstance(setting.constraint, Within):
        return setting.kind(setting.constraint.low)
    if isinstance(setting.constraint, OneOf):
        return setting.constraint.words[0]
    kind, inner = setting.kind, typing.get_args(setting.kind)
    if typing.get_origin(kind) is tuple:
        return () if setting.constraint is None else (object.__new__(inner[0]),)
    if typing.get_origin(kind) is Mapping:
        return {}
    return object.__new__(kind) if dataclasses.is_dataclass(kind) else _VALUES.get(kind, "x")


def refused(setting: Setting) -> Iterator[Any]:
    """Values just outside each bound, and of another kind."""
    constraint, kind = setting.constraint, setting.kind
    if isinstance(constraint, OneOf):
        yield "none of them"
    elif isinstance(constraint, NotEmpty):
        yield ""
    elif isinstance(constraint, Within) and kind is int:
        yield from (int(constraint.low) - 1, 1.5, "1", True)
        if math.isfinite(constraint.high):
            yield int(constraint.high) + 1
    elif isinstance(constraint, Within) and kind is float:
        outside = map(math.nextafter, constraint, (-math.inf, math.inf))
        yield from (*(each for each in outside if math.isfinite(each)), math.nan)
    elif constraint is None and kind in (bool, int):
        yield "no"


@pytest.mark.parametrize("name", CONFIGURATIONS)
def test_what_is_not_allowed_is_refused_in_one_sentence(name: str) -> None:
    settings = settings_of(CONFIGURATIONS[name])
    required = {n: some_value(each) for n, each in settings.items() if each.default is REQUIRED}
    for setting in settings.values():
        names = {setting.name, "format"}  # pipelines call the format of their output so
        for value in refused(setting):
            with pytest.raises(ValueError, match=rf"^({'|'.join(names)}) is .* (allowed|must)"):
                CONFIGURATIONS[name](**{**required, setting.name: value})


if __name__ == "__main__":
    RELEASED.write_text(
        "".join(
            f"{name}\t{setting.name}\t{allowed_values(setting)}\n"
            for name, config in CONFIGURATIONS.items()
            for setting in settings_of(config).values()
            if allowed_values(setting)
        ),
        "utf-8",
    )
