r"""Bits that say which tokens go on with the word of the token before them, 16 of each token.

    WordPiece        un ##able cat     un|##able is a word, ##able|cat are two
    byte-level BPE   Ġun able , Ġcat   Ġun|able is a word; the comma and Ġcat begin others
    SentencePiece    ▁un able ▁cat     ▁un|able is a word

The high eight bits say which kinds of beginnings go on with a token's word, the low eight which
kind a token's beginning is. Two neighbours are of one word if they have a bit in common:

    bits[first] >> 8 & bits[second]

Byte-level BPE has words of its own only in the text, before tokens: the pre-tokens, which no token
crosses. So each token is asked, by the pre-tokenizer of its file, which of eight kinds of
beginnings it would not be separated from. Tokens of the same shape (letters, digits, punctuation)
give the same answer.
"""

import re
import unicodedata
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bert_data.kernels import Scalar, inner

_GOES_ON, _ANY_GOES_ON = 0x01, 0xFF00
_ALL = 0xFF
_BEGINNINGS = ("a", "A", "\u4e2d", "1", ".", " a", "\n", "\u0301")
_RUN = 3  # of equal kinds of characters in a shape; no pattern counts further
_INSIDE_CHARACTER = range(0x80, 0xC0)
_FILLING = b"\x94"  # completes characters to ones of the kind that most of their neighbours are

SplitText = Callable[[str], Iterable[int]]
"""Returns where the pre-tokens of a text begin."""


@inner
def goes_on(bits: NDArray[np.uint16], previous: Scalar, token: Scalar) -> bool:
    """Return whether a token is of the same word as the one before; not for ids without bits."""
    size = np.uint64(bits.size)
    if np.uint64(previous) >= size or np.uint64(token) >= size:
        return False
    return (bits[previous] >> 8) & bits[token] & 0xFF != 0


def marked_continuations(continues: Sequence[bool]) -> NDArray[np.uint16]:
    """Return bits uint16[tokens] of tokens that say by themselves whether they continue a word."""
    bits = np.full(len(continues), _ANY_GOES_ON, np.uint16)
    bits[np.array(continues, np.bool_)] |= _GOES_ON
    return bits


def words_by_mark(
    tokens: Sequence[str], special: Iterable[int], mark: str, *, at_end: bool = False
) -> NDArray[np.uint16]:
    """Return bits uint16[tokens] of tokens where a mark, such as "\u2581", begins or ends words.

    Args:
      special: ids that are words of their own.
    """
    is_marked = np.array([t.endswith(mark) if at_end else t.startswith(mark) for t in tokens])
    bits = np.full(len(tokens), _ANY_GOES_ON | _GOES_ON, np.uint16)
    bits[is_marked] = _GOES_ON if at_end else _ANY_GOES_ON
    bits[list(special)] = 0
    return bits


def words_by_pre_tokens(
    tokens: Sequence[str], special: Iterable[int], split: SplitText
) -> NDArray[np.uint16]:
    """Return bits uint16[tokens] of a byte-level vocabulary.

    Args:
      tokens: of each id, with a letter for each byte.
      special: ids that are words of their own.
    """
    bytes_of = {letter: byte for byte, letter in enumerate(byte_letters())}
    following: dict[str, int] = {}
    beginning: dict[str, int] = {}
    bits = np.zeros(len(tokens), np.uint16)
    left_out = set(special)
    for number, token in enumerate(tokens):
        if number in left_out or not token:
            continue
        data = _bytes_of(token, bytes_of)
        text, is_cut = _decode(data)
        shape = _shape(text)
        if shape not in following:
            following[shape] = _following(shape, split)
            beginning[shape] = _kind(shape)
        high = _ALL if is_cut else following[shape]
        low = _ALL if data[0] in _INSIDE_CHARACTER else beginning[shape]
        bits[number] = high << 8 | low
    return bits


def _bytes_of(token: str, bytes_of: Mapping[str, int]) -> bytes:
    if all(letter in bytes_of for letter in token):
        return bytes(bytes_of[letter] for letter in token)
    return token.encode()  # an added token, which stands for itself


def _decode(data: bytes) -> tuple[str, bool]:
    """Return a text like the one that bytes are part of, and whether they end in a character."""
    start = next((i for i, byte in enumerate(data) if byte not in _INSIDE_CHARACTER), len(data))
    data = data[start:] or "\u4e2d".encode()
    for missing in range(4):
        try:
            return (data + missing * _FILLING).decode(), missing > 0
        except UnicodeDecodeError:
            continue
    return data.decode(errors="replace").replace("\ufffd", "a"), False


def _shape(text: str) -> str:
    """Return a text that is split as this one, with one character for each kind."""
    if "'" in text:
        return text  # 's and others are words of their own
    kinds = "".join(map(_like, text))
    return re.sub(rf"(.)\1{{{_RUN},}}", lambda run: run[1] * _RUN, kinds, flags=re.DOTALL)


def _like(char: str) -> str:
    if char in " \n\r\t":
        return char
    category = unicodedata.category(char)
    by_category = {"Lu": "A", "Lt": "A", "Lo": "\u4e2d", "Zs": "\u00a0", "Cc": char}
    if category in by_category:
        return by_category[category]
    return {"L": "a", "N": "1", "M": "\u0301"}.get(category[0], ".")


def _following(shape: str, split: SplitText) -> int:
    """Return the kinds of beginnings that are not split off after a text."""
    kinds = 0
    for number, rest in enumerate(_BEGINNINGS):
        if len(shape) not in split(shape + rest):
            kinds |= 1 << number
    return kinds


def _kind(shape: str) -> int:
    """Return the bit of the beginning that a text has; 0 for odd spaces and controls."""
    first = "." if shape[0] == "'" else shape[0]
    if first in " \t":
        return 1 << _BEGINNINGS.index(" a")
    if first in "\r\n":
        return 1 << _BEGINNINGS.index("\n")
    return 1 << _BEGINNINGS.index(first) if first in _BEGINNINGS else 0


def pre_token_starts(pre_tokenizer: Any) -> SplitText:
    """Return the starts that a pre-tokenizer of `tokenizers` finds."""

    def split(text: str) -> list[int]:
        return [start for _, (start, _) in pre_tokenizer.pre_tokenize_str(text)]

    return split


def byte_letters() -> list[str]:
    """Return the letter by which byte-level BPE (GPT-2's) stands for each byte."""
    plain = {*range(33, 127), *range(161, 173), *range(174, 256)}
    others = iter(range(256, 512))
    return [chr(byte) if byte in plain else chr(next(others)) for byte in range(256)]
