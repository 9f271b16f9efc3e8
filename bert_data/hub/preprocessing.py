"""Text to BERT's inputs, as an object that is saved with the interface of TF Hub's preprocessing.

    preprocess(["a text", ...])                     -> input_word_ids, input_mask, input_type_ids
    preprocess.tokenize(["a text", ...])            -> int32 [batch, (words), (pieces)]
    preprocess.tokenize.get_special_tokens_dict()   -> vocab_size, padding_id, ...
    preprocess.bert_pack_inputs([a], seq_length=64)      -> rows of 64
    preprocess.bert_pack_inputs([a, b], seq_length=64)   -> rows of 64, two segments
    preprocess.pack_to_longest([a, b], max_seq_length=64)-> rows as wide as the longest of the batch

TF Hub does not have the last one: use it if the encoder takes any width.
"""

import tensorflow as tf

from bert_data.hub.config import DEFAULT_SEQ_LENGTH, check_seq_length
from bert_data.hub.packing import SpecialIds, pack, width_of_longest
from bert_data.hub.tokenizing import GraphTokenizer
from bert_data.reader.labelled.ragged import MAX_SEGMENTS
from bert_data.tokens.vocabulary import Vocabulary
from bert_data.tokens.wordpiece import MAX_LETTERS_OF_WORD

Tensors = dict[str, tf.Tensor]


class Preprocessing(tf.Module):
    """Turns strings into rows of one width; its steps are attributes."""

    def __init__(
        self,
        vocabulary: Vocabulary,
        *,
        do_lower_case: bool = True,
        tokenizer: str = "exact",
        default_seq_length: int = DEFAULT_SEQ_LENGTH,
        max_word_letters: int = MAX_LETTERS_OF_WORD,
    ) -> None:
        """Make the tables and trace the functions.

        Args:
          do_lower_case: lower-case the text and drop the accents.
          tokenizer: "exact" or "fast", see `tokenizing`.
          default_seq_length: default width of the rows, >= 3.
          max_word_letters: longer words are unknown.

        Raises:
          ValueError: an argument is not allowed.
        """
        super().__init__(name="preprocess")
        check_seq_length(default_seq_length)
        special = SpecialIds(
            start_id=vocabulary.cls_id, end_id=vocabulary.sep_id, pad_id=vocabulary.pad_id
        )
        self.tokenize = GraphTokenizer(
            vocabulary,
            do_lower_case=do_lower_case,
            tokenizer=tokenizer,
            max_word_letters=max_word_letters,
        )
        self.bert_pack_inputs = Packer(special, default_seq_length)
        self.pack_to_longest = LongestPacker(special, default_seq_length)

    @tf.function(autograph=False, input_signature=[tf.TensorSpec([None], tf.string, name="texts")])
    def __call__(self, texts: tf.Tensor) -> Tensors:
        """Pack each text, string [batch], as one segment into a row of the default width."""
        return self.bert_pack_inputs([self.tokenize(texts)])


class Packer(tf.Module):
    """Packs segments into rows of a given width, by default that of the SavedModel."""

    def __init__(self, special: SpecialIds, default_seq_length: int) -> None:
        super().__init__(name="bert_pack_inputs")
        self._special = special
        self._default_seq_length = tf.constant(default_seq_length, tf.int32)
        _trace(self.__call__)

    @tf.function(autograph=False)
    def __call__(
        self, inputs: list[tf.RaggedTensor], seq_length: int | tf.Tensor | None = None
    ) -> Tensors:
        """Pack segments; see `packing.pack`."""
        return pack(inputs, self._special, _or(seq_length, self._default_seq_length))


class LongestPacker(tf.Module):
    """Packs segments into rows as wide as the longest one of the batch."""

    def __init__(self, special: SpecialIds, default_seq_length: int) -> None:
        super().__init__(name="pack_to_longest")
        self._special = special
        self._default_seq_length = tf.constant(default_seq_length, tf.int32)
        _trace(self.__call__)

    @tf.function(autograph=False)
    def __call__(
        self, inputs: list[tf.RaggedTensor], max_seq_length: int | tf.Tensor | None = None
    ) -> Tensors:
        """Pack segments; see `packing.width_of_longest`."""
        width = width_of_longest(inputs, _or(max_seq_length, self._default_seq_length))
        return pack(inputs, self._special, width)


def _or(width: int | tf.Tensor | None, default: tf.Tensor) -> int | tf.Tensor:
    return default if width is None else width


def _trace(function: tf.types.experimental.PolymorphicFunction) -> None:
    """Trace the variants that a SavedModel holds: ids or words, one or two segments, any width."""
    for rank in (2, 3):
        segment = tf.RaggedTensorSpec([None] * rank, tf.int32)
        for num_segments in range(1, MAX_SEGMENTS + 1):
            for width in (None, tf.TensorSpec([], tf.int32)):
                function.get_concrete_function([segment] * num_segments, width)
