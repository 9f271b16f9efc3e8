"""Kernels on the dictionary of fastText's models: which vectors a text is made of, in its order.

"<the> <cat> "  ->  rows of the, <th, the, he>, cat, <ca, ..., </s>, the cat, cat </s>
"""

import itertools
import math
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from bert_data.kernels import Scalar, inner, kernel

HIERARCHICAL, NEGATIVE, SOFTMAX, ONE_VS_ALL = 1, 2, 3, 4
"""Losses."""

LABEL = "__label__"
"""The prefix of labels."""

_LABEL_BYTES = np.frombuffer(LABEL.encode(), np.uint8)
END_BYTES = np.frombuffer(b"</s>", np.uint8)
SPACE = 32
_FIRST_HASH, _PRIME = np.uint32(2166136261), np.uint32(16777619)
_WORD_PRIME = np.uint64(116049371)
_USUAL_BUCKETS = np.uint32(2_000_000)


class KernelSettings(NamedTuple):
    """Arguments of the training that the kernels need.

    Attributes:
      min_characters: of n-grams of characters.
      max_characters: of n-grams of characters; 0: there are none.
      word_ngrams: words of the longest n-grams of words; 1: there are none.
      end: number of the word "</s>", which ends a text; -1 if the model does not have it.
      num_words: number of words; the names that follow are labels.
    """

    min_characters: int
    max_characters: int
    word_ngrams: int
    num_buckets: int
    loss: int
    end: int = -1
    num_words: int = 0


class Arrays(NamedTuple):
    """A model in arrays.

    Attributes:
      names: bytes of all words and then all labels, one after the other.
      ends: int32 [names + 1], 0 and the end of each name in `names`.
      counts: int64 [labels], how often each label occurred.
      slots: int32 [slots], a hash table of the names: the number of each, plus 1; 0 if free.
      rows: uint16 or uint32 [buckets], the row of an n-gram by its hash, 0 if it was pruned; empty
        if none was.
      vectors: float32 [rows, dim], of the words and then of n-grams.
    """

    settings: KernelSettings
    names: NDArray[np.uint8]
    ends: NDArray[np.int32]
    counts: NDArray[np.int64]
    slots: NDArray[np.int32]
    rows: NDArray[Any]
    vectors: NDArray[np.float32]
    outputs: NDArray[np.float32]

    def labels(self) -> list[str]:
        """Return the labels, without what all labels begin with."""
        names = self.names.tobytes()
        ends = self.ends[self.settings.num_words :].tolist()
        return [
            names[start:end].decode(errors="replace").removeprefix(LABEL)
            for start, end in itertools.pairwise(ends)
        ]


@inner
def _hash_byte(hashed: np.uint32, byte: np.uint8) -> np.uint32:
    """Continue a hash (FNV-1a, but of signed bytes)."""
    return np.uint32((hashed ^ np.uint32(np.int8(byte))) * _PRIME)


@inner
def _hash(text: NDArray[np.uint8], start: Scalar, end: Scalar) -> np.uint32:
    hashed = _FIRST_HASH
    for place in range(start, end):
        hashed = _hash_byte(hashed, text[place])
    return hashed


@inner
def begins(text: NDArray[np.uint8], start: Scalar, end: Scalar, prefix: NDArray[np.uint8]) -> bool:
    """Whether text[start:end] begins with a prefix."""
    same = 0
    while same < len(prefix) and start + same < end and text[start + same] == prefix[same]:
        same += 1
    return same == len(prefix)


@inner
def find_name(
    text: NDArray[np.uint8],
    start: Scalar,
    end: Scalar,
    names: NDArray[np.uint8],
    ends: NDArray[np.int32],
    slots: NDArray[np.int32],
) -> tuple[Scalar, np.uint32]:
    """Return the slot of the name text[start:end], or the free slot where it belongs; its hash."""
    hashed = _hash(text, start, end)
    slot = np.int64(hashed) & (len(slots) - 1)
    while slots[slot] != 0:
        name = names[ends[slots[slot] - 1] : ends[slots[slot]]]
        if len(name) == end - start and begins(text, start, end, name):
            break
        slot = (slot + 1) & (len(slots) - 1)
    return slot, hashed


@kernel
def fill_name_slots(
    names: NDArray[np.uint8],
    ends: NDArray[np.int32],
    slots: NDArray[np.int32],
    sought: NDArray[np.uint8],
) -> int:
    """Insert all names into an empty hash table; return the number of one, or -1."""
    for name in range(len(ends) - 1):
        slots[find_name(names, ends[name], ends[name + 1], names, ends, slots)[0]] = name + 1
    return slots[find_name(sought, 0, len(sought), names, ends, slots)[0]] - 1


