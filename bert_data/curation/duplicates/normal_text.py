"""Normalize texts and words, so that those become equal which differ only in irrelevant details.

normalize(" Ｔｈｅ  Cat…")                            ->  "the cat..."
folded_words(split_words("The CAT"))                ->  "the" "cat", at the same places
"""

import dataclasses
import functools
import re
import sys
import unicodedata
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from bert_data.curation.words import Words, encode_characters, hash_codes
from bert_data.kernels import kernel

UnicodeForm = Literal["none", "NFC", "NFKC"]

_DIGITS = re.compile(r"\d")
_LAST_OF_PLANE_0 = "\uffff"


def normalize(
    text: str,
    *,
    unicode_form: UnicodeForm = "NFKC",
    ignore_case: bool = True,
    ignore_whitespace: bool = True,
    ignore_punctuation: bool = False,
    ignore_digits: bool = False,
) -> str:
    """Return the normal form of a text.

    Args:
      unicode_form: Unicode normalization form (UAX #15): "NFC" unifies what looks the same, "NFKC"
        also what differs only in width or font; "none".
      ignore_case: apply Unicode's full case folding.
      ignore_whitespace: turn runs of white space into one space, and strip the text.
      ignore_punctuation: remove characters of Unicode's categories P (punctuation).
      ignore_digits: replace every digit by 0, as in CCNet.
    """
    if unicode_form != "none" and not text.isascii():
        text = unicodedata.normalize(unicode_form, text)
    if ignore_case:
        text = text.casefold()
    if ignore_digits:
        text = _DIGITS.sub("0", text)
    if ignore_punctuation:
        for pattern in _punctuation(is_astral=bool(text) and max(text) > _LAST_OF_PLANE_0):
            text = pattern.sub("", text)
    if ignore_whitespace:
        text = " ".join(text.split())
    return text


@functools.cache
def _punctuation(*, is_astral: bool) -> tuple[re.Pattern[str], ...]:
    """Compile runs of punctuation, on first use, as this examines every character.

    The `re` module looks up characters of plane 0 in a table and others one by one, so these have a
    pattern of their own, for texts that contain any.
    """
    marks = [chr(c) for c in range(sys.maxunicode + 1) if unicodedata.category(chr(c))[0] == "P"]
    plane_0 = [mark for mark in marks if mark <= _LAST_OF_PLANE_0]
    classes = [plane_0, marks[len(plane_0) :]] if is_astral else [plane_0]
    return tuple(re.compile(f"[{re.escape(''.join(each))}]+") for each in classes)


_TWO_IN_LOWER_CASE = (
    "\u0130"  # the only character with two characters in lower case: an i with a dot above
)


def folded_words(words: Words) -> Words:
    """Return the same words in lower case, at the same positions."""
    lower = words.text.replace(_TWO_IN_LOWER_CASE, "i").lower()
    if lower == words.text:
        return words
    characters = encode_characters(lower)
    hashes = np.empty_like(words.hashes)
    hash_spans(characters, words.starts, words.ends, hashes)
    return dataclasses.replace(words, text=lower, characters=characters, hashes=hashes)


@kernel
def hash_spans(
    characters: tuple[NDArray[np.uint32], NDArray[np.uint8]],
    starts: NDArray[np.int32],
    ends: NDArray[np.int32],
    hashes: NDArray[np.uint64],
) -> None:
    """Write the hashes of words.

    Args:
      characters: code points, and the classes of all characters.
      starts: [words], in characters.
      ends: [words], exclusive.
      hashes: [words].
    """
    codes, _ = characters
    for word in range(len(hashes)):
        hashes[word] = hash_codes(codes, starts[word], ends[word])
