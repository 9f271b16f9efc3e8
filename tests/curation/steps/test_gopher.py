"""Gopher's rules of quality against the same in plain Python, on words as strings."""

import re
import unicodedata

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from bert_data.curation.characters import UNSPACED, class_of
from bert_data.curation.document import Document
from bert_data.curation.quality.languages import (
    is_syllabic,
    known_language,
    letters_per_word,
    stop_words,
)
from bert_data.curation.running.presets import PRESETS
from bert_data.curation.step import make_step
from bert_data.curation.steps.gopher import GopherQuality, GopherRepetition, Length
from bert_data.curation.words import split_words
from tests.curation.texts import TEXTS, make_document, measured
from tests.hypotheses import examples
from tests.rows import mostly_slow

COVERS = ("curation/quality/ngrams",)

QUALITY = GopherQuality()
GOPHERS = ("the", "be", "to", "of", "and", "that", "have", "with")


def is_letter(char):
    return unicodedata.category(char)[0] == "L" or class_of(char) == UNSPACED


def quality_slowly(text, stopwords):
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


@examples(100)
@given(TEXTS, st.sampled_from([None, "", "en", "zh", "de", "xx"]))
def test_rules_of_quality_are_as_defined(text, language):
    stopwords = stop_words(known_language(language, "", split_words(text)))
    values = measured(QUALITY, text, language=language)
    assert values == pytest.approx(quality_slowly(text, stopwords), abs=1e-9)


def test_english_stop_words_are_gophers():
    assert stop_words("en") == GOPHERS
    for number in range(len(GOPHERS)):
        text = " x ".join(GOPHERS[:number])
        assert measured(QUALITY, text, language="en")["min_stop_words"] == number
    assert measured(QUALITY, "The THE bee wither", language="en")["min_stop_words"] == 0


def test_punctuation_is_a_word_only_by_datatroves_definition():
    """The paper asks that words contain a letter; code has many marks between its words."""
    code = "def mean(values): return sum(values) / len(values)  # of"
    theirs = GopherQuality(symbols_are_words=True)
    rule = "min_alphabetic_word_fraction"
    assert measured(QUALITY, code)[rule] == 1
    assert measured(theirs, code)[rule] == 0.5
    assert measured(theirs, "a 1 ! b2")[rule] == 0.5
    assert rule not in measured(QUALITY, "! ?")
    of_presets = {
        name: dict(parameters).get("symbols_are_words", False)
        for name, steps in PRESETS.items()
        for step, parameters in steps
        if step == "gopher_quality"
    }
    assert of_presets == {"gopher": False, "fineweb": True, "refinedweb": False}


@pytest.mark.parametrize(
    ("text", "fields", "parameters", "value"),
    [
        ("der Hund und die Katze", {"language": "de"}, {}, 3),
        ("der Hund und die Katze", {}, {"language": "de"}, 3),
        ("der Hund und die Katze", {}, {}, None),
        ("بطاقة في البيت", {}, {}, None),
        ("кошка и собака", {}, {}, None),
        ("कुत्ता और बिल्ली", {}, {}, None),
        ("the cat and dog", {"language": "en"}, {"language": "de"}, 2),
        ("the cat and dog", {"language": "eng_Latn"}, {"language": "de"}, 2),
        ("the cat and dog", {"language": 7}, {}, None),
        ("the cat and dog", {"language": "und"}, {}, None),
        ("the cat and dog", {}, {"stop_words": ["the"]}, 1),
        ("der Hund", {"language": "de"}, {"stop_words": ["Hund", "Maus"]}, 1),
        ("他的女儿在这里", {}, {}, 4),
        ("他的女儿在这里", {"language": "zh-Hant"}, {}, 4),
        ("これは本です。", {}, {}, 3),
        ("ภาษาที่มีในโลก", {}, {}, 3),
    ],
)
def test_stop_words_are_of_the_documents_language(text, fields, parameters, value):
    step = make_step("gopher_quality", parameters)
    assert measured(step, text, **fields).get("min_stop_words") == value


def test_documents_that_stop_words_did_not_judge_are_counted():
    verdict = QUALITY.judge(Document("1", "a", "кошка и собака", {}))
    assert verdict.counted == {"without_stop_words": 1}
    assert "did not judge 1 document," in QUALITY.describe_use({**verdict.counted})
    assert QUALITY.describe_use({}) is None


REPETITION = GopherRepetition()


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


def repetition_slowly(text):
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


@examples(100)
@given(TEXTS, st.sampled_from([1, 3]))
@example("a b c b d b e f a g", 1)  # the first of n-grams that are as frequent counts
@example("long a b a b bc a bc a", 1)  # the first one is not as frequent
@example("\n\na\n\n\nb\na\n\n", 1)
def test_rules_of_repetition_are_as_defined(text, times):
    text = "\n\n".join([text] * times)
    assert measured(REPETITION, text) == pytest.approx(repetition_slowly(text), abs=1e-12)


def test_prose_of_scripts_without_spaces_is_kept(shared):
    text = (shared / "data/corpora/udhr.txt").read_text(encoding="utf-8")
    found = dict.fromkeys("་፡ꀊꦏကก", 0)  # Tibetan, Ethiopic, Yi, Javanese, Burmese, Thai
    for document in text.split("\n\n"):
        for letter in filter(document.count, found):
            verdict = REPETITION.judge(Document("a/1", "a", document))
            assert max(each.value for each in verdict.measured) < 0.1
            found[letter] += 1
    assert found["་"] == 2 and all(found.values())


def test_syllables_of_tibetan_are_no_words():
    words = split_words("འགྲོ་བ་མི་རིགས་རྣམས་ཀྱིས་རང་དབང་ལྡན་པའི་ཐོབ་ཐང་ལ་ལོངས་སྤྱོད་ཆོག")
    assert words.counts.num_symbols == 0 and letters_per_word(words) == 4
    assert 7 <= words.counts.num_words / letters_per_word(words) <= 12


@mostly_slow(
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
    values = measured(REPETITION, text)
    if len(text.split()) > 1 or "中" in text:
        assert values["max_top_2_gram_fraction"] > 0.1
        assert values["max_duplicate_5_gram_fraction"] > 0.4
    if "\n" in text:
        assert values["max_duplicate_line_fraction"] == pytest.approx(
            1 if "a" in text else 0.5, abs=1e-5
        )


def test_words_are_counted_as_everywhere() -> None:
    # Marks are words of their own, see `bert_data.curation.words`.
    assert measured(Length(), "One two, three.\nfour!")["min_words"] == 7
    assert measured(Length(), "一二三")["max_words"] == len(make_document("一二三").words)
    assert measured(Length(), "")["min_words"] == 0
