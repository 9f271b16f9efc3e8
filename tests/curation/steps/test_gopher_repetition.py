"""Gopher's rules of repetition against the same in plain Python, on words as strings."""

import re

import pytest
from hypothesis import example, given, settings

from bert_data.curation.document import Document
from bert_data.curation.quality.languages import letters_per_word
from bert_data.curation.step import make_step
from bert_data.curation.steps.gopher import GopherRepetition
from bert_data.curation.words import split_words
from tests.curation.texts import TEXTS, measured

STEP = GopherRepetition()


def repeats_slowly(parts):
    seen, num_repeated, num_characters = set(), 0, 0
    for part in parts:
        if part in seen:
            num_repeated += 1
            num_characters += len(part)
        seen.add(part)
    return num_repeated / len(parts), num_characters


def top_slowly(words, order, space):
    ngrams = [space.join(words[i : i + order]) for i in range(len(words) - order + 1)]
    counts = {}
    for ngram in ngrams:
        counts[ngram] = counts.get(ngram, 0) + 1
    top = max(counts, key=counts.get, default="")  # the first of the most frequent
    return len(top) * counts.get(top, 0)


def repeated_slowly(words, order):
    seen, num_characters, start = set(), 0, 0
    while start + order <= len(words):
        ngram = tuple(words[start : start + order])
        if ngram in seen:
            num_characters += sum(map(len, ngram))
            start += order
        else:
            seen.add(ngram)
            start += 1
    return num_characters


def measure_slowly(text):
    words = split_words(text)
    letters = letters_per_word(words)
    strings = words.strings()
    num_characters = max(1, len(text))
    lines, line_characters = repeats_slowly(re.split("\n+", text))
    paragraphs, paragraph_characters = repeats_slowly(re.split("\n{2,}", text.strip()))
    values = {
        "max_duplicate_line_fraction": lines,
        "max_duplicate_paragraph_fraction": paragraphs,
        "max_duplicate_line_character_fraction": line_characters / num_characters,
        "max_duplicate_paragraph_character_fraction": paragraph_characters / num_characters,
    }
    space = " " if letters == 1 else ""
    for order in (2, 3, 4):
        top = top_slowly(strings, round(order * letters), space)
        values[f"max_top_{order}_gram_fraction"] = top / num_characters
    for order in range(5, 11):
        repeated = repeated_slowly(strings, round(order * letters))
        values[f"max_duplicate_{order}_gram_fraction"] = repeated / num_characters
    return values


@settings(max_examples=200, deadline=None)
@given(TEXTS)
@example("a b c b d b e f a g")  # the first of n-grams that are as frequent counts
@example("\n\na\n\n\nb\na\n\n")
def test_rules_are_as_defined(text):
    assert measured(STEP, text) == pytest.approx(measure_slowly(text), abs=1e-12)


@settings(max_examples=30, deadline=None)
@given(TEXTS)
def test_texts_said_three_times(text):
    text = "\n\n".join([text] * 3)
    assert measured(STEP, text) == pytest.approx(measure_slowly(text), abs=1e-12)


def test_prose_of_scripts_without_spaces_is_kept(shared):
    text = (shared / "data/corpora/udhr.txt").read_text(encoding="utf-8")
    found = dict.fromkeys("་፡ꀊꦏကก", 0)  # Tibetan, Ethiopic, Yi, Javanese, Burmese, Thai
    for document in text.split("\n\n"):
        for letter in filter(document.count, found):
            verdict = STEP.judge(Document("a/1", "a", document))
            assert max(each.value for each in verdict.measured) < 0.1
            found[letter] += 1
    assert found["་"] == 2 and all(found.values())


def test_syllables_of_tibetan_are_no_words():
    words = split_words("འགྲོ་བ་མི་རིགས་རྣམས་ཀྱིས་རང་དབང་ལྡན་པའི་ཐོབ་ཐང་ལ་ལོངས་སྤྱོད་ཆོག")
    assert words.counts.num_symbols == 0 and letters_per_word(words) == 4
    assert 7 <= words.counts.num_words / letters_per_word(words) <= 12


def test_an_empty_text_repeats_nothing():
    values = measured(STEP, "")
    assert set(values.values()) == {0} and len(values) == 13


@pytest.mark.parametrize(
    ("text", "rule", "value"),
    [
        ("a\nb\na\na", "max_duplicate_line_fraction", 0.5),
        ("aa\nbb\naa", "max_duplicate_line_character_fraction", 2 / 8),
        ("a\n\nb\nc\n\na\n\na\n", "max_duplicate_paragraph_fraction", 0.5),
        ("ab cd\n\nef\n\nab cd", "max_duplicate_paragraph_character_fraction", 5 / 16),
        ("x y and x y", "max_top_2_gram_fraction", 6 / 11),
        ("a b c d e " * 2, "max_duplicate_5_gram_fraction", 5 / 20),
        ("山水人心大地天空日" * 2, "max_duplicate_5_gram_fraction", 0.5),  # 9 letters are 5 words
    ],
)
def test_values_of_texts(text, rule, value):
    assert measured(STEP, text)[rule] == pytest.approx(value)


@pytest.mark.parametrize(
    "text",
    [
        "a " * 1_000_000,
        "ab" * 500_000,
        "\n" * 1_000_000,
        "a\n" * 500_000,
        "a b c d e f g h i j k " * 50_000,
        "中" * 1_000_000,
    ],
    ids=["word", "long word", "newlines", "lines", "words", "letters"],
)
def test_a_million_repeated_words_are_measured(text):
    """If a look-up cost more the more there were, this would not end."""
    values = measured(STEP, text)
    if len(text.split()) > 1 or "中" in text:
        assert values["max_top_2_gram_fraction"] > 0.1
        assert values["max_duplicate_5_gram_fraction"] > 0.4
    if "\n" in text:
        assert values["max_duplicate_line_fraction"] == pytest.approx(
            1 if "a" in text else 0.5, abs=1e-5
        )


def test_a_threshold_can_be_moved_out_of_reach():
    step = make_step("gopher_repetition", {"max_top_2_gram_fraction": float("inf")})
    assert measured(step, "a a a a")["max_top_2_gram_fraction"] == 9 / 7
