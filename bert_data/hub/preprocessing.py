"""Text to BERT's inputs, as an object that is saved with the interface of TF Hub's preprocessing.

    preprocess(["a text", ...])                     -> input_word_ids, input_mask, input_type_ids
    preprocess.tokenize(["a text", ...])            -> int32 [batch, (words), (pieces)]
    preprocess.tokenize.get_special_tokens_dict()   -> vocab_size, padding_id, ...
    preprocess.bert_pack_inputs([a], seq_length=64)      -> rows of 64
    preprocess.bert_pack_inputs([a, b], seq_length=64)   -> rows of 64, two segments
    preprocess.pack_to_longest([a, b], max_seq_length=64)-> rows as wide as the longest of the batch

TF Hub does not have the last one: use it if the encoder takes any width.

Texts become ids in one of two ways:

    exact  `WordSplitter`, then TensorFlow Text's longest match within a word. The ids are
           those of `tokenization.FullTokenizer` for every text; of a tokenizer.json, those of
           `tokenizers`, but where NFD swaps marks that are newer than this Python's Unicode.
    fast   TensorFlow Text's FastBertTokenizer. It differs from the definition at some 7,500 code
           points, as it has another version of Unicode and splits words at control and format
           characters; in final sigmas; and in words with too many bytes, but not too many letters.

Both need `import tensorflow_text` where the SavedModel is loaded, as TF Hub's do.
"""

import dataclasses
from collections.abc import Callable, Collection, Sequence
from typing import Annotated

import tensorflow as tf
import tensorflow_text as tf_text

from bert_data.checks import check_choice, check_integer
from bert_data.hub.export_config import (
    DEFAULT_SEQ_LENGTH,
    INPUTS,
    MAX_ROW_LENGTH,
    MIN_ROW_LENGTH,
    TOKENIZERS,
)
from bert_data.hub.word_splitting import WordSplitter
from bert_data.labelled.ragged import MAX_SEGMENTS, flat_tokens, pack_segments, widest_row
from bert_data.records import fields
from bert_data.settings import Within, check_settings
from bert_data.tokens.casing import decide_case
from bert_data.tokens.definition import CONTINUATION, is_deleted
from bert_data.tokens.vocabulary import SPECIAL, TokenTable
from bert_data.tokens.wordpiece import MAX_LETTERS_OF_WORD

_Tensors = dict[str, tf.Tensor]
Cutter = Callable[[tf.Tensor], tf.RaggedTensor]
_Pack = Callable[[list[tf.RaggedTensor], int | tf.Tensor], _Tensors]

_OURS = (fields.INPUT_IDS.name, fields.INPUT_MASK.name, fields.SEGMENT_IDS.name)
_MAX_BYTES_OF_LETTER = 4


@dataclasses.dataclass(frozen=True, kw_only=True)
class SpecialIds:
    """Ids of [CLS], [SEP] and [PAD], >= 0."""

    start_id: Annotated[int, Within(0)]
    end_id: Annotated[int, Within(0)]
    pad_id: Annotated[int, Within(0)] = 0

    def __post_init__(self) -> None:
        check_settings(self)


def width_of_longest(
    segments: Sequence[tf.RaggedTensor], max_seq_length: int | tf.Tensor
) -> tf.Tensor:
    """Return the least width that cuts nothing which `max_seq_length` would keep, int32 scalar."""
    return tf.minimum(widest_row(segments), max_seq_length)


