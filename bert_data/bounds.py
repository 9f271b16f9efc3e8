"""The values that a configuration allows: one check, one sentence.

check_bounds("dupe_factor", 0, 1, 1_000_000)
  -> ValueError: dupe_factor is 0; 1 to 1,000,000 is allowed
"""

import reprlib
from collections.abc import Iterable
from numbers import Real

MAX_INT32 = 2**31 - 1


def check_bounds(field: str, value: float, low: float, high: float) -> None:
    """Check a number.

    Args:
      field: its name, for the error.
      value: NaN is outside all bounds.
      low: the least that is allowed.
      high: the most that is allowed.

    Raises:
      ValueError: it is no number, or not in [low, high].
    """
    if not isinstance(value, Real):
        raise ValueError(
            f"{field} is {reprlib.repr(value)}; a number, {low:,} to {high:,}, is allowed"
        )
    if not low <= value <= high:
        shown = reprlib.repr(value) if isinstance(value, int) else value  # not a thousand digits
        raise ValueError(f"{field} is {shown}; {low:,} to {high:,} is allowed")


def check_integer(field: str, value: object, low: int, high: int = MAX_INT32) -> None:
    """Check a number that must be an integer.

    Raises:
      ValueError: it is of another type, or not in [low, high].
    """
    if not isinstance(value, int) or isinstance(value, bool):
        raise ValueError(
            f"{field} is {reprlib.repr(value)}; an integer, {low:,} to {high:,}, is allowed"
        )
    check_bounds(field, value, low, high)


def check_choice(field: str, value: object, allowed: Iterable[str]) -> None:
    """Check a word.

    Raises:
      ValueError: it is not one of the allowed ones.
    """
    allowed = list(allowed)
    if value not in allowed:
        raise ValueError(
            f"{field} is {reprlib.repr(value)}; it must be one of {', '.join(allowed)}"
        )
