"""Numbers with a fraction as keys of records, which are sorted as whole numbers.

to_keys([-1.5, 0.0, 2.0])  ->  uint64 [3], ascending
"""

import numpy as np
from numpy.typing import NDArray

_SIGN = np.uint64(1 << 63)


def to_keys(values: NDArray[np.float64]) -> NDArray[np.uint64]:
    """Return numbers that are ordered as the values are, of which none is NaN."""
    bits = (values + 0.0).view(np.uint64)  # -0.0 becomes 0.0
    return np.where(bits & _SIGN, ~bits, bits | _SIGN)


def from_keys(keys: NDArray[np.uint64]) -> NDArray[np.float64]:
    """Return the values that `to_keys` took."""
    return np.where(keys & _SIGN, keys & ~_SIGN, ~keys).view(np.float64)