def pack_rows(
    segments: Sequence[tf.RaggedTensor], special: SpecialIds, width: int | tf.Tensor
) -> _Tensors:
    """Pack segments into rows: [CLS] A [SEP], or [CLS] A [SEP] B [SEP].

    A [[7, 8, 9], [7]], B [[5], [6, 4]], width 8, [CLS] 2, [SEP] 3, [PAD] 0

    input_word_ids 2 7 8 9 3 5 3 0  input_mask 1 1 1 1 1 1 1 0  input_type_ids 0 0 0 0 0 1 1 0
                   2 7 3 6 4 3 0 0             1 1 1 1 1 1 0 0                 0 0 0 1 1 1 0 0

    Args:
      segments: one or two ragged int32 [batch, (ids)] or [batch, (words), (pieces)].
      width: of all rows, int32, more than the number of segments. `pack_segments` cuts longer ones.

    Raises:
      ValueError: the number of segments is another, or the width is a number and too small.
      tf.errors.InvalidArgumentError: the width is a tensor and too small.
    """
    if not isinstance(width, int):  # a number is checked by `pack_segments`
        sentence = f"seq_length must be more than the {len(segments)} [SEP] that a row has"
        is_enough = tf.debugging.assert_greater(width, len(segments), sentence)
        with tf.control_dependencies([is_enough]):
            width = tf.identity(width)
    packed = pack_segments(
        segments, width, cls_id=special.start_id, sep_id=special.end_id, pad_id=special.pad_id
    )
    return {name: packed[ours] for name, ours in zip(INPUTS, _OURS, strict=True)}


class Preprocessing(tf.Module):
    """Turns strings into rows of one width; its steps are attributes."""

    def __init__(
        self,
        vocabulary: TokenTable,
        *,
        do_lower_case: bool | None = None,
        tokenizer: str = "exact",
        default_seq_length: int = DEFAULT_SEQ_LENGTH,
        max_word_letters: int = MAX_LETTERS_OF_WORD,
        added: tuple[str, ...] | None = None,
    ) -> None:
        """Make the tables and trace the functions.

        Args:
          do_lower_case: lower-case the text and drop the accents; None: see `decide_case`.
          tokenizer: "exact" or "fast", see the module.
          default_seq_length: default width of the rows, >= 3.
          max_word_letters: longer words are unknown.
          added: special tokens of a tokenizer.json, see `FastTokenizer`; for "exact".
        """
        super().__init__(name="preprocess")
        default_seq_length = check_integer(
            "seq_length", default_seq_length, MIN_ROW_LENGTH, MAX_ROW_LENGTH
        )
        special = SpecialIds(
            start_id=vocabulary.cls_id, end_id=vocabulary.sep_id, pad_id=vocabulary.pad_id
        )
        self.tokenize = GraphTokenizer(
            vocabulary,
            do_lower_case=decide_case(vocabulary, do_lower_case),
            tokenizer=tokenizer,
            max_word_letters=max_word_letters,
            added=added,
        )
        pack = _packing(special)
        self.bert_pack_inputs = Packer("bert_pack_inputs", pack, default_seq_length)
        self.pack_to_longest = LongestPacker("pack_to_longest", pack, default_seq_length)

    @tf.function(autograph=False, input_signature=[tf.TensorSpec([None], tf.string, name="texts")])
    def __call__(self, texts: tf.Tensor) -> _Tensors:
        """Pack each text, string [batch], as one segment into a row of the default width."""
        return self.bert_pack_inputs([self.tokenize(texts)])


def _packing(special: SpecialIds) -> _Pack:
    """Return `pack_rows` so that all who call it share its graphs, one a number of segments."""
    traced = tf.function(lambda flat, width: pack_rows(flat, special, width), autograph=False)

    def pack(segments: list[tf.RaggedTensor], width: int | tf.Tensor) -> _Tensors:
        return traced(list(map(flat_tokens, segments)), tf.convert_to_tensor(width, tf.int32))

    return pack


class Packer(tf.Module):
    """Packs segments into rows of a given width, by default that of the SavedModel."""

    def __init__(self, name: str, pack: _Pack, default_seq_length: int) -> None:
        """Trace the variants of a SavedModel: ids or words, one or two segments, any width."""
        super().__init__(name=name)
        self._pack = pack
        self._default_seq_length = tf.constant(default_seq_length, tf.int32)
        for rank in (2, 3):
            segment = tf.RaggedTensorSpec([None] * rank, tf.int32)
            for num_segments in range(1, MAX_SEGMENTS + 1):
                for width in (None, tf.TensorSpec([], tf.int32)):
                    self.__call__.get_concrete_function([segment] * num_segments, width)

    @tf.function(autograph=False)
    def __call__(
        self, inputs: list[tf.RaggedTensor], seq_length: int | tf.Tensor | None = None
    ) -> _Tensors:
        """Pack segments; see `pack_rows`."""
        width = self._default_seq_length if seq_length is None else seq_length
        return self._pack(inputs, width)


