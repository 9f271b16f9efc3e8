"""Fill what packed rows leave empty with pieces of a few sequences.

    rows of 12, lengths 9 8 9 11     (9 .) (8 .) (9 .) (11)     a quarter is empty
    11 in pieces of 3, 4, 3, 1       (9 3) (8 4) (9 3) (1)

Sequences that are cut at sentences seldom add up to a row. So the last sequences of a window are
cut into pieces, each as long as a row's empty end, and each a sequence of its own. Pairs of
segments cannot be cut.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from bert_data.kernels import Scalar, kernel
from bert_data.reader.planning.packed import pack_lengths

LEAST_TOKENS = 2  # of a piece
_MORE = 1.1  # than there is room for; the other pieces fill rows of their own


class SequencePieces(NamedTuple):
    """Pieces of sequences.

    Attributes:
      sequences: int64[pieces], what each is a piece of.
      offsets: int64[pieces], its first token there.
      lengths: int64[pieces], its tokens.
    """

    sequences: NDArray[np.int64]
    offsets: NDArray[np.int64]
    lengths: NDArray[np.int64]


def cut_into_pieces(lengths: NDArray[np.int64], width: int, num_special: int) -> SequencePieces:
    """Cut the last sequences of a window so that their pieces fill the rows of the others.

    Args:
      lengths: int64[sequences], with special tokens, at most `width`.
      width: tokens of a row.
      num_special: special tokens of each sequence and piece.

    Returns:
      The pieces of the last sequences; those before them stay whole.
    """
    holes = _holes(lengths, width, num_special + LEAST_TOKENS) - num_special
    num_tokens, capacity = float(lengths.sum()), float(holes.sum())
    # Rows become fewer by what is cut up, and so do their empty ends.
    wanted = _MORE * capacity * num_tokens / (num_tokens + capacity)
    from_end = np.cumsum((lengths - num_special)[::-1])
    num_cut = min(lengths.size // 2, int(np.searchsorted(from_end, wanted, side="right")))
    first = lengths.size - num_cut
    most = num_cut + int(from_end[num_cut - 1]) // int(holes.min()) if num_cut else 0
    pieces = np.empty((3, most), np.int64)
    count = _cut(lengths[first:] - num_special, holes, pieces)
    return SequencePieces(pieces[0, :count] + first, pieces[1, :count], pieces[2, :count])


@kernel
def _cut(lengths: NDArray[np.int64], holes: NDArray[np.int64], pieces: NDArray[np.int64]) -> Scalar:
    """Cut sequences into pieces of the sizes of holes, in turn; return the number of pieces."""
    count = np.int64(0)
    for sequence in range(lengths.size):
        offset, end = np.int64(0), lengths[sequence]
        while offset < end:
            size = holes[count % holes.size]
            if end - offset - size < LEAST_TOKENS:
                size = end - offset
            pieces[0, count], pieces[1, count], pieces[2, count] = sequence, offset, size
            offset += size
            count += 1
    return count


def _holes(lengths: NDArray[np.int64], width: int, least: int) -> NDArray[np.int64]:
    """Return the tokens that rows leave empty, if they are `least` or more, in mixed order."""
    patterns = pack_lengths(np.bincount(lengths), width)
    rooms = [width - sum(length * count for length, count in each.items) for each in patterns]
    holes = np.repeat(rooms, [each.num_rows for each in patterns]).astype(np.int64)
    holes = holes[holes >= least]
    return holes[np.argsort(np.arange(holes.size) * 0.6180339887498949 % 1.0, kind="stable")]
