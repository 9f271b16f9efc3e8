"""Texts to words in a graph: `tokenization.BasicTokenizer` in TensorFlow's own ops.

    ["Ça va?", "ΟΔΟΣ"]
      --UTF-8-->  code points  --entries, gathered-->  letters and spaces
        c a _ v a ? _ | ο δ ο ς _
      --cut at spaces and around single characters-->  [["ca", "va", "?"], ["οδος"]]

All texts of a batch pass as one array, each followed by a space, so nothing looks beyond the end
of its text. Two rules concern neighbours; they cost nothing unless the batch has a sigma or two
marks that NFD may swap.
"""

from typing import Any, NamedTuple

import tensorflow as tf

from bert_data.hub import code_points
from bert_data.hub.code_points import code_point_arrays
from bert_data.tokens.codepoints import FINAL_SIGMA
from bert_data.tokens.wordpiece import MAX_LETTERS_OF_WORD

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

    def __init__(self, do_lower_case: bool, *, max_word_letters: int = MAX_LETTERS_OF_WORD) -> None:
        """Make the tables.

        Args:
          do_lower_case: lower-case the text and drop the accents.
          max_word_letters: longer words are unknown.
        """
        super().__init__(name="word_splitter")
        arrays = code_point_arrays(do_lower_case)
        # As attributes they are saved once, not in each function that uses them.
        self._entries = tf.constant(arrays.entries)
        self._expansions = tf.constant(arrays.expansions)
        self._mark_letters = tf.constant(arrays.mark_letters)
        self._mark_classes = tf.constant(arrays.mark_classes)
        self._do_lower_case = do_lower_case
        self._max_word_letters = max_word_letters

    def __call__(self, texts: tf.Tensor) -> tf.RaggedTensor:
        """Split texts.

        Args:
          texts: string [texts], UTF-8; invalid bytes are skipped.

        Returns:
          string [texts, (words)]; a word with too many letters becomes a space.
        """
        points = tf.strings.unicode_decode(tf.strings.join([texts, " "]), "UTF-8", errors="ignore")
        codes, splits = points.flat_values, points.row_splits
        entries = tf.gather(self._entries, codes)
        if self._do_lower_case:
            entries = self._with_sigmas(entries)
        letters = self._expand(entries, splits)
        if self._do_lower_case:
            letters = self._with_ordered_marks(entries, letters)
        return _cut(letters, self._max_word_letters)

    def _with_sigmas(self, entries: tf.Tensor) -> tf.Tensor:
        """Replace each capital sigma that ends a word (Unicode, section 3.13)."""
        is_sigma = _has(entries, code_points.SIGMA)

        def replace() -> tf.Tensor:
            seen = tf.where(~_has(entries, code_points.IGNORABLE))[:, 0]  # index of each sigma
            sigmas = tf.where(is_sigma)[:, 0]
            place = tf.searchsorted(seen, sigmas)
            # A text ends with a space, so something follows each sigma; before the first
            # one of all there may be nothing.
            before = tf.gather(entries, tf.gather(seen, tf.maximum(place - 1, 0)))
            after = tf.gather(entries, tf.gather(seen, place + 1))
            is_final = (
                (place > 0) & _has(before, code_points.CASED) & ~_has(after, code_points.CASED)
            )
            final = tf.gather(entries, sigmas) & ~code_points.LETTER_MASK | ord(FINAL_SIGMA)
            return tf.tensor_scatter_nd_update(
                entries,
                tf.boolean_mask(sigmas, is_final)[:, tf.newaxis],
                tf.boolean_mask(final, is_final),
            )

        return tf.cond(tf.reduce_any(is_sigma), replace, lambda: entries)

    def _expand(self, entries: tf.Tensor, splits: tf.Tensor) -> _Letters:
        """Replace each code point by its letters, none to three."""
        counts = tf.bitwise.right_shift(entries, code_points.COUNT_SHIFT) & code_points.COUNT_MASK
        everything = tf.range(tf.size(entries))

        def drop() -> tuple[tf.Tensor, tf.Tensor]:
            kept = tf.cast(tf.where(counts > 0)[:, 0], tf.int32)
            return tf.gather(entries, kept), kept

        def expand() -> tuple[tf.Tensor, tf.Tensor]:
            is_several = counts > 1
            row = tf.where(is_several, entries & code_points.LETTER_MASK, 0)
            single = tf.stack([entries, 0 * entries, 0 * entries], axis=1)
            flags = (entries & ~code_points.LETTER_MASK)[:, tf.newaxis]
            several = tf.gather(self._expansions, row) | flags
            three = tf.where(is_several[:, tf.newaxis], several, single)
            kept = tf.where(tf.range(code_points.COUNT_MASK) < counts[:, tf.newaxis])
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
        is_mark = _has(letters.entries, code_points.MARK)

        def order() -> tf.Tensor:
            codes = letters.entries & code_points.LETTER_MASK
            of_class = tf.cast(codes[:, tf.newaxis] == self._mark_letters, tf.int32)
            classes = tf.reduce_sum(of_class * self._mark_classes, axis=1)
            # No mark moves past a letter of class 0, even if that letter has been dropped.
            barriers = tf.cumsum(tf.cast(_has(entries, code_points.BARRIER), tf.int32))
            starters = tf.cumsum(tf.cast(classes == 0, tf.int32))
            runs = tf.cast(starters + tf.gather(barriers, letters.origins), tf.int64)
            places = tf.argsort(runs * 256 + tf.cast(classes, tf.int64), stable=True)
            return tf.gather(letters.entries, places)

        ordered = tf.cond(tf.reduce_any(is_mark[1:] & is_mark[:-1]), order, lambda: letters.entries)
        return letters._replace(entries=ordered)


def _cut(letters: _Letters, max_word_letters: int) -> tf.RaggedTensor:
    """Form words from letters and spaces."""
    is_space = _has(letters.entries, code_points.SPACE)
    is_alone = _has(letters.entries, code_points.ALONE)
    ends_word = is_space | is_alone
    ends_before = tf.concat([[True], ends_word[:-1]], 0)[: tf.size(ends_word)]
    is_start = ~is_space & (is_alone | ends_before)
    in_words = tf.where(~is_space)[:, 0]
    codes = tf.gather(letters.entries, in_words) & code_points.LETTER_MASK
    starts = tf.where(tf.gather(is_start, in_words))[:, 0]
    word_splits = tf.concat([starts, tf.size(codes, tf.int64)[tf.newaxis]], 0)
    words = tf.strings.unicode_encode(
        tf.RaggedTensor.from_row_splits(codes, word_splits, validate=False), "UTF-8"
    )
    is_long = word_splits[1:] - word_splits[:-1] > max_word_letters
    words = tf.cond(
        tf.reduce_any(is_long), lambda: tf.where(is_long, _NO_WORD, words), lambda: words
    )
    splits = tf.searchsorted(tf.where(is_start)[:, 0], letters.splits, out_type=tf.int64)
    return tf.RaggedTensor.from_row_splits(words, splits, validate=False)


def _has(entries: tf.Tensor, flag: int) -> Any:
    return entries & flag != 0
