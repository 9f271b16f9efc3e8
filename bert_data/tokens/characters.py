r"""The character classes that BERT's basic tokenizer distinguishes.

    "a" "é" "Σ" "か" "5"   letters: none of the predicates holds
    " " "\t" "\u3000"      is_whitespace        "東" "\uf900"   is_ideograph
    "\x07" "\u200b"        is_control           "," "$" "。"     is_punctuation

The answers depend on the Unicode version of the interpreter's `unicodedata`.
"""

import unicodedata


def is_ideograph(char: str) -> bool:
    """Whether the character is in a block of CJK Unified (or Compatibility) Ideographs.

    Hangul, Hiragana and Katakana are not ideographs: BERT treats these scripts like alphabets.
    """
    return char >= "\u3400" and (
        "\u3400" <= char <= "\u4dbf"
        or "\u4e00" <= char <= "\u9fff"
        or "\uf900" <= char <= "\ufaff"
        or "\U00020000" <= char <= "\U0002a6df"
        or "\U0002a700" <= char <= "\U0002b73f"
        or "\U0002b740" <= char <= "\U0002b81f"
        or "\U0002b820" <= char <= "\U0002ceaf"
        or "\U0002f800" <= char <= "\U0002fa1f"
    )


def is_whitespace(char: str) -> bool:
    """Whether the character is a space of any width, a tab or a line ending."""
    return char in " \t\n\r" or unicodedata.category(char) == "Zs"


def is_control(char: str) -> bool:
    """Whether the character is a control or format character (Cc, Cf) and not whitespace."""
    return char not in "\t\n\r" and unicodedata.category(char) in ("Cc", "Cf")


def is_deleted(char: str) -> bool:
    """Whether cleaning drops the character: controls, NUL and the replacement character."""
    return char in "\0\ufffd" or is_control(char)


def is_punctuation(char: str) -> bool:
    """Whether the character is in one of the categories P*, or is an ASCII symbol.

    Unicode calls "$", "+", "<", "^", "`", "|" and "~" symbols; BERT splits words at them too.
    """
    if char.isascii():
        return char.isprintable() and not char.isalnum() and char != " "
    return unicodedata.category(char).startswith("P")
