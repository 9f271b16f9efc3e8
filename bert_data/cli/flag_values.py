"""Values of flags: those of a configuration, whose fields have the flags' names, and lists.

--optimizer=lamb --clip_norm=2
from_flags(OptimizerConfig)                      ->  OptimizerConfig(optimizer="lamb", ...)
from_flags(TrainingConfig, optimizer=optimizer)  ->  the other fields from their flags
--weights=0.7,0.3
numbers_of("weights", float)                     ->  [0.7, 0.3]
"""

import dataclasses
from collections.abc import Callable
from typing import Any, TypeVar

from absl import flags

_Config = TypeVar("_Config")
_Number = TypeVar("_Number", int, float)
_ALLOWED: dict[type, str] = {int: "whole numbers", float: "numbers"}


def from_flags(config: Callable[..., _Config], **others: Any) -> _Config:
    """Return a configuration: `others`, the flags of its other fields' names, and its defaults."""
    assert isinstance(config, type)
    names = {field.name for field in dataclasses.fields(config)} - others.keys()
    values = {name: flags.FLAGS[name].value for name in names if name in flags.FLAGS}
    return config(**values, **others)


def numbers_of(name: str, kind: type[_Number]) -> list[_Number] | None:
    """Return the numbers of a flag, which commas separate; None if it is not set.

    Raises:
      ValueError: it has something else.
    """
    text = flags.FLAGS[name].value
    try:
        return None if text is None else [kind(part) for part in text.split(",")]
    except ValueError:
        raise ValueError(
            f"--{name} is {text!r}; {_ALLOWED[kind]}, comma-separated, are allowed"
        ) from None
