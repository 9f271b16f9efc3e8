"""A permutation drawn from a key, in constant memory.

    [permuted(i, 10, key) for i in range(10)]   ->  each of 0 ... 9 once

A Feistel network of six rounds permutes the numbers of an even number of bits; a number beyond the
range is permuted again until it is inside ("cycle walking": Black and Rogaway, "Ciphers with
arbitrary finite domains", CT-RSA 2002), fewer than four times on average.
"""

import numpy as np
from numpy.typing import NDArray

from bert_data.kernels import Scalar, inner, kernel
from bert_data.reader.splitmix import next_bits

ROUNDS = 6


@inner
def permuted(number: Scalar, size: Scalar, key: np.uint64) -> Scalar:
    """Return the place of a number in [0, size); size is at most 2**62."""
    half = np.uint64(1)
    while (np.uint64(1) << (np.uint64(2) * half)) < np.uint64(size):
        half += np.uint64(1)
    mask = (np.uint64(1) << half) - np.uint64(1)
    place = np.uint64(number)
    while True:
        left, right, round_key = place >> half, place & mask, key
        for _ in range(ROUNDS):
            round_key, round_bits = next_bits(round_key)
            _, bits = next_bits(round_bits + right)
            left, right = right, left ^ (bits >> np.uint64(32)) & mask
        place = left << half | right
        if place < np.uint64(size):
            return np.int64(place)


@kernel
def permute_range(first: Scalar, size: Scalar, key: np.uint64, places: NDArray[np.int64]) -> None:
    """Fill the places of the numbers from `first` on."""
    for i in range(places.size):
        places[i] = permuted(first + i, size, key)
