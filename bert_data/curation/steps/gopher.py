"""Gopher's rules of quality and of repetition, and a rule of length alone."""

import functools
import math
from collections.abc import Mapping

import numpy as np
from numpy.typing import NDArray

from bert_data.curation.document import Document, Verdict
from bert_data.curation.quality.languages import (
    STOP_WORDS,
    is_syllabic,
    known_language,
    language_code,
    letters_per_word,
    stop_words,
)
from bert_data.curation.quality.ngrams import ngram_characters, repeated_lines, repeated_paragraphs
from bert_data.curation.step import PROSE_EXAMPLE, DocumentStep, register
from bert_data.curation.text_units import line_marks
from bert_data.curation.words import hash_word
from bert_data.kernels import kernel
from bert_data.progress import how_many

_NO_STOP_WORDS = "without_stop_words"


@register
class GopherQuality(DocumentStep):
    """Rejects documents that do not look like prose, by Gopher's quality rules.

    The rules and thresholds are those of Rae et al. 2021, "Scaling language models: methods,
    analysis and insights from training Gopher" (arXiv:2112.11446), A1.1. Where the paper is silent,
    this step follows datatrove: punctuation marks and symbols do not count as words, except where
    hash signs and ellipses are counted per word; stop words are matched in lower case as written,
    and each counts once; both "…" and "..." are ellipses; blank lines are lines. datatrove also
    counts punctuation in the share of alphabetic words, which rejects most technical texts; for
    that, set `symbols_are_words: true`.

    In scripts without spaces between words (Chinese, Japanese, Thai, ...) the number of words is
    estimated from the number of letters and their mean number per word, each letter is an
    alphabetic word, and stop words may occur anywhere in the text. The mean word length is not
    measured for them, nor for Korean, whose characters are syllables. The stop words are those of
    the document's language, which comes from its field `language` (the step `language` sets it),
    from the parameter, or from letters that only one language uses. If the language is unknown or
    has no list, stop words are not measured.

    Attributes:
      min_words: least number of words that contain a letter or a digit.
      max_words: largest number of these words.
      min_mean_word_length: least mean number of characters of these words.
      max_mean_word_length: largest mean number of characters of these words.
      max_symbol_word_ratio: largest number of hash signs per word, and likewise of ellipses
        (symbols are words here).
      max_bullet_line_fraction: largest share of lines that begin with a bullet.
      max_ellipsis_line_fraction: largest share of lines that end with an ellipsis.
      min_alphabetic_word_fraction: least share of words that contain a letter.
      symbols_are_words: count punctuation marks and symbols as words in that share.
      min_stop_words: least number of different stop words.
      language: code of the language of documents without a field `language`, such as "en".
      stop_words: stop words to use for all documents instead.
      bullets: characters that count as bullets.
    """

    name = "gopher_quality"
    min_words: float = 50
    max_words: float = 100_000
    min_mean_word_length: float = 3
    max_mean_word_length: float = 10
    max_symbol_word_ratio: float = 0.1
    max_bullet_line_fraction: float = 0.9
    max_ellipsis_line_fraction: float = 0.3
    min_alphabetic_word_fraction: float = 0.8
    symbols_are_words: bool = False
    min_stop_words: float = 2
    language: str = ""
    stop_words: tuple[str, ...] = ()
    bullets: tuple[str, ...] = ("•", "-")

    _PROSE = (
        "The miller went down to the river at noon, and nobody that we know of saw him come back. "
        "His daughter asked the ferryman, who had been asleep, and then the boys with their nets, "
        "but all of them had looked the other way. In the evening she found his hat, which was "
        "dry, and set out for the town with the dog."
    )
    _CHINESE = (
        "那天中午，磨坊主人到河边去了，后来没有人再看见他。他的女儿问了船夫，船夫说他一直在睡觉；"
        "又问了打鱼的孩子们，他们都没有往那边看。到了晚上，她在草地里找到了父亲的帽子，帽子是干的，"
        "于是她带着狗到城里去了。"
    )
    step_examples = (
        (_PROSE, _PROSE),
        (_CHINESE, _CHINESE),
        ("Too short to be of use.", None),
        (" ".join(["#sale #shoes now"] * 40), None),
        ("\n".join(["- a shoe of the best"] * 20), None),
    )

    def __post_init__(self) -> None:
        super().__post_init__()
        if not all(len(each) == 1 for each in self.bullets):
            raise ValueError(f"bullets is {self.bullets!r}; it must be a list of single characters")
        if not all(each.strip() == each for each in self.stop_words):
            raise ValueError(f"stop_words is {self.stop_words!r}; it must be a list of words")
        if self.language and not self.stop_words and not stop_words(language_code(self.language)):
            known = ", ".join(STOP_WORDS)
            raise ValueError(
                f"language is {self.language!r}, which has no list of stop words; it must be one of"
                f" {known}, or stop_words must be given"
            )

    def judge(self, document: Document) -> Verdict:
        values = self.values(document)
        unjudged = {} if "min_stop_words" in values else {_NO_STOP_WORDS: 1}
        return Verdict(document, self.measure_rules(values), counted=unjudged)

    def describe_use(self, counted: dict[str, int]) -> str | None:
        if not (number := counted.get(_NO_STOP_WORDS)):
            return None
        return (
            f"min_stop_words did not judge {how_many(number, 'document')}, whose language is"
            " unknown, or has no list of stop words; the step language finds languages"
        )

    def values(self, document: Document) -> Mapping[str, float]:
        words, text = document.words, document.text
        letters = letters_per_word(words)
        counts = words.counts
        num_symbols, num_unspaced = counts.num_symbols, counts.num_unspaced
        num_words = counts.num_words - num_symbols - num_unspaced + num_unspaced / letters
        values: dict[str, float] = {"min_words": num_words, "max_words": num_words}
        if letters == 1 and num_words and not is_syllabic(words):
            mean_length = counts.num_characters / num_words
            values["min_mean_word_length"] = values["max_mean_word_length"] = mean_length
        if counts.num_words:
            num_marks = max(text.count("#"), text.count("...") + text.count("…"))
            values["max_symbol_word_ratio"] = num_marks / (num_words + num_symbols)
        marks = line_marks(words, "".join(self.bullets))
        if marks.num_lines:
            values["max_bullet_line_fraction"] = marks.num_bullets / marks.num_lines
            values["max_ellipsis_line_fraction"] = marks.num_ellipses / marks.num_lines
        num_counted = counts.num_words - (0 if self.symbols_are_words else num_symbols)
        if num_counted:
            values["min_alphabetic_word_fraction"] = counts.num_with_letter / num_counted
        language = known_language(document.fields.get("language"), self.language, words)
        stops = self.stop_words or stop_words(language)
        if stops and letters == 1:
            hashes = _hashes_of(stops)
            is_present = np.zeros(len(hashes), np.bool_)
            values["min_stop_words"] = int(_count_present(words.hashes, hashes, is_present))
        elif stops:
            values["min_stop_words"] = sum(word in text for word in stops)
        return values


