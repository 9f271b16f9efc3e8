"""The model that identifies languages: fastText's lid.176.ftz, applied by a kernel.

    read_model("lid.176.ftz").predict("The cat sat.")   ->  ("en", 0.7213...)

It classifies bags of n-grams (Joulin et al. 2016, "Bag of tricks for efficient text classification"
and "FastText.zip"). A text is the mean of the vectors of its known words and of all n-grams of 2 to
4 characters within "<word>", except those that were pruned. In the Huffman tree of the languages'
frequencies, each inner node then divides the probability between its children. Everything happens
in fastText's order and precision, so the results are fastText's.
"""

import hashlib
import io
import math
import os
import struct
from collections.abc import Sequence
from typing import IO, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from bert_data.errors import CorruptDataError
from bert_data.kernels import Constants, Scalar, inner, kernel
from bert_data.storage import read_bytes

_SHA256 = "8f3472cfe8738a7b6099e8e999c3cbfae0dcd15696aac7d7738a8039db603e83"
# What its training was set to, and its file therefore begins with.
_HEADER_BYTES, _DIM, _NUM_BUCKETS = 64, 16, 2_000_000
_MIN_CHARACTERS, _MAX_CHARACTERS = 2, 4
_LABEL, _LABEL_BYTES = "__label__", np.frombuffer(b"__label__", np.uint8)
_END = 0  # number of the word that ends a text
_SPACE = 32
_FIRST_HASH, _PRIME = np.uint32(2166136261), np.uint32(16777619)


class _Arrays(NamedTuple):
    """The arrays of the model: 8 MB.

    Attributes:
      words: bytes of all words, one after the other.
      ends: int32 [words + 1], 0 and the end of each word in `words`.
      slots: int32 [slots], a hash table of the words: the number of each, plus 1; 0 if free.
      rows: uint16 [buckets], the row of an n-gram by its hash; 0 if it was pruned.
      vectors: float32 [rows, 16], of the words and then of n-grams.
      nodes: float32 [languages, 16], of the inner nodes of the tree.
      children: int32 [2 * languages - 1, 2], of all nodes; the languages come first, with -1.
    """

    words: NDArray[np.uint8]
    ends: NDArray[np.int32]
    slots: NDArray[np.int32]
    rows: NDArray[np.uint16]
    vectors: NDArray[np.float32]
    nodes: NDArray[np.float32]
    children: NDArray[np.int32]


class LanguageModel:
    """The model.

    Attributes:
      languages: codes of the languages that it knows.
    """

    def __init__(self, languages: Sequence[str], arrays: _Arrays) -> None:
        self.languages = tuple(languages)
        self._arrays = Constants(arrays)

    def predict(self, text: str) -> tuple[str, float]:
        """Return the likeliest language of a text that UTF-8 can encode, and its probability."""
        line = "> <".join(text.replace("\0", " ").split())
        data = np.frombuffer(f"<{line}> ".encode(), np.uint8)
        scratch = np.zeros((3, 2 * len(self.languages)), np.float32)
        label, probability = _predict(data, self._arrays, scratch)
        return self.languages[label], probability


def read_model(path: str) -> LanguageModel:
    """Read the model.

    Raises:
      OSError: its file cannot be read.
      CorruptDataError: it is damaged, or another file.
    """
    data = read_bytes(path)
    if hashlib.sha256(data).hexdigest() != _SHA256:
        raise CorruptDataError(path, 0, "not the model lid.176.ftz")
    file = io.BytesIO(data)
    file.seek(_HEADER_BYTES)
    num_names, num_words, num_languages = _read(file, "<i4", 3).tolist()
    _, num_ngrams = _read(file, "<i8", 2).tolist()
    names: list[bytes] = []
    counts: list[int] = []
    for _ in range(num_names):  # the words, then the labels of the languages
        names.append(file.read(data.index(b"\0", file.tell()) - file.tell()))
        counts += struct.unpack("<xqx", file.read(10))
    buckets, ngrams = _read(file, "<i4", num_ngrams, 2).T
    rows = np.zeros(_NUM_BUCKETS, np.uint16)
    rows[buckets] = num_words + ngrams
    vectors = _read_vectors(file)
    file.seek(-4 * num_languages * _DIM, os.SEEK_END)
    nodes = _read(file, "<f4", num_languages, _DIM)
    words = np.frombuffer(b"".join(names[:num_words]), np.uint8)
    ends = np.cumsum([0, *map(len, names[:num_words])], dtype=np.int32)
    slots = np.zeros(1 << (2 * num_words).bit_length(), np.int32)
    _fill_slots(words, ends, slots)
    languages = [name.decode().removeprefix(_LABEL) for name in names[num_words:]]
    children = _huffman_tree(counts[num_words:])
    return LanguageModel(languages, _Arrays(words, ends, slots, rows, vectors, nodes, children))


