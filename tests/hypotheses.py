"""How many examples Hypothesis tries: so many times more as the profile of conftest.py says."""

from typing import Any

from hypothesis import settings

PLAIN = 100
"""Examples of a test that names no number, in the profiles of every day."""


def examples(number: int, **others: Any) -> settings:
    """Try NUMBER examples, or as many times more or fewer as the profile says of all tests."""
    return settings(max_examples=-(-number * settings().max_examples // PLAIN), **others)
