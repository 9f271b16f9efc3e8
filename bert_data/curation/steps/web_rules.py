"""C4's and FineWeb's rules: what the lines of web pages look like that are prose."""

import functools
import re
from collections import Counter
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Annotated

import numpy as np
from numpy.typing import NDArray

from bert_data.curation.document import Document, Verdict
from bert_data.curation.quality.languages import (
    language_of,
    letters_per_word,
    marks_sentences,
    sentence_terminals,
)
from bert_data.curation.quality.ngrams import repeated_lines
from bert_data.curation.quality.phrases import (
    Phrases,
    composed_words,
    open_phrases,
    read_phrases,
    write_phrases,
)
from bert_data.curation.step import PROSE_EXAMPLE, DocumentStep, register
from bert_data.curation.text_units import SpacedLines, line_ends, spaced_lines, split_text
from bert_data.curation.words import Words
from bert_data.settings import Within
from bert_data.text.text_config import check_language

_CITATION = re.compile(r"\[\d*\]|\[edit\]|\[citation needed\]")
_POLICY = (
    *("terms of use", "privacy policy", "cookie policy"),
    *("uses cookies", "use of cookies", "use cookies"),
)
_JAVASCRIPT_LINES, _POLICY_LINES = "javascript_lines", "policy_lines"
_AFTER_MARKS = "\"'”’»」』）〉》】﴾)]"


