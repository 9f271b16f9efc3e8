"""Kernels on fastText's models: the mean vector of a text, in fastText's order and precision.

"<the> <cat> "  ->  vectors of the, cat, <th, the, he>, ..., the cat, </s>  ->  their mean
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
"""What labels begin with."""

_LABEL_BYTES = np.frombuffer(LABEL.encode(), np.uint8)
END_BYTES = np.frombuffer(b"</s>", np.uint8)
_SPACE = 32
_FIRST_HASH, _PRIME = np.uint32(2166136261), np.uint32(16777619)
_WORD_PRIME = np.uint64(116049371)
_MAX_SIGMOID, _SIGMOID_STEPS = np.float32(8), np.float32(32)
_SMALL_DIM = 16  # of lid.176
_USUAL_BUCKETS = np.uint32(2_000_000)


class Settings(NamedTuple):
    """What the kernel must know of the arguments of the training.

    Attributes:
      end: number of the word "</s>", which ends a text; -1 if the model does not have it.
      num_words: number of words; the names that follow are labels.
      min_characters: of n-grams of characters.
      max_characters: of n-grams of characters; 0: there are none.
      word_ngrams: words of the longest n-grams of words; 1: there are none.
      num_buckets: number of hashes of n-grams.
      loss: one of the constants above.
    """

    end: int
    num_words: int
    min_characters: int
    max_characters: int
    word_ngrams: int
    num_buckets: int
    loss: int


class Arrays(NamedTuple):
    """A model in arrays.

    Attributes:
      settings: numbers.
      names: bytes of all words and then all labels, one after the other.
      ends: int32 [names + 1], 0 and the end of each name in `names`.
      counts: int64 [labels], how often each label occurred.
      slots: int32 [slots], a hash table of the names: the number of each, plus 1; 0 if free.
      rows: uint16 or uint32 [buckets], the row of an n-gram by its hash, 0 if it was pruned; empty
        if none was.
      vectors: float32 [rows, dim], of the words and then of n-grams.
      outputs: float32 [labels, dim], of the labels, or of the inner nodes of their tree.
    """

    settings: Settings
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
    """Return the hash of text[start:end]."""
    hashed = _FIRST_HASH
    for place in range(start, end):
        hashed = _hash_byte(hashed, text[place])
    return hashed


@inner
def _begins(text: NDArray[np.uint8], start: Scalar, end: Scalar, prefix: NDArray[np.uint8]) -> bool:
    """Whether text[start:end] begins with a prefix."""
    same = 0
    while same < len(prefix) and start + same < end and text[start + same] == prefix[same]:
        same += 1
    return same == len(prefix)


@inner
def _find_name(
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
        if len(name) == end - start and _begins(text, start, end, name):
            break
        slot = (slot + 1) & (len(slots) - 1)
    return slot, hashed


@kernel
def fill_slots(
    names: NDArray[np.uint8],
    ends: NDArray[np.int32],
    slots: NDArray[np.int32],
    sought: NDArray[np.uint8],
) -> int:
    """Insert all names into an empty hash table; return the number of one, or -1."""
    for name in range(len(ends) - 1):
        slots[_find_name(names, ends[name], ends[name + 1], names, ends, slots)[0]] = name + 1
    return slots[_find_name(sought, 0, len(sought), names, ends, slots)[0]] - 1


@inner
def _add_vector(vectors: NDArray[np.float32], row: Scalar, sums: NDArray[np.float32]) -> Scalar:
    """Add a vector; return 1."""
    if vectors.shape[1] == _SMALL_DIM:  # a constant takes half the time
        for i in range(_SMALL_DIM):
            sums[i] += vectors[row, i]
    else:
        for i in range(vectors.shape[1]):
            sums[i] += vectors[row, i]
    return 1


@inner
def _add_hashed(
    bucket: np.uint64,
    num_words: Scalar,
    rows: NDArray[Any],
    vectors: NDArray[np.float32],
    sums: NDArray[np.float32],
) -> Scalar:
    """Add the vector of an n-gram by its bucket unless it was pruned; return 1 or 0."""
    row = np.uint64(rows[bucket]) if len(rows) else np.uint64(num_words) + bucket
    return _add_vector(vectors, row, sums) if row else 0


@inner
def _add_ngrams(
    text: NDArray[np.uint8],
    start: Scalar,
    end: Scalar,
    shortest: Scalar,
    longest: Scalar,
    settings: Settings,
    rows: NDArray[Any],
    vectors: NDArray[np.float32],
    sums: NDArray[np.float32],
) -> Scalar:
    """Add the vectors of the n-grams of characters of text[start:end]; return their number."""
    num_buckets = np.uint32(settings.num_buckets)
    num_added = 0
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
                num_added += _add_hashed(bucket, settings.num_words, rows, vectors, sums)
    return num_added


@inner
def _add_word_ngrams(
    hashes: NDArray[np.int32],
    num_hashes: Scalar,
    settings: Settings,
    rows: NDArray[Any],
    vectors: NDArray[np.float32],
    sums: NDArray[np.float32],
) -> Scalar:
    """Add the vectors of the n-grams of words; return their number."""
    num_buckets = np.uint64(settings.num_buckets)
    num_added = 0
    for first in range(num_hashes):
        hashed = np.uint64(np.int64(hashes[first]))
        for last in range(first + 1, min(num_hashes, first + settings.word_ngrams)):
            hashed = hashed * _WORD_PRIME + np.uint64(np.int64(hashes[last]))
            bucket = np.uint64(hashed % num_buckets)
            num_added += _add_hashed(bucket, settings.num_words, rows, vectors, sums)
    return num_added


@inner
def add_text(
    text: NDArray[np.uint8],
    model: Arrays,
    hashes: NDArray[np.int32],
    sums: NDArray[np.float32],
) -> Scalar:
    """Compute the mean vector of a text; return how many vectors it is the mean of.

    Args:
      text: words in "<" and ">", with a space after each.
      model: the arrays.
      hashes: int32 [words + 1 or more] if the model has n-grams of words, else any.
      sums: [dim or more], zeros; receives the mean.
    """
    settings, vectors = model.settings, model.vectors
    num_vectors, num_hashes, start, has_ended = 0, 0, 0, False
    while start < len(text) and not has_ended:
        end = start
        while text[end] != _SPACE:
            end += 1
        slot, hashed = _find_name(text, start + 1, end - 1, model.names, model.ends, model.slots)
        word = model.slots[slot] - 1
        if word < settings.num_words and (
            word >= 0 or not _begins(text, start + 1, end - 1, _LABEL_BYTES)
        ):
            has_ended = end - start == 6 and _begins(text, start + 1, end - 1, END_BYTES)
            if not has_ended:
                if word >= 0:
                    num_vectors += _add_vector(vectors, word, sums)
                if settings.min_characters == 2 and settings.max_characters == 4:  # lid.176's
                    num_vectors += _add_ngrams(
                        text, start, end, 2, 4, settings, model.rows, vectors, sums
                    )
                elif settings.max_characters:
                    shortest, longest = settings.min_characters, settings.max_characters
                    num_vectors += _add_ngrams(
                        text, start, end, shortest, longest, settings, model.rows, vectors, sums
                    )
                if settings.word_ngrams > 1:
                    hashes[num_hashes] = np.int32(hashed)
                    num_hashes += 1
        start = end + 1
    if settings.end >= 0:
        num_vectors += _add_vector(vectors, settings.end, sums)
    if settings.word_ngrams > 1:
        hashes[num_hashes] = np.int32(_hash(END_BYTES, 0, len(END_BYTES)))
        num_vectors += _add_word_ngrams(hashes, num_hashes + 1, settings, model.rows, vectors, sums)
    if num_vectors:
        share = np.float32(1.0 / num_vectors)
        for i in range(vectors.shape[1]):
            sums[i] *= share
    return num_vectors


@inner
def multiply(outputs: NDArray[np.float32], row: Scalar, sums: NDArray[np.float32]) -> np.float32:
    """Return the product of a row and the vector of a text."""
    product = np.float32(0)
    for i in range(outputs.shape[1]):
        product += outputs[row, i] * sums[i]
    return product


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
