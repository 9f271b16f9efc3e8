"""What looks alike is compared as equal, at its places in the text; and the forms of lines."""

import sys
import unicodedata

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from bert_data.curation.characters import character_classes
from bert_data.curation.duplicates.normal_form import (
    compared_words,
    normal_text,
    normalize,
    places_of,
)
from bert_data.curation.words import split_words

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
        ({}, "“It’s” a so\u00adft\u200b_X", '"it\'s" a soft x'),
        ({"unicode_form": "NFC"}, "It’s_\u200b", "it’s_\u200b"),
    ],
)
def test_normal_forms(parameters, text, normal):
    assert normalize(text, **parameters) == normal


SPACES = [char for char in map(chr, range(0x110000)) if char.isspace()]


@given(st.text(st.sampled_from([*SPACES, *" \n\u200ba\U0001f469\ud800"])))
@example("".join(f"{space}a" for space in SPACES))
def test_a_run_of_white_space_is_a_space(text):
    parameters = {"unicode_form": "none", "ignore_case": False}
    assert normalize(text, **parameters) == " ".join(text.split())


@given(st.text(), st.booleans(), st.booleans())
def test_lines_stay_lines(text, punctuation, digits):
    normal = normalize(
        text, ignore_whitespace=False, ignore_punctuation=punctuation, ignore_digits=digits
    )
    assert normal.count("\n") == text.count("\n")


ALIKE = [
    ("It's the office of Ada.", "It’s the ofﬁce\u00a0of Ａｄａ."),
    ("Élan vital", "E\u0301LAN vital"),
    ("a soft hyphen", "a so\u00adft hy\u200bphen\ufeff"),
    ("what is the capital", "What_is_the_capital"),
    ("a 5-year plan, 1/2 done", "a 5\u2011year plan, ½ done"),
    ("Hawai'i 'n' so", "Hawai\u02bbi \u2018n\u2019 so"),
    ("istanbul οδος", "İstanbul ΟΔΟΣ"),
    ("株式会社", "㍿"),
    ("ガス 12", "ｶﾞｽ　１２"),
    ("한국", unicodedata.normalize("NFD", "한국")),
    ("นำ", unicodedata.normalize("NFKD", "นำ")),
    ("हिन्दी", "हि\u200dन्दी"),
]


def hashes(text: str, **parameters) -> list[int]:
    words = compared_words(split_words(text), **parameters)
    return [int(each) for each in words.hashes[~words.is_symbol]]


@pytest.mark.parametrize(("text", "other"), ALIKE)
def test_what_looks_alike_is_equal(text, other):
    assert hashes(text) == hashes(other)
    assert len(hashes(text)) == len(hashes(text.upper()))


def test_what_differs_stays_different():
    for one, other in (("resume", "résumé"), ("its", "it's"), ("a1", "a2"), ("café", "cafè")):
        assert hashes(one) != hashes(other)
    assert hashes("Ada", ignore_case=False) != hashes("ada", ignore_case=False)


TEXTS = st.text(
    st.one_of(
        st.sampled_from(
            "aZé\u0301’‘'_ .-/5½ﬁ\u00ad\u200b\u200dΣς²…，ｶﾞำ㍿\u1100\u1161\u11a8İ\u0307\n\0"
        ),
        st.characters(codec=None, categories=None),
    ),
    max_size=14,
)


@given(TEXTS, st.booleans())
def test_words_are_those_of_the_normal_form_at_their_places(text, ignore_case):
    words = split_words(text)
    compared = compared_words(words, ignore_case=ignore_case)
    form = normal_text(text)
    plain = compared_words(split_words(form), ignore_case=ignore_case)
    assert compared.hashes[~compared.is_symbol].tolist() == plain.hashes[~plain.is_symbol].tolist()
    assert compared.text == text
    spans = list(zip(compared.starts.tolist(), compared.ends.tolist(), strict=True))
    assert spans == sorted(spans) and all(0 <= start < end <= len(text) for start, end in spans)


@given(TEXTS)
def test_the_normal_form_is_its_own(text):
    form = normal_text(text)
    assert normal_text(form) == form
    assert unicodedata.is_normalized("NFKC", form)
    if text.isascii() and "_" not in text:
        assert form == text


@given(TEXTS, st.integers(0, 5), st.integers(1, 5))
def test_places_of_words(text, first, number):
    words = split_words(f"{text} end")
    compared = compared_words(words)
    first = min(first, len(words) - 1)
    end = min(first + number, len(words))
    span = words.starts[first], words.ends[end - 1]
    ((begin, last),) = places_of(compared, words, np.array([[first, end]])).tolist()
    inside = [place for place, s in enumerate(compared.starts) if span[0] <= s < span[1]]
    assert list(range(begin, last)) == inside


def test_every_character_with_another_form_is_known():
    """By hand, one by one; the table looks only where there were any in Unicode 14 to 16."""
    kinds = character_classes()
    for code in range(sys.maxunicode + 1):
        char = chr(code)
        form = unicodedata.normalize("NFKC", char)
        if form != char and any(3 <= kinds[ord(each)] <= 7 for each in form):
            assert normal_text(char) != char, hex(code)
