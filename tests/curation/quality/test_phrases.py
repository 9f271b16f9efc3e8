"""Phrases in texts, against a search in plain Python that tries every phrase at every place."""

import gzip
import unicodedata

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from bert_data.curation.characters import MARK, NUMBER, SPACE, UNSPACED, class_of
from bert_data.curation.quality.phrases import (
    Phrases,
    WeightedPhrase,
    normal_form,
    open_phrases,
    read_phrases,
    write_phrases,
)
from bert_data.curation.words import split_words
from tests.hypotheses import examples

INVISIBLE = "\u00ad\u200b\u200d\ufe0f"
PIECES = st.sampled_from([
    *("bad", "BAD", "ad", "a", "word", "Ｗ", "ⓑ", "$", "@x", "_", "é", "e\u0301", "\u0301", "7"),
    *(" ", "\n", "  ", "\u3000", *INVISIBLE, "坏", "话", "人", "ｶ", "กา", "한"),
])  # fmt: skip
TEXTS = st.lists(PIECES, max_size=20).map("".join)
PHRASES = st.lists(st.lists(PIECES, min_size=1, max_size=4).map("".join), max_size=5)


def open_list(folder, phrases) -> Phrases:
    write_phrases(
        folder, [p if isinstance(p, WeightedPhrase) else WeightedPhrase(p) for p in phrases]
    )
    return open_phrases(folder)


def fold_plainly(char: str) -> str:
    """One character, or none; spaces are " "."""
    if char in INVISIBLE:
        return ""
    if class_of(char) == SPACE:
        return " "
    form = unicodedata.normalize("NFKC", char)
    return form.casefold() if len(form) == len(form.casefold()) == 1 else char.lower()


def fold_phrase(phrase: str) -> str:
    return " ".join(
        "".join(map(fold_plainly, unicodedata.normalize("NFC", phrase))).split(" ")
    ).strip()


def touches(text: str, place: int, step: int) -> bool:
    """Whether the next visible character in a direction belongs to a spaced word."""
    while 0 <= place < len(text) and text[place] in INVISIBLE:
        place += step
    if not 0 <= place < len(text):
        return False
    return MARK <= class_of(text[place]) <= NUMBER or text[place] == "_"


def find_plainly(phrases, text):
    """(Start, end, phrase in its normal form) of the longest phrase at each place."""
    found, start = [], 0
    forms = {" ".join(fold_phrase(p).split()) for p in phrases} - {""}
    while start < len(text):
        best = None
        for end in range(start + 1, len(text) + 1):
            first, last = text[start], text[end - 1]
            edges = [first, last]
            if any(edge in INVISIBLE or class_of(edge) == SPACE for edge in edges):
                continue
            form = " ".join("".join(map(fold_plainly, text[start:end])).split())
            if (
                form in forms
                and (class_of(first) == UNSPACED or not touches(text, start - 1, -1))
                and (class_of(last) == UNSPACED or not touches(text, end, 1))
            ):
                best = end, form
        if best:
            found.append((start, *best))
            start = best[0]
        else:
            start += 1
    return found


@pytest.mark.slow
@examples(60)
@given(PHRASES, TEXTS)
@example(["a bad", "a"], "a \u200b bad")
@example(["坏话", "坏"], "坏坏话")
@example(["bad"], "人bad人 7bad")
def test_the_longest_phrase_at_each_place_is_found(tmp_path_factory, phrases, text):
    listed = open_list(tmp_path_factory.mktemp("list"), phrases)
    forms = list(dict.fromkeys(form for form in map(normal_form, phrases) if form))
    found = listed.find(split_words(text))
    triples = zip(*(each.tolist() for each in found), strict=True)
    as_text = [(start, end, "".join(map(chr, forms[k]))) for start, end, k in triples]
    assert as_text == find_plainly(phrases, text)


def test_weights_and_sizes(tmp_path):
    phrases = [
        WeightedPhrase("Flim flam", 0.5),
        WeightedPhrase("坏话"),
        WeightedPhrase("flim  FLAM", 2),
        WeightedPhrase("$$"),
    ]
    listed = open_list(tmp_path, phrases)
    assert listed.weights.tolist() == [2, 1, 1]
    assert listed.num_words.tolist() == [2, 2, 1]


@pytest.mark.slow
@pytest.mark.parametrize(
    ("first", "end"),
    [(0x3400, 0xA000), (0xAC00, 0xD7B0), (0xE000, 0xF900), (0x20000, 0x2F800), (0x2FB00, 0xE0000)],
)
def test_ideographs_and_syllables_are_compared_as_they_are(first, end):
    codes = range(first, end)
    assert all(fold_plainly(chr(code)) == chr(code) for code in codes)
    assert normal_form("".join(map(chr, codes))) == tuple(codes)


@pytest.mark.parametrize(
    "text",
    [
        *("bad " * 250_000, "b\u200b" * 250_000, "\u200b" * 500_000 + "b", "b" * 500_000),
        *(" " * 500_000, "坏" * 300_000),
    ],
)
def test_hostile_texts_take_time_in_proportion(tmp_path, text):
    """Time that grew with the square of the text would not end."""
    phrases = [f"bad word{number}" for number in range(100)] + ["bad bad", "b" * 150, "坏" * 150]
    listed = open_list(tmp_path, phrases)
    expected = {"bad ": 125_000, "坏坏": 2_000}.get(text[: 4 if text[0] == "b" else 2], 0)
    assert len(listed.find(split_words(text)).starts) == expected


def test_entries_and_weights(tmp_path):
    plain, packed = tmp_path / "a.txt", tmp_path / "b.txt.gz"
    plain.write_bytes("\ufeffgronk\r\n\n flim flam\t2.5\n坏话 \n#tag\n".encode())
    packed.write_bytes(gzip.compress(b"last\t1e-3"))
    assert list(read_phrases([str(plain), str(packed)])) == [
        WeightedPhrase("gronk"),
        WeightedPhrase("flim flam", 2.5),
        WeightedPhrase("坏话"),
        WeightedPhrase("#tag"),
        WeightedPhrase("last", 0.001),
    ]


@pytest.mark.parametrize(
    ("data", "sentence"),
    [
        (b"", "a.txt: the list has no entry"),
        (b"\n \n", "a.txt: the list has no entry"),
        (b"a\nb\tc\n", "a.txt:2: the weight is 'c'; it must be a number > 0"),
        (b"a\t0", "a.txt:1: the weight is '0'"),
        (b"a\t-1", "a.txt:1: the weight is '-1'"),
        (b"a\tnan", "a.txt:1: the weight is 'nan'"),
        (b"a\tinf", "a.txt:1: the weight is 'inf'"),
        (b"a\t1\t2", "a.txt:1: the weight is '1.t2'"),
        (b"a\nb\xff\n", "a.txt:2: the line is not UTF-8"),
        ("\u200b\u00ad".encode(), "a.txt:1: .* has no visible character"),
        (b"x" * 201, "a.txt:1: 'x* has 201 characters; at most 200 are allowed"),
    ],
)
def test_lines_that_are_no_entries_are_told(tmp_path, data, sentence):
    path = tmp_path / "a.txt"
    path.write_bytes(data)
    with pytest.raises(ValueError, match=sentence):
        list(read_phrases([str(path)]))
