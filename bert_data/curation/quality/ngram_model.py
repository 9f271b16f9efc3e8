"""An n-gram language model: trained on texts, kept in a folder, queried for perplexities.

    train_model(folder, reference texts, ModelConfig(order=3))
    open_ngram_model(folder).perplexity(split_words("The cat sat."))   ->  87.3

The perplexity of a text is exp(-mean log p) over its words and its end.
"""

import dataclasses
import math
import os
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import NamedTuple

import numpy as np
from absl import logging
from numpy.typing import NDArray

from bert_data.curation.hash_tables import NONE, fill_slots, find_slot, look_up, make_slots
from bert_data.curation.words import Words
from bert_data.kernels import kernel
from bert_data.storage import load_array, read_json, save_array, write_json
from bert_data.work.sorting import distinct

BUFFERED = 1 << 20


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
        """Count keys, once per occurrence."""
        self._waiting.append(keys)
        self._num_waiting += len(keys)
        if self._num_waiting >= BUFFERED:
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


def id_bits(order: int) -> int:
    """Return the number of bits of an id in a packed n-gram."""
    return 63 // order


def pack_ngrams(ids: NDArray[np.int32], order: int) -> NDArray[np.uint64]:
    """Return the n-grams of a text: uint64 [words + 1], of `BEGIN`s, the words and `END`."""
    padded = np.concatenate([np.full(order - 1, BEGIN), ids, [END]]).astype(np.uint64)
    keys = np.zeros(len(ids) + 1, np.uint64)
    for place in range(order):
        keys = keys << np.uint64(id_bits(order)) | padded[place : place + len(keys)]
    return keys


class Estimates(NamedTuple):
    """The contents of a model."""

    ngrams: NDArray[np.uint64]  # packed n-grams and contexts of two or more words; each once
    probabilities: NDArray[np.float64]  # of the last word after the others; 0 for a mere context
    weights: NDArray[np.float64]  # of the lower order after this context; 1 if it is none
    word_probabilities: NDArray[np.float64]  # [ids], single words; 0 for what is never predicted
    word_weights: NDArray[np.float64]  # [ids], of the single words after this word


def estimate(
    ngrams: NDArray[np.uint64], counts: NDArray[np.int64], order: int, num_ids: int
) -> Estimates:
    """Estimate a model from packed n-grams of the highest order, >= 2: increasing, at least one."""
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
    all_keys = distinct(np.concatenate([*keys, *(each for each, _ in contexts)]))
    probabilities, all_weights = np.zeros(len(all_keys)), np.ones(len(all_keys))
    for grams, own in zip(keys, counts_of_keys, strict=True):
        probabilities[np.searchsorted(all_keys, grams)] = own
    for grams, weights in contexts:
        all_weights[np.searchsorted(all_keys, grams)] = weights
    return Estimates(all_keys, probabilities, all_weights, probability, word_weights)


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


_MIN_COUNT = 2  # words that were seen once train what follows unknown words


def most_ngram_words(order: int) -> int:
    """Return how many words an n-gram of 63 bits can tell apart."""
    return (1 << id_bits(order)) - FIRST_WORD


class NgramTable(NamedTuple):
    """N-grams with their probabilities and weights, see `Estimates`."""

    slots: NDArray[np.uint64]  # packed n-grams, see `hash_tables`
    probabilities: NDArray[np.float32]  # [slots]
    weights: NDArray[np.float32]  # [slots]
    word_probabilities: NDArray[np.float32]
    word_weights: NDArray[np.float32]


@dataclasses.dataclass(frozen=True, slots=True)
class NgramModel:
    """A trained model."""

    order: int
    word_slots: NDArray[np.uint64]  # hashes of words
    word_ids: NDArray[np.int32]  # [slots], their ids
    table: NgramTable

    def ids(self, words: Words) -> NDArray[np.int32]:
        """Return the ids of words: `UNKNOWN` for those without an id."""
        return find_ids(words.hashes, self.word_slots, self.word_ids)

    def probabilities(self, padded: NDArray[np.int32]) -> NDArray[np.float64]:
        """Return float64 [ids - order + 1], each id's probability after those before it."""
        out = np.empty(max(len(padded) - self.order + 1, 0))
        predict(padded, self.order, id_bits(self.order), self.table, out)
        return out

    def perplexity(self, words: Words) -> float:
        """Return the perplexity of a text; >= 1."""
        begin = np.full(self.order - 1, BEGIN, np.int32)
        padded = np.concatenate([begin, self.ids(words), np.array([END], np.int32)])
        return math.exp(-float(np.log(self.probabilities(padded)).mean()))


