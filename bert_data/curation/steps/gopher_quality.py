"""Gopher's quality rules: reject texts that are too short, or mostly symbols, lists or stubs."""

import dataclasses
import functools
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from bert_data.curation.document import Document
from bert_data.curation.lines import line_marks
from bert_data.curation.quality.languages import (
    STOP_WORDS,
    is_syllabic,
    language_code,
    language_of,
    letters_per_word,
    stop_words,
)
from bert_data.curation.step import DocumentStep, register
from bert_data.curation.verdict import Verdict
from bert_data.curation.words import Words, hash_word
from bert_data.kernels import kernel


@register
@dataclasses.dataclass(frozen=True, kw_only=True)
class GopherQuality(DocumentStep):
    """Rejects documents that are unlikely to be prose.

    The rules and thresholds are those of Rae et al. 2021, "Scaling language models: methods,
    analysis and insights from training Gopher" (arXiv:2112.11446), A1.1. Where the paper is silent,
    this step follows datatrove: punctuation marks and symbols do not count as words, except where
    hash signs and ellipses are counted per word; stop words are matched in lower case as written,
    and each counts once; both "…" and "..." are ellipses; blank lines are lines. datatrove also
    counts punctuation in the share of alphabetic words, which rejects most technical texts; for
    that, set `symbols_are_words: true`.

    In scripts without spaces between words (Chinese, Japanese, Thai, ...) words are estimated from
    the number of letters and the mean number of letters per word, the mean word length is not
    measured, each letter is an alphabetic word, and stop words may occur anywhere in the text. The
    stop words are those of the document's language, which comes from its field `language`, from the
    parameter, or from its letters; languages without a list of stop words are not measured. Nor is
    the mean word length of Korean, whose characters are syllables.

    Attributes:
      min_words: least number of words that contain a letter or a digit.
      max_words: largest number of these words.
      min_mean_word_length: least mean number of characters of these words.
      max_mean_word_length: largest mean number of characters of these words.
      max_symbol_word_ratio: hash signs per word (symbols are words here), and likewise ellipses.
      max_bullet_line_fraction: share of lines that begin with a bullet.
      max_ellipsis_line_fraction: share of lines that end with an ellipsis.
      min_alphabetic_word_fraction: share of words that contain a letter.
      symbols_are_words: count punctuation marks and symbols among the words of that share.
      min_stop_words: least number of different stop words.
      language: of documents whose `language` field is not set; a code such as "en".
      stop_words: stop words to use for all documents instead.
      bullets: characters that are bullets.
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

    _PROSE: ClassVar[str] = (
        "The miller went down to the river at noon, and nobody that we know of saw him come back. "
        "His daughter asked the ferryman, who had been asleep, and then the boys with their nets, "
        "but all of them had looked the other way. In the evening she found his hat, which was "
        "dry, and set out for the town with the dog."
    )
    _CHINESE: ClassVar[str] = (
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
                f"language is {self.language!r}, of which no stop words are known; one of {known}"
                " is allowed, or any with stop_words"
            )

    def judge(self, document: Document) -> Verdict:
        """Measure the rules that apply to the text; a text without words has no shares."""
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
        stops = self.stop_words
        if not stops:
            language = language_of(document.fields.get("language"), self.language, words)
            stops = stop_words(language)
        if stops:
            values["min_stop_words"] = count_stop_words(words, stops, spaced=letters == 1)
        return Verdict(document, self.measure_rules(values))


def count_stop_words(words: Words, stops: tuple[str, ...], *, spaced: bool) -> int:
    """Count the stop words that occur in a text, each once.

    Args:
      spaced: whether only whole words count; otherwise they are looked for anywhere.
    """
    if not spaced:
        return sum(word in words.text for word in stops)
    hashes = _hashes_of(stops)
    return int(_count_present(words.hashes, hashes, np.zeros(len(hashes), np.bool_)))


@functools.lru_cache(maxsize=256)
def _hashes_of(stops: tuple[str, ...]) -> NDArray[np.uint64]:
    return np.array([hash_word(word) for word in stops], np.uint64)


@kernel
def _count_present(
    hashes: NDArray[np.uint64], stops: NDArray[np.uint64], is_present: NDArray[np.bool_]
) -> int:
    """Count the stop words whose hashes occur.

    Args:
      hashes: [words].
      stops: [stop words], different hashes.
      is_present: [stop words], False.
    """
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
