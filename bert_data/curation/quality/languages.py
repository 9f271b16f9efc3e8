"""Properties of languages that rules need: stop words, lengths of words, ends of sentences.

    language_of(document, "")    ->  "ja"   from its field, or else from its letters
    letters_per_word(words)      ->  1.8    Chinese; 1.0 for texts with spaces between words

The published rules count English words. In an unspaced script, each letter is a word of `Words`.
There, as many letters as a word has on average count as one word, so that thresholds keep their
meaning: 50 words are 90 Chinese characters, and a 5-gram is 9 characters.
"""

import functools
import tomllib
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bert_data.curation.document import Document
from bert_data.curation.text_units import Unit, unit_bounds, with_whole_sentences
from bert_data.curation.words import Words
from bert_data.storage import read_bytes

_DEFAULT_LANGUAGE = "en"


def read_lists(module_file: str) -> dict[str, Any]:
    """Return the lists of words of a module, which are in a file beside it: .toml for .py."""
    return tomllib.loads(read_bytes(Path(module_file).with_suffix(".toml")).decode())


# Letters of a word, on average: words of jieba 0.42 in Chinese news and in the Universal
# Declaration of Human Rights (1.84 and 1.74); in the latter, SudachiPy's short units (1.62) and
# PyThaiNLP's newmm (3.97). The other scripts of South East Asia are treated like Thai. Of Tibetan,
# a syllable of the Declaration has 2.2 letters, without those below and above them, and a word
# nearly two syllables.
LETTERS_PER_WORD = {"zh": 1.8, "ja": 1.6, "th": 4.0, "lo": 4.0, "km": 4.0, "my": 4.0, "bo": 4.0}
_OTHER_UNSPACED = "th"
_WITHOUT_MARKS = ("th", "lo")  # a space, or nothing, separates their sentences
# First and last code points of the scripts that identify an unspaced language. Japanese is the one
# with kana among its ideographs.
_SCRIPTS = {
    "zh": ((0x3005, 0x3007), (0x3100, 0x312F), (0x3400, 0x9FFF), (0xF900, 0xFAFF)),
    "ja": ((0x3031, 0x3035), (0x3041, 0x30FF), (0x31F0, 0x31FF), (0xFF66, 0xFF9F)),
    "th": ((0x0E00, 0x0E7F),),
    "lo": ((0x0E80, 0x0EFF),),
    "km": ((0x1780, 0x17FF),),
    "my": ((0x1000, 0x109F),),
    "bo": ((0x0F00, 0x0FFF),),
}
_MIN_KANA = 0.05

_LISTS = read_lists(__file__)
STOP_WORDS: dict[str, str] = _LISTS["stop_words"]
_OTHER_CODES = dict(pair.split(":") for pair in _LISTS["other_codes"].split())


@functools.lru_cache(maxsize=1024)
def language_code(language: str) -> str:
    """Return the code used in these tables: "zh" for "zh-Hant", "en" for "eng_Latn"."""
    code = language.strip().lower().replace("_", "-").split("-")[0]
    return _OTHER_CODES.get(code, code)


@functools.cache
def stop_words(language: str) -> tuple[str, ...]:
    """Return some of the most common words of a language; none if it is not listed."""
    return tuple(dict.fromkeys(STOP_WORDS.get(language, "").split()))


def is_unspaced(words: Words) -> bool:
    """Whether most words of a text are letters of unspaced scripts."""
    counts = words.counts
    return 2 * counts.num_unspaced > counts.num_words - counts.num_symbols


def unspaced_language(words: Words) -> str:
    """Return the language of an unspaced text, by its letters; "" if it has spaces."""
    if not is_unspaced(words):
        return ""
    letters = words.codes[words.starts[words.is_unspaced]]
    edges, languages = _script_edges()
    places = np.searchsorted(edges, letters, "right")  # odd: within a range
    numbers = np.bincount(places, minlength=len(edges) + 1)[1::2].tolist()
    counts = dict.fromkeys(_SCRIPTS, 0)
    for language, number in zip(languages, numbers, strict=True):
        counts[language] += number
    if counts["ja"] > _MIN_KANA * (counts["zh"] + counts["ja"]):
        counts["ja"] += counts["zh"]
    likeliest = max(counts, key=lambda language: counts[language])
    return likeliest if counts[likeliest] else _OTHER_UNSPACED


@functools.cache
def _script_edges() -> tuple[NDArray[np.uint32], tuple[str, ...]]:
    """Return where the ranges of scripts begin and end, increasing, and the languages of each."""
    ranges = sorted((*span, language) for language, spans in _SCRIPTS.items() for span in spans)
    edges = [edge for first, last, _ in ranges for edge in (first, last + 1)]
    return np.array(edges, np.uint32), tuple(language for *_, language in ranges)


def is_syllabic(words: Words) -> bool:
    """Whether most words of a text begin with a Korean syllable: two or three letters in one."""
    counts = words.counts
    return 2 * counts.num_korean > counts.num_words - counts.num_symbols


def letters_per_word(words: Words) -> float:
    """Return the number of letters that count as a word: 1.0 for texts with spaces."""
    return LETTERS_PER_WORD.get(unspaced_language(words), 1.0)


def marks_sentences(words: Words) -> bool:
    """Whether the language of a text marks the ends of sentences."""
    return unspaced_language(words) not in _WITHOUT_MARKS


def known_language(field: Any, default: str, words: Words) -> str:
    """Return the language code of a text; "" if nothing tells it.

    Args:
      field: the document's own field; anything but a non-empty string is ignored.
      default: for documents without the field; if empty, letters that one language has decide.
    """
    if isinstance(field, str) and field:
        return language_code(field)
    if default:
        return language_code(default)
    return unspaced_language(words) or ("ko" if is_syllabic(words) else "")


def language_of(field: Any, default: str, words: Words) -> str:
    """Return the `known_language` of a text, or else English, whose rules serve others best."""
    return known_language(field, default, words) or _DEFAULT_LANGUAGE


def units_of(document: Document, unit: Unit) -> tuple[Words, NDArray[np.int64]]:
    """Return the words of a document, its wrapped lines joined for sentences, and `unit_bounds`."""
    words = with_whole_sentences(document, unit).words
    return words, unit_bounds(words, unit, language_of(document.fields.get("language"), "", words))


@functools.cache
def sentence_terminals() -> NDArray[np.uint32]:
    """Return the marks that end sentences, in all scripts: uint32 [marks], increasing."""
    codes: list[int] = []
    for part in _LISTS["terminals"].split():
        first, _, last = part.partition("-")
        codes.extend(range(int(first, 16), int(last or first, 16) + 1))
    return np.array(codes, np.uint32)
