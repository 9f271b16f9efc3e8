"""Runs of marked words, and texts without them."""

import itertools

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from bert_data.curation.word_runs import cut_words, runs_of_marked
from bert_data.curation.words import split_words


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
