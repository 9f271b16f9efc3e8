r"""Texts to words in a graph: `tokenization.BasicTokenizer` in TensorFlow's own ops.

    ["Ça va?", "ΟΔΟΣ"]
      --UTF-8-->  code points  --entries, gathered-->  letters and spaces
        c a _ v a ? _ | ο δ ο ς _
      --cut at spaces and around single characters-->  [["ca", "va", "?"], ["οδος"]]

All texts of a batch pass as one array, each followed by a space, so nothing looks beyond the end
of its text. Two rules concern neighbours; they cost nothing unless the batch has a sigma or two
marks that NFD may swap.

The entries say what `tokens.bert_rules` says, which asks `tokenization` and this interpreter's
Unicode tables, or the library `tokenizers` for a tokenizer.json; a graph that looks them up needs
neither Python nor a library:

    entries[ord("É")]   LETTER of "e"          entries[ord(",")]   ALONE, LETTER of ","
    entries[ord("\t")]  SPACE_BIT              entries[ord("각")]   row k of `expansions`, 3 letters

    bits 0-20 the letter, or the row of `expansions` | 21-22 number of letters | then the flags
"""

import dataclasses
import functools
import unicodedata
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
import tensorflow as tf
from numpy.typing import NDArray

from bert_data.tokens.bert_rules import (
    FINAL_SIGMA,
    MAX_LETTERS,
    Action,
    PointRules,
    google_points,
    library_points,
)
from bert_data.tokens.wordpiece import MAX_LETTERS_OF_WORD

NUM_CODE_POINTS = 0x110000
LETTER_MASK = (1 << 21) - 1
COUNT_SHIFT = 21
COUNT_MASK = 3
ALONE = 1 << 23  # the letter is a word of its own: a punctuation mark or an ideograph
SPACE_BIT = 1 << 24  # ends a word; its letter belongs to none
MARK_BIT = 1 << 25  # canonical ordering may swap its letters with those of an adjacent mark
BARRIER = 1 << 26  # disappears, but marks are not swapped across it
CASED = 1 << 27  # the search that chooses a sigma ends here, at a cased letter
IGNORABLE = 1 << 28  # the search that chooses a sigma skips it
SIGMA = 1 << 29  # its letter depends on its surroundings

_PAGE_SIZE = 256
_FLAGS = {
    Action.SPACE: SPACE_BIT,
    Action.IDEOGRAPH: ALONE,
    Action.PUNCTUATION: ALONE,
    Action.BRACKET: ALONE,
    Action.SIGMA: SIGMA,
    Action.MARK: MARK_BIT,
}


@dataclasses.dataclass(frozen=True, kw_only=True, eq=False)
class CodePointArrays:
    """The tables for text that is lower-cased or not.

    Attributes:
      entries: int32 [0x110000], see the module. The entry of a sigma has the letter of one that
        does not end a word.
      expansions: int32 [rows, 3], the letters of code points that become several, padded with 0.
      mark_letters: int32 [marks], letters with a canonical combining class other than 0.
      mark_classes: int32 [marks], those classes, 1 to 254.
    """

    entries: NDArray[np.int32]
    expansions: NDArray[np.int32]
    mark_letters: NDArray[np.int32]
    mark_classes: NDArray[np.int32]


@functools.cache
def code_point_arrays(do_lower_case: bool, added: tuple[str, ...] | None = None) -> CodePointArrays:
    """Make the tables; takes a second, or four for a tokenizer.json.

    Args:
      added: the special tokens of a tokenizer.json, whose rules are those of `tokenizers`; None:
        Google's rules.
    """
    rules = google_points(do_lower_case) if added is None else library_points(do_lower_case, added)
    entries = np.empty(NUM_CODE_POINTS, np.int32)
    expansions: list[Sequence[int]] = [(0,) * MAX_LETTERS]
    marks: dict[int, int] = {}
    for first in range(0, NUM_CODE_POINTS, _PAGE_SIZE):
        chars = "".join(map(chr, range(first, first + _PAGE_SIZE)))
        page = _plain_page(chars, rules)
        if page is None:
            page = [_entry(char, rules, do_lower_case, expansions, marks) for char in chars]
        entries[first : first + _PAGE_SIZE] = page
    letters = np.array(sorted(marks), np.int32)
    return CodePointArrays(
        entries=entries,
        expansions=np.array(expansions, np.int32),
        mark_letters=letters,
        mark_classes=np.array([marks[int(letter)] for letter in letters], np.int32),
    )


