"""Rows of instances together with their tokens, so that they need no token store.

    rows 2 0   of   [A at 70, B at 9] ...   in a store    --take_rows-->
    rows [A at 0, B at 12] [A at 31, ...]   and their tokens  A B A B ..., end to end

Rows that were moved elsewhere with their tokens are told where these are now by `place_rows`.
"""

import numpy as np
from numpy.typing import NDArray

from bert_data.kernels import Scalar, inner, kernel
from bert_data.objectives.prefetching import prefetch_instances


def count_tokens(rows: NDArray[np.uint32]) -> NDArray[np.int64]:
    """Return int64[rows], the tokens of both segments of each row: uint32[rows, words]."""
    lengths = rows[:, 4]
    return (lengths & 0xFFFF).astype(np.int64) + (lengths >> 16)


@inner
def _put_begins(row: NDArray[np.uint32], begin: Scalar) -> Scalar:
    """Point a row to tokens that lie end to end; return where they end."""
    middle = begin + (np.int64(row[4]) & 0xFFFF)
    row[0], row[1] = np.uint32(begin), np.uint32(begin >> 32)
    row[2], row[3] = np.uint32(middle), np.uint32(middle >> 32)
    return middle + (np.int64(row[4]) >> 16)


@kernel
def take_rows(
    rows: NDArray[np.uint32],
    order: NDArray[np.uint32],
    ids: NDArray[np.integer],
    out_rows: NDArray[np.uint32],
    out_ids: NDArray[np.integer],
) -> None:
    """Copy rows and their tokens.

    Args:
      rows: uint32[any, words], see `bert_data.objectives.rows`.
      order: uint32[n], the rows to copy.
      ids: uint16 or int32[tokens] that the rows point into.
      out_rows: uint32[n, words], filled; the tokens of the first begin at 0.
      out_ids: [the sum of `count_tokens`], of the dtype of `ids`, filled.
    """
    end = np.int64(0)
    for i in range(order.size):
        prefetch_instances(rows, order, i, ids)
        row, out = rows[order[i]], out_rows[i]
        for word in range(row.size):
            out[word] = row[word]
        at, end = end, _put_begins(out, end)
        a_begin = np.int64(row[0]) | np.int64(row[1]) << 32
        b_begin = np.int64(row[2]) | np.int64(row[3]) << 32
        a_length, b_length = np.int64(row[4]) & 0xFFFF, np.int64(row[4]) >> 16
        for t in range(a_length):
            out_ids[at + t] = ids[a_begin + t]
        for t in range(b_length):
            out_ids[at + a_length + t] = ids[b_begin + t]


@kernel
def place_rows(rows: NDArray[np.uint32], begin: Scalar) -> None:
    """Point rows, uint32[rows, words], to tokens that lie end to end from `begin` on."""
    for i in range(rows.shape[0]):
        begin = _put_begins(rows[i], begin)
