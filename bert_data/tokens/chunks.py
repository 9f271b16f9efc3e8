"""The kernel that turns a chunk of UTF-8, the text between ASCII whitespace, into ids.

    b"na\\xc3\\xafve," --code points' entries--> word "naive", word "," --trie--> ids

No chunk depends on its neighbours. The kernel looks up each code point in a table of entries that
say what to do (see `codepoints`), collects the letters of a word and hands them to the trie. It
stops where it needs help: at a code point whose entry is not filled in yet, at a byte that is not
UTF-8, and at what the table cannot express.

An entry is an int64, 0 until it is filled in:

    bits 0-3 action | 4 is_space | 5 is_cased | 6 is_ignorable | 7-24, 25-42, 43-60 up to 3 symbols
"""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from bert_data.kernels import inner
from bert_data.tokens.codepoints import Action
from bert_data.tokens.wordpiece import SYMBOL_BITS, PieceTrie, append_pieces

# How a kernel ended.
DONE = 0
UNKNOWN_CODE_POINT = 1  # fill in its entry and call again
UNUSUAL_CHUNK = 2  # let the definition tokenize it
BAD_LINE = 3  # not UTF-8, or a carriage return inside the line: repair the line

ACTION_MASK = 15
IS_SPACE = 1 << 4
IS_CASED = 1 << 5
IS_IGNORABLE = 1 << 6
FIRST_SYMBOL = 7
SYMBOL_MASK = (1 << SYMBOL_BITS) - 1

_LETTERS = int(Action.LETTERS)
_DELETE = int(Action.DELETE)
_SPACE = int(Action.SPACE)
_IDEOGRAPH = int(Action.IDEOGRAPH)
_PUNCTUATION = int(Action.PUNCTUATION)
_SIGMA = int(Action.SIGMA)
_MARK = int(Action.MARK)
_BRACKET = int(Action.BRACKET)
# The letters that follow the bracket of [PAD], [UNK], [CLS], [SEP] and [MASK].
_PAD, _UNK, _CLS, _SEP, _MAS = (
    int.from_bytes(name.encode()) for name in ("PAD", "UNK", "CLS", "SEP", "MAS")
)


@inner
def decode(data: NDArray[np.uint8], position: int) -> tuple[int, int]:
    """Return the code point at a byte of UTF-8 and the position after it; (-1, _) if invalid."""
    end = len(data)
    first = data[position]
    if first < 0x80:
        return first, position + 1
    if 0xC2 <= first < 0xE0 and position + 1 < end:
        second = data[position + 1] ^ 0x80
        if second < 0x40:
            return (first & 0x1F) << 6 | second, position + 2
    elif 0xE0 <= first < 0xF0 and position + 2 < end:
        second = data[position + 1] ^ 0x80
        third = data[position + 2] ^ 0x80
        code = (first & 0x0F) << 12 | second << 6 | third
        if second | third < 0x40 and code >= 0x800 and code >> 11 != 0x1B:  # no surrogates
            return code, position + 3
    elif 0xF0 <= first < 0xF5 and position + 3 < end:
        second = data[position + 1] ^ 0x80
        third = data[position + 2] ^ 0x80
        fourth = data[position + 3] ^ 0x80
        code = (first & 0x07) << 18 | second << 12 | third << 6 | fourth
        if second | third | fourth < 0x40 and 0x10000 <= code < 0x110000:
            return code, position + 4
    return -1, position


@inner
def is_ascii_space(byte: int) -> bool:
    """Whether the byte is one of the four that separate chunks."""
    return byte == 0x20 or byte == 0x0A or byte == 0x09 or byte == 0x0D


@inner
def _ends_word(
    data: NDArray[np.uint8], start: int, sigma: int, after: int, table: NDArray[np.int64]
) -> int:
    """Whether the capital sigma of data[sigma:after] becomes a final sigma when lower-cased.

    It does if a cased letter precedes it in the chunk from `start` and none follows it, with
    ignorable characters skipped (Unicode, section 3.13, Final_Sigma).

    Returns:
      0 or 1, or minus the code point whose entry must be filled in first.
    """
    entry = 0
    position = sigma
    while position > start:
        position -= 1
        while data[position] & 0xC0 == 0x80:
            position -= 1
        entry = table[decode(data, position)[0]]
        if entry & IS_IGNORABLE == 0:
            break
    if entry & (IS_IGNORABLE | IS_CASED) != IS_CASED:
        return 0
    position = after
    while position < len(data) and not is_ascii_space(data[position]):
        code, position = decode(data, position)
        if code < 0:
            break  # the whole line will be repaired
        entry = table[code]
        if entry == 0:
            return -code
        if entry & IS_IGNORABLE == 0:
            return int(entry & IS_CASED == 0)
    return 1


