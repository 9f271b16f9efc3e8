"""Copies of runs of words, against looking for them one by one."""

import itertools

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from bert_data.curation.duplicates.suffix_arrays import cut_words, mark_copied_words, runs_of_marked
from bert_data.curation.words import split_words

documents = st.lists(st.lists(st.integers(0, 2), max_size=14), max_size=6)


def plainly(texts: list[list[int]], length: int) -> list[bool]:
    runs = []
    offset = 0
    for text in texts:
        runs += [(offset + i, text[i : i + length]) for i in range(len(text) - length + 1)]
        offset += len(text)
    marked = [False] * offset
    for (place, run), (later, other) in itertools.combinations(runs, 2):
        if run == other and place + length <= later:
            marked[later : later + length] = [True] * length
    return marked


@given(documents, st.integers(1, 6))
def test_all_words_of_copies_are_marked(texts, length):
    hashes = np.array([word for text in texts for word in text], np.uint64) << np.uint64(62)
    bounds = np.concatenate([[0], np.cumsum(list(map(len, texts)))]).astype(np.int64)
    assert mark_copied_words(hashes, bounds, length).tolist() == plainly(texts, length)


@given(st.integers(0, 2**32), st.integers(3, 9))
def test_planted_copies_in_large_vocabularies(seed, length):
    random = np.random.default_rng(seed)
    words = random.integers(0, 2**64, 90_000, dtype=np.uint64)
    words[70_000 : 70_000 + length] = words[10 : 10 + length]
    words[80_000 : 80_000 + length - 1] = words[40 : 40 + length - 1]
    bounds = np.array([0, 50_000, 90_000])
    marked = np.flatnonzero(mark_copied_words(words, bounds, length))
    assert marked.tolist() == list(range(70_000, 70_000 + length))


def test_a_million_repeated_words_leave_one_run():
    marked = mark_copied_words(np.zeros(1_000_000, np.uint64), np.array([0, 1_000_000]), 50)
    assert not marked[:50].any()
    assert marked[50:].all()


@given(st.lists(st.booleans()))
def test_runs_of_marked(marks):
    runs = runs_of_marked(np.array(marks, bool)).tolist()
    again = [any(begin <= i < end for begin, end in runs) for i in range(len(marks))]
    assert again == marks
    assert all(one[1] < other[0] for one, other in itertools.pairwise(runs))


@pytest.mark.parametrize(
    ("text", "runs", "left"),
    [
        ("a b c d", [(1, 2)], "a c d"),
        ("a b\n\nc d", [(1, 2)], "a\n\nc d"),
        ("a\n\nb c d", [(1, 2)], "a\n\nc d"),
        (" a b c\n", [(0, 1)], "b c\n"),
        ("a b c\n", [(2, 3)], "a b"),
        ("a b c", [(0, 3)], ""),
        ("a b c d e", [(0, 1), (2, 3), (4, 5)], "b d"),
        ("(a),b", [(1, 2)], "(),b"),
        ("我们学习", [(1, 3)], "我习"),
    ],
)
def test_spaces_around_cuts(text, runs, left):
    assert cut_words(split_words(text), runs) == left


@given(st.lists(st.sampled_from(["a", "bc", "d"]), min_size=1, max_size=12), st.data())
def test_the_other_words_are_left(names, data):
    marks = data.draw(st.lists(st.booleans(), min_size=len(names), max_size=len(names)))
    runs, start = [], None
    for place, mark in enumerate([*marks, False]):
        if mark and start is None:
            start = place
        elif not mark and start is not None:
            runs.append((start, place))
            start = None
    space = data.draw(st.sampled_from([" ", "\n", "\n\n"]))
    left = cut_words(split_words(space.join(names)), runs)
    assert left == space.join(n for n, mark in zip(names, marks, strict=True) if not mark)
