"""Correct the lines of web pages: drop or edit those that are page furniture, not text."""

import re
from collections import Counter
from typing import Annotated, NamedTuple

import numpy as np
from numpy.typing import NDArray

from bert_data.curation.characters import LOWER, NUMBER, UNSPACED, UPPER
from bert_data.curation.document import Document, Verdict, measure
from bert_data.curation.quality.languages import LETTERS_PER_WORD
from bert_data.curation.step import DocumentStep, register
from bert_data.curation.text_units import NEWLINE, is_blank_at
from bert_data.curation.web.web_phrases import cut_phrases, is_counter
from bert_data.curation.words import Words
from bert_data.kernels import kernel
from bert_data.settings import Share, Within

_LETTERS_PER_WORD = LETTERS_PER_WORD["zh"]


class LineMeasures(NamedTuple):
    r"""Measures of the lines of a text, which end with "\n"; each int32 [lines].

    A word has a letter or a digit, and spaces around it; 1.8 letters of an unspaced script are a
    word (as in Chinese), rounded.
    """

    starts: NDArray[np.int32]  # in characters
    ends: NDArray[np.int32]  # without the "\n"
    num_words: NDArray[np.int32]
    num_letters: NDArray[np.int32]
    num_upper: NDArray[np.int32]  # upper-case letters
    num_unspaced: NDArray[np.int32]  # letters of unspaced scripts
    num_numbers: NDArray[np.int32]  # characters that are digits or other numbers


def measure_lines(words: Words) -> LineMeasures:
    """Measure the lines of a text; takes 28 bytes of memory per line."""
    num_lines = int(np.count_nonzero(words.codes == NEWLINE)) + 1
    out = np.empty((7, num_lines), np.int32)
    _fill_measures(words.characters, out)
    measures = LineMeasures(*out)
    if measures.num_unspaced.any():
        of_unspaced = np.rint(measures.num_unspaced / _LETTERS_PER_WORD).astype(np.int32)
        of_unspaced = np.maximum(of_unspaced, (measures.num_unspaced > 0).astype(np.int32))
        measures = measures._replace(num_words=measures.num_words + of_unspaced)
    return measures


@kernel
def _fill_measures(
    characters: tuple[NDArray[np.uint32], NDArray[np.uint8]], out: NDArray[np.int32]
) -> None:
    """Fill the rows of `LineMeasures`; `num_words` excludes letters of unspaced scripts.

    There is a column of `out` for each newline and one more.
    """
    codes, classes = characters
    line, place = 0, 0
    while line < out.shape[1]:
        start, num_words, in_word = place, 0, False
        num_letters, num_upper, num_unspaced, num_numbers = 0, 0, 0, 0
        while place < len(codes) and codes[place] != NEWLINE:
            kind = classes[codes[place]]
            if LOWER <= kind <= NUMBER:
                if not in_word:
                    num_words += 1
                    in_word = True
                if kind == NUMBER:
                    num_numbers += 1
                else:
                    num_letters += 1
                    num_upper += kind == UPPER
            elif kind == UNSPACED:
                num_unspaced += 1
                num_letters += 1
                in_word = False
            elif is_blank_at(codes, classes, place):
                in_word = False
            place += 1
        out[0, line], out[1, line], out[2, line] = start, place, num_words
        out[3, line], out[4, line] = num_letters, num_upper
        out[5, line], out[6, line] = num_unspaced, num_numbers
        place += 1
        line += 1


_BLANK_LINES = re.compile(r"\n{3,}")
_IN_A_WORD = re.compile(r"[^\W\d_]")
_MAX_SHORT_CHARACTERS = 400


