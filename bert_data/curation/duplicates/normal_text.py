"""Normalize texts, so that texts become equal which differ only in irrelevant details.

Normalization(form="NFKC", ignore_case=True, ...).apply(" Ｔｈｅ  Cat…")   ->  "the cat..."
"""

import dataclasses
import functools
import re
import sys
import unicodedata
from typing import Literal

UnicodeForm = Literal["none", "NFC", "NFKC"]

_DIGITS = re.compile(r"\d")
_LAST_OF_PLANE_0 = "\uffff"


@dataclasses.dataclass(frozen=True, kw_only=True)
class Normalization:
    """The differences to ignore.

    Attributes:
      form: Unicode normalization form (UAX #15): "NFC" unifies what looks the same, "NFKC" also
        what differs only in width or font; "none".
      ignore_case: apply Unicode's full case folding.
      ignore_whitespace: turn runs of white space into one space, and strip the text.
      ignore_punctuation: remove characters of Unicode's categories P (punctuation).
      ignore_digits: replace every digit by 0, as in CCNet.
    """

    form: UnicodeForm = "NFKC"
    ignore_case: bool = True
    ignore_whitespace: bool = True
    ignore_punctuation: bool = False
    ignore_digits: bool = False

    def apply(self, text: str) -> str:
        """Return the normal form of a text."""
        if self.form != "none" and not text.isascii():
            text = unicodedata.normalize(self.form, text)
        if self.ignore_case:
            text = text.casefold()
        if self.ignore_digits:
            text = _DIGITS.sub("0", text)
        if self.ignore_punctuation:
            for pattern in _punctuation(is_astral=bool(text) and max(text) > _LAST_OF_PLANE_0):
                text = pattern.sub("", text)
        if self.ignore_whitespace:
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