@inner
def _list_hashed(
    bucket: np.uint64,
    num_words: Scalar,
    rows: NDArray[Any],
    listed: NDArray[np.int32],
    num_listed: Scalar,
) -> Scalar:
    """List the row of an n-gram by its bucket unless it was pruned; return how many are listed."""
    row = np.uint64(rows[bucket]) if len(rows) else np.uint64(num_words) + bucket
    listed[num_listed] = np.int32(row)
    return num_listed + 1 if row else num_listed


@inner
def _list_ngrams(
    text: NDArray[np.uint8],
    start: Scalar,
    end: Scalar,
    shortest: Scalar,
    longest: Scalar,
    settings: KernelSettings,
    rows: NDArray[Any],
    listed: NDArray[np.int32],
    num_listed: Scalar,
) -> Scalar:
    """List the rows of the n-grams of characters of text[start:end]; return how many are listed."""
    num_buckets = np.uint32(settings.num_buckets)
    for first in range(start, end):
        if text[first] & 0xC0 == 0x80:  # within a character
            continue
        hashed, place = _FIRST_HASH, first
        for length in range(1, longest + 1):
            if place == end:
                break
            hashed = _hash_byte(hashed, text[place])
            place += 1
            while place < end and text[place] & 0xC0 == 0x80:
                hashed = _hash_byte(hashed, text[place])
                place += 1
            if length >= shortest and (length > 1 or (start < first and place < end)):
                if num_buckets == _USUAL_BUCKETS:  # a constant divides faster
                    bucket = np.uint64(hashed % _USUAL_BUCKETS)
                else:
                    bucket = np.uint64(hashed % num_buckets)
                num_listed = _list_hashed(bucket, settings.num_words, rows, listed, num_listed)
    return num_listed


@inner
def _list_word_ngrams(
    hashes: NDArray[np.int32],
    num_hashes: Scalar,
    settings: KernelSettings,
    rows: NDArray[Any],
    listed: NDArray[np.int32],
    num_listed: Scalar,
) -> Scalar:
    """List the rows of the n-grams of words; return how many are listed."""
    num_buckets = np.uint64(settings.num_buckets)
    for first in range(num_hashes):
        hashed = np.uint64(np.int64(hashes[first]))
        for last in range(first + 1, min(num_hashes, first + settings.word_ngrams)):
            hashed = hashed * _WORD_PRIME + np.uint64(np.int64(hashes[last]))
            bucket = np.uint64(hashed % num_buckets)
            num_listed = _list_hashed(bucket, settings.num_words, rows, listed, num_listed)
    return num_listed


@inner
def is_end(text: NDArray[np.uint8], start: Scalar, end: Scalar) -> bool:
    """Whether the word "<...>" at text[start:end] is "</s>", which ends a text."""
    return end - start == 6 and begins(text, start + 1, end - 1, END_BYTES)


@inner
def is_like_label(text: NDArray[np.uint8], start: Scalar, end: Scalar) -> bool:
    """Whether the word "<...>" at text[start:end] begins as labels do; then it is none."""
    return begins(text, start + 1, end - 1, _LABEL_BYTES)


@inner
def list_rows(
    text: NDArray[np.uint8], model: Arrays, hashes: NDArray[np.int32], listed: NDArray[np.int32]
) -> Scalar:
    """List the rows whose vectors make up a text; return how many there are.

    Args:
      text: words in "<" and ">", with a space after each.
      hashes: int32 [words + 1 or more] if the model has n-grams of words, else any.
      listed: receives the rows; `max_rows` says how many there may be.
    """
    settings, rows = model.settings, model.rows
    num_listed, num_hashes, start, has_ended = 0, 0, 0, False
    while start < len(text) and not has_ended:
        end = start
        while text[end] != SPACE:
            end += 1
        slot, hashed = find_name(text, start + 1, end - 1, model.names, model.ends, model.slots)
        word = model.slots[slot] - 1
        has_ended = is_end(text, start, end)
        if not has_ended and word < settings.num_words:
            if word >= 0:
                listed[num_listed] = word
                num_listed += 1
            if word >= 0 or not is_like_label(text, start, end):
                if settings.min_characters == 2 and settings.max_characters == 4:  # lid.176's
                    num_listed = _list_ngrams(
                        text, start, end, 2, 4, settings, rows, listed, num_listed
                    )
                elif settings.max_characters:
                    shortest, longest = settings.min_characters, settings.max_characters
                    num_listed = _list_ngrams(
                        text, start, end, shortest, longest, settings, rows, listed, num_listed
                    )
                if settings.word_ngrams > 1:
                    hashes[num_hashes] = np.int32(hashed)
                    num_hashes += 1
        start = end + 1
    if settings.end >= 0:
        listed[num_listed] = settings.end
        num_listed += 1
    if settings.word_ngrams > 1:
        hashes[num_hashes] = np.int32(_hash(END_BYTES, 0, len(END_BYTES)))
        num_listed = _list_word_ngrams(hashes, num_hashes + 1, settings, rows, listed, num_listed)
    return num_listed


