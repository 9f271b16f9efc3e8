"""Classes of characters: the table against the definition, and the definition against Unicode."""

import unicodedata

import numpy as np
import pytest

from bert_data.curation import characters
from bert_data.curation.characters import character_classes, class_of


@pytest.mark.slow
def test_the_table_is_the_definition_at_every_code_point():
    expected = np.fromiter(map(class_of, map(chr, range(0x110000))), np.uint8)
    np.testing.assert_array_equal(character_classes(), expected)


def test_the_table_is_shared_and_cannot_be_changed():
    assert character_classes() is character_classes()
    with pytest.raises(ValueError, match="read-only"):
        character_classes()[0] = 1


@pytest.mark.parametrize(
    ("name", "chars"),
    {
        "SPACE": " \t\n\r\x0b\x1c\x85\u00a0\u2028\u3000\u200b",
        "FORMAT": "\u00ad\u200d\u200e\ufeff",
        "MARK": "\u0301\u0e31\u093e\ufe0f\u3099",
        "LOWER": "aßéя",
        "UPPER": "AÉЯǅ",
        "LETTER": "한אعªʼ",
        "NUMBER": "7٣²Ⅳ①",
        "UNSPACED": "中々〇〆あアーｱㄅกກក\u1000𠀀",
        "SYMBOL": "!?#•…€♥。、「」・\x00\x7f\ud800\ue000\u0378",
        "APOSTROPHE": "'’",
        "DOT": ".",
        "BETWEEN_NUMBERS": ",:/",
        "UNDERSCORE": "_",
        "HYPHEN": "-",
    }.items(),
)
def test_classes_of_some(name, chars):
    assert {class_of(char) for char in chars} == {getattr(characters, name)}


def test_only_letters_of_scripts_without_spaces_are_unspaced():
    names = ["CJK", "HIRAGANA", "KATAKANA", "BOPOMOFO", "IDEOGRAPHIC", "THAI", "LAO", "MYANMAR"]
    names += ["TIBETAN", "JAVANESE", "BALINESE", "YI SYLLABLE", "KHMER", "TAI", "NEW TAI LUE"]
    names += ["AHOM", "VERTICAL KANA", "HENTAIGANA", "MASU MARK"]
    for code in np.flatnonzero(character_classes() == characters.UNSPACED).tolist():
        char = chr(code)
        assert unicodedata.category(char) in ("Lo", "Lm", "Nl"), hex(code)
        assert any(name in unicodedata.name(char) for name in names), hex(code)
