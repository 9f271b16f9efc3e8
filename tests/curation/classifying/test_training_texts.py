"""Words are counted as a dictionary would, and the rarest are forgotten when there are too many."""

import itertools
from collections import Counter

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from bert_data.curation.classifying.fasttext_model import wrap_words
from bert_data.curation.classifying.training_texts import WordTable
from tests.hypotheses import examples

WORDS = st.sampled_from(["the", "cat", "</s>", "__label__x", "naïve", "水", "<", "a" * 300])
TEXTS = st.lists(st.lists(WORDS, max_size=9).map(" ".join) | st.text(max_size=9), max_size=9)


def count(table, text):
    return table.count(np.frombuffer(wrap_words(text)[0], np.uint8))


def listed(words):
    names, ends = words.names.tobytes(), words.ends.tolist()
    pairs = itertools.pairwise(ends)
    return [(names[a:b], n) for (a, b), n in zip(pairs, words.counts.tolist(), strict=True)]


@examples(200)
@given(TEXTS, st.integers(1, 3))
def test_counts_are_those_of_a_dictionary(texts, min_count):
    table, expected = WordTable(), Counter()
    num_tokens = 0
    for text in texts:
        words = text.encode(errors="replace").replace(b"\0", b" ").split()
        if b"</s>" in words:
            words = words[: words.index(b"</s>")]
        expected.update(word for word in words if not word.startswith(b"__label__"))
        expected[b"</s>"] += 1
        num_tokens += len(words) + 1
        assert count(table, text) == len(words) + 1
    assert table.num_tokens == num_tokens
    order = [each for each in expected.most_common() if each[1] >= min_count]
    assert listed(table.most_frequent(min_count)) == order


def test_tables_grow():
    table = WordTable()
    for start in range(0, 30_000, 1000):
        count(table, " ".join(f"word{n}" for n in range(start, start + 2000)))
    words = dict(listed(table.most_frequent(2)))
    assert len(words) == 29_001
    assert words[b"word17000"] == 2 and words[b"</s>"] == 30


def test_rare_words_are_forgotten_when_there_are_too_many():
    table = WordTable(max_words=50)
    for number in range(40):
        count(table, f"often now rare{number} rarer{number}")
    words = dict(listed(table.most_frequent(1)))
    assert words[b"often"] == words[b"now"] == words[b"</s>"] == 40
    assert len(words) <= 50
    assert max(n for word, n in words.items() if word.startswith(b"rare")) == 1
    table = WordTable(max_bytes=1000)
    count(table, f"{'x' * 2000} often often")
    assert dict(listed(table.most_frequent(1))) == {b"often": 2}
