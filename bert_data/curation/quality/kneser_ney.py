"""Count n-grams in bounded memory, and estimate their probabilities by Kneser-Ney smoothing.

    counts of trigrams, packed into 64 bits: |  a |  b |  c |  21 bits each
    ─▶ trigrams a b c: p(c | a b)     bigrams b c: p(c | b)     words c: p(c)
       contexts a b: weight of p(. | b) where a b c was never seen

Kneser and Ney (1995), interpolated as in Chen and Goodman (1999), section 2.8, with one discount
per order, n1 / (n1 + 2 n2), as Ney, Essen and Kneser (1994) estimate it. Orders below the highest
count the different contexts of an n-gram. The words interpolate with all alike, so that no word has
probability 0, and the probabilities of all words after any context sum to one.
"""

import dataclasses

import numpy as np
from numpy.typing import NDArray

_BUFFERED = 1 << 20


class KeyCounter:
    """Counts keys; takes about 50 bytes for each of `max_keys` and for a million more."""

    def __init__(self, max_keys: int) -> None:
        self._max_keys = max_keys
        self._keys = np.empty(0, np.uint64)
        self._counts = np.empty(0, np.int64)
        self._waiting: list[NDArray[np.uint64]] = []
        self._num_waiting = 0
        self.num_forgotten = 0

    def add(self, keys: NDArray[np.uint64]) -> None:
        """Count keys, uint64 [any], once per occurrence."""
        self._waiting.append(keys)
        self._num_waiting += len(keys)
        if self._num_waiting >= _BUFFERED:
            self._merge()

    def _merge(self) -> None:
        keys, counts = np.unique(np.concatenate(self._waiting), return_counts=True)
        self._waiting, self._num_waiting = [], 0
        keys = np.concatenate([self._keys, keys])
        counts = np.concatenate([self._counts, counts])
        order = np.argsort(keys, kind="stable")
        keys, counts = keys[order], counts[order]
        starts = np.flatnonzero(np.append(True, keys[1:] != keys[:-1]))
        self._keys, self._counts = keys[starts], np.add.reduceat(counts, starts)
        while len(self._keys) > self._max_keys:
            stays = self._counts > self._counts.min()
            if not stays.any():  # all keys are equally rare
                stays[: self._max_keys] = True
            self.num_forgotten += len(stays) - int(stays.sum())
            self._keys, self._counts = self._keys[stays], self._counts[stays]

    def counts(self) -> tuple[NDArray[np.uint64], NDArray[np.int64]]:
        """Return the keys, increasing, and their counts without forgotten occurrences."""
        if self._waiting and self._num_waiting:
            self._merge()
        return self._keys, self._counts


UNKNOWN, BEGIN, END = 1, 2, 3
"""Ids of a word that is not in the vocabulary, and of the places before and after a text."""
FIRST_WORD = 4
"""Id of the first word; 0 is unused, so that n-grams of different orders are different numbers."""
_FALLBACK_DISCOUNT = 0.5
_KEY_BITS = 63


def id_bits(order: int) -> int:
    """Return the number of bits of an id in a packed n-gram."""
    return _KEY_BITS // order


def pack_ngrams(ids: NDArray[np.int32], order: int) -> NDArray[np.uint64]:
    """Return the n-grams of a text: uint64 [words + 1], of `BEGIN`s, the words and `END`.

    Args:
      ids: int32 [words], >= 1.
    """
    padded = np.concatenate([np.full(order - 1, BEGIN), ids, [END]]).astype(np.uint64)
    keys = np.zeros(len(ids) + 1, np.uint64)
    for place in range(order):
        keys = keys << np.uint64(id_bits(order)) | padded[place : place + len(keys)]
    return keys


