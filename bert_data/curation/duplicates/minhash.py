"""Kernels of MinHash: a document's shingles, its signature, its bands, and exact similarity.

    hashes of words   a b c d e f      shingles of 3   abc bcd cde def, as a sorted set of hashes
    signature         min over the shingles, for each of 112 permutations of 32-bit numbers
    band keys         8 minima at a time, hashed to 64 bits: like documents share one of 14

Broder (1997), "On the resemblance and containment of documents": the minimum under a permutation is
the same for two sets as often as their Jaccard similarity says, so that with b bands of r rows
documents of similarity s share a band with probability 1 - (1 - s^r)^b (Lee et al. 2022,
arXiv:2107.06499, section 4.2 and appendix A). The permutations are x -> a x + b modulo 2^32 with a
odd; the x are the low halves of shingles, which are well-mixed hashes.
"""

import numpy as np
import xxhash
from numpy.typing import NDArray

from bert_data.kernels import Scalar, inner, kernel

_MULTIPLIER = np.uint64(0x9E3779B97F4A7C15)  # of splitmix64 (Steele, Lea, Flood 2014), as below
_MIX_1 = np.uint64(0xBF58476D1CE4E5B9)
_MIX_2 = np.uint64(0x94D049BB133111EB)
_SHIFT_1, _SHIFT_2, _SHIFT_3 = np.uint64(30), np.uint64(27), np.uint64(31)
_LARGEST = np.uint32(0xFFFFFFFF)


@inner
def mix(value: np.uint64) -> np.uint64:
    """Apply the finalizer of splitmix64, a permutation of 64-bit numbers."""
    value = (value ^ (value >> _SHIFT_1)) * _MIX_1
    value = (value ^ (value >> _SHIFT_2)) * _MIX_2
    return value ^ (value >> _SHIFT_3)


@inner
def mix_next(value: np.uint64, word: np.uint64) -> np.uint64:
    """Return the hash of a sequence from that of its start and one more word; order matters."""
    return mix((value ^ word) * _MULTIPLIER + _MIX_1)


@kernel
def make_shingles(
    hashes: NDArray[np.uint64],
    left_out: NDArray[np.bool_],
    size: Scalar,
    shingles: NDArray[np.uint64],
) -> Scalar:
    """Hash every run of `size` words, in the order of the text; return how many there are.

    A document with fewer words is one shingle. Shingles skip the words that are `left_out`; there
    is room for as many shingles as words.
    """
    num_words = 0
    for i in range(len(hashes)):
        shingles[num_words] = hashes[i]
        num_words += not left_out[i]
    size = min(size, num_words)
    if size == 0:
        return 0
    for i in range(num_words - size + 1):  # shingle i consists of the words from i on
        value = shingles[i]
        for k in range(1, size):
            value = value * _MULTIPLIER + shingles[i + k]
        shingles[i] = mix(value)
    return num_words - size + 1


@kernel
def drop_repeated(values: NDArray[np.uint64]) -> Scalar:
    """Move the distinct sorted values, uint64[any], to the front; return their number."""
    if len(values) == 0:
        return 0
    last = 0
    for i in range(1, len(values)):
        last += values[i] != values[last]
        values[last] = values[i]
    return last + 1


@kernel
def make_band_keys(
    shingles: NDArray[np.uint64],
    multipliers: NDArray[np.uint32],
    addends: NDArray[np.uint32],
    signature: NDArray[np.uint32],
    keys: NDArray[np.uint64],
) -> None:
    """Compute a document's signature and the keys of its bands, of the same number of rows each."""
    for k in range(len(signature)):
        signature[k] = _LARGEST
    # Four shingles at a time, so each permutation is read a quarter as often.
    last = len(shingles) - 1
    for i in range(0, len(shingles), 4):
        one, two = np.uint32(shingles[i]), np.uint32(shingles[min(i + 1, last)])
        three, four = np.uint32(shingles[min(i + 2, last)]), np.uint32(shingles[min(i + 3, last)])
        for k in range(len(signature)):
            factor, addend = multipliers[k], addends[k]
            low = min(np.uint32(factor * one + addend), np.uint32(factor * two + addend))
            high = min(np.uint32(factor * three + addend), np.uint32(factor * four + addend))
            signature[k] = min(signature[k], min(low, high))
    rows = len(signature) // len(keys)
    for band in range(len(keys)):
        key = _MULTIPLIER
        for k in range(band * rows, (band + 1) * rows):
            key = mix_next(key, np.uint64(signature[k]))
        keys[band] = key


@kernel
def make_unit_shingles(
    hashes: NDArray[np.uint64],
    left_out: NDArray[np.bool_],
    spans: NDArray[np.int64],
    size: Scalar,
    shingles: NDArray[np.uint64],
    ends: NDArray[np.int64],
) -> None:
    """Hash the runs of words of each unit of a document, as `make_shingles` does.

    Args:
      spans: int64[units, 2], words of each unit, which do not overlap; the ends are exclusive.
      ends: int64[units], written: where the shingles of each end.
    """
    end = 0
    for i in range(len(spans)):
        begin, last = spans[i, 0], spans[i, 1]
        end += make_shingles(hashes[begin:last], left_out[begin:last], size, shingles[end:])
        ends[i] = end


@kernel
def make_unit_keys(
    shingles: NDArray[np.uint64],
    ends: NDArray[np.int64],
    permutations: tuple[NDArray[np.uint32], NDArray[np.uint32]],
    signature: NDArray[np.uint32],
    keys: NDArray[np.uint64],
) -> None:
    """Drop repeated shingles of units, and compute the keys of their bands.

    Args:
      shingles: uint64[any], sorted within each unit; the distinct ones move to the front.
      ends: int64[units], where the shingles of each end; written anew.
      keys: uint64[units, bands], written.
    """
    start, end = 0, 0
    for i in range(len(ends)):
        number = drop_repeated(shingles[start : ends[i]])
        for k in range(number):
            shingles[end + k] = shingles[start + k]
        start = ends[i]
        unit = shingles[end : end + number]
        make_band_keys(unit, permutations[0], permutations[1], signature, keys[i])
        end += number
        ends[i] = end


@inner
def jaccard(one: NDArray[np.uint64], other: NDArray[np.uint64]) -> Scalar:
    """Return the intersection of two sorted sets divided by their union; 0.0 for empty sets."""
    i, j, num_common = 0, 0, 0
    while i < len(one) and j < len(other):
        a, b = one[i], other[j]
        num_common += a == b
        i += a <= b
        j += b <= a
    return num_common / max(len(one) + len(other) - num_common, 1)


def permutations(number: int) -> tuple[NDArray[np.uint32], NDArray[np.uint32]]:
    """Return multipliers and addends of fixed permutations: uint32 [number] each."""
    draws = [xxhash.xxh3_64_intdigest(k.to_bytes(8, "little")) for k in range(number)]
    return (
        np.array([draw % 2**32 | 1 for draw in draws], np.uint32),
        np.array([draw >> 32 for draw in draws], np.uint32),
    )
