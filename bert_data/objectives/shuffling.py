"""CPython's `shuffle`, which orders documents, masking candidates and instances.

For i from the last index down to 1: swap items i and randbelow(i + 1). Every third draw,
unpredictably, is not below i + 1 and must be repeated; so the loop is over draws instead of items,
and a rejected draw swaps item i with itself.
"""

import numpy as np
from numpy.typing import NDArray

from bert_data.kernels import Scalar, inner, kernel
from bert_data.objectives.mersenne import RandomStream, top_up


@inner
def shuffle_down(
    draws: NDArray[np.uint32], position: Scalar, items: NDArray[np.unsignedinteger], i: Scalar
) -> tuple[Scalar, Scalar]:
    """Continue a shuffle at item i, down to item 1 or the end of the draws.

    Returns:
      (the next item, 0 when done; the next position).
    """
    num_bits = np.int64(0)
    while (i + 1) >> num_bits:
        num_bits += 1
    while i >= 1 and position < draws.size:
        while (i + 1) >> (num_bits - 1) == 0:
            num_bits -= 1
        last = max(1, (1 << (num_bits - 1)) - 1)  # the smallest i whose i + 1 has as many bits
        shift = np.uint32(32 - num_bits)
        while i >= last and position < draws.size:
            j = np.int64(draws[position] >> shift)
            position += 1
            counts = j <= i
            j = j if counts else i
            item = items[i]
            items[i] = items[j]
            items[j] = item
            i -= np.int64(counts)
    return i, position


@inner
def next_shuffled(
    draws: NDArray[np.uint32],
    position: Scalar,
    items: NDArray[np.unsignedinteger],
    place: Scalar,
    size: Scalar,
) -> tuple[Scalar, Scalar]:
    """Return the item at a place, after `shuffle_down` has shuffled all: (item, position)."""
    return np.int64(items[place]), position


@kernel
def _shuffle(stream: RandomStream, items: NDArray[np.unsignedinteger]) -> None:
    state, draws, position = stream.state, stream.draws, stream.position[0]
    i = items.size - 1
    while i >= 1:
        position = top_up(state, draws, position, np.int64(1))
        i, position = shuffle_down(draws, position, items, i)
    stream.position[0] = position


def shuffled_indices(stream: RandomStream, num_items: int) -> NDArray[np.uint32]:
    """Return the order into which `shuffle` brings a list of `num_items` items.

    Args:
      stream: source of the random numbers, used as by `random.shuffle`.
      num_items: >= 0.

    Returns:
      uint32[num_items]: the item at each place.

    Raises:
      ValueError: there are more items than 32 bits can number.
    """
    if num_items >= 1 << 32:
        raise ValueError(f"{num_items:,} items to shuffle; at most {2**32 - 1:,} are allowed")
    order = np.arange(num_items, dtype=np.uint32)
    _shuffle(stream, order)
    return order