def _plain_page(chars: str, rules: PointRules) -> list[int] | None:
    """Return a page's entries if all its code points stay as they are, or go; saves seconds."""
    codes = map(ord, chars)
    if "\ud800" <= chars[0] <= "\udfff":  # UTF-8 has no surrogates
        return [0] * len(chars)
    if rules.are_plain_ideographs(chars):
        return [code | 1 << COUNT_SHIFT | ALONE for code in codes]
    if {unicodedata.category(char) for char in chars} in ({"Cn"}, {"Co"}):
        is_deleted = rules.describe(chars[0]).action == Action.DELETE
        return [0 if is_deleted else code | 1 << COUNT_SHIFT for code in codes]
    return None


def _entry(
    char: str,
    rules: PointRules,
    do_lower_case: bool,
    expansions: list[Sequence[int]],
    marks: dict[int, int],
) -> int:
    """Return a code point's entry, and extend the expansions and the marks if it needs them."""
    point = rules.describe(char)
    letters = [ord(letter) for letter in point.letters]
    entry = _FLAGS.get(point.action, 0)
    entry |= CASED if point.is_cased else 0
    entry |= IGNORABLE if point.is_ignorable else 0
    if point.action == Action.UNUSUAL:
        raise ValueError(
            f"U+{ord(char):04X} is tokenized in a way that tables cannot express; the Unicode of"
            f" this Python is {unicodedata.unidata_version}, tested are 14 to 17"
        )
    if point.action == Action.SPACE:
        return entry | 1 << COUNT_SHIFT
    if point.action == Action.SIGMA:
        return entry | letters[0] | 1 << COUNT_SHIFT
    if point.action == Action.MARK:
        marks.update((code, c) for code in letters if (c := unicodedata.combining(chr(code))))
    if point.action == Action.DELETE and do_lower_case and _has_starter(char):
        entry |= BARRIER
    if len(letters) > 1:
        letters += [0] * (MAX_LETTERS - len(letters))
        expansions.append(letters)
        return entry | len(point.letters) << COUNT_SHIFT | len(expansions) - 1
    return entry | len(letters) << COUNT_SHIFT | (letters[0] if letters else 0)


def _has_starter(char: str) -> bool:
    is_kept = unicodedata.category(char) == "Mn"  # control characters have already been deleted
    return is_kept and not all(map(unicodedata.combining, unicodedata.normalize("NFD", char)))


_ADDED = 0xD800  # and so on: the letters of words that are added tokens; no text has surrogates
_NO_WORD = " "  # replaces a word that is too long: no piece begins with a space


class _Letters(NamedTuple):
    """The letters of all texts, one after the other.

    Attributes:
      entries: int32 [letters], the letter and the flags of its code point.
      origins: int32 [letters], index of its code point.
      splits: int64 [texts + 1], where each text's letters begin.
    """

    entries: tf.Tensor
    origins: tf.Tensor
    splits: tf.Tensor