@dataclasses.dataclass(frozen=True, kw_only=True)
class Estimates:
    """The contents of a model.

    Attributes:
      word_probabilities: float64 [ids], of single words; 0 for ids that are never predicted.
      ngrams: uint64 [any], packed n-grams and contexts of two or more words; each once.
      probabilities: float64 [any], of the last word after the others; 0 for a mere context.
      weights: float64 [any], of the lower order after this context; 1 if it is not a context.
      word_weights: float64 [ids], of the single words after this word.
    """

    word_probabilities: NDArray[np.float64]
    word_weights: NDArray[np.float64]
    ngrams: NDArray[np.uint64]
    probabilities: NDArray[np.float64]
    weights: NDArray[np.float64]


def estimate(
    ngrams: NDArray[np.uint64], counts: NDArray[np.int64], order: int, num_ids: int
) -> Estimates:
    """Estimate a model.

    Args:
      ngrams: uint64 [any], packed, increasing, of the highest order; at least one.
      counts: int64 [any], > 0.
      order: words per n-gram, >= 2.
      num_ids: ids are below it.
    """
    bits = np.uint64(id_bits(order))
    levels = _levels(ngrams, counts, order)
    words, word_counts = levels[0]
    predicted = np.ones(num_ids, bool)
    predicted[[0, BEGIN]] = False
    discount = _discount(word_counts)
    total = word_counts.sum()
    probability = np.where(predicted, discount * len(words) / total / predicted.sum(), 0.0)
    probability[words.astype(np.int64)] += (word_counts - discount) / total
    word_weights = np.ones(num_ids)
    keys, counts_of_keys = [], []
    contexts: list[tuple[NDArray[np.uint64], NDArray[np.float64]]] = []
    lower_keys, lower = np.arange(num_ids, dtype=np.uint64), probability
    for level, (grams, gram_counts) in enumerate(levels[1:], 1):
        discount = _discount(gram_counts)
        starts = np.flatnonzero(np.append(True, grams[1:] >> bits != grams[:-1] >> bits))
        num_followers = np.diff(np.append(starts, len(grams)))
        totals = np.add.reduceat(gram_counts, starts)
        weights = discount * num_followers / totals
        suffix = grams & np.uint64((1 << int(bits) * level) - 1)
        own = (gram_counts - discount) / np.repeat(totals, num_followers)
        own += np.repeat(weights, num_followers) * lower[np.searchsorted(lower_keys, suffix)]
        if level == 1:
            word_weights[(grams[starts] >> bits).astype(np.int64)] = weights
        else:
            contexts.append((grams[starts] >> bits, weights))
        keys.append(grams)
        counts_of_keys.append(own)
        lower_keys, lower = grams, own
    all_keys = np.unique(np.concatenate([*keys, *(each for each, _ in contexts)]))
    probabilities, all_weights = np.zeros(len(all_keys)), np.ones(len(all_keys))
    for grams, own in zip(keys, counts_of_keys, strict=True):
        probabilities[np.searchsorted(all_keys, grams)] = own
    for grams, weights in contexts:
        all_weights[np.searchsorted(all_keys, grams)] = weights
    return Estimates(
        word_probabilities=probability,
        word_weights=word_weights,
        ngrams=all_keys,
        probabilities=probabilities,
        weights=all_weights,
    )


def _levels(
    ngrams: NDArray[np.uint64], counts: NDArray[np.int64], order: int
) -> list[tuple[NDArray[np.uint64], NDArray[np.int64]]]:
    """Return n-grams and counts for each order from 1; below the highest, counts of contexts."""
    levels = [(ngrams, counts)]
    for words in range(order - 1, 0, -1):
        mask = np.uint64((1 << id_bits(order) * words) - 1)
        levels.append(np.unique(levels[-1][0] & mask, return_counts=True))
    return levels[::-1]


def _discount(counts: NDArray[np.int64]) -> float:
    once, twice = int((counts == 1).sum()), int((counts == 2).sum())
    return once / (once + 2 * twice) if once and twice else _FALLBACK_DISCOUNT
