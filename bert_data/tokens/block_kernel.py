r"""The kernel that turns a block of lines into ids and sentence lengths, remembering short chunks.

    b"The cat.\n\n The end\n"  ->  ids [the cat . the end], lengths [3 2], breaks [1]

Text repeats itself: most chunks (see `wordpiece.py`) have been seen before. Those of up to 16 bytes
and four ids are kept in a table with one place for each hash value, where a new chunk replaces the
one before. The bytes, padded with zeros, and the ids with their number fill 32 bytes:

    cache[place] = bytes 0-7 | bytes 8-15 | number (4 bits), id, id (30 bits each) | id, id

All bytes are compared, eight at a time, so equal hash values do no harm.
"""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from bert_data.kernels import inner, kernel
from bert_data.tokens.wordpiece import (
    BAD_LINE,
    DONE,
    PieceTrie,
    append_chunk,
    is_ascii_space,
    is_blank,
)

# What `tokenize_lines` keeps in its int64 state between two calls.
POSITION = 0  # of the next byte to read
LINE_START = 1  # of the line that this byte belongs to
LINE_IDS = 2  # number of ids before that line
NUM_IDS = 3
NUM_SENTENCES = 4
NUM_BREAKS = 5
NUM_LINES = 6  # lines that have ended
TROUBLE = 7  # the code point, or the position, that the status is about
STATE_SIZE = 8

IDS_A_HIT_WRITES = 4  # ids that must still fit after the last one
CACHE_WIDTH = 4

_LF = 0x0A
_CR = 0x0D
_MAX_CACHED_BYTES = 16
_ONES = np.uint64(0x0101010101010101)
_TOPS = np.uint64(0x8080808080808080)
_BLANKS = np.uint64(0x2121212121212121)
_PLACES = np.uint64(0x0001020304050607)
_MIX_LOW = np.uint64(0x9E3779B97F4A7C15)
_MIX_HIGH = np.uint64(0xC2B2AE3D27D4EB4F)
_SEVEN = np.uint64(7)
_SHIFT = np.uint64(56)
_ONE = np.uint64(1)
_ZERO = np.uint64(0)
_MASK_30 = (1 << 30) - 1


@inner
def _eight_bytes(data: NDArray[np.uint8], position: int) -> np.uint64:
    """Return eight bytes as one little-endian number; the compiler makes this a single load."""
    value = np.uint64(data[position])
    value |= np.uint64(data[position + 1]) << np.uint64(8)
    value |= np.uint64(data[position + 2]) << np.uint64(16)
    value |= np.uint64(data[position + 3]) << np.uint64(24)
    value |= np.uint64(data[position + 4]) << np.uint64(32)
    value |= np.uint64(data[position + 5]) << np.uint64(40)
    value |= np.uint64(data[position + 6]) << np.uint64(48)
    value |= np.uint64(data[position + 7]) << np.uint64(56)
    return value


@inner
def _first_blank(eight: np.uint64) -> np.uint64:
    """Return the bit 8 * k if byte k of eight is the first <= 0x20; 0 if there is none."""
    # (x - 0x21) & ~x has its top bit set for bytes below 0x21; a borrow can only reach bytes above
    # the first such byte.
    tops = (eight - _BLANKS) & ~eight & _TOPS
    return (tops & (~tops + _ONE)) >> _SEVEN


@inner
def short_chunk(data: NDArray[np.uint8], position: int) -> tuple[int, np.uint64, np.uint64]:
    """Return (number of bytes, bytes 0-7, bytes 8-15) of a chunk; (0, _, _) if it has more than 16.

    Also 0 at the last 16 bytes of the data, and for a chunk with a control character.
    """
    if position + _MAX_CACHED_BYTES >= len(data):
        return 0, _ZERO, _ZERO
    low = _eight_bytes(data, position)
    high = _ZERO
    length = 0
    blank = _first_blank(low)
    if blank != _ZERO:
        low &= blank - _ONE
    else:
        length = 8
        high = _eight_bytes(data, position + 8)
        blank = _first_blank(high)
        if blank != _ZERO:
            high &= blank - _ONE
        else:
            blank = _ONE
            length = 16
    length += int((blank * _PLACES) >> _SHIFT)
    if not is_ascii_space(data[position + length]):
        length = 0
    return length, low, high


@inner
def _remember(
    cache: NDArray[np.uint64],
    place: int,
    low: np.uint64,
    high: np.uint64,
    ids: NDArray[Any],
    first: int,
    num: int,
) -> None:
    """Write the chunk and its ids[first:first + num] to its place, if they are few enough."""
    if num > 4:
        return
    value = num
    rest = 0
    if num > 0:
        value |= int(ids[first]) << 4
    if num > 1:
        value |= int(ids[first + 1]) << 34
    if num > 2:
        rest = int(ids[first + 2])
    if num > 3:
        rest |= int(ids[first + 3]) << 32
    cache[place, 0] = low
    cache[place, 1] = high
    cache[place, 2] = np.uint64(value)
    cache[place, 3] = np.uint64(rest)