def _read(file: IO[bytes], dtype: str, *shape: int) -> NDArray[Any]:
    num_bytes = math.prod(shape) * np.dtype(dtype).itemsize
    return np.frombuffer(file.read(num_bytes), dtype).reshape(shape)


def _read_vectors(file: IO[bytes]) -> NDArray[np.float32]:
    """Read product-quantized vectors: each is a norm times two numbers for each of eight codes."""
    file.seek(2, os.SEEK_CUR)  # flags: that they are quantized, and their norms, too
    num_rows, _ = _read(file, "<i8", 2).tolist()
    file.seek(4, os.SEEK_CUR)
    codes = _read(file, "u1", num_rows, 8)
    file.seek(16, os.SEEK_CUR)  # the shape of what follows
    pairs = _read(file, "<f4", 8, 256, 2)
    norm_codes = _read(file, "u1", num_rows)
    file.seek(16, os.SEEK_CUR)
    norms = _read(file, "<f4", 256, 1)
    return pairs[np.arange(8), codes].reshape(num_rows, _DIM) * norms[norm_codes]


def _huffman_tree(counts: Sequence[int]) -> NDArray[np.int32]:
    """Return the children of all nodes of fastText's Huffman tree.

    Args:
      counts: of the leaves, decreasing.
    """
    children = np.full((2 * len(counts) - 1, 2), -1, np.int32)
    sums = [*counts]
    leaf = len(counts) - 1
    node = len(counts)
    for parent in range(len(counts), len(children)):
        for side in range(2):
            if leaf >= 0 and (node == parent or sums[leaf] < sums[node]):
                children[parent, side], leaf = leaf, leaf - 1
            else:
                children[parent, side], node = node, node + 1
        sums.append(sum(sums[child] for child in children[parent]))
    return children


@inner
def _hash_byte(hashed: np.uint32, byte: np.uint8) -> np.uint32:
    """Continue a hash (FNV-1a, but of signed bytes)."""
    return np.uint32((hashed ^ np.uint32(np.int8(byte))) * _PRIME)


@inner
def _begins(text: NDArray[np.uint8], start: Scalar, end: Scalar, prefix: NDArray[np.uint8]) -> bool:
    """Whether text[start:end] begins with a prefix."""
    same = 0
    while same < len(prefix) and start + same < end and text[start + same] == prefix[same]:
        same += 1
    return same == len(prefix)


@inner
def _find_word(
    text: NDArray[np.uint8],
    start: Scalar,
    end: Scalar,
    words: NDArray[np.uint8],
    ends: NDArray[np.int32],
    slots: NDArray[np.int32],
) -> Scalar:
    """Return the slot of the word text[start:end], or the free slot where it belongs."""
    hashed = _FIRST_HASH
    for place in range(start, end):
        hashed = _hash_byte(hashed, text[place])
    slot = np.int64(hashed) & (len(slots) - 1)
    while slots[slot] != 0:
        word = words[ends[slots[slot] - 1] : ends[slots[slot]]]
        if len(word) == end - start and _begins(text, start, end, word):
            break
        slot = (slot + 1) & (len(slots) - 1)
    return slot


@kernel
def _fill_slots(
    words: NDArray[np.uint8], ends: NDArray[np.int32], slots: NDArray[np.int32]
) -> None:
    """Insert all words into an empty hash table."""
    for word in range(len(ends) - 1):
        slots[_find_word(words, ends[word], ends[word + 1], words, ends, slots)] = word + 1


