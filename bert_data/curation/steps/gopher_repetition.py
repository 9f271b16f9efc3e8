"""Gopher's repetition rules: reject texts that repeat lines, paragraphs or n-grams."""

import dataclasses
import functools

import numpy as np
from numpy.typing import NDArray

from bert_data.curation.document import Document
from bert_data.curation.quality.languages import letters_per_word
from bert_data.curation.quality.ngrams import ngram_characters, repeated_lines, repeated_paragraphs
from bert_data.curation.step import PROSE_EXAMPLE, DocumentStep, register
from bert_data.curation.verdict import Verdict

_TOP_ORDERS = (2, 3, 4)
_REPEATED_ORDERS = (5, 6, 7, 8, 9, 10)


@register
@dataclasses.dataclass(frozen=True, kw_only=True)
class GopherRepetition(DocumentStep):
    r"""Rejects documents that repeat themselves.

    The rules and thresholds are those of Rae et al. 2021, "Scaling language models: methods,
    analysis and insights from training Gopher" (arXiv:2112.11446), A1.1 and table A1. Where the
    paper is silent, this step follows datatrove: the first of several equal lines, paragraphs or
    n-grams is not a repetition; runs of "\n" separate lines, and two or more of them paragraphs;
    shares of characters are shares of the whole text; the most frequent n-gram has one space
    between its words; repeated n-grams are found from left to right and do not overlap.

    In scripts without spaces between words (Chinese, Japanese, Thai, ...) each letter is a word,
    and an n-gram has as many letters as n words have on average: 9 Chinese characters are a 5-gram.

    Attributes:
      max_duplicate_line_fraction: share of lines that occurred before.
      max_duplicate_paragraph_fraction: share of paragraphs that occurred before.
      max_duplicate_line_character_fraction: share of characters in such lines.
      max_duplicate_paragraph_character_fraction: share of characters in such paragraphs.
      max_top_2_gram_fraction: share of characters in the most frequent 2-gram.
      max_top_3_gram_fraction: likewise for 3-grams.
      max_top_4_gram_fraction: likewise for 4-grams.
      max_duplicate_5_gram_fraction: share of characters in 5-grams that occurred before.
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

    def judge(self, document: Document) -> Verdict:
        """Measure all thirteen rules; an empty text measures 0 for each."""
        words = document.words
        num_characters = max(1, len(document.text))
        lines, paragraphs = repeated_lines(words, count_blank=True), repeated_paragraphs(words)
        letters = letters_per_word(words)
        top, repeated = ngram_characters(
            words.hashes, words.lengths, *_scaled_orders(letters), spaces=int(letters == 1)
        )
        values = {
            "max_duplicate_line_fraction": lines.num_repeated / lines.num_parts,
            "max_duplicate_paragraph_fraction": paragraphs.num_repeated / paragraphs.num_parts,
            "max_duplicate_line_character_fraction": lines.num_characters / num_characters,
            "max_duplicate_paragraph_character_fraction": (
                paragraphs.num_characters / num_characters
            ),
        }
        for order, characters in zip(_TOP_ORDERS, top, strict=True):
            values[f"max_top_{order}_gram_fraction"] = characters / num_characters
        for order, characters in zip(_REPEATED_ORDERS, repeated, strict=True):
            values[f"max_duplicate_{order}_gram_fraction"] = characters / num_characters
        return Verdict(document, self.measure_rules(values))


@functools.cache
def _scaled_orders(letters: float) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return the words of top and of repeated n-grams, by the letters that count as a word."""
    top, repeated = (
        np.array([round(order * letters) for order in orders])
        for orders in (_TOP_ORDERS, _REPEATED_ORDERS)
    )
    return top, repeated