@register
class C4(DocumentStep):
    """Keeps lines that end like sentences; rejects documents with too few sentences.

    The rules are those of Raffel et al. 2020, "Exploring the limits of transfer learning with a
    unified text-to-text transformer" (JMLR 21), section 2.2, in the order of the code that built C4
    (TensorFlow Datasets, `c4_utils.py`). That code also drops lines that mention cookies or terms
    of use and lines with a word of more than 1,000 characters, and removes citations such as [1]
    from lines. The defaults of `min_sentences`, `min_words_per_line` and `terminal_punctuation` are
    datatrove's; the preset `c4` has those of the original code: 3, 5, and no '. Words are separated
    by white space. As in that code, "lorem ipsum" and curly brackets count only in lines that end
    like a sentence and are long enough. Deduplication and language identification, which the
    section also describes, are separate steps.

    In scripts without spaces between words (Chinese, Japanese, Thai, ...) the number of words is
    estimated from the number of letters and their mean number per word. Thai and Lao do not mark
    the ends of sentences, so their lines may end with anything. Lines of other languages may also
    end with the marks of their scripts (。 ؟ ۔ । ։ ። ...), followed by quotes or brackets or not.

    Attributes:
      min_sentences: least number of sentences in the lines that are kept.
      max_lorem_ipsum_lines: largest number of lines with "lorem ipsum".
      max_curly_bracket_lines: largest number of lines with "{".
      max_bad_words: largest number of matches of `bad_words` in the document.
      min_words_per_line: lines with fewer words are dropped.
      max_word_characters: lines with a longer word are dropped.
      terminal_punctuation: lines that end neither with one of these marks nor with one of another
        script are dropped, as are lines that end with "..."; if empty, endings do not matter.
      bad_words: file of words and phrases, one per line, matched as in the step `safety`.
      removes_javascript_lines: drop lines that contain "javascript".
      removes_policy_lines: drop lines that mention cookies or terms of use.
      removes_citations: remove [1], [], [edit] and [citation needed].
      language: language of documents without a field `language`; it decides how sentences are
        split.
    """

    name = "c4"
    min_sentences: float = 5
    max_lorem_ipsum_lines: float = 0
    max_curly_bracket_lines: float = 0
    max_bad_words: float = 0
    min_words_per_line: float = 3
    max_word_characters: float = 1000
    terminal_punctuation: tuple[str, ...] = (".", "?", "!", '"', "'")
    bad_words: str = ""
    removes_javascript_lines: bool = True
    removes_policy_lines: bool = True
    removes_citations: bool = True
    language: str = ""

    _PROSE = (
        "The miller went down to the river.[1] It was noon. Nobody saw him come back.\n"
        "Home | About us\nPlease switch on Javascript to read on.\nHe was gone.\n"
        "His daughter asked the ferryman."
    )
    _KEPT = (
        "The miller went down to the river. It was noon. Nobody saw him come back.\n"
        "He was gone.\nHis daughter asked the ferryman."
    )
    _CHINESE = "磨坊主人去了河边。那是中午。没人再看见他。他的女儿问了船夫。船夫睡着了。"
    step_examples = (
        (_PROSE, _KEPT),
        (_CHINESE, _CHINESE),
        ("He was gone. She saw it.", None),
        (_PROSE + "\nOne writes main() {} in this case.", None),
    )

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.language:
            check_language(self.language)
        if not all(marks := self.terminal_punctuation):
            needed = "it must be a list of non-empty marks"
            raise ValueError(f"terminal_punctuation is {marks!r}; {needed}")

    def prepare(self, folder: Path) -> None:
        if self.bad_words:
            write_phrases(folder, read_phrases([self.bad_words]))

    def open(self, folder: str) -> Callable[[Document], Verdict]:
        phrases = open_phrases(folder) if self.bad_words else None
        return functools.partial(self.judge, phrases=phrases)

    def describe_use(self, counted: dict[str, int]) -> str | None:
        if self.bad_words and not counted.get("max_bad_words"):
            return f"no document contains a phrase of {self.bad_words}"
        return None

    def judge(self, document: Document, phrases: Phrases | None = None) -> Verdict:
        words = document.words
        letters = letters_per_word(words)
        lines = self._lines(document.text, words, letters)
        counts = Counter(fate for _, fate, _ in lines if fate)
        counts["citations"] = sum(number for *_, number in lines)
        text = "\n".join(line for line, fate, _ in lines if not fate).strip()
        language = language_of(document.fields.get("language"), self.language, words)
        values: dict[str, float] = {
            "min_sentences": len(split_text(text, language)),
            "max_lorem_ipsum_lines": sum(
                "lorem ipsum" in line.lower()
                for line, fate, _ in lines
                if fate in ("", _JAVASCRIPT_LINES, _POLICY_LINES)
            ),
            "max_curly_bracket_lines": sum(
                "{" in line for line, fate, _ in lines if fate in ("", _POLICY_LINES)
            ),
        }
        if phrases is not None:
            values["max_bad_words"] = len(phrases.find(composed_words(words)).starts)
        measured = self.measure_rules(values)
        if any(each.failed for each in measured):
            return Verdict(document, measured)
        edits = {edit: number for edit, number in counts.items() if number}
        return Verdict(document.with_text(text), measured, edits)

    def _lines(self, text: str, words: Words, letters: float) -> list[tuple[str, str, int]]:
        """Return (line without citations, what drops it or "", citations) of non-blank lines."""
        lines = spaced_lines(words)
        num_words = lines.num_words if letters == 1 else _num_words(words, lines, letters)
        ends = self.terminal_punctuation if marks_sentences(words) else ()
        ends += ("”", "」", "』") if ends and letters > 1 else ()
        judged = []
        columns = (lines.starts, lines.ends, lines.longest_words, num_words)
        for start, end, longest, number in zip(*map(np.ndarray.tolist, columns), strict=True):
            line, num_citations = text[start:end], 0
            if longest > self.max_word_characters:
                judged.append((line, "lines_with_long_words", 0))
                continue
            if self.removes_citations and "[" in line:
                line, num_citations = _CITATION.subn("", line)
            fate = self._fate(line, number, ends)
            judged.append((line, fate, 0 if fate else num_citations))
        return judged

    def _fate(self, line: str, num_words: float, ends: tuple[str, ...]) -> str:
        """Return what drops a line, or "" if nothing does."""
        is_sentence = not ends or line.endswith(ends) or _ends_as_elsewhere(line)
        if not is_sentence or (ends and line.endswith("...")):
            return "lines_without_terminal_punctuation"
        if num_words < self.min_words_per_line:
            return "short_lines"
        lowered = line.lower()
        if self.removes_javascript_lines and "javascript" in lowered:
            return _JAVASCRIPT_LINES
        if self.removes_policy_lines and any(phrase in lowered for phrase in _POLICY):
            return _POLICY_LINES
        return ""


