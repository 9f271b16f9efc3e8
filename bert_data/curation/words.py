"""The words of a text, split once per document and shared by all steps.

    split_words("It's 3.5 km, no?")  ->  "It" "'s" "3.5" "km" "," "no" "?", places, hashes, kinds
    split_words("机器 learning…")     ->  "机" "器" "learning" "…"

A word is one of these, found from left to right:

1. A run of letters and numbers with their combining marks. Between two of them may stand one of:
   an underscore; a dot (`3.5`, `p.m`, `www.site.org`; but not between a lower-case and an
   upper-case letter: `end.Next`); a comma, colon or slash between numbers (`1,000`, `10:30`); a
   hyphen between a letter and a number (`U-10`, `5-year`; but `well - known` are three words); an
   apostrophe (`O'Brien`, `l'homme`). But an apostrophe followed by one or two letters begins a
   word of its own, as in the Penn Treebank (`it 's`, `they 're`).
2. A letter of Chinese, Japanese, Thai or another unspaced script, with its combining marks.
3. Any other character that is not a space, with its combining marks; successive dots or hyphens
   are one word (`...`, `--`).

The published rules leave words to a tokenizer (Gopher names none, datatrove uses spaCy's for
English). This is Unicode's rule of word boundaries (UAX #29), brought closer to the Penn
Treebank's, which spaCy follows, too.
"""

import dataclasses
import functools
from collections.abc import Iterable, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from bert_data.curation.characters import (
    APOSTROPHE,
    BETWEEN_NUMBERS,
    DOT,
    FORMAT,
    HYPHEN,
    LETTER,
    LOWER,
    MARK,
    NUMBER,
    UNDERSCORE,
    UNSPACED,
    UPPER,
    character_classes,
)
from bert_data.kernels import Constants, Scalar, inner, kernel

MAX_CHARACTERS = 2**31 - 1
_MAX_CLITIC_LETTERS = 2
# The properties of a word, as bits.
_HAS_LETTER, _HAS_NUMBER, _IS_UNSPACED = 1, 2, 4
_FIRST_KOREAN, _LAST_KOREAN = 0xAC00, 0xD7A3

_SEED = np.uint64(0x9E3779B97F4A7C15)
_MULTIPLIER_1 = np.uint64(0xBF58476D1CE4E5B9)
_MULTIPLIER_2 = np.uint64(0x94D049BB133111EB)


class WordCounts(NamedTuple):
    """Counts of a text's words.

    Attributes:
      num_words: of all kinds.
      num_symbols: words with neither a letter nor a number.
      num_unspaced: letters of unspaced scripts.
      num_with_letter: words that contain a letter.
      num_korean: words that begin with a Korean syllable.
      num_characters: of words that are not symbols.
    """

    num_words: int
    num_symbols: int
    num_unspaced: int
    num_with_letter: int
    num_korean: int
    num_characters: int


@dataclasses.dataclass(frozen=True, eq=False)
class Words:
    """The words of a text.

    Attributes:
      characters: its code points, uint32 [characters], and the classes of all, for kernels.
      starts: int32 [words], in characters (code points) of the text, increasing.
      ends: int32 [words], exclusive.
      hashes: uint64 [words], of each word as written; equal words have equal hashes.
      is_symbol: bool [words]; the word has neither a letter nor a number.
      is_unspaced: bool [words]; the word is a letter of an unspaced script.
    """

    text: str
    characters: Constants
    starts: NDArray[np.int32]
    ends: NDArray[np.int32]
    hashes: NDArray[np.uint64]
    is_symbol: NDArray[np.bool_]
    is_unspaced: NDArray[np.bool_]
    counts: WordCounts

    def __len__(self) -> int:
        return self.counts.num_words

    @property
    def codes(self) -> NDArray[np.uint32]:
        """uint32 [characters], the text's code points."""
        codes: NDArray[np.uint32] = self.characters.values[0]
        return codes

    @functools.cached_property
    def lengths(self) -> NDArray[np.int32]:
        """int32 [words], > 0, in characters."""
        return self.ends - self.starts

    def strings(self) -> list[str]:
        """Return the words themselves."""
        spans = zip(self.starts.tolist(), self.ends.tolist(), strict=True)
        return [self.text[start:end] for start, end in spans]


