"""Ragged arrays without TensorFlow, and the features of a record that store them.

    [[7 8] [] [9]]  ->  values [7 8 9], splits ([0 2 2 3],)
                    ->  name_values [7 8 9], name_splits_0 [0 2 2 3]

    [[[7] [8 9]] []]  ->  values [7 8 9], splits ([0 2 2], [0 1 3])     the outermost splits first

Row i of the innermost dimension is values[splits[i]:splits[i + 1]]; an outer row is a range of
inner rows in the same way. This is TensorFlow's RaggedTensor, with its `flat_values` and
`nested_row_splits`.
"""

import dataclasses
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

Values = NDArray[np.int64] | NDArray[np.float32] | Sequence[bytes]
"""The values of one feature of a record."""

_DTYPES = (np.dtype(np.int64), np.dtype(np.float32), np.dtype(np.object_))
"""Types of values that a record can hold; objects are bytes."""


def values_name(name: str) -> str:
    """Return the name of the feature with a ragged array's values."""
    return f"{name}_values"


def splits_name(name: str, dimension: int) -> str:
    """Return the name of the feature with the row splits of a ragged dimension, 0 the outermost."""
    return f"{name}_splits_{dimension}"


@dataclasses.dataclass(frozen=True, kw_only=True, eq=False)
class RaggedArray:
    """An array with one or more ragged dimensions, checked when it is created.

    Attributes:
      values: int64, float32 or object (bytes) [num_values, ...]; dimensions after the first are
        uniform, inside the innermost rows.
      splits: int64[rows + 1] for each ragged dimension, the outermost first; at least one.
    """

    values: NDArray[Any]
    splits: Sequence[NDArray[np.int64]]

    def __post_init__(self) -> None:
        if self.values.dtype not in _DTYPES:
            raise ValueError(
                f"values is an array of {self.values.dtype}; int64, float32 or objects (bytes) are"
                " allowed"
            )
        if not self.values.ndim or 0 in self.inner_shape:
            shape = list(self.values.shape)
            raise ValueError(f"values has the shape {shape}; it must be [any, 1 or more ...]")
        if not self.splits:
            raise ValueError("splits is empty; at least one ragged dimension is needed")
        num_inside = [*(len(splits) - 1 for splits in self.splits[1:]), len(self.values)]
        for number, (splits, length) in enumerate(zip(self.splits, num_inside, strict=True)):
            _check_splits(number, splits, length)

    @property
    def inner_shape(self) -> tuple[int, ...]:
        """Return the uniform dimensions inside the innermost rows; () if there are none."""
        return self.values.shape[1:]


def _check_splits(number: int, splits: NDArray[np.int64], length: int) -> None:
    name = f"splits[{number}]"
    if splits.dtype != np.int64 or splits.ndim != 1 or not splits.size:
        raise ValueError(
            f"{name} is {splits.dtype}{list(splits.shape)}; it must be int64[1 or more]"
        )
    if splits[0] != 0 or splits[-1] != length or np.any(splits[1:] < splits[:-1]):
        raise ValueError(
            f"{name} goes from {splits[0]} to {splits[-1]}; it must ascend from 0 to {length}, the"
            " number of what it splits"
        )


def ragged_features(name: str, array: RaggedArray) -> dict[str, Values]:
    """Return the features of a record that store a ragged array.

    All values form one list, row by row. Uniform inner dimensions are not stored: readers specify
    their sizes, as in `bert_data.labelled.ragged.RaggedSpec`.

    Returns:
      `{name}_values` and, of each ragged dimension i, `{name}_splits_{i}`; `encode_example` takes
      them.
    """
    features: dict[str, Values] = {values_name(name): array.values.reshape(-1)}
    for dimension, splits in enumerate(array.splits):
        features[splits_name(name, dimension)] = splits
    return features
