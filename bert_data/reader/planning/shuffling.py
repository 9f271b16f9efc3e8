"""Orders drawn from a key: every order is as likely as any other, over all items at once.

    items 0 1 2 3 4, key of (seed, epoch)  ->  3 0 4 1 2

Fisher and Yates' shuffle, as Durstenfeld wrote it (CACM 7, 1964): for i from the last item down,
swap item i with one of those up to it. No buffer bounds how far a record can move. A draw does not
depend on memory, so the processor fetches many items at once, also those outside its caches.
"""

import numpy as np
from numpy.typing import NDArray

from bert_data.kernels import Scalar, inner, kernel
from bert_data.reader.order.splitmix import draw_below

ORDER, BATCHES, TEMPLATE = range(3)  # what a key is for: key_of(seed, epoch, ORDER)


@inner
def shuffle_range(
    key: np.uint64, items: NDArray[np.int32], begin: Scalar, end: Scalar
) -> np.uint64:
    """Shuffles items[begin:end], fewer than 2**32; returns the key to go on with."""
    for i in range(end - 1, begin, -1):
        key, j = draw_below(key, i + 1 - begin)
        j += begin
        item = items[i]
        items[i] = items[j]
        items[j] = item
    return key


@kernel
def shuffle_parts(key: np.uint64, items: NDArray[np.int32], splits: NDArray[np.int64]) -> None:
    """Shuffles items[splits[p] : splits[p + 1]] for each part p, one after the other."""
    for part in range(splits.size - 1):
        key = shuffle_range(key, items, splits[part], splits[part + 1])


def shuffled(num_items: int, key: np.uint64) -> NDArray[np.int32]:
    """The numbers 0 ... num_items - 1 in an order drawn from the key; int32[num_items]."""
    items = np.arange(num_items, dtype=np.int32)
    shuffle_parts(key, items, np.array([0, num_items]))
    return items
