"""Counts chunks: parts of texts that no word of a model crosses, and that most texts repeat.

"low lower low 中文"   drops spaces   low 2, lower 1, 中 1, 文 1       WordPiece's
                       keeps them     low 1, " lower" 1, " low" 1, " 中文" 1
"""

from collections.abc import Iterator, Sequence

import numpy as np
from numpy.typing import NDArray

from bert_data.kernels import inner, kernel

PLACES = 1 << 21  # of hash values, of which half are taken at most
_START, _END, _COUNT = range(3)  # columns of what is found
_TEXT_END = b"\xff"  # no byte of UTF-8
_END_BYTE = _TEXT_END[0]
_SPACE = 0x20
_MULTIPLIER = np.uint64(0x9E3779B97F4A7C15)
_SHIFT = np.uint64(29)


def count_chunks(texts: Sequence[bytes], *, drops_spaces: bool) -> Iterator[dict[str, int]]:
    """Yield how often chunks occur in texts in UTF-8; of very many chunks, in several portions.

    Args:
      drops_spaces: no word holds a space, and ideographs are words of their own, as for WordPiece;
        else a space belongs to the word that follows, and runs of white space are kept together.
    """
    data = _TEXT_END.join([*texts, b""])
    table = np.empty(PLACES, np.int32)
    found = np.empty((PLACES // 2, 3), np.int64)  # pages that are not written take no memory
    position = 0
    while position < len(data):
        table[:] = -1
        position, num_found = find_chunks(
            np.frombuffer(data, np.uint8), position, drops_spaces, table, found
        )
        starts, ends, counts = found[:num_found].T.tolist()
        chunks = [data[start:end].decode() for start, end in zip(starts, ends, strict=True)]
        yield dict(zip(chunks, counts, strict=True))


@inner
def _is_ideograph(data: NDArray[np.uint8], at: int) -> bool:
    """Return whether an ideograph of U+3400 to U+9FFF begins here; in BERT it is a word."""
    first = data[at]
    if first < 0xE3 or first > 0xE9:
        return False
    second = data[at + 1]
    is_hexagram = first == 0xE4 and second == 0xB7  # U+4DC0 to U+4DFF
    return (first > 0xE3 or second >= 0x90) and not is_hexagram


@inner
def _find_end(data: NDArray[np.uint8], start: int, drops_spaces: bool) -> int:
    """Return the end of the chunk that begins here; it is empty before a space that is dropped."""
    last = 0  # the first byte of the last character
    at = start
    byte = data[at]
    while byte != _END_BYTE:
        if drops_spaces:
            if byte == _SPACE:
                break
            if _is_ideograph(data, at):
                return at if at > start else at + 3
        # Characters that begin with these bytes may be white space.
        elif byte == _SPACE and last > _SPACE and last != 0xC2 and (last < 0xE1 or last > 0xE3):
            break
        if byte < 0x80 or byte >= 0xC0:
            last = byte
        at += 1
        byte = data[at]
    return at


@inner
def _equal(data: NDArray[np.uint8], first: int, second: int, size: int) -> bool:
    k = 0
    while k < size and data[first + k] == data[second + k]:
        k += 1
    return k == size


@kernel
def find_chunks(
    data: NDArray[np.uint8],
    position: int,
    drops_spaces: bool,
    table: NDArray[np.int32],
    found: NDArray[np.int64],
) -> tuple[int, int]:
    """Find the different chunks from a position on, until the data ends or no room is left.

    Args:
      data: uint8 [n], texts in UTF-8, each with _TEXT_END behind it.
      table: int32 [a power of two, more than found has rows], -1; gets rows by hash value.
      found: int64 [m, 3], gets where each chunk begins and ends, and how often it occurs.

    Returns:
      The position behind what was counted, and how many rows of `found` are filled.
    """
    mask = np.uint64(len(table) - 1)
    num_found = 0
    while position < len(data) and num_found < len(found):
        end = _find_end(data, position, drops_spaces)
        mixed = np.uint64(0)
        for k in range(position, end):
            mixed = (mixed ^ np.uint64(data[k])) * _MULTIPLIER
        place = np.int64(mixed >> _SHIFT & mask)
        size = end - position
        while size > 0:
            row = table[place]
            if row < 0:
                table[place] = row = num_found
                found[row, _START], found[row, _END], found[row, _COUNT] = position, end, 0
                num_found += 1
            start = found[row, _START]
            if found[row, _END] - start == size and _equal(data, start, position, size):
                found[row, _COUNT] += 1
                break
            place = (place + 1) & np.int64(mask)
        is_dropped = data[end] == _END_BYTE or (drops_spaces and data[end] == _SPACE)
        position = end + is_dropped
    return position, num_found
