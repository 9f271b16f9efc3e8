"""Measure how much of a text consists of n-grams of words that occur more than once.

    a b a b c    top 2-gram: "a b", twice             2-grams that are repeated: the second "a b"

Both measures take time linear in the words: an n-gram is a 64-bit number, computed from the one
before it and looked up in a hash table.
"""

import numpy as np
from numpy.typing import NDArray

from bert_data.curation.hash_tables import find_slot, make_slots
from bert_data.curation.quality.repeats import add_hash
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
    """Count the characters of the most frequent and of repeated n-grams; takes 48 bytes per word.

    Args:
      hashes: uint64 [words].
      lengths: int32 [words], in characters.
      top_orders: int64 [tops], words per n-gram, > 0.
      repeated_orders: int64 [repeats], words per n-gram, > 0 and increasing.
      spaces: characters between two words of an n-gram; they count for top n-grams only.

    Returns:
      For each top order, the characters of the most frequent n-gram (the first of several) times
      its number of occurrences; 0 if there are fewer words. For each repeated order, the characters
      of all n-grams that occurred before: from left to right, such an n-gram counts, and the search
      continues after it.
    """
    slots = make_slots(len(hashes))
    counts = np.empty(len(slots), np.int32)
    out = np.zeros(len(top_orders) + len(repeated_orders), np.int64)
    orders = np.concatenate([top_orders, repeated_orders])
    _measure(hashes, lengths, orders, len(top_orders), spaces, slots, counts, out)
    characters = out.tolist()
    return characters[: len(top_orders)], characters[len(top_orders) :]


@inner
def _key(rolled: np.uint64) -> np.uint64:
    """Return the key of an n-gram in hash tables; never 0."""
    return np.uint64(1) if rolled == 0 else rolled


@inner
def _roll(hashes: NDArray[np.uint64], start: Scalar, order: Scalar) -> np.uint64:
    """Return the polynomial of hashes[start : start + order]."""
    rolled = np.uint64(0)
    for place in range(start, start + order):
        rolled = rolled * _BASE + hashes[place]
    return rolled


@inner
def _power(order: Scalar) -> np.uint64:
    """Return the factor of the first hash in a polynomial."""
    power = np.uint64(1)
    for _ in range(order - 1):
        power *= _BASE
    return power


@inner
def _top_characters(
    hashes: NDArray[np.uint64],
    lengths: NDArray[np.int32],
    order: Scalar,
    spaces: Scalar,
    slots: NDArray[np.uint64],
    counts: NDArray[np.int32],
) -> int:
    """Count the characters of all occurrences of the top n-gram; a second pass finds the first."""
    num_ngrams = len(hashes) - order + 1
    if num_ngrams < 1:
        return 0
    slots[:] = 0
    power = _power(order)
    most = 0
    rolled = _roll(hashes, 0, order)
    for start in range(num_ngrams):
        if start:
            before = hashes[start - 1]
            rolled = (rolled - before * power) * _BASE + hashes[start + order - 1]
        hashed = _key(rolled)
        slot = find_slot(slots, hashed)
        if slots[slot] == 0:
            slots[slot] = hashed
            counts[slot] = 0
        counts[slot] += 1
        most = max(most, counts[slot])
    start = 0
    rolled = _roll(hashes, 0, order)
    while counts[find_slot(slots, _key(rolled))] < most:
        start += 1
        rolled = (rolled - hashes[start - 1] * power) * _BASE + hashes[start + order - 1]
    length = (order - 1) * spaces
    for place in range(start, start + order):
        length += lengths[place]
    return length * most


@inner
def _repeated_characters(
    hashes: NDArray[np.uint64],
    lengths: NDArray[np.int32],
    order: Scalar,
    slots: NDArray[np.uint64],
) -> int:
    """Count the characters of n-grams that occurred before, and skip over each."""
    num_ngrams = len(hashes) - order + 1
    if num_ngrams < 2:
        return 0
    slots[:] = 0
    power = _power(order)
    num_characters, start = 0, 0
    rolled = _roll(hashes, 0, order)
    while True:
        if add_hash(slots, _key(rolled)):
            start += 1
            if start >= num_ngrams:
                break
            before = hashes[start - 1]
            rolled = (rolled - before * power) * _BASE + hashes[start + order - 1]
        else:
            for place in range(start, start + order):
                num_characters += lengths[place]
            start += order
            if start >= num_ngrams:
                break
            rolled = _roll(hashes, start, order)
    return num_characters


@kernel
def _measure(
    hashes: NDArray[np.uint64],
    lengths: NDArray[np.int32],
    orders: NDArray[np.int64],
    num_tops: int,
    spaces: int,
    slots: NDArray[np.uint64],
    counts: NDArray[np.int32],
    out: NDArray[np.int64],
) -> None:
    """Compute `ngram_characters`.

    Args:
      hashes: [words].
      lengths: [words].
      orders: those of top n-grams, then those of repeated ones, increasing.
      num_tops: number of the former.
      spaces: between two words.
      slots: [a power of two], more than there are words.
      counts: [slots].
      out: [orders], zeros.
    """
    for index in range(len(orders)):
        if index < num_tops:
            out[index] = _top_characters(hashes, lengths, orders[index], spaces, slots, counts)
        else:
            out[index] = _repeated_characters(hashes, lengths, orders[index], slots)
            if out[index] == 0:  # then no longer n-gram is repeated either
                break
