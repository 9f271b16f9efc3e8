"""Kernels on the vectors of fastText's models, in its order and precision.

rows of a text  --mean_vector-->  float32 [dim]  --multiply-->  products with outputs  -->  shares
"""

import math

import numpy as np
from numpy.typing import NDArray

from bert_data.kernels import Scalar, inner

_MAX_SIGMOID, _SIGMOID_STEPS = np.float32(8), np.float32(32)
_SMALL_DIM = 16  # of lid.176


@inner
def add_rows(
    vectors: NDArray[np.float32],
    rows: NDArray[np.int32],
    num_rows: Scalar,
    dim: Scalar,
    sums: NDArray[np.float32],
) -> None:
    """Add the vectors rows[:num_rows] to `sums`, one after the other.

    Four at a time, so that the processor waits for the memory of four of them at once. Unsigned
    indices, as a check of their sign would cost five times as much as the additions.
    """
    for at in range(0, num_rows - 3, 4):
        a, b, c, d = rows[at], rows[at + 1], rows[at + 2], rows[at + 3]
        a, b, c, d = np.uint64(a), np.uint64(b), np.uint64(c), np.uint64(d)
        for i in range(dim):
            sums[i] = (((sums[i] + vectors[a, i]) + vectors[b, i]) + vectors[c, i]) + vectors[d, i]
    for at in range(num_rows - num_rows % 4, num_rows):
        row = np.uint64(rows[at])
        for i in range(dim):
            sums[i] += vectors[row, i]


@inner
def mean_vector(
    vectors: NDArray[np.float32],
    rows: NDArray[np.int32],
    num_rows: Scalar,
    sums: NDArray[np.float32],
) -> None:
    """Compute the mean of the vectors rows[:num_rows], of at least one.

    Args:
      sums: [dim or more], zeros; receives the mean.
    """
    if vectors.shape[1] == _SMALL_DIM:  # a constant takes half the time
        add_rows(vectors, rows, num_rows, _SMALL_DIM, sums)
    else:
        add_rows(vectors, rows, num_rows, vectors.shape[1], sums)
    share = np.float32(1.0 / num_rows)
    for i in range(vectors.shape[1]):
        sums[i] *= share


@inner
def multiply(outputs: NDArray[np.float32], row: Scalar, sums: NDArray[np.float32]) -> np.float32:
    """Return the product of a row and the vector of a text."""
    product = np.float32(0)
    for i in range(outputs.shape[1]):
        product += outputs[row, i] * sums[i]
    return product


@inner
def divide(product: np.float32) -> np.float32:
    """Return the share of the second child of a node."""
    return np.float32(1.0 / np.float64(np.float32(1) + math.exp(-product)))


@inner
def sigmoid(product: np.float32) -> np.float32:
    """Return the logistic function as fastText's table has it: in steps of 1/32 within [-8, 8]."""
    if product < -_MAX_SIGMOID:
        return np.float32(0)
    if product > _MAX_SIGMOID:
        return np.float32(1)
    step = np.int64(np.float32((product + _MAX_SIGMOID) * _SIGMOID_STEPS))
    place = np.float32(step / _SIGMOID_STEPS - _MAX_SIGMOID)
    return np.float32(1.0 / (1.0 + math.exp(-place)))


@inner
def logarithm(share: np.float32) -> np.float32:
    """Return the logarithm of a share, bounded for 0."""
    return np.float32(math.log(np.float64(share) + 1e-5))
