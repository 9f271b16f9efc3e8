"""Kernels that turn a chunk of UTF-8, the text between ASCII whitespace, into ids of pieces.

    b"na\\xc3\\xafve," --code points' entries--> word "naive", word "," --trie--> ids

No chunk depends on its neighbours. `append_chunk` looks up each code point in a table of entries
that say what to do (see `bert_rules`), collects the letters of a word and passes them to the trie.
It stops where it needs help: at a code point whose entry is not filled in yet, at a byte that is
not UTF-8, and at what the table cannot express. An entry is an int64, 0 until it is filled in:

    bits 0-3 action | 4 is_space | 5 is_cased | 6 is_ignorable | 7-24, 25-42, 43-60 up to 3 symbols

A symbol stands for a letter: UNKNOWN, or a number from 2 for each character of the vocabulary. A
word is an array of symbols, which is split into pieces, the longest first:

    "un" 5, "##aff" 6, "##able" 7, and the word  u n a f f a b l e  ->  5 6 7

The trie of the pieces is a hash table whose slots are its nodes: hashing a parent node and a symbol
gives the slot of the child, so that following a word is arithmetic, and memory is read only to
confirm. First symbols need no slot:

    node s                         a word's first letter is the symbol s
    node num_symbols + s           a letter s that continues a word ("##s")
    node 2 * num_symbols + slot    all the others
"""

from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from bert_data.kernels import inner, kernel
from bert_data.tokens.bert_rules import Action
from bert_data.tokens.definition import CONTINUATION

UNKNOWN = 1  # the symbol of every character that no piece has; 0 is not a symbol
SYMBOL_BITS = 18
MAX_LETTERS_OF_WORD = 200  # a longer word is unknown, in google-research/bert

_MULTIPLIER = 0x1E3779B97F4A7C15

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


class PieceTrie(NamedTuple):
    """The pieces of a vocabulary.

    Attributes:
      keys: int64 [a power of two], for each slot its parent node << SYMBOL_BITS | symbol, 0 if
        free.
      piece_ids: int32 [2 * num_symbols + len(keys)], for each node the id of the piece that ends
        there, or -1.
      num_symbols: symbols are < num_symbols.
    """

    keys: NDArray[np.int64]
    piece_ids: NDArray[np.int32]
    num_symbols: int


def number_characters(ids: Mapping[str, int]) -> dict[str, int]:
    """Assign a symbol to every character of the vocabulary's tokens, from UNKNOWN + 1."""
    characters = sorted(set().union(*ids))
    if len(characters) >= (1 << SYMBOL_BITS) - UNKNOWN:
        raise ValueError(
            f"the vocabulary has {len(characters)} different characters; "
            f"it may have at most {(1 << SYMBOL_BITS) - UNKNOWN - 1}"
        )
    return {char: number for number, char in enumerate(characters, start=UNKNOWN + 1)}


def build_trie(ids: Mapping[str, int], symbols: Mapping[str, int]) -> PieceTrie:
    """Build the trie of the tokens' ids, given the symbols of `number_characters`."""
    num_symbols = UNKNOWN + 1 + len(symbols)
    letters = np.frombuffer("".join(ids).encode("utf-32-le"), np.uint32)
    symbol_of = np.zeros(max(map(ord, symbols), default=0) + 1, np.int32)
    symbol_of[[ord(char) for char in symbols]] = list(symbols.values())
    num_slots = 1 << (len(letters) + 1).bit_length()  # as tokens share nodes, a third gets filled
    trie = PieceTrie(
        keys=np.zeros(num_slots, np.int64),
        piece_ids=np.full(2 * num_symbols + num_slots, -1, np.int32),
        num_symbols=num_symbols,
    )
    _insert(
        symbol_of[letters],
        np.fromiter(map(len, ids), np.int32, len(ids)),
        np.fromiter((token.startswith(CONTINUATION) for token in ids), np.bool_, len(ids)),
        np.fromiter(ids.values(), np.int32, len(ids)),
        trie,
    )
    return trie


@inner
def _find_slot(keys: NDArray[np.int64], node: int, symbol: int) -> int:
    """Return the slot of a node's child: it has the child's key, or is free."""
    key = node << SYMBOL_BITS | symbol
    mask = len(keys) - 1
    slot = (key * _MULTIPLIER >> 32) & mask
    while keys[slot] != key and keys[slot] != 0:
        slot = (slot + 1) & mask
    return slot


@kernel
def _insert(
    letters: NDArray[np.int32],
    lengths: NDArray[np.int32],
    continues: NDArray[np.bool_],
    ids: NDArray[np.int32],
    trie: PieceTrie,
) -> None:
    """Insert tokens: all their symbols in one array, and the length, kind and id of each."""
    start = 0
    for token in range(len(lengths)):
        end = start + lengths[token]
        first = start
        node = 0
        if continues[token]:
            first += 2
            node = trie.num_symbols
        if first < end:
            node += letters[first]
            for position in range(first + 1, end):
                slot = _find_slot(trie.keys, node, letters[position])
                trie.keys[slot] = node << SYMBOL_BITS | letters[position]
                node = 2 * trie.num_symbols + slot
            trie.piece_ids[node] = ids[token]
        start = end


@inner
def append_pieces(
    word: NDArray[np.int32],
    num_letters: int,
    trie: PieceTrie,
    unk_id: int,
    ids: NDArray[Any],
    num_ids: int,
) -> int:
    """Append the ids of a word's pieces to ids[:num_ids]; return the new num_ids.

    Args:
      word: int32, the word's symbols in word[:num_letters]; if the letters do not fit, the word is
        unknown.
      num_letters: > 0.
      ids: where to write; at most num_letters ids.
    """
    end = 0
    if num_letters <= len(word):
        start = 0
        num = num_ids
        while start < num_letters:
            node = word[start]
            if start > 0:
                node += trie.num_symbols
            piece = trie.piece_ids[node]
            end = start + 1
            for position in range(start + 1, num_letters):
                slot = _find_slot(trie.keys, node, word[position])
                if trie.keys[slot] == 0:
                    break
                node = 2 * trie.num_symbols + slot
                longer = trie.piece_ids[node]
                if longer >= 0:
                    piece = longer
                    end = position + 1
            if piece < 0:
                break
            ids[num] = piece
            num += 1
            start = end
        if start == num_letters:
            return num
    ids[num_ids] = unk_id
    return num_ids + 1


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
    ignorable characters skipped (Unicode, section 3.13, Final_Sigma). If the entry of a code point
    must be filled in first, returns minus the code point.
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
def _continue_word(ids: NDArray[Any], first: int, num_ids: int, more: int) -> None:
    """Mark the ids after the first of ids[first:num_ids] as of its word."""
    if more:
        for i in range(first + 1, num_ids):
            ids[i] += more


@inner
def append_chunk(
    data: NDArray[np.uint8],
    start: int,
    table: NDArray[np.int64],
    trie: PieceTrie,
    unk_id: int,
    more: int,
    word: NDArray[np.int32],
    ids: NDArray[Any],
    num_ids: int,
) -> tuple[int, int, int]:
    """Append the ids of the chunk that begins at data[start] to ids[:num_ids].

    Args:
      start: position of a byte that is not ASCII whitespace.
      more: added to all ids between two spaces but the first, see `TokenTable.of_words`; or 0.
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
    first = num_ids
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
            if action == _SPACE:
                _continue_word(ids, first, num_ids, more)
                first = num_ids
            else:
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
    _continue_word(ids, first, num_ids, more)
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
