"""Measure how much of a text consists of n-grams of words that occur more than once.

    a b a b c    top 2-gram: "a b", twice             2-grams that are repeated: the second "a b"

Both measures take time linear in the words: an n-gram is a 64-bit number, the difference of two
polynomials of all words before its end and its start, and is counted in a hash table. Only where an
n-gram occurs more than once can a longer one do so, so that few places are left for long ones.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from bert_data.curation.hash_tables import find_slot, make_slots
from bert_data.curation.text_units import NEWLINE, is_blank_at
from bert_data.curation.words import Words, hash_codes
from bert_data.kernels import Scalar, inner, kernel

_BASE = np.uint64(0x9E3779B97F4A7C15)


def ngram_characters(
    hashes: NDArray[np.uint64],
    lengths: NDArray[np.int32],
    top_orders: NDArray[np.int64],
    repeated_orders: NDArray[np.int64],
    *,
    spaces: int,
) -> tuple[list[int], list[int]]:
    """Count the characters of the most frequent and of repeated n-grams; takes 64 bytes a word.

    Args:
      hashes: uint64 [words].
      lengths: int32 [words], in characters.
      top_orders: int64 [tops], words per n-gram, > 0 and increasing.
      repeated_orders: int64 [repeats], words per n-gram, increasing, and no less than those.
      spaces: characters between two words of an n-gram; they count for top n-grams only.

    Returns:
      For each top order, the characters of the most frequent n-gram (the first of several) times
      its number of occurrences; 0 if there are fewer words. For each repeated order, the characters
      of all n-grams that occurred before: from left to right, such an n-gram counts, and the search
      continues after it.
    """
    slots = make_slots(len(hashes))
    counts = np.empty(len(slots), np.int32)
    sums = np.empty(len(hashes) + 1, np.uint64)
    places = np.empty((2, len(hashes)), np.int32)
    out = np.zeros(len(top_orders) + len(repeated_orders), np.int64)
    orders = np.concatenate([top_orders, repeated_orders])
    num_tops = len(top_orders)
    _measure(hashes, lengths, orders, num_tops, spaces, sums, slots, counts, places, out)
    characters = out.tolist()
    return characters[:num_tops], characters[num_tops:]


@inner
def _length(lengths: NDArray[np.int32], start: Scalar, order: Scalar) -> int:
    """Return the characters of lengths[start : start + order]."""
    length = 0
    for place in range(start, start + order):
        length += lengths[place]
    return length


@inner
def _count_ngrams(
    sums: NDArray[np.uint64],
    order: Scalar,
    places: NDArray[np.int32],
    slots: NDArray[np.uint64],
    counts: NDArray[np.int32],
    slot_of: NDArray[np.int32],
) -> int:
    """Count the n-grams that begin at some places, by slot; return the greatest count, or 1."""
    power = np.uint64(1)
    for _ in range(order):
        power *= _BASE
    slots[:] = 0
    most = 1
    for i in range(len(places)):
        ngram = sums[places[i] + order] - sums[places[i]] * power
        slot = find_slot(slots, np.uint64(1) if ngram == 0 else ngram)
        if slots[slot] == 0:
            slots[slot] = np.uint64(1) if ngram == 0 else ngram
            counts[slot] = 0
        counts[slot] += 1
        most = max(most, counts[slot])
        slot_of[i] = slot
    return most


@inner
def _repeated_characters(
    lengths: NDArray[np.int32],
    order: Scalar,
    places: NDArray[np.int32],
    counts: NDArray[np.int32],
    slot_of: NDArray[np.int32],
) -> int:
    """Count the characters of n-grams that occurred before, and skip over each.

    The counts of those that occurred become negative.
    """
    num_characters, following = 0, 0
    for i in range(len(places)):
        if places[i] >= following:
            if counts[slot_of[i]] < 0:
                num_characters += _length(lengths, places[i], order)
                following = places[i] + order
            else:
                counts[slot_of[i]] *= -1
    return num_characters


@kernel
def _measure(
    hashes: NDArray[np.uint64],
    lengths: NDArray[np.int32],
    orders: NDArray[np.int64],
    num_tops: int,
    spaces: int,
    sums: NDArray[np.uint64],
    slots: NDArray[np.uint64],
    counts: NDArray[np.int32],
    places: NDArray[np.int32],
    out: NDArray[np.int64],
) -> None:
    """Compute `ngram_characters` to `out`, zeros; the other arrays are of any content.

    Args:
      orders: those of top n-grams, `num_tops`, then those of repeated ones, increasing.
      sums: [words + 1].
      slots: [a power of two], at least twice the words; `counts` is as long.
      places: [2, words].
    """
    sums[0] = np.uint64(0)
    for place in range(len(hashes)):
        sums[place + 1] = sums[place] * _BASE + hashes[place]
        places[0, place] = place
    num_places, num_slots = len(hashes), len(slots)
    for index in range(len(orders)):
        order = orders[index]
        if order > len(hashes):
            break
        while num_places and places[0, num_places - 1] + order > len(hashes):
            num_places -= 1
        while num_slots >= 8 * num_places + 8:
            num_slots //= 2
        left, slot_of = places[0, :num_places], places[1, :num_places]
        most = _count_ngrams(sums, order, left, slots[:num_slots], counts, slot_of)
        if index < num_tops:
            first = 0
            while most > 1 and counts[slot_of[first]] < most:
                first += 1
            start = left[first] if most > 1 else 0
            out[index] = (_length(lengths, start, order) + (order - 1) * spaces) * most
        else:
            out[index] = _repeated_characters(lengths, order, left, counts, slot_of)
        num_places = 0
        for i in range(len(left)):
            if abs(counts[slot_of[i]]) > 1:
                left[num_places] = left[i]
                num_places += 1


class Repeats(NamedTuple):
    """Repeated parts of a text."""

    num_parts: int  # of the text
    num_repeated: int  # parts that equal an earlier one
    num_characters: int  # of these


def repeated_lines(words: Words, *, count_blank: bool) -> Repeats:
    r"""Measure repeated lines, the parts between runs of "\n"; those of spaces only if wanted."""
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
            counts = not is_blank_at(codes, classes, inside)
        if counts:
            num_parts += 1
            if not add_hash(slots, hash_codes(codes, start, place)):
                num_repeated += 1
                num_characters += place - start
        if place == end:
            break
        start = place = run_end
    return num_parts, num_repeated, num_characters