class WordSplitter(tf.Module):
    """Splits texts into words; its tables are constants of the SavedModel."""

    def __init__(
        self,
        do_lower_case: bool,
        *,
        max_word_letters: int = MAX_LETTERS_OF_WORD,
        added: tuple[str, ...] | None = None,
    ) -> None:
        """Make the tables; with `added`, see `code_point_arrays`, these tokens are words."""
        super().__init__(name="word_splitter")
        arrays = code_point_arrays(do_lower_case, added)
        self._added = added or ()
        # As attributes they are saved once, not in each function that uses them.
        self._entries = tf.constant(arrays.entries)
        self._expansions = tf.constant(arrays.expansions)
        self._mark_letters = tf.constant(arrays.mark_letters)
        self._mark_classes = tf.constant(arrays.mark_classes)
        self._do_lower_case = do_lower_case
        self._max_word_letters = max_word_letters

    def __call__(self, texts: tf.Tensor) -> tf.RaggedTensor:
        """Split UTF-8 strings [texts] into words, string [texts, (words)].

        Invalid bytes are skipped; a word with too many letters becomes a space.
        """
        points = tf.strings.unicode_decode(tf.strings.join([texts, " "]), "UTF-8", errors="ignore")
        codes, splits = points.flat_values, points.row_splits
        entries = self._with_added(tf.gather(self._entries, codes), codes)
        if self._do_lower_case:
            entries = self._with_sigmas(entries)
        letters = self._expand(entries, splits)
        if self._do_lower_case:
            letters = self._with_ordered_marks(entries, letters)
        return _cut(letters, self._max_word_letters, self._added)

    def _with_added(self, entries: tf.Tensor, codes: tf.Tensor) -> tf.Tensor:
        """Make a letter that stands alone of each added token; none is a part of another one."""
        for number, token in enumerate(self._added):
            size = len(token)
            # A text ends with a space, so no token goes on in the next text.
            longer = tf.concat([codes, tf.zeros([size], codes.dtype)], 0)
            are_equal = [longer[k : tf.size(codes) + k] == ord(c) for k, c in enumerate(token)]
            firsts = tf.where(tf.reduce_all(are_equal, axis=0))
            places = tf.reshape(firsts + tf.range(size, dtype=tf.int64), [-1, 1])
            letters = [ALONE | 1 << COUNT_SHIFT | _ADDED + number, *[0] * (size - 1)]
            letters = tf.tile(tf.constant(letters, entries.dtype), [tf.shape(firsts)[0]])
            entries = tf.tensor_scatter_nd_update(entries, places, letters)
        return entries

    def _with_sigmas(self, entries: tf.Tensor) -> tf.Tensor:
        """Replace each capital sigma that ends a word (Unicode, section 3.13)."""
        is_sigma = _has(entries, SIGMA)

        def replace() -> tf.Tensor:
            seen = tf.where(~_has(entries, IGNORABLE))[:, 0]  # index of each sigma
            sigmas = tf.where(is_sigma)[:, 0]
            place = tf.searchsorted(seen, sigmas)
            # A text ends with a space, so something follows each sigma; before the first
            # one of all there may be nothing.
            before = tf.gather(entries, tf.gather(seen, tf.maximum(place - 1, 0)))
            after = tf.gather(entries, tf.gather(seen, place + 1))
            is_final = (place > 0) & _has(before, CASED) & ~_has(after, CASED)
            final = tf.gather(entries, sigmas) & ~LETTER_MASK | ord(FINAL_SIGMA)
            return tf.tensor_scatter_nd_update(
                entries,
                tf.boolean_mask(sigmas, is_final)[:, tf.newaxis],
                tf.boolean_mask(final, is_final),
            )

        return tf.cond(tf.reduce_any(is_sigma), replace, lambda: entries)

    def _expand(self, entries: tf.Tensor, splits: tf.Tensor) -> _Letters:
        """Replace each code point by its letters, none to three."""
        counts = tf.bitwise.right_shift(entries, COUNT_SHIFT) & COUNT_MASK
        everything = tf.range(tf.size(entries))

        def drop() -> tuple[tf.Tensor, tf.Tensor]:
            kept = tf.cast(tf.where(counts > 0)[:, 0], tf.int32)
            return tf.gather(entries, kept), kept

        def expand() -> tuple[tf.Tensor, tf.Tensor]:
            is_several = counts > 1
            row = tf.where(is_several, entries & LETTER_MASK, 0)
            single = tf.stack([entries, 0 * entries, 0 * entries], axis=1)
            flags = (entries & ~LETTER_MASK)[:, tf.newaxis]
            several = tf.gather(self._expansions, row) | flags
            three = tf.where(is_several[:, tf.newaxis], several, single)
            kept = tf.where(tf.range(COUNT_MASK) < counts[:, tf.newaxis])
            return tf.gather_nd(three, kept), tf.cast(kept[:, 0], tf.int32)

        def some_change() -> tuple[tf.Tensor, tf.Tensor, tf.Tensor]:
            letters, origins = tf.cond(tf.reduce_any(counts > 1), expand, drop)
            ends = tf.concat([[0], tf.cumsum(counts)], 0)
            return letters, origins, tf.cast(tf.gather(ends, splits), tf.int64)

        return _Letters(
            *tf.cond(tf.reduce_all(counts == 1), lambda: (entries, everything, splits), some_change)
        )

    def _with_ordered_marks(self, entries: tf.Tensor, letters: _Letters) -> _Letters:
        """Order successive marks by their class (Unicode, section 3.11)."""
        is_mark = _has(letters.entries, MARK_BIT)

        def order() -> tf.Tensor:
            codes = letters.entries & LETTER_MASK
            of_class = tf.cast(codes[:, tf.newaxis] == self._mark_letters, tf.int32)
            classes = tf.reduce_sum(of_class * self._mark_classes, axis=1)
            # No mark moves past a letter of class 0, even if that letter has been dropped.
            barriers = tf.cumsum(tf.cast(_has(entries, BARRIER), tf.int32))
            starters = tf.cumsum(tf.cast(classes == 0, tf.int32))
            runs = tf.cast(starters + tf.gather(barriers, letters.origins), tf.int64)
            places = tf.argsort(runs * 256 + tf.cast(classes, tf.int64), stable=True)
            return tf.gather(letters.entries, places)

        ordered = tf.cond(tf.reduce_any(is_mark[1:] & is_mark[:-1]), order, lambda: letters.entries)
        return letters._replace(entries=ordered)


