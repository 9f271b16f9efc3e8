"""FineWeb's quality rules: lines end like sentences, are not too short, and do not repeat."""

import dataclasses
from typing import Annotated, ClassVar

from bert_data.curation.document import Document
from bert_data.curation.lines import line_ends
from bert_data.curation.parameters import Within
from bert_data.curation.quality.languages import (
    letters_per_word,
    marks_sentences,
    sentence_terminals,
)
from bert_data.curation.quality.ngrams import repeated_lines
from bert_data.curation.step import PROSE_EXAMPLE, DocumentStep, register
from bert_data.curation.verdict import Verdict

_LETTERS_OF_ENGLISH_WORD = 5  # with its space, so 30 characters are about six words


@register
@dataclasses.dataclass(frozen=True, kw_only=True)
class FineWeb(DocumentStep):
    """Rejects documents whose lines do not look like prose.

    The rules and thresholds are those of Penedo et al. 2024, "The FineWeb datasets: decanting the
    web for the finest text data at scale" (arXiv:2406.17557), section 3.6, and the newline rule
    that accompanies them in datatrove. datatrove, which built the data set, rejects documents from
    a duplicate-line character fraction of 0.01; for that, set
    `max_duplicate_line_character_fraction: 0.01`. Where the paper is silent, this step follows
    datatrove: blank lines are ignored; sentence-ending marks of all scripts count, but only as the
    last character of a line; the first of several equal lines is not a duplicate; newlines are not
    characters, but they are counted per word (and symbols are words).

    In scripts without spaces between words (Chinese, Japanese, Thai, ...) words are estimated from
    the number of letters and the mean number of letters per word, and a line is short if it has as
    few words as an English line of `short_line_characters`: 11 characters of Chinese. Thai and Lao
    do not mark the ends of sentences, so `min_terminal_line_fraction` does not apply to them.

    Attributes:
      min_terminal_line_fraction: share of lines that end with a sentence-ending mark.
      max_short_line_fraction: share of lines of at most `short_line_characters`.
      max_duplicate_line_character_fraction: share of characters in lines that occurred before.
      max_newline_word_ratio: newlines per word.
      short_line_characters: length of the longest short line.
    """

    name = "fineweb"
    min_terminal_line_fraction: float = 0.12
    max_short_line_fraction: float = 0.67
    max_duplicate_line_character_fraction: float = 0.1
    max_newline_word_ratio: float = 0.3
    short_line_characters: Annotated[int, Within(0)] = 30

    _CHINESE: ClassVar[str] = "那天中午，磨坊主人到河边去了，后来没有人再看见他。"
    step_examples = (
        (PROSE_EXAMPLE, PROSE_EXAMPLE),
        (_CHINESE, _CHINESE),
        ("Home\nAbout us\nShoes for men\nShoes for women", None),
        ("\n".join([PROSE_EXAMPLE] * 2), None),
    )

    def judge(self, document: Document) -> Verdict:
        """Measure the rules; a text without words or lines measures 0."""
        words = document.words
        letters = letters_per_word(words)
        max_short = self.short_line_characters
        if letters > 1:
            max_short = round(max_short * letters / _LETTERS_OF_ENGLISH_WORD)
        ends = line_ends(words, sentence_terminals(), max_short)
        num_lines = max(1, ends.num_lines)
        num_newlines = document.text.count("\n")
        num_characters = max(1, len(document.text) - num_newlines)
        num_unspaced = words.counts.num_unspaced
        num_words = len(words) - num_unspaced + num_unspaced / letters
        repeated = repeated_lines(words, count_blank=False).num_characters
        values = {
            "max_short_line_fraction": ends.num_short / num_lines,
            "max_duplicate_line_character_fraction": repeated / num_characters,
            "max_newline_word_ratio": num_newlines / num_words if num_words else 0,
        }
        if marks_sentences(words):
            values["min_terminal_line_fraction"] = ends.num_terminal / num_lines
        return Verdict(document, self.measure_rules(values))