@functools.lru_cache(maxsize=256)
def _hashes_of(stops: tuple[str, ...]) -> NDArray[np.uint64]:
    return np.array([hash_word(word) for word in stops], np.uint64)


@kernel
def _count_present(
    hashes: NDArray[np.uint64], stops: NDArray[np.uint64], is_present: NDArray[np.bool_]
) -> int:
    """Count the stop words, [stop words], whose hashes are among [words]; mark them as present."""
    low_bits = np.uint64(0)  # a set of the stop words' last 6 bits, which few words are in
    for hashed in stops:
        low_bits |= np.uint64(1) << (hashed & np.uint64(63))
    num_present = 0
    for hashed in hashes:
        if (low_bits >> (hashed & np.uint64(63))) & np.uint64(1):
            for index in range(len(stops)):
                if stops[index] == hashed and not is_present[index]:
                    is_present[index] = True
                    num_present += 1
    return num_present


_ORDERS = _TOP_ORDERS, _REPEATED_ORDERS = (2, 3, 4), (5, 6, 7, 8, 9, 10)


@register
class GopherRepetition(DocumentStep):
    r"""Rejects documents that repeat themselves, by Gopher's repetition rules.

    The rules and thresholds are those of Rae et al. 2021, "Scaling language models: methods,
    analysis and insights from training Gopher" (arXiv:2112.11446), A1.1 and table A1. Where the
    paper is silent, this step follows datatrove: the first of several equal lines, paragraphs or
    n-grams is not a repetition; runs of "\n" separate lines, and two or more of them paragraphs;
    shares of characters are shares of the whole text; the most frequent n-gram has one space
    between its words; repeated n-grams are found from left to right and do not overlap.

    In scripts without spaces between words (Chinese, Japanese, Thai, ...) each letter is a word,
    and an n-gram has as many letters as n words have on average: 9 Chinese characters are a 5-gram.

    Attributes:
      max_duplicate_line_fraction: largest share of lines that occurred before.
      max_duplicate_paragraph_fraction: likewise of paragraphs.
      max_duplicate_line_character_fraction: largest share of characters in such lines.
      max_duplicate_paragraph_character_fraction: largest share of characters in such paragraphs.
      max_top_2_gram_fraction: largest share of characters in the most frequent 2-gram.
      max_top_3_gram_fraction: likewise for 3-grams.
      max_top_4_gram_fraction: likewise for 4-grams.
      max_duplicate_5_gram_fraction: largest share of characters in 5-grams that occurred before.
      max_duplicate_6_gram_fraction: likewise for 6-grams.
      max_duplicate_7_gram_fraction: likewise for 7-grams.
      max_duplicate_8_gram_fraction: likewise for 8-grams.
      max_duplicate_9_gram_fraction: likewise for 9-grams.
      max_duplicate_10_gram_fraction: likewise for 10-grams.
    """

    name = "gopher_repetition"
    max_duplicate_line_fraction: float = 0.30
    max_duplicate_paragraph_fraction: float = 0.30
    max_duplicate_line_character_fraction: float = 0.20
    max_duplicate_paragraph_character_fraction: float = 0.20
    max_top_2_gram_fraction: float = 0.20
    max_top_3_gram_fraction: float = 0.18
    max_top_4_gram_fraction: float = 0.16
    max_duplicate_5_gram_fraction: float = 0.15
    max_duplicate_6_gram_fraction: float = 0.14
    max_duplicate_7_gram_fraction: float = 0.13
    max_duplicate_8_gram_fraction: float = 0.12
    max_duplicate_9_gram_fraction: float = 0.11
    max_duplicate_10_gram_fraction: float = 0.10

    step_examples = (
        (PROSE_EXAMPLE, PROSE_EXAMPLE),
        ("Click here for more.\nClick here for more.\nClick here for more.", None),
        ("buy shoes online now " * 5, None),
    )

    def values(self, document: Document) -> Mapping[str, float]:
        words = document.words
        num_characters = max(1, len(document.text))
        lines, paragraphs = repeated_lines(words, count_blank=True), repeated_paragraphs(words)
        letters = letters_per_word(words)
        orders, spaces = _scaled_orders(letters), int(letters == 1)
        top, repeated = ngram_characters(words.hashes, words.lengths, *orders, spaces=spaces)
        values = {
            "max_duplicate_line_fraction": lines.num_repeated / lines.num_parts,
            "max_duplicate_paragraph_fraction": paragraphs.num_repeated / paragraphs.num_parts,
            "max_duplicate_line_character_fraction": lines.num_characters / num_characters,
        }
        in_paragraphs = paragraphs.num_characters / num_characters
        values["max_duplicate_paragraph_character_fraction"] = in_paragraphs
        for order, characters in zip(_TOP_ORDERS, top, strict=True):
            values[f"max_top_{order}_gram_fraction"] = characters / num_characters
        for order, characters in zip(_REPEATED_ORDERS, repeated, strict=True):
            values[f"max_duplicate_{order}_gram_fraction"] = characters / num_characters
        return values


@functools.cache
def _scaled_orders(letters: float) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return the words of top and of repeated n-grams, by the letters that count as a word."""
    top, repeated = (np.rint(np.multiply(o, letters)).astype(int) for o in _ORDERS)
    return top, repeated


@register
class Length(DocumentStep):
    """Keeps documents that are neither too short nor too long.

    Dolma (Soldaini et al. 2024, section 5.1) removes Wikipedia pages of 25 words or fewer.

    Attributes:
      min_words: least number of words, counted as in all steps (`bert_data.curation.words`).
      max_words: largest number of words.
    """

    name = "length"
    min_words: float = 26
    max_words: float = math.inf

    example_parameters = {"min_words": 3, "max_words": 5}
    step_examples = (
        ("One two.", "One two."),
        ("One.", None),
        ("一二三", "一二三"),
        ("One two three four five six.", None),
    )

    def values(self, document: Document) -> Mapping[str, float]:
        count = len(document.words)
        return {"min_words": count, "max_words": count}
