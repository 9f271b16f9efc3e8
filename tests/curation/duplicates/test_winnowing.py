"""Equal runs of words choose equal n-grams; few are chosen."""

import collections

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from bert_data.curation.duplicates.winnowing import hash_runs, winnow


def encode(texts: list[list[int]]) -> tuple[np.ndarray, np.ndarray]:
    words = np.array([word for text in texts for word in text], np.uint64) << np.uint64(61)
    return words, np.concatenate([[0], np.cumsum(list(map(len, texts)))]).astype(np.int64)


@given(st.lists(st.lists(st.integers(0, 3), max_size=20), max_size=6), st.integers(1, 9))
def test_equal_runs_choose_equal_ngrams(texts, length):
    words, bounds = encode(texts)
    winnowed = winnow(words, bounds, length)
    size, chosen, of_run = (length + 1) // 2, set(), collections.defaultdict(set)
    ends = np.repeat(bounds[1:], np.diff(bounds))
    for start, least in enumerate(winnowed.least.tolist()):
        if start + length > ends[start]:
            assert least == -1
            continue
        assert start <= least <= start + length - size
        window = winnowed.hashes[start : start + length - size + 1]
        assert winnowed.hashes[least] == window.min()
        of_run[tuple(words[start : start + length])].add(winnowed.hashes[least])
        chosen.add(least)
    assert all(len(hashes) == 1 for hashes in of_run.values())
    assert winnowed.chosen().tolist() == sorted(chosen)
    runs = np.array([start for start, least in enumerate(winnowed.least) if least >= 0], np.int64)
    hashes = list(zip(*hash_runs(words, runs, length).tolist(), strict=True))
    assert len(set(hashes)) == len(of_run)


def test_few_ngrams_are_chosen():
    words = np.random.default_rng(1).integers(0, 2**64, 100_000, dtype=np.uint64)
    chosen = winnow(words, np.array([0, len(words)]), 50).chosen()
    assert 0.06 < len(chosen) / len(words) < 0.09


def test_few_ngrams_are_chosen_of_a_text_that_repeats_itself():
    for period in (1, 3, 26):
        words = np.tile(np.arange(period, dtype=np.uint64) << np.uint64(50), 10_000)[:10_000]
        chosen = winnow(words, np.array([0, len(words)]), 50).chosen()
        furthest = 26 // period * period  # of the 26 n-grams of a run, the last with equal words
        assert set(np.diff(chosen).tolist()) == {furthest}