def _cut(letters: _Letters, max_word_letters: int, added: Sequence[str]) -> tf.RaggedTensor:
    """Form words from letters and spaces; those of `_with_added` get their names."""
    is_space = _has(letters.entries, SPACE_BIT)
    is_alone = _has(letters.entries, ALONE)
    ends_word = is_space | is_alone
    ends_before = tf.concat([[True], ends_word[:-1]], 0)[: tf.size(ends_word)]
    is_start = ~is_space & (is_alone | ends_before)
    in_words = tf.where(~is_space)[:, 0]
    codes = tf.gather(letters.entries, in_words) & LETTER_MASK
    starts = tf.where(tf.gather(is_start, in_words))[:, 0]
    word_splits = tf.concat([starts, tf.size(codes, tf.int64)[tf.newaxis]], 0)
    words = tf.strings.unicode_encode(
        tf.RaggedTensor.from_row_splits(codes, word_splits, validate=False), "UTF-8"
    )
    is_long = word_splits[1:] - word_splits[:-1] > max_word_letters
    words = tf.cond(
        tf.reduce_any(is_long), lambda: tf.where(is_long, _NO_WORD, words), lambda: words
    )
    if added:
        numbers = tf.gather(codes, starts) - _ADDED
        names = tf.gather(tf.constant(added), tf.clip_by_value(numbers, 0, len(added) - 1))
        words = tf.where((numbers >= 0) & (numbers < len(added)), names, words)
    splits = tf.searchsorted(tf.where(is_start)[:, 0], letters.splits, out_type=tf.int64)
    return tf.RaggedTensor.from_row_splits(words, splits, validate=False)


def _has(entries: tf.Tensor, flag: int) -> Any:
    return entries & flag != 0