@inner
def _end_line(
    data: NDArray[np.uint8],
    end: int,
    table: NDArray[np.int64],
    num_ids: int,
    state: NDArray[np.int64],
    lengths: NDArray[np.int32],
    breaks: NDArray[np.int64],
    blank_lines: NDArray[np.int64],
) -> None:
    """Count the line that ends at data[end]: a sentence, a break between documents, or nothing."""
    num = num_ids - state[LINE_IDS]
    if num > 0:
        lengths[state[NUM_SENTENCES]] = num
        state[NUM_SENTENCES] += 1
    elif is_blank(data, state[LINE_START], end, table):
        breaks[state[NUM_BREAKS]] = state[NUM_SENTENCES]
        blank_lines[state[NUM_BREAKS]] = state[NUM_LINES]
        state[NUM_BREAKS] += 1
    state[NUM_LINES] += 1
    state[LINE_IDS] = num_ids
    state[LINE_START] = end + 1


@kernel
def tokenize_lines(
    data: NDArray[np.uint8],
    by_lines: bool,
    table: NDArray[np.int64],
    trie: PieceTrie,
    unk_id: int,
    more: int,
    cache: NDArray[np.uint64],
    word: NDArray[np.int32],
    ids: NDArray[Any],
    lengths: NDArray[np.int32],
    breaks: NDArray[np.int64],
    blank_lines: NDArray[np.int64],
    state: NDArray[np.int64],
) -> int:
    """Tokenize from state[POSITION] to the end of the data, or to what the kernel cannot do.

    Args:
      data: uint8 [n], UTF-8, to be checked here.
      by_lines: whether lines end at \\n and count; otherwise \\n and \\r are ordinary spaces.
      table: int64 [0x110000], the entry of each code point.
      unk_id: id of a word without pieces.
      more: see `append_chunk`.
      cache: uint64 [a power of two, CACHE_WIDTH], zeros at first, for one thread at a time.
      word: int32 [letters of the longest word that is looked up], scratch space.
      ids: int32 or uint16 [>= n + IDS_A_HIT_WRITES], filled from state[NUM_IDS] on.
      lengths: int32 [>= lines], number of ids of each line that has any.
      breaks: int64 [>= lines], number of sentences before each blank line.
      blank_lines: int64 [>= lines], the numbers of those lines.
      state: int64 [STATE_SIZE], zeros at first; kept up to date for the next call.

    Returns:
      DONE, or the status of a chunk (see `append_chunk`) with state[TROUBLE] set. The state is then
      as it was before the chunk.
    """
    size = len(data)
    mask = np.uint64(len(cache) - 1)
    position = state[POSITION]
    num_ids = state[NUM_IDS]
    status = DONE
    while position < size:
        byte = data[position]
        if is_ascii_space(byte):
            if by_lines and byte == _LF:
                _end_line(data, position, table, num_ids, state, lengths, breaks, blank_lines)
            elif by_lines and byte == _CR and position + 1 < size and data[position + 1] != _LF:
                status = BAD_LINE
                break
            position += 1
            continue
        length, low, high = short_chunk(data, position)
        place = ((low ^ (high * _MIX_HIGH)) * _MIX_LOW) >> np.uint64(32) & mask
        if length > 0 and cache[place, 0] == low and cache[place, 1] == high:
            first_two = np.int64(cache[place, 2])
            last_two = np.int64(cache[place, 3])
            ids[num_ids] = first_two >> 4 & _MASK_30
            ids[num_ids + 1] = first_two >> 34
            ids[num_ids + 2] = last_two & 0x7FFFFFFF
            ids[num_ids + 3] = last_two >> 32
            num_ids += first_two & 15
            position += length
            continue
        status, after, total = append_chunk(
            data, position, table, trie, unk_id, more, word, ids, num_ids
        )
        if status != DONE:
            state[TROUBLE] = after
            break
        if length > 0:
            _remember(cache, place, low, high, ids, num_ids, total - num_ids)
        position = after
        num_ids = total
    state[POSITION] = position
    state[NUM_IDS] = num_ids
    # The last line may lack its end. A carriage return alone is not a line.
    rest = size - state[LINE_START]
    if status == DONE and by_lines and (rest > 1 or (rest == 1 and data[size - 1] != _CR)):
        _end_line(data, size, table, num_ids, state, lengths, breaks, blank_lines)
    return status
