"""C4's rules: keep the lines that are sentences, and the documents that have enough of them."""

import dataclasses
import functools
import re
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from bert_data.curation.document import Document
from bert_data.curation.lines import SpacedLines, spaced_lines, split_known
from bert_data.curation.quality.languages import language_of, letters_per_word, marks_sentences
from bert_data.curation.quality.phrases import Phrases, open_phrases, read_phrases, write_phrases
from bert_data.curation.step import DocumentStep, register
from bert_data.curation.verdict import Verdict
from bert_data.curation.words import Words
from bert_data.text.sentences import check_language

_CITATION = re.compile(r"\[\d*\]|\[edit\]|\[citation needed\]")
_JAVASCRIPT = "javascript"
_LOREM_IPSUM = "lorem ipsum"
_POLICY = (
    *("terms of use", "privacy policy", "cookie policy"),
    *("uses cookies", "use of cookies", "use cookies"),
)
_ELLIPSIS = "..."
_JAVASCRIPT_LINES, _POLICY_LINES = "javascript_lines", "policy_lines"
_UNSPACED_ENDS = ("。", "！", "？", "”", "」", "』", "។", "။")


@register
@dataclasses.dataclass(frozen=True, kw_only=True)
class C4(DocumentStep):
    """Keeps the lines of a document that are sentences, and the documents that have enough of them.

    The rules are those of Raffel et al. 2020, "Exploring the limits of transfer learning with a
    unified text-to-text transformer" (JMLR 21), section 2.2, in the order of the code that built C4
    (TensorFlow Datasets, `c4_utils.py`). That code also drops lines that mention cookies or terms
    of use and lines with a word of more than 1,000 characters, and removes citations such as [1]
    from lines. The minimum numbers of sentences and of words per line are those that datatrove
    quotes from the paper; the code uses 3 and 5. Words are separated by white space. As in that
    code, "lorem ipsum" and curly brackets count only in lines that end like a sentence and are long
    enough. Removing duplicate spans and detecting the language, which the section also describes,
    are separate steps.

    In scripts without spaces between words (Chinese, Japanese, Thai, ...) words are estimated from
    the number of letters and the mean number of letters per word. There, lines may also end with
    。！？”」』 or with the full stop of Khmer or Burmese; Thai and Lao do not mark the ends of
    sentences, so their lines may end with anything.

    Attributes:
      min_sentences: in the lines that are kept.
      max_lorem_ipsum_lines: lines that contain "lorem ipsum".
      max_curly_bracket_lines: lines that contain "{".
      max_bad_words: occurrences of phrases of `bad_words` in the document.
      min_words_per_line: lines with fewer words are dropped.
      max_word_characters: lines with a longer word are dropped.
      terminal_punctuation: lines that end with none of these marks, or with "...", are dropped; if
        empty, no line is dropped for its ending.
      bad_words: file of words and phrases, one per line; the step `safety` says how they are found.
      removes_javascript_lines: drop lines that contain "javascript".
      removes_policy_lines: drop lines that mention cookies or terms of use.
      removes_citations: remove [1], [], [edit] and [citation needed].
      language: of documents whose `language` field is not set; used to split sentences.
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

    _PROSE: ClassVar[str] = (
        "The miller went down to the river.[1] It was noon. Nobody saw him come back.\n"
        "Home | About us\nPlease switch on Javascript to read on.\nHe was gone.\n"
        "His daughter asked the ferryman."
    )
    _KEPT: ClassVar[str] = (
        "The miller went down to the river. It was noon. Nobody saw him come back.\n"
        "He was gone.\nHis daughter asked the ferryman."
    )
    _CHINESE: ClassVar[str] = (
        "磨坊主人去了河边。那是中午。没人再看见他。他的女儿问了船夫。船夫睡着了。"
    )
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
        marks = self.terminal_punctuation
        if not all(marks):
            raise ValueError(
                f"terminal_punctuation is {marks!r}; it must be a list of non-empty marks"
            )

    def prepare(self, folder: Path) -> None:
        """Read the list of bad words."""
        if self.bad_words:
            write_phrases(folder, read_phrases([self.bad_words]))

    def open(self, folder: str) -> Callable[[Document], Verdict]:
        """Return a judge with the list of bad words."""
        if not self.bad_words:
            return self.judge
        return functools.partial(self._judge, phrases=open_phrases(folder))

    def describe_use(self, counted: dict[str, int]) -> str | None:
        """Say so if no document was rejected for a bad word."""
        if self.bad_words and not counted.get("max_bad_words"):
            return f"no document contains a phrase of {self.bad_words}"
        return None

    def judge(self, document: Document) -> Verdict:
        """Judge without a list of bad words."""
        return self._judge(document, None)

    def _judge(self, document: Document, phrases: Phrases | None) -> Verdict:
        words = document.words
        letters = letters_per_word(words)
        lines = self._lines(document.text, words, letters)
        counts = Counter(fate for _, fate, _ in lines if fate)
        counts["citations"] = sum(number for *_, number in lines)
        text = "\n".join(line for line, fate, _ in lines if not fate).strip()
        language = language_of(document.fields.get("language"), self.language, words)
        values: dict[str, float] = {
            "min_sentences": len(split_known(text, language)),
            "max_lorem_ipsum_lines": sum(
                _LOREM_IPSUM in line.lower()
                for line, fate, _ in lines
                if fate in ("", _JAVASCRIPT_LINES, _POLICY_LINES)
            ),
            "max_curly_bracket_lines": sum(
                "{" in line for line, fate, _ in lines if fate in ("", _POLICY_LINES)
            ),
        }
        if phrases is not None:
            values["max_bad_words"] = len(phrases.find(words).starts)
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
        ends += _UNSPACED_ENDS if ends and letters > 1 else ()
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
        if ends and (not line.endswith(ends) or line.endswith(_ELLIPSIS)):
            return "lines_without_terminal_punctuation"
        if num_words < self.min_words_per_line:
            return "short_lines"
        lowered = line.lower()
        if self.removes_javascript_lines and _JAVASCRIPT in lowered:
            return _JAVASCRIPT_LINES
        if self.removes_policy_lines and any(phrase in lowered for phrase in _POLICY):
            return _POLICY_LINES
        return ""


def _num_words(words: Words, lines: SpacedLines, letters: float) -> NDArray[np.float64]:
    """Return float64 [lines], words per line; a letter of an unspaced script is part of one."""
    first, last = np.searchsorted(words.starts, [lines.starts, lines.ends])
    num_before = np.zeros((2, len(words) + 1), np.int64)  # integers, so that differences are exact
    np.cumsum(~words.is_symbol, out=num_before[0, 1:])
    np.cumsum(words.is_unspaced, out=num_before[1, 1:])
    num_all, num_unspaced = num_before[:, last] - num_before[:, first]
    return np.asarray(num_all - num_unspaced + num_unspaced / letters)
