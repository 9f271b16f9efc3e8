r"""How BERT's basic tokenizer treats one code point, by this Python's Unicode tables.

A code point is treated the same everywhere, with two exceptions: the actions SIGMA and MARK leave
the decision to the kernel, which sees the neighbours. Lower-cased:

    "É"           -> LETTERS "e"                   "\xad" (soft hyphen)    -> DELETE
    "각"          -> LETTERS, three jamo           "\u2028"                -> SPACE
    "東"          -> IDEOGRAPH "東"                "\u037e" (Greek "?")    -> PUNCTUATION ";"
    "Σ"           -> SIGMA, "σ" or "ς" at the end  "\u0301" (accent)       -> DELETE
    "\ua9c0"      -> MARK, NFD may put it after its neighbour

Nothing here is a list of characters: the answers come from the definition, `str` and `unicodedata`
of the running interpreter, so they are right for its version of Unicode.
"""

import enum
import unicodedata
from typing import NamedTuple

from bert_data.tokens.definition import (
    is_deleted,
    is_ideograph,
    is_punctuation,
    is_whitespace,
    strip_accents,
)

MAX_LETTERS = 3  # more is UNUSUAL; in Unicode 14 to 17 nothing is longer than a Hangul syllable
CAPITAL_SIGMA = "Σ"
SMALL_SIGMA = "σ"
FINAL_SIGMA = "ς"


class Action(enum.IntEnum):
    """What to do at a code point; 0 is left for entries of a table that are not filled in yet."""

    LETTERS = 1  # append the letters to the word
    DELETE = 2  # skip it
    SPACE = 3  # end the word; the search around a sigma stops
    IDEOGRAPH = 4  # a space, its letter, a space
    PUNCTUATION = 5  # end the word; its letter is a word; the search around a sigma continues
    SIGMA = 6  # append a letter that depends on its neighbours
    MARK = 7  # append the letters, unless a MARK precedes: NFD may swap the two
    UNUSUAL = 8  # none of these: leave the text around it to the definition
    BRACKET = 9  # PUNCTUATION, unless the name of a special token follows


class CodePoint(NamedTuple):
    """How one code point is tokenized.

    Attributes:
      action: what to do.
      letters: what it becomes (SIGMA: one of these); empty for DELETE, SPACE and UNUSUAL.
      is_space: whether `str.isspace` holds; a line of only such characters is blank.
      is_cased: whether the search around a sigma stops here, at a cased letter.
      is_ignorable: whether the search around a sigma skips it.
    """

    action: Action
    letters: str = ""
    is_space: bool = False
    is_cased: bool = False
    is_ignorable: bool = False


def describe(char: str, *, do_lower_case: bool) -> CodePoint:
    """Return how a code point is tokenized.

    Args:
      do_lower_case: whether the text is lower-cased and accents are dropped.
    """
    if "\ud800" <= char <= "\udfff":  # no UTF-8 has surrogates
        return CodePoint(Action.UNUSUAL)
    is_space = char.isspace()
    if is_deleted(char):
        return CodePoint(Action.DELETE, "", is_space, False, True)
    if is_space or is_whitespace(char):
        return CodePoint(Action.SPACE, "", is_space)
    if not do_lower_case:
        return CodePoint(_action(char, char, False), char)
    letters = strip_accents(char.lower())
    action = _action(char, letters, any(map(unicodedata.combining, letters)))
    if action == Action.UNUSUAL:
        letters = ""
    if action == Action.SIGMA:
        letters = SMALL_SIGMA + FINAL_SIGMA
    # Unicode, section 3.13, Final_Sigma: a cased letter precedes it and none follows, case-
    # ignorable characters skipped. Applying the rule through `str` shows the two properties.
    is_cased = is_ignorable = False
    if f"A{char}{CAPITAL_SIGMA}".lower()[-1] == FINAL_SIGMA:
        is_cased = f"{char}{CAPITAL_SIGMA}".lower()[-1] == FINAL_SIGMA
        is_ignorable = not is_cased
    return CodePoint(action, letters, False, is_cased, is_ignorable)


def _action(char: str, letters: str, has_marks: bool) -> Action:
    """Return the action of a character that is neither deleted by cleaning nor a space.

    Args:
      letters: what it becomes.
      has_marks: whether NFD may move a part of the letters.
    """
    stands_apart = is_ideograph(char)
    if len(letters) != 1:
        if stands_apart or len(letters) > min(MAX_LETTERS, len(char.encode())):
            return Action.UNUSUAL  # the kernel relies on no more letters than bytes
        if any(letter.isspace() or is_punctuation(letter) for letter in letters):
            return Action.UNUSUAL
        if not letters:
            return Action.DELETE
    elif letters.isspace():
        return Action.UNUSUAL
    if stands_apart:
        return Action.UNUSUAL if has_marks else Action.IDEOGRAPH
    if has_marks:
        return Action.MARK
    if char == CAPITAL_SIGMA and letters != char:
        return Action.SIGMA
    return Action.PUNCTUATION if is_punctuation(letters[0]) else Action.LETTERS


def are_plain_ideographs(text: str, *, do_lower_case: bool) -> bool:
    """Whether `describe` calls each character an IDEOGRAPH whose letter is itself.

    There are 80,000 ideographs; this checks many at once.
    """
    if not all(map(is_ideograph, text)):
        return False
    return not do_lower_case or strip_accents(text.lower()) == text
