"""Rows of a test of which a few stand for all while one works."""

from collections.abc import Sequence
from typing import Any

import pytest
from _pytest.mark.structures import ParameterSet


def mostly_slow(
    names: str | Sequence[str], rows: Sequence[Any], *, quick: int = 1, **others: Any
) -> pytest.MarkDecorator:
    """Parametrize a test with ROWS, all but the first QUICK of which are slow."""
    is_one = isinstance(names, str) and "," not in names
    slow = [
        pytest.param(
            *(row.values if isinstance(row, ParameterSet) else [row] if is_one else row),
            marks=[*(row.marks if isinstance(row, ParameterSet) else ()), pytest.mark.slow],
            id=row.id if isinstance(row, ParameterSet) else None,
        )
        for row in list(rows)[quick:]
    ]
    return pytest.mark.parametrize(names, [*list(rows)[:quick], *slow], **others)
