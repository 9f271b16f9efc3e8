"""Fetches instances from memory ahead of their use, as they are read in a shuffled order.

    instance i + 16: its row     instance i + 8: the tokens that its row points to     i: in use

Processors cannot foresee such an order, and waiting for memory costs more than the work.
"""

import numpy as np
from numpy.typing import NDArray

from bert_data.kernels import Scalar, inner
from bert_data.kernels.prefetching import prefetch

_AHEAD = 8
_LINE_WORDS, _LINE_IDS = 16, 32  # of a cache line


@inner
def _prefetch(array: NDArray[np.generic], place: Scalar) -> None:
    """Prefetch the cache line of array[place], which may be out of bounds."""
    prefetch(np.int64(array.ctypes.data) + place * array.itemsize)


@inner
def _prefetch_tokens(row: NDArray[np.uint32], ids: NDArray[np.integer]) -> None:
    """Prefetch the tokens of an instance, which may be anywhere in the store."""
    for half in range(2):
        begin = np.int64(row[2 * half]) | np.int64(row[2 * half + 1]) << 32
        for line in range(2):
            _prefetch(ids, begin + _LINE_IDS * line)


@inner
def prefetch_instances(
    rows: NDArray[np.uint32], order: NDArray[np.uint32], i: Scalar, ids: NDArray[np.integer]
) -> None:
    """Prefetch what comes after instance i of an order: a row, and the tokens of one before it.

    Args:
      rows: uint32[any, words], see `bert_data.objectives.rows`.
      order: uint32[instances], the rows in the order in which they are used.
      i: in [0, instances).
      ids: uint16 or int32[tokens] that the rows point into.
    """
    last = order.size - 1
    row = rows[order[min(i + 2 * _AHEAD, last)]]
    for word in range(0, row.size, _LINE_WORDS):
        _prefetch(row, word)
    _prefetch_tokens(rows[order[min(i + _AHEAD, last)]], ids)
