r"""Character classes for splitting texts into words: a table over all code points.

    "a" LOWER    "É" UPPER    "ß" LOWER    "한" LETTER    "7" NUMBER    "中" "カ" "ก" UNSPACED
    " " SPACE    "\u0301" MARK    "\u200d" FORMAT    "," BETWEEN_NUMBERS    "♥" SYMBOL

The classes follow Unicode's general categories in the running interpreter, except for scripts
without spaces between words: Chinese, Japanese, the scripts of South East Asia that UAX #14 puts
into its class SA (Thai, Lao, Khmer, Myanmar, Tai, Ahom), Javanese, Balinese, Yi, and Tibetan, which
separates syllables. Each of their letters stands alone.
"""

import functools
import unicodedata

import numpy as np
from numpy.typing import NDArray

# Their order matters: FORMAT..NUMBER continue a word, LOWER..NUMBER begin one, MARK and FORMAT
# belong to the character before them.
SPACE = 0
FORMAT = 1  # invisible: joiners, soft hyphens, marks of direction
MARK = 2  # accents and vowel signs
LOWER = 3
UPPER = 4
LETTER = 5  # of scripts without case
NUMBER = 6
UNSPACED = 7  # a letter of a script without spaces
SYMBOL = 8  # everything else, including control characters
APOSTROPHE = 9
DOT = 10
BETWEEN_NUMBERS = 11  # a comma, a colon or a slash
UNDERSCORE = 12
HYPHEN = 13

_OF_ONE = {
    **dict.fromkeys("'’", APOSTROPHE),
    ".": DOT,
    **dict.fromkeys(",:/", BETWEEN_NUMBERS),
    "_": UNDERSCORE,
    "-": HYPHEN,
    "\u200b": SPACE,  # the zero width space: where a Thai or Khmer line may break
    # Marks between words or syllables: Tibetan, Ethiopic, runes, old scripts.
    **dict.fromkeys("\u0f0b\u0f0c\u1361\u16eb\u16ec\u16ed\u2e31\U00010100", SPACE),
}
_OF_CATEGORY = {
    **dict.fromkeys(("Mn", "Mc", "Me"), MARK),
    "Cf": FORMAT,
    "Ll": LOWER,
    **dict.fromkeys(("Lu", "Lt"), UPPER),
    **dict.fromkeys(("Lo", "Lm"), LETTER),
    **dict.fromkeys(("Nd", "Nl", "No"), NUMBER),
    **dict.fromkeys(("Zs", "Zl", "Zp"), SPACE),
}
# First and last code points.
_UNSPACED = (
    *((0x0E00, 0x0EFF), (0x1000, 0x109F), (0xA9E0, 0xA9FF), (0xAA60, 0xAA7F)),  # Thai to Myanmar
    *((0x1780, 0x17FF), (0x1950, 0x19DF), (0x1A20, 0x1AAF), (0xAA80, 0xAADF)),  # Khmer, Tai
    *((0x11700, 0x1174F), (0xA980, 0xA9DF), (0x1B00, 0x1B7F)),  # Ahom, Javanese, Balinese
    *((0x0F00, 0x0FFF), (0xA000, 0xA48C)),  # Tibetan, Yi
    *((0x3005, 0x3007), (0x3031, 0x3035), (0x303B, 0x303C), (0x3041, 0x3096)),  # Japanese
    *((0x309D, 0x309F), (0x30A1, 0x30FF), (0x31F0, 0x31FF), (0xFF66, 0xFF9F)),
    (0x1AFF0, 0x1B16F),
    *((0x3100, 0x312F), (0x31A0, 0x31BF)),  # Bopomofo
    *((0x3400, 0x4DBF), (0x4E00, 0x9FFF), (0xF900, 0xFAFF), (0x20000, 0x3FFFF)),  # ideographs
)
_NUM_CODE_POINTS = 0x110000

IGNORABLE = (
    *((0xAD, 0xAD), (0x34F, 0x34F), (0x61C, 0x61C), (0x115F, 0x1160), (0x17B4, 0x17B5)),
    *((0x180B, 0x180F), (0x200B, 0x200F), (0x202A, 0x202E), (0x2060, 0x206F), (0x3164, 0x3164)),
    *((0xFE00, 0xFE0F), (0xFEFF, 0xFEFF), (0xFFA0, 0xFFA0), (0xFFF0, 0xFFF8)),
    *((0x1BCA0, 0x1BCA3), (0x1D173, 0x1D17A), (0xE0000, 0xE0FFF)),
)
"""Characters that are not visible, first and last: Default_Ignorable_Code_Point of Unicode 16."""


def class_of(char: str) -> int:
    """Return the class of a character: SPACE to HYPHEN."""
    if char in _OF_ONE:
        return _OF_ONE[char]
    if char.isspace():
        return SPACE
    category = unicodedata.category(char)
    is_letter = category[0] == "L" or category == "Nl"
    if is_letter and any(first <= ord(char) <= last for first, last in _UNSPACED):
        return UNSPACED
    return _OF_CATEGORY.get(category, SYMBOL)


@functools.cache
def character_classes() -> NDArray[np.uint8]:
    """Return the class of every character, by code point: uint8 [1,114,112]."""
    classes = np.full(_NUM_CODE_POINTS, SYMBOL, np.uint8)
    of_category = np.full(1 << 16, SYMBOL, np.uint8)  # by the two letters of its name
    for category, number in _OF_CATEGORY.items():
        of_category[np.frombuffer(category.encode(), np.uint16)] = number
    for part in (range(0x40000), range(0xE0000, 0xE1000)):
        categories = "".join(map(unicodedata.category, map(chr, part))).encode()
        classes[part.start : part.stop] = of_category[np.frombuffer(categories, np.uint16)]
    # The category leaves few undecided: those in ranges, and by name.
    for first, last in _UNSPACED:
        of_range = classes[first : last + 1]
        of_range[(of_range >= LOWER) & (of_range <= LETTER)] = UNSPACED
    for char in (*_OF_ONE, *map(chr, (*range(9, 14), *range(0x1C, 0x20), 0x85, 0x3007))):
        classes[ord(char)] = class_of(char)
    classes.flags.writeable = False
    return classes