def find_ids(
    hashes: NDArray[np.uint64], slots: NDArray[np.uint64], ids: NDArray[np.int32]
) -> NDArray[np.int32]:
    """Return the ids of words by their hashes; `UNKNOWN` for words without an id."""
    ids_of_hashes = np.empty(len(hashes), np.int32)
    look_up(hashes, slots, ids, ids_of_hashes)
    ids_of_hashes[ids_of_hashes == NONE] = UNKNOWN
    return ids_of_hashes


def train_model(
    folder: Path, read: Callable[[], Iterable[Words]], order: int, max_words: int, max_ngrams: int
) -> tuple[int, int]:
    """Train a model and leave it in a folder that exists.

    Takes about 60 bytes of memory for each of `max_ngrams` and 100 bytes for each of `max_words`.

    Args:
      read: returns the words of all texts; called twice.
      order: words of the longest n-grams.
      max_words: size of the vocabulary: the most frequent words that occur at least twice.
      max_ngrams: number of n-grams of the highest order to count; the rarest are forgotten.

    Returns:
      The size of the vocabulary, and the number of n-grams of all orders.
    """
    counter = KeyCounter(4 * max_words)
    for words in read():
        counter.add(words.hashes)
    hashes, counts = counter.counts()
    if not len(hashes):
        raise ValueError("the texts contain no words to train on")
    commonest = np.lexsort((hashes, -counts))[:max_words]
    hashes = hashes[commonest[counts[commonest] >= _MIN_COUNT]]
    slots = make_slots(len(hashes))
    ids = np.full(len(slots), NONE, np.int32)
    fill_slots(hashes, np.arange(FIRST_WORD, FIRST_WORD + len(hashes), dtype=np.int32), slots, ids)
    counter = KeyCounter(max_ngrams)
    for words in read():
        counter.add(pack_ngrams(find_ids(words.hashes, slots, ids), order))
    if counter.num_forgotten:
        logging.info(
            "%d rare n-grams were dropped; a larger max_ngrams keeps them", counter.num_forgotten
        )
    estimates = estimate(*counter.counts(), order, FIRST_WORD + len(hashes))
    num_ngrams = len(estimates.ngrams)
    table_slots = make_slots(num_ngrams)
    places = np.full(len(table_slots), num_ngrams, np.int32)  # of free slots: after the last
    fill_slots(estimates.ngrams, np.arange(num_ngrams, dtype=np.int32), table_slots, places)
    table = NgramTable(
        table_slots,
        np.append(estimates.probabilities, 0).astype(np.float32)[places],
        np.append(estimates.weights, 1).astype(np.float32)[places],
        estimates.word_probabilities.astype(np.float32),
        estimates.word_weights.astype(np.float32),
    )
    for name, values in {**table._asdict(), "word_slots": slots, "word_ids": ids}.items():
        save_array(folder / f"{name}.npy", values)
    write_json(folder / "model.json", {"order": order})
    return len(hashes), num_ngrams


def open_ngram_model(folder: str) -> NgramModel:
    """Map the model that was left in a folder."""

    def load(name: str) -> np.ndarray:
        return load_array(os.path.join(folder, f"{name}.npy"))

    return NgramModel(
        order=read_json(os.path.join(folder, "model.json"), dict[str, int])["order"],
        word_slots=load("word_slots"),
        word_ids=load("word_ids"),
        table=NgramTable(*map(load, NgramTable._fields)),
    )


@kernel
def predict(
    ids: NDArray[np.int32], order: int, bits: int, table: NgramTable, out: NDArray[np.float64]
) -> None:
    """Write the probability of each id after those before it, [ids - order + 1].

    The longest n-gram that was seen counts, weighted by the longer contexts that were seen.
    """
    for i in range(len(out)):
        last = i + order - 1
        key = np.uint64(0)
        for k in range(i, last + 1):
            key = (key << np.uint64(bits)) | np.uint64(ids[k])
        weight, probability = 1.0, 0.0
        words = order
        while words > 1 and probability == 0.0:
            slot = find_slot(table.slots, key)
            if table.slots[slot] != 0:
                probability = table.probabilities[slot]
            if probability == 0.0:
                words -= 1
                if words == 1:
                    weight *= table.word_weights[ids[last - 1]]
                else:
                    slot = find_slot(table.slots, key >> np.uint64(bits))
                    if table.slots[slot] != 0:
                        weight *= table.weights[slot]
                key &= (np.uint64(1) << np.uint64(bits * words)) - np.uint64(1)
        if probability == 0.0:
            probability = table.word_probabilities[ids[last]]
        out[i] = weight * probability
