"""Languages: their codes, stop words, and texts without spaces between words."""

import unicodedata

import numpy as np
import pytest

from bert_data.curation.quality.languages import (
    STOP_WORDS,
    is_unspaced,
    language_code,
    language_of,
    letters_per_word,
    sentence_terminals,
    stop_words,
)
from bert_data.curation.words import split_words


@pytest.mark.parametrize(
    ("name", "code"),
    {"zh-Hant": "zh", "eng_Latn": "en", "cmn": "zh", "DE": "de", "nb": "no", "xx": "xx"}.items(),
)
def test_codes(name, code):
    assert language_code(name) == code


@pytest.mark.parametrize("language", [*STOP_WORDS])
def test_stop_words_are_words(language):
    words = stop_words(language)
    assert len(words) >= 8 and len(set(words)) == len(words)
    if not is_unspaced(split_words(" ".join(words))):
        for word in words:
            assert split_words(word).strings() == [word]


@pytest.mark.parametrize(
    ("text", "letters", "language"),
    [
        ("The cat sat.", 1, "en"),
        ("他的女儿问了船夫。", 1.8, "zh"),
        ("これは本です。", 1.6, "ja"),
        ("東京都の人口", 1.6, "ja"),
        ("ภาษาไทย", 4, "th"),
        ("ພາສາລາວ", 4, "lo"),
        ("ភាសាខ្មែរ", 4, "km"),
        ("မြန်မာ", 4, "my"),
        ("ᨲᩫ᩠ᩅᨾᩮᩬᩥᨦ", 4, "th"),  # Tai Tham, of which no more is known here
        ("한국어를 배운다", 1, "ko"),
        ("OK 한국어를 or not", 1, "en"),
        ("OK 他的 yes no", 1, "en"),
        ("OK 他的女", 1.8, "zh"),
        ("", 1, "en"),
        ("...", 1, "en"),
    ],
)
def test_languages_by_letters(text, letters, language):
    words = split_words(text)
    assert letters_per_word(words) == letters
    assert language_of(None, "", words) == language
    assert language_of("", "fr-CA", words) == "fr"
    assert language_of("pt_BR", "fr", words) == "pt"


def test_marks_of_many_scripts_and_nothing_else() -> None:
    marks = sentence_terminals()
    assert marks.dtype == np.uint32 and len(marks) == 172
    assert (np.diff(marks.astype(int)) > 0).all()
    among = {chr(code) for code in marks.tolist()}
    assert {*".!?‼⁇。！？．｡।॥۔؟։።᙮"} <= among
    assert not among & {*",;:-…'\")]}»、·"}
    # A code point that this Python's Unicode does not know yet is "Cn".
    assert {unicodedata.category(mark) for mark in among} <= {"Po", "Cn"}