def max_rows(settings: KernelSettings, num_bytes: int, num_words: int) -> int:
    """Return how many rows a text may have, and one more, which `list_rows` may write."""
    lengths = max(0, settings.max_characters - max(1, settings.min_characters) + 1)
    in_words = max(1, settings.word_ngrams)
    return lengths * num_bytes + in_words * (num_words + 1) + 1


_MAX_SIGMOID, _SIGMOID_STEPS = np.float32(8), np.float32(32)
_SMALL_DIM = 16  # of lid.176


@inner
def add_rows(
    vectors: NDArray[np.float32],
    rows: NDArray[np.int32],
    num_rows: Scalar,
    dim: Scalar,
    sums: NDArray[np.float32],
) -> None:
    """Add the vectors rows[:num_rows] to `sums`, one after the other.

    Four at a time, so that the processor waits for the memory of four of them at once. Unsigned
    indices, as a check of their sign would cost five times as much as the additions.
    """
    for at in range(0, num_rows - 3, 4):
        a, b, c, d = rows[at], rows[at + 1], rows[at + 2], rows[at + 3]
        a, b, c, d = np.uint64(a), np.uint64(b), np.uint64(c), np.uint64(d)
        for i in range(dim):
            sums[i] = (((sums[i] + vectors[a, i]) + vectors[b, i]) + vectors[c, i]) + vectors[d, i]
    for at in range(num_rows - num_rows % 4, num_rows):
        row = np.uint64(rows[at])
        for i in range(dim):
            sums[i] += vectors[row, i]


@inner
def mean_vector(
    vectors: NDArray[np.float32],
    rows: NDArray[np.int32],
    num_rows: Scalar,
    sums: NDArray[np.float32],
) -> None:
    """Compute the mean of the vectors rows[:num_rows], at least one, in `sums`, zeros before."""
    if vectors.shape[1] == _SMALL_DIM:  # a constant takes half the time
        add_rows(vectors, rows, num_rows, _SMALL_DIM, sums)
    else:
        add_rows(vectors, rows, num_rows, vectors.shape[1], sums)
    share = np.float32(1.0 / num_rows)
    for i in range(vectors.shape[1]):
        sums[i] *= share


@inner
def multiply(outputs: NDArray[np.float32], row: Scalar, sums: NDArray[np.float32]) -> np.float32:
    """Return the product of a row and the vector of a text."""
    product = np.float32(0)
    for i in range(outputs.shape[1]):
        product += outputs[row, i] * sums[i]
    return product


@inner
def multiply_all(
    outputs: NDArray[np.float32], sums: NDArray[np.float32], products: NDArray[np.float32]
) -> Scalar:
    """Write the products of all rows and the vector of a text; return the row of the largest."""
    best = 0
    for row in range(len(products)):
        products[row] = multiply(outputs, row, sums)
        if products[row] > products[best]:
            best = row
    return best


@inner
def softmax(products: NDArray[np.float32], best: Scalar) -> None:
    """Turn products, of which one is the largest, into shares of 1."""
    largest, total = products[best], np.float32(0)
    for row in range(len(products)):
        products[row] = np.float32(math.exp(products[row] - largest))
        total += products[row]
    for row in range(len(products)):
        products[row] /= total


@inner
def divide(product: np.float32) -> np.float32:
    """Return the share of the second child of a node."""
    return np.float32(1.0 / np.float64(np.float32(1) + math.exp(-product)))


@inner
def sigmoid(product: np.float32) -> np.float32:
    """Return the logistic function as fastText's table has it: in steps of 1/32 within [-8, 8]."""
    if product < -_MAX_SIGMOID:
        return np.float32(0)
    if product > _MAX_SIGMOID:
        return np.float32(1)
    step = np.int64(np.float32((product + _MAX_SIGMOID) * _SIGMOID_STEPS))
    place = np.float32(step / _SIGMOID_STEPS - _MAX_SIGMOID)
    return np.float32(1.0 / (1.0 + math.exp(-place)))


@inner
def logarithm(share: np.float32) -> np.float32:
    """Return the logarithm of a share, bounded for 0."""
    return np.float32(math.log(np.float64(share) + 1e-5))
