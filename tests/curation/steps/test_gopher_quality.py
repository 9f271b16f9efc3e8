"""Gopher's rules of quality against the same in plain Python, on words as strings."""

import unicodedata

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bert_data.curation.characters import UNSPACED, class_of
from bert_data.curation.quality.languages import (
    is_syllabic,
    language_of,
    letters_per_word,
    stop_words,
)
from bert_data.curation.running.presets import PRESETS
from bert_data.curation.step import make_step
from bert_data.curation.steps.gopher import GopherQuality
from bert_data.curation.words import split_words
from tests.curation.texts import TEXTS, measured

COVERS = ("curation/steps/gopher",)


STEP = GopherQuality()
GOPHERS = ("the", "be", "to", "of", "and", "that", "have", "with")


def is_letter(char):
    return unicodedata.category(char)[0] == "L" or class_of(char) == UNSPACED


def measure_slowly(text, stopwords):
    letters = letters_per_word(split_words(text))
    words = split_words(text).strings()
    unspaced = [word for word in words if class_of(word[0]) == UNSPACED]
    spaced = [word for word in words if class_of(word[0]) != UNSPACED]
    real = [w for w in spaced if any(is_letter(c) or unicodedata.category(c)[0] == "N" for c in w)]
    alphabetic = [word for word in spaced if any(map(is_letter, word))]
    num_words = len(real) + len(unspaced) / letters
    num_all = len(spaced) + len(unspaced) / letters
    values = {"min_words": num_words, "max_words": num_words}
    if letters == 1 and num_words and not is_syllabic(split_words(text)):
        length = sum(map(len, real + unspaced)) / num_words
        values |= {"min_mean_word_length": length, "max_mean_word_length": length}
    if words:
        marks = max(text.count("#"), text.count("...") + text.count("…"))
        values["max_symbol_word_ratio"] = marks / num_all
    if real or unspaced:
        share = (len(alphabetic) + len(unspaced)) / (len(real) + len(unspaced))
        values["min_alphabetic_word_fraction"] = share
    lines = text.splitlines()
    if lines:
        bullets = [line for line in lines if line.strip().startswith(("•", "-"))]
        ellipses = [line for line in lines if line.strip().endswith(("…", "..."))]
        values["max_bullet_line_fraction"] = len(bullets) / len(lines)
        values["max_ellipsis_line_fraction"] = len(ellipses) / len(lines)
    if stopwords:
        units = set(words) if letters == 1 else text
        values["min_stop_words"] = sum(word in units for word in stopwords)
    return values


@settings(max_examples=200, deadline=None)
@given(TEXTS, st.sampled_from([None, "", "en", "zh", "de", "xx"]))
def test_rules_are_as_defined(text, language):
    stopwords = stop_words(language_of(language, "", split_words(text)))
    values = measured(STEP, text, language=language)
    assert values == pytest.approx(measure_slowly(text, stopwords), abs=1e-9)


def test_english_stop_words_are_gophers():
    assert stop_words("en") == GOPHERS
    for number in range(len(GOPHERS)):
        text = " x ".join(GOPHERS[:number])
        assert measured(STEP, text)["min_stop_words"] == number
    assert measured(STEP, "The THE bee wither")["min_stop_words"] == 0


@pytest.mark.parametrize(
    ("text", "rule", "value"),
    [
        ("It is 5 km!", "min_words", 4),
        ("It is 5 km!", "min_mean_word_length", 7 / 4),
        ("One # two #three", "max_symbol_word_ratio", 2 / 5),
        ("One... two… three", "max_symbol_word_ratio", 2 / 5),
        ("• a\n - b\n\nc", "max_bullet_line_fraction", 0.5),
        ("a...  \nb…\nc..\nd", "max_ellipsis_line_fraction", 0.5),
        ("a 1 ! b2", "min_alphabetic_word_fraction", 2 / 3),
        ("山水" * 9, "min_words", 10),
        ("山水。" * 9, "min_alphabetic_word_fraction", 1),
        ("ひらがなカナ漢字" * 2, "min_words", 10),
    ],
)
def test_values_of_texts(text, rule, value):
    assert measured(STEP, text)[rule] == pytest.approx(value)


def test_punctuation_is_a_word_only_by_datatroves_definition():
    """The paper asks that words contain a letter; code has many marks between its words."""
    code = "def mean(values): return sum(values) / len(values)  # of"
    theirs = GopherQuality(symbols_are_words=True)
    rule = "min_alphabetic_word_fraction"
    assert measured(STEP, code)[rule] == 1
    assert measured(theirs, code)[rule] == 0.5
    assert measured(theirs, "a 1 ! b2")[rule] == 0.5
    assert rule not in measured(STEP, "! ?")
    of_presets = {
        name: dict(parameters).get("symbols_are_words", False)
        for name, steps in PRESETS.items()
        for step, parameters in steps
        if step == "gopher_quality"
    }
    assert of_presets == {"gopher": False, "fineweb": True, "refinedweb": False}


def test_letters_without_spaces_have_no_mean_length():
    assert "min_mean_word_length" not in measured(STEP, "他的女儿问了船夫，在睡觉。")
    assert "min_mean_word_length" not in measured(STEP, "한국어를 배운다")
    assert "min_mean_word_length" in measured(STEP, "Le mot 水 veut dire eau.")


@pytest.mark.parametrize(
    ("text", "fields", "parameters", "value"),
    [
        ("der Hund und die Katze", {"language": "de"}, {}, 3),
        ("der Hund und die Katze", {}, {"language": "de"}, 3),
        ("der Hund und die Katze", {}, {}, 0),
        ("the cat and dog", {"language": "en"}, {"language": "de"}, 2),
        ("the cat and dog", {"language": "eng_Latn"}, {"language": "de"}, 2),
        ("the cat and dog", {"language": 7}, {}, 2),
        ("der Hund", {"language": "de"}, {"stop_words": ["Hund", "Maus"]}, 1),
        ("他的女儿在这里", {}, {}, 4),
        ("他的女儿在这里", {"language": "zh-Hant"}, {}, 4),
        ("これは本です。", {}, {}, 3),
        ("ภาษาที่มีในโลก", {}, {}, 3),
    ],
)
def test_stop_words_are_of_the_documents_language(text, fields, parameters, value):
    step = make_step("gopher_quality", parameters)
    assert measured(step, text, **fields)["min_stop_words"] == value


def test_an_unknown_language_has_no_stop_words():
    assert "min_stop_words" not in measured(STEP, "the and of", language="xx")


def test_any_language_has_the_stop_words_that_are_given():
    step = make_step("gopher_quality", {"language": "xx", "stop_words": ["ba", "bo"]})
    assert measured(step, "ba ba bu")["min_stop_words"] == 1


def test_an_empty_text_is_too_short_and_nothing_else():
    values = measured(STEP, "")
    assert values == {"min_words": 0, "max_words": 0, "min_stop_words": 0}


@pytest.mark.parametrize("part", ["a ", "a", "\n", "- \n", "...", "中", "\x00", "…\r"])
def test_huge_texts(part):
    values = measured(STEP, part * 1_000_000)
    assert values["min_words"] in (0, 1, 1_000_000, 1_000_000 / 1.8)
