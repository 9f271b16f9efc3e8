"""FineWeb's rules against the same in plain Python."""

import sys
import unicodedata

import pytest
from hypothesis import given, settings

from bert_data.curation.quality.languages import (
    letters_per_word,
    marks_sentences,
    sentence_terminals,
)
from bert_data.curation.steps.web_rules import FineWeb
from bert_data.curation.words import split_words
from tests.curation.texts import TEXTS, measured

STEP = FineWeb()
TERMINALS = tuple(map(chr, sentence_terminals().tolist()))


def measure_slowly(text):
    words = split_words(text)
    letters = letters_per_word(words)
    max_short = 30 if letters == 1 else round(30 * letters / 5)
    lines = [line for line in text.split("\n") if line.strip()]
    without_return = [line.removesuffix("\r") for line in lines]
    repeated = sum(len(line) for place, line in enumerate(lines) if line in lines[:place])
    num_words = len(words) - words.is_unspaced.sum() + words.is_unspaced.sum() / letters
    ended = sum(line.endswith(TERMINALS) for line in without_return)
    short = sum(len(line) <= max_short for line in without_return)
    terminal = {"min_terminal_line_fraction": ended / max(1, len(lines))}
    return (terminal if marks_sentences(words) else {}) | {
        "max_short_line_fraction": short / max(1, len(lines)),
        "max_duplicate_line_character_fraction": repeated / max(1, len(text.replace("\n", ""))),
        "max_newline_word_ratio": text.count("\n") / num_words if num_words else 0,
    }


@settings(max_examples=200, deadline=None)
@given(TEXTS)
def test_rules_are_as_defined(text):
    assert measured(STEP, text) == pytest.approx(measure_slowly(text), abs=1e-9)


@pytest.mark.parametrize(
    ("text", "rule", "value"),
    [
        ("One.\n\nTwo!\nThree\nFour. ", "min_terminal_line_fraction", 0.5),
        ("One.\r\nTwo\r\n", "min_terminal_line_fraction", 0.5),
        ("一。\n二！\n三؟\n四።", "min_terminal_line_fraction", 1),
        ("a" * 30 + "\n" + "a" * 31, "max_short_line_fraction", 0.5),
        ("水" * 11 + "\n" + "山" * 12, "max_short_line_fraction", 0.5),
        ("ab\ncd\n\nab\nab", "max_duplicate_line_character_fraction", 0.5),
        ("a b c\nd", "max_newline_word_ratio", 0.25),
    ],
)
def test_values_of_texts(text, rule, value):
    assert measured(STEP, text)[rule] == pytest.approx(value)


def test_thai_lines_need_no_marks():
    assert "min_terminal_line_fraction" not in measured(STEP, "ภาษาไทยเป็นภาษา")
    assert measured(STEP, "ភាសាខ្មែរ។")["min_terminal_line_fraction"] == 1


def test_marks_that_end_sentences():
    marks = sentence_terminals().tolist()
    assert marks == sorted(set(marks)) and len(marks) == 172
    for mark in map(chr, marks):
        # A newer Unicode may know marks that this interpreter does not.
        assert unicodedata.category(mark) in ("Po", "Cn"), hex(ord(mark))
    assert marks[-1] <= sys.maxunicode
    assert set(map(ord, ".!?。！？｡؟।…")) - set(marks) == {ord("…")}


@pytest.mark.parametrize("text", ["", "\n", " \n\t"])
def test_a_text_without_lines_has_no_line_that_ends(text):
    values = measured(STEP, text)
    assert values.pop("min_terminal_line_fraction") == 0
    assert set(values.values()) == {0}


@pytest.mark.parametrize("part", ["a ", "\n", "a\n", "a.\r\n", "水", "\x00\n"])
def test_huge_texts(part):
    assert len(measured(STEP, part * 1_000_000)) == 4
