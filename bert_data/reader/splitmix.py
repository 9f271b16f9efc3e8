"""Random numbers from keys alone: no state is carried from one draw to unrelated ones.

    key_of(seed, epoch, PURPOSE)  ->  key, a number of 64 bits
    key, value = draw_below(key, 10)    value in [0, 10), exactly uniform; the key for the next draw

The generator is SplitMix64 (Steele, Lea and Flood, "Fast splittable pseudorandom number
generators", OOPSLA 2014): the n-th output is a bijective mix of key + n * 0x9E3779B97F4A7C15. It is
written in 64-bit integers, so it gives the same numbers in every process, on every machine and
under every version of NumPy, whose own streams may change (NEP 19).

The shuffle is that of Fisher and Yates in Durstenfeld's form (CACM 7, 1964): every order of all
items is equally likely. A draw does not depend on memory, so the processor fetches many items at
once, even outside its caches.
"""

import numpy as np
from numpy.typing import NDArray

from bert_data.kernels import Scalar, inner, kernel

_GAMMA = 0x9E3779B97F4A7C15
_MULTIPLIER_1 = 0xBF58476D1CE4E5B9
_MULTIPLIER_2 = 0x94D049BB133111EB
_MASK = 2**64 - 1

# The same as NumPy's, which kernels compute with: a Python int would make them floats.
_GAMMA_64 = np.uint64(_GAMMA)
_MULTIPLIER_1_64 = np.uint64(_MULTIPLIER_1)
_MULTIPLIER_2_64 = np.uint64(_MULTIPLIER_2)
_LOW_32 = np.uint64(0xFFFFFFFF)
_UNIT = 1.0 / 9007199254740992.0  # 2**-53


def bits_of(key: int) -> tuple[int, int]:
    """Return (the next key, 64 random bits), as `next_bits` does in kernels."""
    key = (key + _GAMMA) & _MASK
    bits = (key ^ (key >> 30)) * _MULTIPLIER_1 & _MASK
    bits = (bits ^ (bits >> 27)) * _MULTIPLIER_2 & _MASK
    return key, bits ^ (bits >> 31)


def key_of(*parts: int) -> np.uint64:
    """Return the key of something that integers name, such as (seed, epoch, purpose).

    Args:
      parts: any integers; they count modulo 2**64.

    Returns:
      uint64. Keys of other numbers are unrelated; two are the same by chance once in 2**64.
    """
    key = 0
    for part in parts:
        _, key = bits_of(key + part)
    return np.uint64(key)


@inner
def next_bits(key: np.uint64) -> tuple[np.uint64, np.uint64]:
    """Return (the next key, 64 random bits)."""
    key = key + _GAMMA_64
    bits = (key ^ (key >> np.uint64(30))) * _MULTIPLIER_1_64
    bits = (bits ^ (bits >> np.uint64(27))) * _MULTIPLIER_2_64
    return key, bits ^ (bits >> np.uint64(31))


@inner
def next_below(key: np.uint64, limit: Scalar) -> tuple[np.uint64, Scalar]:
    """Return (the next key, an integer in [0, limit)), 1 <= limit < 2**32.

    Exactly uniform: the high half of limit * 32 bits, drawn again if the low half falls into the
    part that does not divide evenly (Lemire, "Fast random integer generation in an interval",
    ACM TOMACS 29, 2019).
    """
    key, bits = next_bits(key)
    wide = (bits >> np.uint64(32)) * np.uint64(limit)
    low = wide & _LOW_32
    if low < np.uint64(limit):
        uneven = (np.uint64(1 << 32) - np.uint64(limit)) % np.uint64(limit)
        while low < uneven:
            key, bits = next_bits(key)
            wide = (bits >> np.uint64(32)) * np.uint64(limit)
            low = wide & _LOW_32
    return key, np.int64(wide >> np.uint64(32))


@inner
def next_unit(key: np.uint64) -> tuple[np.uint64, float]:
    """Return (the next key, a float64 in [0, 1) of 53 random bits)."""
    key, bits = next_bits(key)
    return key, np.float64(bits >> np.uint64(11)) * _UNIT


ORDER, BATCHES, TEMPLATE = range(3)  # what a key is for: key_of(seed, epoch, ORDER)


@inner
def shuffle_range(
    key: np.uint64, items: NDArray[np.int32], begin: Scalar, end: Scalar
) -> np.uint64:
    """Shuffle items[begin:end], fewer than 2**32; return the next key."""
    for i in range(end - 1, begin, -1):
        key, j = next_below(key, i + 1 - begin)
        j += begin
        item = items[i]
        items[i] = items[j]
        items[j] = item
    return key


@kernel
def shuffle_parts(key: np.uint64, items: NDArray[np.int32], splits: NDArray[np.int64]) -> None:
    """Shuffle items[splits[p] : splits[p + 1]] for each part p, one after the other."""
    for part in range(splits.size - 1):
        key = shuffle_range(key, items, splits[part], splits[part + 1])


def shuffled(num_items: int, key: np.uint64) -> NDArray[np.int32]:
    """Return the numbers 0 ... num_items - 1 in an order drawn from the key; int32[num_items]."""
    items = np.arange(num_items, dtype=np.int32)
    shuffle_parts(key, items, np.array([0, num_items]))
    return items
