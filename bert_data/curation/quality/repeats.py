r"""Measure how much of a text consists of lines or paragraphs that occurred before.

"One.\nTwo.\nOne."  ->  3 lines, 1 repeated, of 4 characters
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from bert_data.curation.hash_tables import find_slot, make_slots
from bert_data.curation.lines import NEWLINE, is_blank
from bert_data.curation.words import Words, hash_codes
from bert_data.kernels import inner, kernel


class Repeats(NamedTuple):
    """Repeated parts of a text.

    Attributes:
      num_parts: of the text.
      num_repeated: parts that equal an earlier one.
      num_characters: of these.
    """

    num_parts: int
    num_repeated: int
    num_characters: int


def repeated_lines(words: Words, *, count_blank: bool) -> Repeats:
    r"""Measure repeated lines, the parts between runs of "\n".

    Args:
      count_blank: whether parts that consist of spaces count.
    """
    return _repeats(words, 0, len(words.codes), 1, count_blank)


def repeated_paragraphs(words: Words) -> Repeats:
    r"""Measure repeated paragraphs, the parts between "\n\n", after stripping the whole text."""
    start = len(words.text) - len(words.text.lstrip())
    return _repeats(words, start, max(start, len(words.text.rstrip())), 2, True)


def _repeats(words: Words, start: int, end: int, min_newlines: int, blank: bool) -> Repeats:
    max_parts = words.text.count("\n" * min_newlines) + 1
    if max_parts == 1 and blank:
        return Repeats(1, 0, 0)
    slots = make_slots(max_parts)
    return Repeats(*_count_repeats(words.characters, start, end, min_newlines, blank, slots))


@inner
def add_hash(slots: NDArray[np.uint64], hashed: np.uint64) -> bool:
    """Add a hash to a set, and return whether it is new."""
    key = np.uint64(1) if hashed == 0 else hashed
    slot = find_slot(slots, key)
    if slots[slot] == key:
        return False
    slots[slot] = key
    return True


@kernel
def _count_repeats(
    characters: tuple[NDArray[np.uint32], NDArray[np.uint8]],
    start: int,
    end: int,
    min_newlines: int,
    count_blank: bool,
    slots: NDArray[np.uint64],
) -> tuple[int, int, int]:
    """`Repeats` of the parts of codes[start:end] between runs of at least `min_newlines`.

    Args:
      characters: code points, and the classes of all characters.
      count_blank: whether a part of nothing but spaces counts.
      slots: of an empty hash table for all parts.
    """
    codes, classes = characters
    num_parts, num_repeated, num_characters = 0, 0, 0
    place = start
    while start <= end:
        run_end = place
        while run_end < end and codes[run_end] == NEWLINE:
            run_end += 1
        if place < end and run_end - place < min_newlines:
            place = max(run_end, place + 1)
            continue
        counts = count_blank
        for inside in range(start, place):
            if counts:
                break
            counts = not is_blank(codes, classes, inside)
        if counts:
            num_parts += 1
            if not add_hash(slots, hash_codes(codes, start, place)):
                num_repeated += 1
                num_characters += place - start
        if place == end:
            break
        start = place = run_end
    return num_parts, num_repeated, num_characters
