"""Normal forms."""

import sys

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bert_data.curation.duplicates.normal_text import folded_words, normalize
from bert_data.curation.words import hash_word, split_words

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
