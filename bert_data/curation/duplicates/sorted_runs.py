"""Runs of equal values in sorted arrays.

3 3 5 8 8 8   ->  [0 2] [3 6]
"""

import numpy as np
from numpy.typing import NDArray


def runs_of_equals(values: np.ndarray, *others: np.ndarray) -> NDArray[np.int64]:
    """Return where runs of two or more equal values begin and end in sorted arrays.

    Args:
      values: [any], sorted.
      others: [any], of the same length; within a run, these are equal, too.

    Returns:
      int64 [runs, 2], ends exclusive.
    """
    if len(values) == 0:
        return np.empty((0, 2), np.int64)
    differs = np.zeros(len(values) - 1, bool)
    for each in (values, *others):
        differs |= each[1:] != each[:-1]
    starts = np.concatenate([[0], np.flatnonzero(differs) + 1])
    ends = np.append(starts[1:], len(values))
    return np.stack([starts, ends], 1)[ends - starts > 1].astype(np.int64)
