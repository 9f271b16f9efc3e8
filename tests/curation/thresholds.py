"""Moves each default of the steps in `test_defaults`, and says which moves that file misses.

python -m tests.curation.thresholds
"""

import contextlib
import io
import math
import sys
from collections.abc import Iterator
from typing import Any

import pytest

from bert_data.curation.step import find_step
from bert_data.settings import settings_of
from tests.curation import test_defaults

_FACTOR = 1.1
_PYTEST = ["-qx", "--assert=plain", "-p", "no:cacheprovider", test_defaults.__file__]


def moved(default: float) -> list[float]:
    """A value below and one above a default; of a whole number, whole ones."""
    if isinstance(default, int):
        return [math.ceil(default / _FACTOR) - 1, math.floor(default * _FACTOR) + 1]
    return [default / _FACTOR, default * _FACTOR]


def moves(step: type) -> Iterator[tuple[str, Any, float]]:
    """Yield the parameters that are numbers, their defaults, and others that are allowed."""
    settings = settings_of(step)
    for name, default in step.__init__.__kwdefaults__.items():
        if type(default) in (int, float) and name != "seed":
            for value in moved(default) if math.isfinite(default) else ():
                with contextlib.suppress(ValueError):
                    if settings[name].convert(value) != default:
                        yield name, default, value


def is_noticed(step: type, name: str, value: float) -> bool:
    default = step.__init__.__kwdefaults__[name]
    step.__init__.__kwdefaults__[name] = value
    with contextlib.redirect_stdout(io.StringIO()):
        status = pytest.main([*_PYTEST, "-k", step.name])
    step.__init__.__kwdefaults__[name] = default
    return status == pytest.ExitCode.TESTS_FAILED


def main() -> None:
    num_missed = 0
    steps = (*test_defaults.STEPS, *test_defaults.CORPUS_STEPS)
    for name in dict.fromkeys(name for name, *_ in steps):
        step = find_step(name)
        for parameter, default, value in moves(step):
            if not is_noticed(step, parameter, value):
                print(f"{name}: {parameter} may be {value:g} in place of {default:g}", flush=True)
                num_missed += 1
    sys.exit(1 if num_missed else 0)


if __name__ == "__main__":
    main()