class LongestPacker(Packer):
    """Packs segments into rows as wide as the longest one of the batch."""

    @tf.function(autograph=False)
    def __call__(
        self, inputs: list[tf.RaggedTensor], max_seq_length: int | tf.Tensor | None = None
    ) -> _Tensors:
        """Pack segments; see `width_of_longest`."""
        most = self._default_seq_length if max_seq_length is None else max_seq_length
        return self._pack(inputs, width_of_longest(inputs, most))


class GraphTokenizer(tf.Module):
    """Turns strings into ids; the attribute `tokenize` of a preprocessing SavedModel."""

    def __init__(
        self,
        vocabulary: TokenTable,
        *,
        do_lower_case: bool,
        tokenizer: str,
        max_word_letters: int = MAX_LETTERS_OF_WORD,
        added: tuple[str, ...] | None = None,
    ) -> None:
        """Make the tables; for arguments see `Preprocessing`."""
        super().__init__(name="tokenize")
        check_choice("tokenizer", tokenizer, TOKENIZERS)
        make = _exact if tokenizer == "exact" else _fast
        try:
            # The functions use constants; as attributes, each is saved once.
            self._parts, self._cut = make(vocabulary, do_lower_case, max_word_letters, added)
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
        """Turn UTF-8 strings [texts] into int32 [texts, (words), (pieces)], row splits int64.

        Invalid bytes are skipped. What looks like a special token is text, but with `added`.
        """
        return self._cut(texts)

    @tf.function(autograph=False, input_signature=[])
    def get_special_tokens_dict(self) -> _Tensors:
        """Return vocab_size and the ids of the special tokens, int32 scalars."""
        return {name: tf.constant(value, tf.int32) for name, value in self._special.items()}


def _exact(
    vocabulary: TokenTable,
    do_lower_case: bool,
    max_word_letters: int,
    added: tuple[str, ...] | None,
) -> tuple[list[object], Cutter]:
    splitter = WordSplitter(do_lower_case, max_word_letters=max_word_letters, added=added)
    pieces = tf_text.FastWordpieceTokenizer(
        _possible_pieces(vocabulary, max_word_letters, added or ()),
        # The splitter handles words that are too long.
        max_bytes_per_word=max(max_word_letters, *map(len, SPECIAL)) * _MAX_BYTES_OF_LETTER,
        token_out_type=tf.int32,
        no_pretokenization=True,
    )

    def cut(texts: tf.Tensor) -> tf.RaggedTensor:
        words = splitter(texts)
        return words.with_values(pieces.tokenize(words.values))

    return [splitter, pieces], cut


def _fast(
    vocabulary: TokenTable,
    do_lower_case: bool,
    max_word_letters: int,
    added: tuple[str, ...] | None,
) -> tuple[list[object], Cutter]:
    tokenizer = tf_text.FastBertTokenizer(
        _possible_pieces(vocabulary, max_word_letters),
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
    vocabulary: TokenTable, max_word_letters: int, added: Collection[str] = ()
) -> list[str]:
    """Return the tokens by id; impossible ones are replaced by a name that contains a space.

    TensorFlow Text refuses empty tokens and would use the first of two equal ones; the definition
    uses the last. No word contains a space or a control character, or has too many letters.
    """

    def is_possible(number: int, token: str) -> bool:
        letters = token.removeprefix(CONTINUATION) or token
        return (
            vocabulary.ids[token] == number
            and (0 < len(letters) <= max_word_letters or token in added)
            and not any(char.isspace() or is_deleted(char) for char in token)
        )

    return [
        token if is_possible(number, token) else f"[line {number + 1}]"
        for number, token in enumerate(vocabulary.tokens)
    ]
