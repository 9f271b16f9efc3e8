"""N-grams against the same in plain Python, of four words."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from bert_data.curation.quality.ngrams import ngram_characters
from tests.hypotheses import examples

_HASHES = (0, 0xD1B54A32D192ED03, 0x2545F4914F6CDD1D, 0x0123456789ABCDEF)


@examples(200)
@given(
    st.lists(st.integers(0, 3), max_size=40),
    st.lists(st.integers(1, 9), min_size=4, max_size=4),
    st.integers(1, 12),
    st.integers(0, 1),
)
def test_characters_of_ngrams(words, word_lengths, order, spaces):
    def ngrams_of(order):
        return [tuple(words[i : i + order]) for i in range(len(words) - order + 1)]

    def length_of(ngram):
        return sum(word_lengths[word] for word in ngram)

    def repeated(order):
        ngrams, seen, characters, start = ngrams_of(order), set(), 0, 0
        while start < len(ngrams):
            is_repeated = ngrams[start] in seen
            characters += is_repeated * length_of(ngrams[start])
            seen.add(ngrams[start])
            start += order if is_repeated else 1
        return characters

    def most_frequent(order):
        ngrams = ngrams_of(order)
        top = max(ngrams, key=ngrams.count, default=())  # the first of several
        return (length_of(top) + (order - 1) * spaces) * ngrams.count(top) if ngrams else 0

    tops, orders = [order, order + 1], [order + 1, order + 2, order + 5]
    assert ngram_characters(
        np.array([_HASHES[word] for word in words], np.uint64),
        np.array([word_lengths[word] for word in words], np.int32),
        np.array(tops),
        np.array(orders),
        spaces=spaces,
    ) == ([most_frequent(each) for each in tops], [repeated(each) for each in orders])
