"""Sort records by several fields: by the first one at once, then those that agree in it.

    records 7 2 | 3 9 | 7 1 | 5 0   sorted_rows, by two fields  ->  1 3 2 0

Fields that are hashes seldom agree, so that nearly all of the work is to sort one array of numbers.
`to_keys` makes fields of numbers with a fraction.
"""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from bert_data.kernels import Scalar, inner, kernel

_SIGN = np.uint64(1 << 63)
_GROWTH = 3  # of the distances 1, 4, 13, 40, ...


def sorted_rows(
    words: NDArray[np.uint64], num_keys: int, rows: NDArray[np.int64] | None = None
) -> NDArray[np.int64]:
    """Return the numbers of records, sorted by their first fields; of equal ones, in any order.

    Args:
      words: uint64 [records, words of each].
      rows: numbers of the records to sort; None: of all.
    """
    firsts = words[:, 0] if rows is None else words[rows, 0]
    order = np.argsort(firsts)
    rows = order if rows is None else rows[order]
    if num_keys > 1:
        _sort_ties(words, firsts[order], num_keys, rows)
    return rows


@kernel
def _sort_ties(
    words: NDArray[np.uint64], firsts: NDArray[np.uint64], num_keys: int, rows: NDArray[np.int64]
) -> None:
    """Sort the rows that agree in their first field (`firsts`, sorted) by the others, in place."""
    begin = 0
    while begin < len(rows):
        end = begin + 1
        while end < len(rows) and firsts[end] == firsts[begin]:
            end += 1
        _sort_range(words, num_keys, rows, begin, end)
        begin = end


@inner
def _sort_range(
    words: NDArray[np.uint64], num_keys: Scalar, rows: NDArray[np.int64], begin: Scalar, end: Scalar
) -> None:
    """Sort rows by insertion; of many, first those at some distance (Shell 1959; Knuth's gaps)."""
    gap = 1
    while _GROWTH * gap < end - begin:
        gap = _GROWTH * gap + 1
    while gap > 0:
        for start in range(begin + gap, end):
            row, place = rows[start], start
            while place >= begin + gap and _is_less(words, num_keys, row, rows[place - gap]):
                rows[place] = rows[place - gap]
                place -= gap
            rows[place] = row
        gap //= _GROWTH


@inner
def _is_less(words: NDArray[np.uint64], num_keys: Scalar, one: Scalar, other: Scalar) -> Scalar:
    """Return whether a record is less than another that agrees with it in the first field."""
    for k in range(1, num_keys):
        if words[one, k] != words[other, k]:
            return words[one, k] < words[other, k]
    return False


def distinct(values: NDArray[Any]) -> NDArray[Any]:
    """Return what np.unique does; of large integers, its hash table takes ten times as long."""
    values = np.sort(values)
    return values[np.flatnonzero(np.append(True, values[1:] != values[:-1])[: len(values)])]


def to_keys(values: NDArray[np.float64]) -> NDArray[np.uint64]:
    """Return numbers that are ordered as the values are, of which none is NaN."""
    bits = (values + 0.0).view(np.uint64)  # -0.0 becomes 0.0
    return np.where(bits & _SIGN, ~bits, bits | _SIGN)


def from_keys(keys: NDArray[np.uint64]) -> NDArray[np.float64]:
    """Return the values that `to_keys` took."""
    return np.where(keys & _SIGN, keys & ~_SIGN, ~keys).view(np.float64)
