"""Checks of numbers and words, each with its sentence: "NAME is VALUE; what is allowed"."""

import math
import reprlib
import sys
from collections.abc import Iterable
from typing import Any

MAX_INT32 = 2**31 - 1
LARGEST = sys.float_info.max
NOUNS = {bool: "true or false", int: "an integer", float: "a number", str: "a string"}


def check_bounds(
    name: str, value: Any, low: float = -LARGEST, high: float = LARGEST
) -> int | float:
    """Check and return a number; NaN is outside all bounds."""
    return _check_number(name, value, NOUNS[float], low, high)


def check_integer(name: str, value: Any, low: float = -math.inf, high: float = MAX_INT32) -> int:
    """Check and return a number that must be an integer; 3.0 is 3."""
    if isinstance(value, float) and value.is_integer():
        value = int(value)
    return int(_check_number(name, value, NOUNS[int], low, high))


def _check_number(name: str, value: Any, noun: str, low: float, high: float) -> int | float:
    bounds = f"{low:,} or more" if high >= LARGEST else f"{low:,} to {high:,}"
    bounds = bounds if low > -LARGEST else ""
    kinds = int if noun == NOUNS[int] else int | float
    if not isinstance(value, kinds) or isinstance(value, bool):
        allowed = f"{noun}, {bounds}, is allowed" if bounds else f"it must be {noun}"
        raise ValueError(f"{name} is {reprlib.repr(value)}; {allowed}")
    if isinstance(value, float) and not math.isfinite(value) and high >= LARGEST:
        noun, bounds = "a finite number", ""
    if not low <= value <= high:
        shown = reprlib.repr(value) if isinstance(value, int) else value  # not a thousand digits
        allowed = f"{bounds} is allowed" if bounds else f"it must be {noun}"
        raise ValueError(f"{name} is {shown}; {allowed}")
    return int(value) if isinstance(value, int) else float(value)


def check_choice(name: str, value: Any, allowed: Iterable[str]) -> str:
    """Check and return a word."""
    allowed = list(allowed)
    if value not in allowed:
        words = ", ".join(each or "''" for each in allowed)
        raise ValueError(f"{name} is {reprlib.repr(value)}; it must be one of {words}")
    return str(value)


def did_you_mean(written: str, known: Iterable[str]) -> str:
    """Return " (did you mean NAME?)" with the known name that is nearest to one, or ""."""
    import difflib  # here, as few commands need it

    close = difflib.get_close_matches(written, list(known), n=1)
    return f" (did you mean {close[0]}?)" if close else ""
