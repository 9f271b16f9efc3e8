"""Values that Python programs have, as configurations keep them: NumPy's numbers, and paths.

plain(np.int64(3)), plain(Path("a/b")), plain([np.float32(0.5)])  ->  3, "a/b", [0.5]
"""

import dataclasses
import os
from typing import Any

import numpy as np


def plain(value: Any) -> Any:
    """Return a value without NumPy's numbers and paths: int, float, bool, str; also in a list."""
    if isinstance(value, np.generic):
        return value.item()
    if isinstance(value, os.PathLike):
        return os.fspath(value)
    if isinstance(value, list | tuple) and not hasattr(value, "_fields"):
        return type(value)(map(plain, value))
    return value


def make_plain(config: Any) -> None:
    """Make the fields of a frozen dataclass plain; called by its `__post_init__`, before checks."""
    for field in dataclasses.fields(config):
        value = getattr(config, field.name)
        simple = plain(value)
        if simple is not value:
            object.__setattr__(config, field.name, simple)