def split_words(text: str) -> Words:
    """Split a text into words; takes 4 bytes of memory per character and 19 per word."""
    if len(text) > MAX_CHARACTERS:
        raise ValueError(f"a text of {len(text)} characters; at most {MAX_CHARACTERS} are allowed")
    characters = encode_characters(text)
    # There are no more words than characters; unwritten parts of these arrays take no memory. There
    # are few arrays, because each argument of a kernel costs time that a short document notices.
    num_characters = len(characters.values[0])
    places = np.empty((2, num_characters), np.int32)
    hashes = np.empty(num_characters, np.uint64)
    kinds = np.empty((2, num_characters), np.bool_)
    counts = WordCounts(*_find_words(characters, places, hashes, kinds))
    starts, ends = places[:, : counts.num_words]
    is_symbol, is_unspaced = kinds[:, : counts.num_words]
    hashes = hashes[: counts.num_words]
    return Words(text, characters, starts, ends, hashes, is_symbol, is_unspaced, counts)


def count_words_in(text: str) -> int:
    """Return the number of a text's words, in half the time of splitting it."""
    return _count_words(encode_characters(text))


def encode_characters(text: str) -> Constants:
    """Return a text's code points, uint32 [characters], and the classes of all characters."""
    return Constants((code_points(text), character_classes()))


def code_points(text: str) -> NDArray[np.uint32]:
    """Return a text's code points, uint32 [characters]."""
    return np.frombuffer(text.encode("utf-32-le", "surrogatepass"), np.uint32)


def hash_word(word: str) -> int:
    """Return the hash that `Words.hashes` has for a word."""
    hashes, bounds = np.empty(1, np.uint64), np.array([[0], [len(word)]], np.int32)
    hash_spans(encode_characters(word), *bounds, hashes)
    return int(hashes[0])


@inner
def hash_codes(codes: NDArray[np.uint32], start: Scalar, end: Scalar) -> np.uint64:
    """Return a 64-bit hash of codes[start:end]; two words collide with probability 2 ** -64."""
    mixed = _SEED + np.uint64(end - start)
    place = start
    while place < end:  # three code points of 21 bits at a time
        three = np.uint64(codes[place])
        if place + 1 < end:
            three |= np.uint64(codes[place + 1]) << np.uint64(21)
        if place + 2 < end:
            three |= np.uint64(codes[place + 2]) << np.uint64(42)
        mixed = (mixed ^ three) * _MULTIPLIER_1
        mixed ^= mixed >> np.uint64(29)
        place += 3
    mixed = (mixed ^ (mixed >> np.uint64(32))) * _MULTIPLIER_2
    return mixed ^ (mixed >> np.uint64(31))


@kernel
def hash_spans(
    characters: tuple[NDArray[np.uint32], NDArray[np.uint8]],
    starts: NDArray[np.int32],
    ends: NDArray[np.int32],
    hashes: NDArray[np.uint64],
) -> None:
    """Write the hashes of words, which begin and end at characters."""
    codes, _ = characters
    for word in range(len(hashes)):
        hashes[word] = hash_codes(codes, starts[word], ends[word])


@inner
def _is_clitic(codes: NDArray[np.uint32], classes: NDArray[np.uint8], place: Scalar) -> bool:
    """Whether exactly one or two letters of the word follow the apostrophe at `place`."""
    end = place + 1
    if end >= len(codes) or not LOWER <= classes[codes[end]] <= LETTER:
        return False
    while (
        end < len(codes)
        and end <= place + _MAX_CLITIC_LETTERS + 1
        and FORMAT <= classes[codes[end]] <= NUMBER
    ):
        end += 1
    return end <= place + _MAX_CLITIC_LETTERS + 1


@inner
def _joins(codes: NDArray[np.uint32], classes: NDArray[np.uint8], place: Scalar) -> bool:
    """Whether the character at `place` continues the word before it, which has letters."""
    if place + 1 >= len(codes):
        return False
    before, after = classes[codes[place - 1]], classes[codes[place + 1]]
    if not LOWER <= after <= NUMBER:
        return False
    here = classes[codes[place]]
    if here == DOT:
        return not (before == LOWER and after == UPPER)
    if here == BETWEEN_NUMBERS:
        return before == NUMBER and after == NUMBER
    if here == HYPHEN:
        return (before == NUMBER) != (after == NUMBER)
    if here == APOSTROPHE:
        return not _is_clitic(codes, classes, place)
    return here == UNDERSCORE


