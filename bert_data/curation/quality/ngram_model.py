"""An n-gram language model: trained on texts, kept in a folder, queried for perplexities.

    train_model(folder, reference texts, ModelConfig(order=3))
    open_model(folder).perplexity(split_words("The cat sat."))   ->  87.3

The perplexity of a text is exp(-mean log p) over its words and its end.
"""

import dataclasses
import json
import math
import os
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import NamedTuple

import numpy as np
from absl import logging
from numpy.typing import NDArray

from bert_data.curation.hash_tables import NONE, fill_slots, find_slot, look_up, make_slots
from bert_data.curation.quality.kneser_ney import (
    BEGIN,
    END,
    FIRST_WORD,
    UNKNOWN,
    KeyCounter,
    estimate,
    id_bits,
    pack_ngrams,
)
from bert_data.curation.words import Words
from bert_data.kernels import kernel
from bert_data.storage import load_array, read_json, save_array, write_bytes

_MIN_COUNT = 2  # words that were seen once train what follows unknown words


@dataclasses.dataclass(frozen=True, kw_only=True)
class ModelConfig:
    """Configuration of `train_model`.

    Attributes:
      order: words of the longest n-grams, 2 to 5.
      max_words: size of the vocabulary: the most frequent words that occur at least twice.
      max_ngrams: number of n-grams of the highest order to count; the rarest are forgotten.
    """

    order: int = 3
    max_words: int = 200_000
    max_ngrams: int = 2_000_000

    def __post_init__(self) -> None:
        for field, least, most in (
            ("order", 2, 5),
            ("max_ngrams", 1000, 2**30),
            ("max_words", 1, (1 << id_bits(min(max(int(self.order), 2), 5))) - FIRST_WORD),
        ):
            value = getattr(self, field)
            if not isinstance(value, int) or not least <= value <= most:
                raise ValueError(
                    f"{field} is {value!r}; a whole number in [{least}, {most}] is allowed"
                    + (f" with order {self.order}" if field == "max_words" else "")
                )


class Table(NamedTuple):
    """N-grams with their probabilities and weights.

    Attributes:
      slots: uint64[a power of two], packed n-grams, see `hash_tables`.
      probabilities, weights: float32[slots], see `kneser_ney.Estimates`.
      word_probabilities, word_weights: float32[ids].
    """

    slots: NDArray[np.uint64]
    probabilities: NDArray[np.float32]
    weights: NDArray[np.float32]
    word_probabilities: NDArray[np.float32]
    word_weights: NDArray[np.float32]


@dataclasses.dataclass(frozen=True, slots=True)
class NgramModel:
    """A trained model.

    Attributes:
      order: words of the longest n-grams.
      word_slots: uint64 [a power of two], hashes of words.
      word_ids: int32 [slots], their ids.
      table: the n-grams.
    """

    order: int
    word_slots: NDArray[np.uint64]
    word_ids: NDArray[np.int32]
    table: Table

    def ids(self, words: Words) -> NDArray[np.int32]:
        """Return the ids of words."""
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
    folder: Path, read: Callable[[], Iterable[Words]], config: ModelConfig
) -> tuple[int, int]:
    """Train a model and leave it in a folder.

    Takes about 60 bytes of memory for each of `max_ngrams` and 100 bytes for each of `max_words`.

    Args:
      folder: exists.
      read: returns the words of all texts; called twice.

    Returns:
      The size of the vocabulary, and the number of n-grams of all orders.

    Raises:
      ValueError: the texts have no words.
    """
    counter = KeyCounter(4 * config.max_words)
    for words in read():
        counter.add(words.hashes)
    hashes, counts = counter.counts()
    if not len(hashes):
        raise ValueError("the texts contain no words to train on")
    order = np.lexsort((hashes, -counts))[: config.max_words]
    hashes = hashes[order[counts[order] >= _MIN_COUNT]]
    slots = make_slots(len(hashes))
    ids = np.full(len(slots), NONE, np.int32)
    fill_slots(hashes, np.arange(FIRST_WORD, FIRST_WORD + len(hashes), dtype=np.int32), slots, ids)
    counter = KeyCounter(config.max_ngrams)
    for words in read():
        counter.add(pack_ngrams(find_ids(words.hashes, slots, ids), config.order))
    if counter.num_forgotten:
        logging.info(
            "%d rare n-grams are forgotten; a larger max_ngrams keeps them", counter.num_forgotten
        )
    estimates = estimate(*counter.counts(), config.order, FIRST_WORD + len(hashes))
    table_slots = make_slots(len(estimates.ngrams))
    table = Table(
        slots=table_slots,
        probabilities=np.zeros(len(table_slots), np.float32),
        weights=np.ones(len(table_slots), np.float32),
        word_probabilities=estimates.word_probabilities.astype(np.float32),
        word_weights=estimates.word_weights.astype(np.float32),
    )
    fill_table(estimates.ngrams, estimates.probabilities, estimates.weights, table)
    for name, values in {**table._asdict(), "word_slots": slots, "word_ids": ids}.items():
        save_array(folder / f"{name}.npy", values)
    write_bytes(folder / "model.json", json.dumps({"order": config.order}).encode())
    return len(hashes), len(estimates.ngrams)


def open_model(folder: str) -> NgramModel:
    """Map the model that was left in a folder."""

    def load(name: str) -> np.ndarray:
        return load_array(os.path.join(folder, f"{name}.npy"))

    return NgramModel(
        order=read_json(os.path.join(folder, "model.json"))["order"],
        word_slots=load("word_slots"),
        word_ids=load("word_ids"),
        table=Table(*map(load, Table._fields)),
    )


@kernel
def fill_table(
    ngrams: NDArray[np.uint64],
    probabilities: NDArray[np.float64],
    weights: NDArray[np.float64],
    table: Table,
) -> None:
    """Insert n-grams, each once, into a table of zeroed slots that outnumber them."""
    for i in range(len(ngrams)):
        slot = find_slot(table.slots, ngrams[i])
        table.slots[slot] = ngrams[i]
        table.probabilities[slot] = probabilities[i]
        table.weights[slot] = weights[i]


@kernel
def predict(
    ids: NDArray[np.int32], order: int, bits: int, table: Table, out: NDArray[np.float64]
) -> None:
    """Write the probability of each id after those before it.

    The longest n-gram that was seen counts, weighted by the longer contexts that were seen.

    Args:
      ids: int32[any], those of the table.
      bits: of an id in a packed n-gram.
      out: float64[ids - order + 1].
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
