"""Published defaults: of two texts just on either side of one, only the first is kept.

`python -m tests.curation.thresholds` says which defaults no row of this file holds.
"""

import itertools
import string

import pytest

from bert_data.curation.step import make_step
from tests.curation.texts import make_document


def names(num, length=5):
    """Different words of as many letters: aaaaa, aaaab, ..."""
    letters = itertools.product(string.ascii_lowercase, repeat=length)
    return ["".join(each) for each in itertools.islice(letters, num)]


def prose(num_words, length=5):
    return " ".join(["the", "and", *names(num_words - 2, length)])


def lines_of(texts, num_words):
    """The texts' words in lines of as many."""
    return [" ".join(texts[i : i + num_words]) for i in range(0, len(texts), num_words)]


def marked(num_marked, before="", after=""):
    """100 lines of five words, of which the first ones have marks."""
    lines = lines_of(prose(500).split(), 5)
    return "\n".join([f"{before}{line}{after}" for line in lines[:num_marked]] + lines[num_marked:])


def quality():
    yield "min_words", prose(50), prose(49)
    yield "max_words", prose(100_000), prose(100_001)
    yield "min_mean_word_length", prose(100, 3), prose(100, 3)[:-1]
    yield "max_mean_word_length", prose(100, 10) + 14 * "x", prose(100, 10) + 15 * "x"
    for mark in ("# ", "… ", "... "):
        yield "max_symbol_word_ratio", 10 * mark + prose(90), 11 * mark + prose(89)
    for bullet in "•-":
        yield "max_bullet_line_fraction", marked(90, bullet), marked(91, bullet)
    yield "max_ellipsis_line_fraction", marked(30, after="..."), marked(31, after="...")
    yield "min_alphabetic_word_fraction", prose(80) + 20 * " 12345", prose(79) + 21 * " 12345"
    yield "min_stop_words", prose(60), prose(60).removeprefix("the ")


def twice(parts):
    """Each part twice, but never two of them again in the same order."""
    return parts + parts[::-1]


def shares(text, num_characters, percent):
    """The text and a word that make these characters at most, and more than, a share of all."""
    size = -(-num_characters * 100 // percent)
    return [text + " " + (size - len(text) - each) * "x" for each in (1, 2)]


def repetition():
    lines = [*twice(names(30, 3)), *names(40, 9)]
    yield "max_duplicate_line_fraction", "\n".join(lines), "\n".join(lines[:-1])
    lines = [*twice(names(30, 3)), *(f"{name}\n{name}s" for name in names(40, 9))]
    yield "max_duplicate_paragraph_fraction", "\n\n".join(lines), "\n\n".join(lines[:-1])
    text = "\n".join([*twice(names(10, 20)), *names(20), ""])
    yield "max_duplicate_line_character_fraction", *shares(text, 200, 20)
    lines = [f"{name}\n{name[::-1]}" for name in names(10, 9)[1:]]
    text = "\n\n".join([*twice(lines), *(f"{name}\n{name}s" for name in names(20))])
    yield "max_duplicate_paragraph_character_fraction", *shares(text + "\n\n", 9 * 19, 20)
    for order, percent in ((2, 20), (3, 18), (4, 16)):
        unit = " ".join(names(order, 6))
        text = " ".join(f"{name} {unit}" for name in names(20))
        yield f"max_top_{order}_gram_fraction", *shares(text, 20 * len(unit), percent)
    for order, percent in ((5, 15), (6, 14), (7, 13), (8, 12), (9, 11), (10, 10)):
        text = " ".join(twice(lines_of(names(10 * order), order)))
        yield f"max_duplicate_{order}_gram_fraction", *shares(text, 50 * order, percent)


STEPS = {"gopher_quality": quality, "gopher_repetition": repetition}


@pytest.mark.parametrize(
    ("step", "rule", "kept", "rejected"),
    [
        pytest.param(step, *row, id=f"{step}-{row[0]}-{number}")
        for step, rows in STEPS.items()
        for number, row in enumerate(rows())
    ],
)
def test_a_default_separates_texts_on_its_two_sides(step, rule, kept, rejected):
    verdicts = [make_step(step, {}).judge(make_document(text)) for text in (kept, rejected)]
    failed = [{each.rule for each in verdict.measured if each.failed} for verdict in verdicts]
    assert failed == [set(), {rule}]
