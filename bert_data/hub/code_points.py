r"""What to do at every code point, as arrays that a graph can look up.

    entries[ord("É")]   LETTER of "e"          entries[ord(",")]   ALONE, LETTER of ","
    entries[ord("\t")]  SPACE                  entries[ord("각")]   row k of `expansions`, 3 letters

The arrays say what `tokens.codepoints` says, which asks `tokenization` and this interpreter's
Unicode tables; so a graph that looks them up needs neither Python nor another library's Unicode.

An entry is an int32:

    bits 0-20 the letter, or the row of `expansions` | 21-22 number of letters | then the flags
"""

import dataclasses
import functools
import unicodedata
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from bert_data.tokens.codepoints import MAX_LETTERS, Action, are_plain_ideographs, describe

NUM_CODE_POINTS = 0x110000
LETTER_MASK = (1 << 21) - 1
COUNT_SHIFT = 21
COUNT_MASK = 3
ALONE = 1 << 23  # the letter is a word of its own: a punctuation mark or an ideograph
SPACE = 1 << 24  # ends a word; its letter belongs to none
MARK = 1 << 25  # canonical ordering may swap its letters with those of an adjacent MARK
BARRIER = 1 << 26  # disappears, but marks are not swapped across it
CASED = 1 << 27  # the search that chooses a sigma ends here, at a cased letter
IGNORABLE = 1 << 28  # the search that chooses a sigma skips it
SIGMA = 1 << 29  # its letter depends on its surroundings

_PAGE_SIZE = 256
_FLAGS = {
    Action.SPACE: SPACE,
    Action.IDEOGRAPH: ALONE,
    Action.PUNCTUATION: ALONE,
    Action.SIGMA: SIGMA,
    Action.MARK: MARK,
}


@dataclasses.dataclass(frozen=True, kw_only=True, eq=False)
class CodePointArrays:
    """The tables for text that is lower-cased or not.

    Attributes:
      entries: int32 [0x110000], see the module. The entry of a sigma has the letter of one that
        does not end a word.
      expansions: int32 [rows, 3], the letters of code points that become several, padded with 0.
      mark_letters: int32 [marks], letters with a canonical combining class other than 0.
      mark_classes: int32 [marks], those classes, 1 to 254.
    """

    entries: NDArray[np.int32]
    expansions: NDArray[np.int32]
    mark_letters: NDArray[np.int32]
    mark_classes: NDArray[np.int32]


@functools.cache
def code_point_arrays(do_lower_case: bool) -> CodePointArrays:
    """Make the tables; takes a second.

    Args:
      do_lower_case: whether text is lower-cased and accents are dropped.

    Raises:
      ValueError: this interpreter's Unicode has a code point that the tables cannot express.
    """
    entries = np.empty(NUM_CODE_POINTS, np.int32)
    expansions: list[Sequence[int]] = [(0,) * MAX_LETTERS]
    marks: dict[int, int] = {}
    for first in range(0, NUM_CODE_POINTS, _PAGE_SIZE):
        chars = "".join(map(chr, range(first, first + _PAGE_SIZE)))
        page = _plain_page(chars, do_lower_case)
        if page is None:
            page = [_entry(char, do_lower_case, expansions, marks) for char in chars]
        entries[first : first + _PAGE_SIZE] = page
    letters = np.array(sorted(marks), np.int32)
    return CodePointArrays(
        entries=entries,
        expansions=np.array(expansions, np.int32),
        mark_letters=letters,
        mark_classes=np.array([marks[int(letter)] for letter in letters], np.int32),
    )


def _plain_page(chars: str, do_lower_case: bool) -> list[int] | None:
    """Return a page's entries if all its code points stay as they are, or None; saves seconds."""
    codes = map(ord, chars)
    if are_plain_ideographs(chars, do_lower_case=do_lower_case):
        return [code | 1 << COUNT_SHIFT | ALONE for code in codes]
    if all(unicodedata.category(char) in ("Cn", "Co") for char in chars):
        return [code | 1 << COUNT_SHIFT for code in codes]
    return None


def _entry(
    char: str, do_lower_case: bool, expansions: list[Sequence[int]], marks: dict[int, int]
) -> int:
    """Return a code point's entry, and extend the expansions and the marks if it needs them."""
    if "\ud800" <= char <= "\udfff":  # UTF-8 has no surrogates
        return 0
    point = describe(char, do_lower_case=do_lower_case)
    letters = [ord(letter) for letter in point.letters]
    entry = _FLAGS.get(point.action, 0)
    entry |= CASED if point.is_cased else 0
    entry |= IGNORABLE if point.is_ignorable else 0
    if point.action == Action.UNUSUAL:
        raise ValueError(
            f"U+{ord(char):04X} is tokenized in a way that tables cannot express; the Unicode of"
            f" this Python is {unicodedata.unidata_version}, tested are 14 to 17"
        )
    if point.action == Action.SPACE:
        return entry | 1 << COUNT_SHIFT
    if point.action == Action.SIGMA:
        return entry | letters[0] | 1 << COUNT_SHIFT
    if point.action == Action.MARK:
        marks.update((code, c) for code in letters if (c := unicodedata.combining(chr(code))))
    if point.action == Action.DELETE and do_lower_case and _has_starter(char):
        entry |= BARRIER
    if len(letters) > 1:
        letters += [0] * (MAX_LETTERS - len(letters))
        expansions.append(letters)
        return entry | len(point.letters) << COUNT_SHIFT | len(expansions) - 1
    return entry | len(letters) << COUNT_SHIFT | (letters[0] if letters else 0)


def _has_starter(char: str) -> bool:
    """Whether the decomposed text contains a character that stops the reordering of marks."""
    is_kept = unicodedata.category(char) == "Mn"  # control characters have already been deleted
    return is_kept and not all(map(unicodedata.combining, unicodedata.normalize("NFD", char)))