@inner
def _names_special_token(data: NDArray[np.uint8], position: int) -> bool:
    """Whether the text after a bracket begins like the name of a special token."""
    if position + 3 > len(data):
        return False
    name = int(data[position]) << 16 | int(data[position + 1]) << 8 | int(data[position + 2])
    return name in (_PAD, _UNK, _CLS, _SEP, _MAS)


@inner
def append_chunk(
    data: NDArray[np.uint8],
    start: int,
    table: NDArray[np.int64],
    trie: PieceTrie,
    unk_id: int,
    word: NDArray[np.int32],
    ids: NDArray[Any],
    num_ids: int,
) -> tuple[int, int, int]:
    """Append the ids of the chunk that begins at data[start] to ids[:num_ids].

    Args:
      data: uint8, UTF-8.
      start: position of a byte that is not ASCII whitespace.
      table: int64 [0x110000], the entry of each code point.
      unk_id: id of a word without pieces.
      word: int32 [letters of the longest word that is looked up], scratch space.
      ids: where to write: one id per byte is enough.

    Returns:
      (status, position, num_ids). DONE: the position after the chunk. UNKNOWN_CODE_POINT: the code
      point in place of a position. Otherwise the position of the trouble. Whatever is written
      beyond num_ids does not count unless DONE.
    """
    position = start
    num_letters = 0
    mark_end = -1
    while position < len(data) and not is_ascii_space(data[position]):
        code, after = decode(data, position)
        if code < 0:
            return BAD_LINE, position, num_ids
        entry = table[code]
        action = entry & ACTION_MASK
        if action == _SIGMA:
            final = _ends_word(data, start, position, after, table)
            if final < 0:
                return UNKNOWN_CODE_POINT, -final, num_ids
            symbols = entry >> (FIRST_SYMBOL + final * SYMBOL_BITS) & SYMBOL_MASK
        else:
            symbols = entry >> FIRST_SYMBOL
        if action in (_LETTERS, _SIGMA, _MARK):
            if action == _MARK and mark_end == num_letters:
                return UNUSUAL_CHUNK, position, num_ids
            while symbols != 0:
                if num_letters < len(word):
                    word[num_letters] = symbols & SYMBOL_MASK
                num_letters += 1
                symbols >>= SYMBOL_BITS
            if action == _MARK:
                mark_end = num_letters
        elif action in (_SPACE, _PUNCTUATION, _IDEOGRAPH, _BRACKET):
            if action == _BRACKET and _names_special_token(data, after):
                return UNUSUAL_CHUNK, position, num_ids
            if num_letters > 0:
                num_ids = append_pieces(word, num_letters, trie, unk_id, ids, num_ids)
                num_letters = 0
                mark_end = -1
            if action != _SPACE:
                piece = trie.piece_ids[symbols]
                ids[num_ids] = piece if piece >= 0 else unk_id
                num_ids += 1
        elif entry == 0:
            return UNKNOWN_CODE_POINT, code, num_ids
        elif action != _DELETE:
            return UNUSUAL_CHUNK, position, num_ids
        position = after
    if num_letters > 0:
        num_ids = append_pieces(word, num_letters, trie, unk_id, ids, num_ids)
    return DONE, position, num_ids


@inner
def is_blank(data: NDArray[np.uint8], start: int, end: int, table: NDArray[np.int64]) -> bool:
    """Whether `str.strip` leaves nothing of the valid UTF-8 in data[start:end].

    The entries of its code points must be filled in, except those of ASCII whitespace.
    """
    position = start
    while position < end:
        if is_ascii_space(data[position]):
            position += 1
        else:
            code, position = decode(data, position)
            if table[code] & IS_SPACE == 0:
                return False
    return True
