"""Rows of any length, in records of fixed size, to sort and to send them.

rows of bytes   abcde, f, -         width 2 (here in bytes)
records         row 0 0 0 1 2       a piece of each row, at least one
                piece 0 1 2 0 0
                size 5 5 5 1 0
                values ab cd e. f. ..
"""

import dataclasses
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

_WORD_BYTES = 8


@dataclasses.dataclass(frozen=True, slots=True)
class Ragged:
    """Rows of different lengths.

    Attributes:
      values: [any], of all rows.
      offsets: int64 [rows + 1], where each row begins, and the end of the last one.
    """

    values: np.ndarray
    offsets: NDArray[np.int64]

    def __len__(self) -> int:
        return len(self.offsets) - 1

    def row(self, number: int) -> np.ndarray:
        """Return the values of a row."""
        return self.values[self.offsets[number] : self.offsets[number + 1]]

    def lengths(self) -> NDArray[np.int64]:
        """int64 [rows], values in each."""
        return np.diff(self.offsets)


class Pieces(NamedTuple):
    """Pieces of rows, one row after the other.

    Attributes:
      rows: int64 [pieces], number of the row.
      pieces: int64 [pieces], number of the piece in its row.
      sizes: int64 [pieces], number of values of the row.
      values: uint64 [pieces, width], of the piece.
    """

    rows: NDArray[np.int64]
    pieces: NDArray[np.int64]
    sizes: NDArray[np.int64]
    values: NDArray[np.uint64]


def cut_rows(rows: Ragged, numbers: NDArray[np.int64], width: int) -> Pieces:
    """Cut rows into pieces.

    Args:
      rows: their values are of a type whose size divides 8 bytes.
      numbers: int64 [any], of the rows to cut.
      width: of a piece, in words of 8 bytes.
    """
    starts, sizes = rows.offsets[numbers], rows.offsets[numbers + 1] - rows.offsets[numbers]
    a_piece = width * _WORD_BYTES // rows.values.itemsize
    num_pieces = np.maximum(-(-sizes // a_piece), 1)
    firsts = np.cumsum(num_pieces) - num_pieces
    values = np.zeros(int(num_pieces.sum()) * a_piece, rows.values.dtype)
    values[spread(firsts * a_piece, sizes)] = rows.values[spread(starts, sizes)]
    return Pieces(
        np.repeat(np.arange(len(numbers)), num_pieces),
        spread(np.zeros(len(numbers), np.int64), num_pieces),
        np.repeat(sizes, num_pieces),
        values.view(np.uint64).reshape(-1, width),
    )


def join_pieces(records: np.ndarray, dtype: type[Any]) -> tuple[Ragged, NDArray[np.int64]]:
    """Join the pieces of rows.

    Args:
      records: with the fields `piece`, `size` and `values`; the pieces of a row follow each other.
      dtype: of the rows' values.

    Returns:
      The rows, and the number of the record with the first piece of each, int64 [rows].
    """
    firsts = np.flatnonzero(records["piece"] == 0)
    sizes = records["size"][firsts].astype(np.int64)
    values = np.ascontiguousarray(records["values"]).view(dtype)
    a_piece = values.shape[1]
    offsets = np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64)
    return Ragged(values.reshape(-1)[spread(firsts * a_piece, sizes)], offsets), firsts


def spread(starts: NDArray[np.int64], sizes: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return the numbers from each start on, as many as each size says: 3 7, 2 1 -> 3 4 7."""
    ends = np.cumsum(sizes)
    return np.arange(ends[-1] if len(ends) else 0) + np.repeat(starts - ends + sizes, sizes)
