r"""The units of a text that steps judge one by one, lines or sentences, say: runs of its words.

    words of "A cat sat. It ate.\nWhy?"       A cat sat . It ate . Why ?
    unit_bounds(words, "line", "en")           0                   7     9
    unit_bounds(words, "sentence", "en")       0           4       7     9

A unit has at least one word; symbols are words, too. Units follow each other without gaps.
"""

import re
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from bert_data.curation.document import Document
from bert_data.curation.words import Words
from bert_data.text.sentences import DEFAULT_LANGUAGE, split_sentences
from bert_data.text.wrapping import join_wrapped_lines

Unit = Literal["document", "paragraph", "line", "sentence"]
"""Blank lines separate paragraphs; "\\n" ends a line."""

BLANK_LINES = re.compile(r"\n(?:[^\S\n]*\n)+")

_NEWLINE = 10
_CODE = re.compile("[a-z]{2,3}")


def with_whole_sentences(document: Document, unit: Unit) -> Document:
    """Join the lines of wrapped paragraphs if the units are sentences, which may span them."""
    if unit != "sentence" or "\n" not in document.text:
        return document
    return document.with_text(join_wrapped_lines(document.text))


def unit_bounds(words: Words, unit: Unit, language: str) -> NDArray[np.int64]:
    """Return where units begin, and the end of the last: int64 [units + 1], in words, increasing.

    Args:
      words: of a text; if the units are sentences, of `with_whole_sentences`.
      unit: "document" has all words.
      language: code of the text's; for sentences.
    """
    if unit == "line":
        starts = np.flatnonzero(words.codes == _NEWLINE)
    elif unit == "paragraph":
        starts = np.array([blank.end() for blank in BLANK_LINES.finditer(words.text)], np.int64)
    elif unit == "sentence":
        starts = np.array(_sentence_starts(words.text, language), np.int64)
    else:
        starts = np.empty(0, np.int64)
    bounds = np.searchsorted(words.starts, starts)
    return np.unique(np.concatenate([[0], bounds, [len(words)]])).astype(np.int64)


def split_known(text: str, language: str) -> list[str]:
    """Return the sentences of a text, by the rules for English if the language is no code.

    Lines end sentences. A lone surrogate, which the splitter cannot encode, becomes "?".
    """
    known = language if _CODE.fullmatch(language) else DEFAULT_LANGUAGE
    return split_sentences(_encodable(text), known, joins_lines=False)


def _encodable(text: str) -> str:
    return text if text.isascii() else text.encode(errors="replace").decode()


def _sentence_starts(text: str, language: str) -> list[int]:
    starts, place = [], 0
    text = _encodable(text)
    for sentence in split_known(text, language):
        starts.append(text.index(sentence, place))
        place = starts[-1] + len(sentence)
    return starts
