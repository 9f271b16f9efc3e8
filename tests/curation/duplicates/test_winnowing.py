"""Equal runs of words choose equal n-grams; few are chosen."""

import collections
import sys

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from bert_data.curation.duplicates.winnowing import folded_words, hash_runs, normalize, winnow
from bert_data.curation.words import hash_word, split_words


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


NOTHING = {"unicode_form": "none", "ignore_case": False, "ignore_whitespace": False}


@pytest.mark.parametrize(
    ("parameters", "text", "normal"),
    [
        (NOTHING, " Ａ1,\n", " Ａ1,\n"),
        ({**NOTHING, "unicode_form": "NFKC"}, "Ａ\u00a0ﬁ", "A fi"),
        ({**NOTHING, "unicode_form": "NFC"}, "e\u0301Ａ", "\u00e9Ａ"),
        ({**NOTHING, "ignore_case": True}, "Straße ΣΑΣ", "strasse σασ"),
        ({**NOTHING, "ignore_whitespace": True}, "\ta \n\n b\u3000", "a b"),
        ({**NOTHING, "ignore_punctuation": True}, "«a», b—c。+$", "a bc+$"),
        ({**NOTHING, "ignore_punctuation": True}, "\U00010100a-\U0001f600!", "a\U0001f600"),
        ({**NOTHING, "ignore_digits": True}, "a12 ٣", "a00 0"),
        ({}, " Ｔｈｅ  Cat…", "the cat..."),
    ],
)
def test_normal_forms(parameters, text, normal):
    assert normalize(text, **parameters) == normal


@given(st.text(), st.booleans(), st.booleans())
def test_lines_stay_lines(text, punctuation, digits):
    normal = normalize(
        text, ignore_whitespace=False, ignore_punctuation=punctuation, ignore_digits=digits
    )
    assert normal.count("\n") == text.count("\n")


def test_only_one_character_becomes_two():
    folded = {c for c in map(chr, range(sys.maxunicode + 1)) if len(c.lower()) != 1}
    assert folded == {"\u0130"}


@given(st.text(st.sampled_from("aA İẞΣσς.ﬁ\U00010400"), max_size=12))
def test_folding_keeps_the_places(text):
    words, folded = split_words(text), folded_words(split_words(text))
    assert len(folded.text) == len(text)
    assert folded.starts.tolist() == words.starts.tolist()
    assert folded.ends.tolist() == words.ends.tolist()
    assert folded.hashes.tolist() == [hash_word(word) for word in folded.strings()]