@inner
def _next_word(
    codes: NDArray[np.uint32], classes: NDArray[np.uint8], place: Scalar
) -> tuple[Scalar, Scalar, Scalar]:
    """Return (start, end, bits) of the first word from `place` on; start == end if there is none.

    Earlier words matter only through `place`: it is 0 or the end of a word.
    """
    while place < len(codes) and classes[codes[place]] <= FORMAT:
        place += 1
    start = place
    if start == len(codes):
        return start, start, 0
    first = classes[codes[start]]
    place += 1
    if LOWER <= first <= NUMBER or (
        first == APOSTROPHE
        and start > 0
        and FORMAT <= classes[codes[start - 1]] <= NUMBER
        and _is_clitic(codes, classes, start)
    ):
        has_letter, has_number = LOWER <= first <= LETTER, first == NUMBER
        while place < len(codes):
            here = classes[codes[place]]
            if FORMAT <= here <= NUMBER:
                has_letter |= LOWER <= here <= LETTER
                has_number |= here == NUMBER
            elif not _joins(codes, classes, place):
                break
            place += 1
        return start, place, has_letter * _HAS_LETTER + has_number * _HAS_NUMBER
    if first in (DOT, HYPHEN):
        while place < len(codes) and codes[place] == codes[start]:
            place += 1
    while place < len(codes) and FORMAT <= classes[codes[place]] <= MARK:
        place += 1
    return start, place, _HAS_LETTER + _IS_UNSPACED if first == UNSPACED else 0


@kernel
def _find_words(
    characters: tuple[NDArray[np.uint32], NDArray[np.uint8]],
    places: NDArray[np.int32],
    hashes: NDArray[np.uint64],
    kinds: NDArray[np.bool_],
) -> tuple[int, int, int, int, int, int]:
    """Write the attributes of `Words`; return `WordCounts`.

    The arrays have room for as many words as there are characters: starts and ends, hashes, and
    is_symbol and is_unspaced.
    """
    codes, classes = characters
    num_words, num_symbols, num_unspaced, num_with_letter = 0, 0, 0, 0
    num_korean, num_characters = 0, 0
    start, end, what = _next_word(codes, classes, 0)
    while start < end:
        places[0, num_words], places[1, num_words] = start, end
        hashes[num_words] = hash_codes(codes, start, end)
        is_symbol, is_unspaced = what == 0, what & _IS_UNSPACED != 0
        kinds[0, num_words], kinds[1, num_words] = is_symbol, is_unspaced
        num_words += 1
        num_symbols += is_symbol
        num_unspaced += is_unspaced
        num_with_letter += what & _HAS_LETTER != 0
        num_korean += _FIRST_KOREAN <= codes[start] <= _LAST_KOREAN
        num_characters += 0 if is_symbol else end - start
        start, end, what = _next_word(codes, classes, end)
    return num_words, num_symbols, num_unspaced, num_with_letter, num_korean, num_characters


@kernel
def _count_words(characters: tuple[NDArray[np.uint32], NDArray[np.uint8]]) -> int:
    """Return how many words `_find_words` finds."""
    codes, classes = characters
    num_words = 0
    start, end, _ = _next_word(codes, classes, 0)
    while start < end:
        num_words += 1
        start, end, _ = _next_word(codes, classes, end)
    return num_words


@kernel
def mark_runs(begins: NDArray[np.bool_], length: int, out: NDArray[np.bool_]) -> None:
    """Mark `length` words from each start; both arrays are bool[words]."""
    until = 0
    for place in range(len(begins)):
        if begins[place]:
            until = place + length
        out[place] = place < until


def runs_of_marked(marks: NDArray[np.bool_]) -> NDArray[np.int64]:
    """Return where runs of marked words begin and end: int64 [runs, 2], ends exclusive."""
    padded = np.concatenate([[False], marks, [False]]).astype(np.int8)
    changes = np.diff(padded)
    return np.stack([np.flatnonzero(changes == 1), np.flatnonzero(changes == -1)], 1)


def cut_words(words: Words, runs: Iterable[Sequence[int]]) -> str:
    """Return the text without some runs of its words, which are increasing and not adjacent.

    Of the white space before and after a cut, the one with more line breaks stays (the first if
    they are equal); the text is stripped at both ends.
    """
    text = words.text
    kept, place = [], 0
    for begin, end in runs:
        before = int(words.ends[begin - 1]) if begin else 0
        first, last = int(words.starts[begin]), int(words.ends[end - 1])
        after = int(words.starts[end]) if end < len(words) else len(text)
        kept.append(text[place:before])
        spaces = text[before:first], text[last:after]
        if begin and end < len(words):
            kept.append(max(spaces, key=lambda space: space.count("\n")))
        place = after
    kept.append(text[place:])
    return "".join(kept)
