"""Reject documents by lists of words and phrases, of toxic and adult text, say."""

import dataclasses
import functools
import math
import os
from collections.abc import Callable, Mapping
from pathlib import Path

import numpy as np

from bert_data.curation.document import Document, Verdict
from bert_data.curation.quality.languages import language_code, language_of
from bert_data.curation.quality.phrases import (
    Occurrences,
    Phrases,
    WeightedPhrase,
    check_phrase,
    composed_words,
    open_phrases,
    read_phrases,
    write_phrases,
)
from bert_data.curation.step import PROSE_EXAMPLE, DocumentStep, register
from bert_data.curation.text_units import spaced_lines
from bert_data.curation.words import Words
from bert_data.errors import named_in_errors
from bert_data.settings import Share
from bert_data.storage import list_folder, make_folder
from bert_data.text.text_config import check_language

_EVERY = "every"
_LISTS = "lists"
_SEEN, _FLAGGED = "documents with a list", "documents with a listed word"


@register
class Safety(DocumentStep):
    """Rejects documents with too many words from lists, of toxic or adult terms for example.

    Each language has its own lists, as a word may be harmless in another one; C4 and ROOTS use
    those of LDNOOBW. The step comes without lists. A list has one entry per line (UTF-8; plain, .gz
    or .zst), which may be followed by a tab and a weight, 1 by default. A document is judged by the
    lists of its language, which its field `language` names (the step `language` sets it) or else
    its letters suggest, and by those of "every" language. If there are none, it stays.

    Of entries that begin at the same place, the longest counts. Entries in scripts without spaces
    (Chinese, Japanese, Thai) may occur anywhere; others must be whole words. Case, compatibility
    forms such as full-width letters, the kind of space, and invisible characters (zero-width
    spaces, soft hyphens) are ignored; accents, marks between letters, and the difference between
    simplified and traditional characters are not.

    There are three rules. ROOTS rejects English documents with more than 1% of flagged words
    (Laurencon et al. 2022, arXiv:2303.03915; 0.1% to 10% in other languages), which is the default.
    ChineseWebText rejects those with more than 0.5 harmful words per line (Chen et al. 2023,
    arXiv:2311.01149). At 0, one entry is enough, as in C4 (Raffel et al. 2020). For models of
    toxicity, use the steps `classifier` and `sentence_classifier`.

    Attributes:
      word_files: lists by language code, or "every": {"en": ["en.txt"], "zh": ["zh.txt"]}.
      words: further entries, for every language.
      max_flagged_words: greatest share of the document's words that entries cover, weighted; a
        Chinese or Japanese character is a word, a symbol is not.
      max_flagged_per_line: greatest number of entries per non-blank line, weighted; no limit by
        default.
      max_flagged_lines: greatest share of non-blank lines that have an entry.
      language: language of documents without a field `language`; empty: their letters decide.
    """

    name = "safety"
    word_files: Mapping[str, tuple[str, ...]] = dataclasses.field(default_factory=dict)
    words: tuple[str, ...] = ()
    max_flagged_words: float = 0.01
    max_flagged_per_line: float = math.inf
    max_flagged_lines: Share = 1.0
    language: str = ""

    example_parameters = {"words": ("gronk", "flim flam", "坏话")}
    step_examples = (
        (PROSE_EXAMPLE, PROSE_EXAMPLE),
        ("The gronker said nothing, and went home.",) * 2,
        ("You GRO\u00adNK, all this is flim\nflam.", None),
        ("他说了很多坏话。", None),
    )

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.language:
            check_language(self.language)
        if not self.words and not any(self.word_files.values()):
            raise ValueError("word_files and words are empty; one of them must name something")
        for language in self.word_files:
            if language != _EVERY:
                check_language(language)
        for word in self.words:
            with named_in_errors("words has an entry that cannot be found"):
                check_phrase(word)

    def prepare(self, folder: Path) -> None:
        lists: dict[str, list[WeightedPhrase]] = {
            _EVERY: [WeightedPhrase(word) for word in self.words]
        }
        for language, files in self.word_files.items():
            lists.setdefault(language_code(language), []).extend(read_phrases(files))
        for language, phrases in lists.items():
            if phrases:
                make_folder(folder / _LISTS / language)
                write_phrases(folder / _LISTS / language, [*phrases, *lists[_EVERY]])

    def open(self, folder: str) -> Callable[[Document], Verdict]:
        place = os.path.join(folder, _LISTS)
        lists = {name: open_phrases(os.path.join(place, name)) for name in list_folder(place)}
        return functools.partial(self.judge_by, lists)

    def judge_by(self, lists: Mapping[str, Phrases], document: Document) -> Verdict:
        words = composed_words(document.words)
        language = language_of(document.fields.get("language"), self.language, words)
        phrases = lists.get(language) or lists.get(_EVERY)
        if phrases is None:
            return Verdict(document)
        found = phrases.find(words)
        measured = self.measure_rules(_measure(words, phrases, found))
        return Verdict(document, measured, counted={_SEEN: 1, _FLAGGED: int(len(found.starts) > 0)})

    def describe_use(self, counted: dict[str, int]) -> str | None:
        if not counted.get(_SEEN):
            return f"no document is in a language with a list: {', '.join(self.word_files)}"
        return None if counted.get(_FLAGGED) else "no document contains a word of the lists"


def _measure(words: Words, phrases: Phrases, found: Occurrences) -> dict[str, float]:
    if not len(found.starts):
        rules = ("max_flagged_words", "max_flagged_per_line", "max_flagged_lines")
        return dict.fromkeys(rules, 0.0)
    lines = spaced_lines(words)
    numbers = np.searchsorted(lines.starts, found.starts, "right")
    weights = phrases.weights[found.entries]
    num_covered = weights @ phrases.num_words[found.entries]
    num_words = words.counts.num_words - words.counts.num_symbols
    num_lines = len(lines.starts)
    return {
        "max_flagged_words": float(num_covered / max(num_words, 1)),
        "max_flagged_per_line": float(weights.sum() / num_lines),
        "max_flagged_lines": len(np.unique(numbers)) / num_lines,
    }
