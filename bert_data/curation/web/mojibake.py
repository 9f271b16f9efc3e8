r"""Repair text that was decoded with the wrong encoding, by ftfy, where there may be any.

    fix_mojibake("l’été\nl’Ã©tÃ©\n")  ->  ("l’été\nl’été\n", 1)         one line was changed

ftfy examines each character of a text, at 8 MB a second. Whatever it could change contains a
character that stands for the first byte of a UTF-8 sequence, followed by one that stands for
another byte of it; only lines with such a pair are passed to ftfy.
"""

import functools
import re
from collections.abc import Iterator

from bert_data.packages import load_package

_FIRST_BYTES = bytes(range(0xC2, 0xF5))
_OTHER_BYTES = bytes(range(0x80, 0xC0))
# What ftfy accepts for a lost byte of a sequence: a replacement character, or a no-break space
# that became a space.
_LOST_BYTES = "\x1a\ufffd"
_FIRST_BEFORE_SPACE = "ÂÃ"
_MAX_LINE_CHARACTERS = 100_000


def fix_mojibake(text: str) -> tuple[str, int]:
    """Decode lines that are UTF-8 read as another encoding.

    Returns:
      The text, and the number of lines that changed.

    Raises:
      ValueError: ftfy is not installed.
    """
    pairs = _pairs()
    if text.isascii() or pairs.search(text) is None:
        return text, 0
    fix_encoding = load_package("ftfy", "the step repair").fix_encoding
    # ftfy also examines the "\n" after a line.
    lines = [f"{line}\n" for line in text.split("\n")]
    lines[-1] = lines[-1][:-1]
    num_changed = 0
    for number, line in enumerate(lines):
        if line.isascii() or pairs.search(line) is None:
            continue
        fixed = "".join(map(fix_encoding, _cut(line)))
        if fixed != line:
            lines[number] = fixed
            num_changed += 1
    return ("".join(lines) if num_changed else text), num_changed


def _cut(line: str) -> Iterator[str]:
    """Yield parts of a line of bounded length, cut after spaces where there are any."""
    start = 0
    while len(line) - start > _MAX_LINE_CHARACTERS:
        end = line.rfind(" ", start, start + _MAX_LINE_CHARACTERS) + 1
        end = end or start + _MAX_LINE_CHARACTERS
        yield line[start:end]
        start = end
    yield line[start:]


@functools.cache
def _pairs() -> re.Pattern[str]:
    """Compile an expression for a possible first byte followed by a possible later byte."""
    encodings = load_package("ftfy.chardata", "the step repair").CHARMAP_ENCODINGS
    first = {char for each in encodings for char in _FIRST_BYTES.decode(each, "ignore")}
    other = {char for each in encodings for char in _OTHER_BYTES.decode(each, "ignore")}
    return re.compile(
        f"[{_in_class(first)}](?:[{_in_class(other)}{_LOST_BYTES}]|(?<=[{_FIRST_BEFORE_SPACE}]) )"
    )


def _in_class(chars: set[str]) -> str:
    return "".join(map(re.escape, sorted(chars)))
