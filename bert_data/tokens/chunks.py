"""Counts chunks: parts of texts that no word of a model crosses, and that most texts repeat.

"low lower low 中文"   drops spaces   low 2, lower 1, 中 1, 文 1       WordPiece's
                       keeps them     low 1, " lower" 1, " low" 1, " 中文" 1
"""

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from bert_data.kernels import inner, kernel
from bert_data.tokens.block_kernel import short_chunk

TEXT_END = b"\xff"  # no byte of UTF-8
START, END, COUNT = range(3)  # columns of what is found
PLACES = 1 << 21  # of hash values, of which half are taken at most
SHORT_PLACES = 1 << 15  # of hash values of short chunks, twice: after a space and not
_LOW, _HIGH, _AT, _TIMES = range(4)  # columns of a short chunk
_END_BYTE = TEXT_END[0]
_SPACE = 0x20
_MULTIPLIER = np.uint64(0x9E3779B97F4A7C15)
_HIGH_MULTIPLIER = np.uint64(0xC2B2AE3D27D4EB4F)
_SHIFT = np.uint64(29)
_TOPS = np.uint64(0x8080808080808080)
_ONE, _TWO = np.uint64(1), np.uint64(2)


def count_chunks(data: bytes, *, drops_spaces: bool) -> Iterator[NDArray[np.int64]]:
    """Yield the different chunks of texts; of very many, in several portions.

    Args:
      data: the texts in UTF-8, each with TEXT_END behind it.
      drops_spaces: no word holds a space, and ideographs are words of their own, as for WordPiece;
        else a space belongs to the word that follows, and runs of white space are kept together.

    Yields:
      int64 [chunks, 3]: where each begins and ends in the data, and how often it occurs.
    """
    table = np.empty(PLACES, np.int32)
    short = np.empty((2 * SHORT_PLACES, 4), np.uint64)
    # Pages that are not written take no memory.
    found = np.empty((PLACES // 2 + len(short), 3), np.int64)
    position = 0
    while position < len(data):
        table[:], short[:] = -1, 0
        position, num_found = find_chunks(
            np.frombuffer(data, np.uint8), position, drops_spaces, table, short, found
        )
        yield found[:num_found]


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


@inner
def _add(
    data: NDArray[np.uint8],
    start: int,
    end: int,
    times: int,
    table: NDArray[np.int32],
    found: NDArray[np.int64],
    num_found: int,
) -> int:
    """Count a chunk so many times; return the new number of rows."""
    mask = np.uint64(len(table) - 1)
    mixed = np.uint64(0)
    for k in range(start, end):
        mixed = (mixed ^ np.uint64(data[k])) * _MULTIPLIER
    place = np.int64(mixed >> _SHIFT & mask)
    while True:
        row = table[place]
        if row < 0:
            table[place] = num_found
            found[num_found, START], found[num_found, END] = start, end
            found[num_found, COUNT] = times
            return num_found + 1
        first = found[row, START]
        if found[row, END] - first == end - start and _equal(data, first, start, end - start):
            found[row, COUNT] += times
            return num_found
        place = (place + 1) & np.int64(mask)


@inner
def _move(
    data: NDArray[np.uint8],
    drops_spaces: bool,
    short: NDArray[np.uint64],
    place: int,
    table: NDArray[np.int32],
    found: NDArray[np.int64],
    num_found: int,
) -> int:
    """Move the count of a short chunk, if there is one, to `found`; return the number of rows."""
    times = np.int64(short[place, _TIMES])
    if times == 0:
        return num_found
    short[place, _TIMES] = np.uint64(0)
    start = np.int64(short[place, _AT])
    end = _find_end(data, start, drops_spaces)
    return _add(data, start, end, times, table, found, num_found)


@inner
def _find_short(data: NDArray[np.uint8], start: int) -> tuple[int, np.uint64, np.uint64]:
    """Return the end of the chunk that begins here, and its bytes but for a space before it.

    The end is 0 if there are more than 16, or if it takes `_find_end` to find it: only a space ends
    the chunk, no byte of it begins a longer character than of two bytes, and the last character is
    no white space.
    """
    first = start + (data[start] == _SPACE)
    length, low, high = short_chunk(data, first)
    end = first + length
    longer = low & (low << _ONE) & (low << _TWO) | high & (high << _ONE) & (high << _TWO)
    if length == 0 or data[end] != _SPACE or longer & _TOPS or data[max(end - 2, 0)] == 0xC2:
        end = 0
    return end, low, high


@kernel
def find_chunks(
    data: NDArray[np.uint8],
    position: int,
    drops_spaces: bool,
    table: NDArray[np.int32],
    short: NDArray[np.uint64],
    found: NDArray[np.int64],
) -> tuple[int, int]:
    """Find the different chunks from a position on, until the data ends or no room is left.

    Most chunks are short and have been seen just before: they are counted in a small table, where a
    new chunk replaces the one before, which then goes to `found`.

    Args:
      data: uint8 [n], texts in UTF-8, each with TEXT_END behind it.
      table: int32 [a power of two, more than found has rows], -1; gets rows by hash value.
      short: uint64 [twice a power of two, 4], 0.
      found: int64 [m, 3], gets where each chunk begins and ends, and how often it occurs.

    Returns:
      The position behind what was counted, and how many rows of `found` are filled.
    """
    mask = np.uint64(len(short) // 2 - 1)
    num_found = 0
    while position < len(data) and num_found < len(found) - len(short):
        is_space = data[position] == _SPACE
        if drops_spaces and is_space:
            position += 1
            continue
        end, low, high = _find_short(data, position)
        if end == 0:
            end = _find_end(data, position, drops_spaces)
            if end > position:
                num_found = _add(data, position, end, 1, table, found, num_found)
            position = end + (data[end] == _END_BYTE)
            continue
        mixed = (low ^ (high * _HIGH_MULTIPLIER)) * _MULTIPLIER
        place = np.int64(mixed >> _SHIFT & mask) * 2 + is_space
        if short[place, _LOW] != low or short[place, _HIGH] != high:
            num_found = _move(data, drops_spaces, short, place, table, found, num_found)
            short[place, _LOW], short[place, _HIGH] = low, high
            short[place, _AT] = position
        short[place, _TIMES] += _ONE
        position = end
    for place in range(len(short)):
        num_found = _move(data, drops_spaces, short, place, table, found, num_found)
    return position, num_found
