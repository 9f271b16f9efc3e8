"""Kneser-Ney probabilities, against their definition over dictionaries."""

import itertools
import math
from collections import Counter

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from bert_data.curation.quality import ngram_model
from bert_data.curation.quality.ngram_model import (
    BEGIN,
    END,
    FIRST_WORD,
    UNKNOWN,
    KeyCounter,
    open_ngram_model,
    train_model,
)
from bert_data.curation.words import split_words
from tests.hypotheses import examples

texts = st.lists(st.lists(st.sampled_from("abcd"), max_size=7), min_size=1, max_size=6).filter(
    lambda lists: any(lists)
)


SIZES = {"order": 3, "max_words": 200_000, "max_ngrams": 2_000_000}


def train(folder, lists, **config):
    words = [split_words(" ".join(each)) for each in lists]
    train_model(folder, lambda: iter(words), **(SIZES | config))
    return open_ngram_model(folder)


class Plain:
    """By definition: p(w | h) = max(c(hw) - D, 0) / c(h) + D N(h) / c(h) p(w | h')."""

    def __init__(self, sequences, order, ids):
        self.ids = ids  # that may be predicted
        padded = [[BEGIN] * (order - 1) + each + [END] for each in sequences]
        grams = [tuple(p[i : i + order]) for p in padded for i in range(len(p) - order + 1)]
        self.counts = {order: Counter(grams)}
        for size in range(order - 1, 0, -1):
            self.counts[size] = Counter(gram[1:] for gram in self.counts[size + 1])

    def probability(self, history, word):
        size = len(history) + 1
        counts = self.counts[size]
        n1, n2 = (list(counts.values()).count(n) for n in (1, 2))
        discount = n1 / (n1 + 2 * n2) if n1 and n2 else 0.5
        followers = {gram[-1]: n for gram, n in counts.items() if gram[:-1] == history}
        if size == 1:
            lower = 1 / len(self.ids)
        else:
            lower = self.probability(history[1:], word)
        if not followers:
            return lower
        total = sum(followers.values())
        own = max(followers.get(word, 0) - discount, 0)
        return own / total + discount * len(followers) / total * lower


@examples(10)
@given(texts, st.integers(2, 4), st.integers(1, 4))
def test_probabilities_are_those_of_the_definition_and_sum_to_one(
    tmp_path_factory, lists, order, max_words
):
    model = train(tmp_path_factory.mktemp("model"), lists, order=order, max_words=max_words)
    sequences = [model.ids(split_words(" ".join(each))).tolist() for each in lists]
    counts = Counter(word for each in lists for word in each)
    known = {word for word in counts if int(model.ids(split_words(word))[0]) != UNKNOWN}
    assert len(known) == min(max_words, sum(count > 1 for count in counts.values()))
    ids = [UNKNOWN, END, *range(FIRST_WORD, FIRST_WORD + len(known))]
    plain = Plain(sequences, order, ids)
    for history in itertools.product([BEGIN, *ids], repeat=order - 1):
        probabilities = [
            model.probabilities(np.array([*history, word], np.int32))[0] for word in ids
        ]
        assert sum(probabilities) == pytest.approx(1, abs=1e-5)
        expected = [plain.probability(history, word) for word in ids]
        assert probabilities == pytest.approx(expected, rel=1e-5)


def test_perplexity_is_that_of_all_words_and_the_end(tmp_path):
    model = train(tmp_path, [["the", "cat", each] for each in ("sat", "ran")] * 3)
    words = split_words("the dog sat")
    padded = np.array([BEGIN, BEGIN, *model.ids(words), END], np.int32)
    log = sum(math.log(p) for p in model.probabilities(padded))
    assert len(model.probabilities(padded)) == 4
    assert model.perplexity(words) == pytest.approx(math.exp(-log / 4))
    assert model.perplexity(split_words("the cat sat")) < model.perplexity(words)
    assert model.perplexity(split_words("")) > 1


def test_sums_to_one_when_ngrams_are_forgotten(tmp_path):
    random = np.random.default_rng(3)
    lists = [[f"w{n}" for n in random.zipf(1.5, 300) % 60] for _ in range(20)]
    model = train(tmp_path, lists, max_ngrams=1000)
    ids = [UNKNOWN, END, *range(FIRST_WORD, len(model.table.word_probabilities))]
    for history in random.choice([BEGIN, *ids], (50, 2)):
        probabilities = [model.probabilities(np.array([*history, w], np.int32))[0] for w in ids]
        assert sum(probabilities) == pytest.approx(1, abs=1e-4)


def test_ngrams_that_are_all_equally_rare_are_not_all_forgotten(tmp_path):
    lists = [[f"w{number}", f"w{number + 1}"] for number in range(2000)]
    model = train(tmp_path, lists, max_ngrams=1000)
    assert (model.table.slots != 0).sum() > 1000


def test_texts_without_words_teach_nothing(tmp_path):
    with pytest.raises(ValueError, match="no words to train on"):
        train(tmp_path, [[], []])


batches = st.lists(st.lists(st.integers(0, 8), max_size=8), max_size=8)


@given(batches, st.integers(1, 20), st.integers(1, 9))
def test_counts(lists, buffered, max_keys):
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(ngram_model, "BUFFERED", buffered)
        counter = KeyCounter(max_keys)
        for each in lists:
            counter.add(np.array(each, np.uint64))
        keys, counts = counter.counts()
    count_of_key = dict(zip(keys.tolist(), counts.tolist(), strict=True))
    exact = Counter(key for each in lists for key in each)
    assert keys.tolist() == sorted(count_of_key)
    assert min(len(exact), 1) <= len(count_of_key) <= max_keys
    assert all(count <= exact[key] for key, count in count_of_key.items())
    if len(exact) <= max_keys:
        assert count_of_key == exact
        assert counter.num_forgotten == 0
    else:
        assert counter.num_forgotten > 0
