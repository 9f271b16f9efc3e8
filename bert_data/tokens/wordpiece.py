"""The pieces of a vocabulary as a trie, and words split into pieces: longest piece first.

    "un" 5, "##aff" 6, "##able" 7, and the word  u n a f f a b l e  ->  5 6 7

A letter is a symbol: UNKNOWN, or a number from 2 for each character of the vocabulary. A word is an
array of symbols. The trie is a hash table whose slots are its nodes: hashing a parent node and a
symbol gives the slot of the child, so that following a word is arithmetic, and memory is read only
to confirm. First symbols need no slot:

    node s                         a word's first letter is the symbol s
    node num_symbols + s           a letter s that continues a word ("##s")
    node 2 * num_symbols + slot    all the others
"""

from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from bert_data.kernels import inner, kernel
from bert_data.tokens.vocabulary_file import CONTINUATION

UNKNOWN = 1  # the symbol of every character that no piece has; 0 is not a symbol
SYMBOL_BITS = 18
MAX_LETTERS_OF_WORD = 200  # a longer word is unknown, in google-research/bert

_MULTIPLIER = 0x1E3779B97F4A7C15


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
    """Assign a symbol to every character of the vocabulary's tokens, from UNKNOWN + 1.

    Raises:
      ValueError: there are more characters than symbols.
    """
    characters = sorted(set().union(*ids))
    if len(characters) >= (1 << SYMBOL_BITS) - UNKNOWN:
        raise ValueError(
            f"the vocabulary has {len(characters)} different characters; "
            f"it may have at most {(1 << SYMBOL_BITS) - UNKNOWN - 1}"
        )
    return {char: number for number, char in enumerate(characters, start=UNKNOWN + 1)}


def build_trie(ids: Mapping[str, int], symbols: Mapping[str, int]) -> PieceTrie:
    """Build the trie of a vocabulary's tokens.

    Args:
      ids: token -> id. A token that begins with "##" continues a word, without the "##".
      symbols: character -> symbol, from `number_characters`.
    """
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
      unk_id: id of a word that has no pieces.
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