@inner
def _add_vector(vectors: NDArray[np.float32], row: Scalar, sums: NDArray[np.float32]) -> Scalar:
    """Add a vector; return 1."""
    for i in range(_DIM):
        sums[i] += vectors[row, i]
    return 1


@inner
def _add_ngrams(
    text: NDArray[np.uint8],
    start: Scalar,
    end: Scalar,
    rows: NDArray[np.uint16],
    vectors: NDArray[np.float32],
    sums: NDArray[np.float32],
) -> Scalar:
    """Add the vectors of the n-grams of text[start:end]; return their number."""
    num_added = 0
    for first in range(start, end):
        if text[first] & 0xC0 == 0x80:  # within a character
            continue
        hashed, place = _FIRST_HASH, first
        for length in range(1, _MAX_CHARACTERS + 1):
            if place == end:
                break
            hashed = _hash_byte(hashed, text[place])
            place += 1
            while place < end and text[place] & 0xC0 == 0x80:
                hashed = _hash_byte(hashed, text[place])
                place += 1
            if length >= _MIN_CHARACTERS:
                row = rows[hashed % np.uint32(_NUM_BUCKETS)]
                if row:
                    num_added += _add_vector(vectors, row, sums)
    return num_added


@kernel
def _predict(
    text: NDArray[np.uint8], model: tuple[NDArray[Any], ...], scratch: NDArray[np.float32]
) -> tuple[int, float]:
    """Return the likeliest language and its probability.

    Args:
      text: words in "<" and ">", with a space after each.
      model: the arrays of `_Arrays`.
      scratch: [3, nodes + 1 or more], zeros.
    """
    words, ends, slots, rows, vectors, nodes, children = model
    sums = scratch[0]
    num_vectors, start, has_ended = 0, 0, False
    while start < len(text) and not has_ended:
        end = start
        while text[end] != _SPACE:
            end += 1
        word = slots[_find_word(text, start + 1, end - 1, words, ends, slots)] - 1
        has_ended = word == _END
        if word > _END:
            num_vectors += _add_vector(vectors, word, sums)
        if not has_ended and not _begins(text, start + 1, end - 1, _LABEL_BYTES):
            num_vectors += _add_ngrams(text, start, end, rows, vectors, sums)
        start = end + 1
    num_vectors += _add_vector(vectors, _END, sums)
    share = np.float32(1.0 / num_vectors)
    for i in range(_DIM):
        sums[i] *= share
    return _likeliest_leaf(sums, nodes, children, scratch[1], scratch[2])


@inner
def _likeliest_leaf(
    sums: NDArray[np.float32],
    nodes: NDArray[np.float32],
    children: NDArray[np.int32],
    waiting: NDArray[np.float32],
    scores: NDArray[np.float32],
) -> tuple[Scalar, float]:
    """Return the likeliest leaf of the tree, and its probability, by its logarithm."""
    best, best_score = np.int64(0), _logarithm(np.float32(0))
    waiting[0], scores[0] = len(children) - 1, 0
    num_waiting = 1
    while num_waiting:
        num_waiting -= 1
        node, score = np.int64(waiting[num_waiting]), scores[num_waiting]
        if score < best_score:
            continue
        if children[node, 0] < 0:
            best, best_score = node, score
            continue
        product = np.float32(0)
        for i in range(_DIM):
            product += nodes[node - len(nodes), i] * sums[i]
        share = np.float32(1.0 / np.float64(np.float32(1) + math.exp(-product)))
        for side, part in ((1, share), (0, np.float32(1.0 - share))):  # the last one is next
            waiting[num_waiting] = children[node, side]
            scores[num_waiting] = score + _logarithm(part)
            num_waiting += 1
    return best, math.exp(best_score)


@inner
def _logarithm(share: np.float32) -> np.float32:
    """Return the logarithm of a share, bounded for 0."""
    return np.float32(math.log(np.float64(share) + 1e-5))