@register
class LineCorrections(DocumentStep):
    """Drops navigation, counters and other boilerplate lines, and edits short ones.

    These are RefinedWeb's line-wise corrections (Penedo et al. 2023, G.2). A line is dropped if it
    is mostly upper case, consists of numbers only, is a counter ("3 likes"), or has one word. A
    short line is edited if it begins with navigation ("Sign in |"), ends with a call to action
    ("Read more..."), or contains another such phrase ("items in cart"); if one word is left, the
    line is dropped. Menus (three or more short items with separators between them) are dropped. The
    document is rejected if these lines hold more than 5% of its words. The phrases and counters are
    English and Chinese; 1.8 Chinese letters count as a word.

    Attributes:
      max_corrected_fraction: largest share of words in lines that are dropped or edited.
      uppercase_fraction: lines with a larger share of upper-case letters are dropped.
      short_line_words: lines of at most this many words are searched for phrases.
      numeric: drop lines that consist of numbers.
      counters: drop counters.
      one_word: drop lines of one word.
      navigation: edit lines that contain phrases of web pages.
    """

    name = "line_corrections"
    max_corrected_fraction: Share = 0.05
    uppercase_fraction: Share = 0.5
    short_line_words: Annotated[int, Within(0)] = 10
    numeric: bool = True
    counters: bool = True
    one_word: bool = True
    navigation: bool = True

    _PROSE = (
        "The miller went down to the river at noon, and nobody that we know of saw him come back. "
        "His daughter asked the ferryman, who had been asleep, and then the boys with their nets, "
        "but all had looked the other way."
    )
    step_examples = (
        (f"{_PROSE}\n3 likes\n", _PROSE),
        ("Home | News\nThe miller went down to the river.\nRead more...", None),
        ("没有人再看见他。", "没有人再看见他。"),
    )

    def judge(self, document: Document) -> Verdict:
        text, lines = document.text, measure_lines(document.words)
        reasons, rests = self._correct(text, lines)
        num_words = int(lines.num_words.sum(dtype=np.int64))
        num_corrected = sum(int(lines.num_words[line]) for line in reasons)
        fraction = num_corrected / num_words if num_words else 0.0
        measured = measure("max_corrected_fraction", fraction, self.max_corrected_fraction)
        if measured.failed or not reasons:
            return Verdict(document, (measured,))
        corrected = document.with_text(_rewrite(text, lines, rests))
        return Verdict(corrected, (measured,), Counter(reasons.values()))

    def _correct(self, text: str, lines: LineMeasures) -> tuple[dict[int, str], dict[int, str]]:
        """Return, by number of each corrected line, the reason and the rest of the line."""
        reasons: dict[int, str] = {}
        rests: dict[int, str] = {}
        for rule, is_dropped in self._dropped(lines):
            for line in np.flatnonzero(is_dropped).tolist():
                reasons.setdefault(line, rule)
                rests[line] = ""
        if self.counters or self.navigation:
            is_short = (lines.num_words > 0) & (lines.num_words <= self.short_line_words)
            is_short &= lines.ends - lines.starts <= _MAX_SHORT_CHARACTERS
            for line in np.flatnonzero(is_short).tolist():
                whole = text[lines.starts[line] : lines.ends[line]].strip()
                if self.counters and lines.num_numbers[line] and is_counter(whole):
                    reasons[line], rests[line] = "counter", ""
                elif self.navigation and line not in reasons:
                    rest = cut_phrases(whole)
                    if rest is not whole and rest != whole:
                        reasons[line] = "navigation"
                        rests[line] = rest if _has_words(rest) else ""
        return reasons, rests

    def _dropped(self, lines: LineMeasures) -> list[tuple[str, NDArray[np.bool_]]]:
        """Return the rules that need measures alone, with the lines that each of them drops."""
        too_high = lines.num_upper > self.uppercase_fraction * lines.num_letters
        rules = [("uppercase", too_high & (lines.num_unspaced == 0))]
        if self.numeric:
            rules.append(("numeric", (lines.num_letters == 0) & (lines.num_numbers > 0)))
        if self.one_word:
            rules.append(("one_word", lines.num_words == 1))
        return rules


def _has_words(text: str) -> bool:
    """Whether more than one word is left of an edited line."""
    words = [word for word in text.split() if _IN_A_WORD.search(word)]
    return len(words) > 1 or (bool(words) and not words[0].isascii() and len(words[0]) > 2)


def _rewrite(text: str, lines: LineMeasures, rests: dict[int, str]) -> str:
    """Return the text with corrected lines, and with at most one blank line at a time."""
    parts, done = [], 0
    for line in sorted(rests):
        start, end = int(lines.starts[line]), int(lines.ends[line])
        parts.append(text[done:start])
        if rests[line]:
            parts.append(rests[line])
            done = end
        else:
            done = min(end + 1, len(text))
    parts.append(text[done:])
    return _BLANK_LINES.sub("\n\n", "".join(parts)).strip("\n")
