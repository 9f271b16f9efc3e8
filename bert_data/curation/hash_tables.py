"""Hash tables in arrays, for kernels and on disk: linear probing, at most half full.

slots    . 71 . . 12 95 . .      keys; 0 marks a free slot
values   .  3 . .  0  3 . .      associated values, in arrays of the same length
"""

import numpy as np
from numpy.typing import NDArray

from bert_data.kernels import Scalar, inner, kernel

NONE = -1
"""Value of a key that is not there."""

_MULTIPLIER = np.uint64(0x9E3779B97F4A7C15)


def make_slots(num_keys: int) -> NDArray[np.uint64]:
    """Return the slots of an empty table for a number of keys."""
    return np.zeros(1 << (2 * num_keys).bit_length(), np.uint64)


@inner
def find_slot(slots: NDArray[np.uint64], key: np.uint64) -> Scalar:
    """Return the slot of a key (never 0), or the free slot where it belongs."""
    mask = len(slots) - 1
    mixed = key * _MULTIPLIER
    slot = np.int64((mixed ^ (mixed >> np.uint64(32))) & np.uint64(mask))
    while slots[slot] != 0 and slots[slot] != key:
        slot = (slot + 1) & mask
    return slot


@kernel
def fill_slots(
    keys: NDArray[np.uint64],
    values: NDArray[np.int32],
    slots: NDArray[np.uint64],
    slot_values: NDArray[np.int32],
) -> None:
    """Insert keys and values, >= 0, into an empty table for as many keys.

    Of equal keys, the first counts; 0 is treated as 1.
    """
    for i in range(len(keys)):
        key = np.uint64(1) if keys[i] == 0 else keys[i]
        slot = find_slot(slots, key)
        if slots[slot] == 0:
            slots[slot] = key
            slot_values[slot] = values[i]


@kernel
def look_up(
    keys: NDArray[np.uint64],
    slots: NDArray[np.uint64],
    slot_values: NDArray[np.int32],
    out: NDArray[np.int32],
) -> None:
    """Write the value of each key, or `NONE`, to int32[keys]; see `fill_slots`."""
    for i in range(len(keys)):
        slot = find_slot(slots, np.uint64(1) if keys[i] == 0 else keys[i])
        out[i] = NONE if slots[slot] == 0 else slot_values[slot]
