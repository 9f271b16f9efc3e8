"""Texts to ids in a graph, exactly as `tokenization.FullTokenizer` does or, on request, faster.

    ["Unaffable, naïve"]  ->  [[[14477, 20961, 3468], [1010], [15743]]]     text, word, piece

    exact  `words.WordSplitter`, then TensorFlow Text's longest match within a word. The ids are
           the definition's for every text.
    fast   TensorFlow Text's FastBertTokenizer. It differs from the definition at some 7,500 code
           points, as it has another version of Unicode and splits words at control and format
           characters; in final sigmas; and in words with too many bytes, but not too many letters.

Both need `import tensorflow_text` where the SavedModel is loaded, as TF Hub's do.
"""

from collections.abc import Callable, Sequence

import tensorflow as tf
import tensorflow_text as tf_text

from bert_data.hub.config import TOKENIZERS
from bert_data.hub.words import WordSplitter
from bert_data.settings import check_choice
from bert_data.tokens.definition import is_deleted
from bert_data.tokens.vocabulary import Vocabulary
from bert_data.tokens.vocabulary_file import CONTINUATION
from bert_data.tokens.wordpiece import MAX_LETTERS_OF_WORD

_MAX_BYTES_OF_LETTER = 4

Cutter = Callable[[tf.Tensor], tf.RaggedTensor]


class GraphTokenizer(tf.Module):
    """Turns strings into ids; the attribute `tokenize` of a preprocessing SavedModel."""

    def __init__(
        self,
        vocabulary: Vocabulary,
        *,
        do_lower_case: bool,
        tokenizer: str,
        max_word_letters: int = MAX_LETTERS_OF_WORD,
    ) -> None:
        """Make the tables.

        Args:
          do_lower_case: lower-case the text and drop the accents.
          tokenizer: "exact" or "fast", see the module.
          max_word_letters: longer words are unknown.

        Raises:
          ValueError: `tokenizer` is another word, or TensorFlow Text cannot use the vocabulary.
        """
        super().__init__(name="tokenize")
        check_choice("tokenizer", tokenizer, TOKENIZERS)
        make = _exact if tokenizer == "exact" else _fast
        try:
            # The functions use constants; as attributes, each is saved once.
            self._parts, self._cut = make(vocabulary, do_lower_case, max_word_letters)
        except RuntimeError as error:  # of TensorFlow Text's builders
            raise ValueError(f"vocabulary {vocabulary.path}: {error}") from None
        self._special = {
            "vocab_size": vocabulary.size,
            "padding_id": vocabulary.pad_id,
            "start_of_sequence_id": vocabulary.cls_id,
            "end_of_segment_id": vocabulary.sep_id,
            "mask_id": vocabulary.mask_id,
        }

    @tf.function(autograph=False, input_signature=[tf.TensorSpec([None], tf.string, name="texts")])
    def __call__(self, texts: tf.Tensor) -> tf.RaggedTensor:
        """Tokenize texts.

        Args:
          texts: string [texts], UTF-8; invalid bytes are skipped. What looks like a special token
            is text.

        Returns:
          int32 [texts, (words), (pieces)], row splits int64.
        """
        return self._cut(texts)

    @tf.function(autograph=False, input_signature=[])
    def get_special_tokens_dict(self) -> dict[str, tf.Tensor]:
        """Return vocab_size and the ids of the special tokens, int32 scalars."""
        return {name: tf.constant(value, tf.int32) for name, value in self._special.items()}


def _exact(
    vocabulary: Vocabulary, do_lower_case: bool, max_word_letters: int
) -> tuple[list[object], Cutter]:
    splitter = WordSplitter(do_lower_case, max_word_letters=max_word_letters)
    pieces = tf_text.FastWordpieceTokenizer(
        _possible_pieces(vocabulary.tokens, vocabulary.ids, max_word_letters),
        # The splitter handles words that are too long.
        max_bytes_per_word=max_word_letters * _MAX_BYTES_OF_LETTER,
        token_out_type=tf.int32,
        no_pretokenization=True,
    )

    def cut(texts: tf.Tensor) -> tf.RaggedTensor:
        words = splitter(texts)
        return words.with_values(pieces.tokenize(words.values))

    return [splitter, pieces], cut


def _fast(
    vocabulary: Vocabulary, do_lower_case: bool, max_word_letters: int
) -> tuple[list[object], Cutter]:
    tokenizer = tf_text.FastBertTokenizer(
        _possible_pieces(vocabulary.tokens, vocabulary.ids, max_word_letters),
        max_bytes_per_word=max_word_letters,
        token_out_type=tf.int32,
        lower_case_nfd_strip_accents=do_lower_case,
    )
    is_continuation = tf.constant(vocabulary.continuation)

    def cut(texts: tf.Tensor) -> tf.RaggedTensor:
        ids = tokenizer.tokenize(texts)
        starts = tf.where(~tf.gather(is_continuation, ids.values))[:, 0]
        splits = tf.concat([starts, tf.size(ids.values, tf.int64)[tf.newaxis]], 0)
        words = tf.RaggedTensor.from_row_splits(ids.values, splits, validate=False)
        in_texts = tf.searchsorted(starts, ids.row_splits, out_type=tf.int64)
        return tf.RaggedTensor.from_row_splits(words, in_texts, validate=False)

    return [tokenizer, is_continuation], cut


def _possible_pieces(
    tokens: Sequence[str], ids: dict[str, int], max_word_letters: int
) -> list[str]:
    """Return the tokens by id; impossible ones are replaced by a name that contains a space.

    TensorFlow Text refuses empty tokens and would use the first of two equal ones; the definition
    uses the last. No word contains a space or a control character, or has too many letters.
    """

    def is_possible(number: int, token: str) -> bool:
        letters = token.removeprefix(CONTINUATION) or token
        return (
            ids[token] == number
            and 0 < len(letters) <= max_word_letters
            and not any(char.isspace() or is_deleted(char) for char in token)
        )

    return [
        token if is_possible(number, token) else f"[line {number + 1}]"
        for number, token in enumerate(tokens)
    ]