def _ends_as_elsewhere(line: str) -> bool:
    """Whether a line ends with a mark of another script than Latin, and quotes after it."""
    return line.rstrip(_AFTER_MARKS)[-1:] in _other_marks()


@functools.cache
def _other_marks() -> frozenset[str]:
    return frozenset(chr(code) for code in sentence_terminals().tolist() if code > 0x7F)


def _num_words(words: Words, lines: SpacedLines, letters: float) -> NDArray[np.float64]:
    """Return float64 [lines], words per line; a letter of an unspaced script is part of one."""
    first, last = np.searchsorted(words.starts, [lines.starts, lines.ends])
    num_before = np.zeros((2, len(words) + 1), np.int64)  # integers, so that differences are exact
    np.cumsum(~words.is_symbol, out=num_before[0, 1:])
    np.cumsum(words.is_unspaced, out=num_before[1, 1:])
    num_all, num_unspaced = num_before[:, last] - num_before[:, first]
    return np.asarray(num_all - num_unspaced + num_unspaced / letters)


_LETTERS_OF_ENGLISH_WORD = 5  # with its space, so 30 characters are about six words


@register
class FineWeb(DocumentStep):
    """Rejects documents whose lines do not look like prose.

    The rules and thresholds are those of Penedo et al. 2024, "The FineWeb datasets: decanting the
    web for the finest text data at scale" (arXiv:2406.17557), section 3.6, and the newline rule
    that accompanies them in datatrove. datatrove, which built the data set, allows a duplicate-line
    character fraction of at most 0.01; for that, set `max_duplicate_line_character_fraction: 0.01`.
    Where the paper is silent, this step follows datatrove: blank lines are ignored; sentence-ending
    marks of all scripts count, but only as the last character of a line; the first of several equal
    lines is not a duplicate; newlines do not count as characters; in newlines per word, symbols
    count as words.

    In scripts without spaces between words (Chinese, Japanese, Thai, ...) the number of words is
    estimated from the number of letters and their mean number per word, and a line is short if it
    has no more words than an English line of `short_line_characters`: 11 characters of Chinese.
    Thai and Lao do not mark the ends of sentences, so `min_terminal_line_fraction` does not apply
    to them.

    Attributes:
      min_terminal_line_fraction: least share of lines that end with a sentence-ending mark.
      max_short_line_fraction: largest share of lines of at most `short_line_characters`.
      max_duplicate_line_character_fraction: largest share of characters in lines that occurred
        before.
      max_newline_word_ratio: largest number of newlines per word.
      short_line_characters: length of the longest short line.
    """

    name = "fineweb"
    min_terminal_line_fraction: float = 0.12
    max_short_line_fraction: float = 0.67
    max_duplicate_line_character_fraction: float = 0.1
    max_newline_word_ratio: float = 0.3
    short_line_characters: Annotated[int, Within(0)] = 30

    _CHINESE = "那天中午，磨坊主人到河边去了，后来没有人再看见他。"
    step_examples = (
        (PROSE_EXAMPLE, PROSE_EXAMPLE),
        (_CHINESE, _CHINESE),
        ("Home\nAbout us\nShoes for men\nShoes for women", None),
        ("\n".join([PROSE_EXAMPLE] * 2), None),
    )

    def values(self, document: Document) -> Mapping[str, float]:
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
        return values
