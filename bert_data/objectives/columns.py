"""Converts rows of instances to columns of records.

    row + store  ->  input_ids  [CLS] un ##known [SEP] [MASK] [SEP]     segment_ids  0 0 0 0 1 1
                     input_ids_splits_0  0 1 3 4 5 6                    next_sentence_labels  False
                     masked_lm_positions  4     masked_lm_ids  it

Words are split as before masking.
"""

import numpy as np
from numpy.typing import NDArray

from bert_data.kernels import Scalar, inner, kernel
from bert_data.objectives.rows import HEADER_WORDS, code_bits, prefetch_instances
from bert_data.schema.columns import Column, ColumnBatch
from bert_data.schema.fields import (
    INPUT_IDS,
    INPUT_IDS_SPLITS,
    MASKED_LM_IDS,
    MASKED_LM_POSITIONS,
    NEXT_SENTENCE_LABELS,
    SEGMENT_IDS,
    RecordKind,
)
from bert_data.tokens.vocabulary import Vocabulary
from bert_data.tokens.word_bits import goes_on

_NO_WORDS = np.zeros(0, np.bool_)


@inner
def _copy(values: NDArray[np.integer], out: NDArray[np.int32]) -> None:
    for i in range(values.size):
        out[i] = values[i]


@inner
def _put_tokens(
    row: NDArray[np.uint32],
    ids: NDArray[np.integer],
    cls_id: Scalar,
    sep_id: Scalar,
    tokens: NDArray[np.int32],
    segments: NDArray[np.int8],
) -> Scalar:
    """Write [CLS] A [SEP] B [SEP] as before masking; return the place of B's first token.

    Without a B, write only [CLS] A [SEP], and return their end.
    """
    a_begin = np.int64(row[0]) | np.int64(row[1]) << 32
    b_begin = np.int64(row[2]) | np.int64(row[3]) << 32
    a_length, b_length = np.int64(row[4]) & 0xFFFF, np.int64(row[4]) >> 16
    b_start = a_length + 2
    tokens[0], tokens[b_start - 1], tokens[tokens.size - 1] = cls_id, sep_id, sep_id
    _copy(ids[a_begin : a_begin + a_length], tokens[1:])
    _copy(ids[b_begin : b_begin + b_length], tokens[b_start:])
    segments[:b_start] = 0
    segments[b_start:] = 1
    return b_start


@inner
def _put_word_splits(
    tokens: NDArray[np.int32],
    b_start: Scalar,
    word_bits: NDArray[np.uint16],
    splits: NDArray[np.int32],
) -> Scalar:
    """Write the row splits of the pieces into words; return the number of splits.

    The first piece of A and of B begins a word, even if truncation has removed the word's front.
    """
    num_words = np.int64(0)
    for i in range(tokens.size):
        splits[num_words] = i  # overwritten by the next piece unless this one begins a word
        is_first = np.int64(i == 1) | np.int64(i == b_start)
        is_other = i == 0 or not goes_on(word_bits, np.int64(tokens[i - 1]), np.int64(tokens[i]))
        num_words += is_first | np.int64(is_other)
    splits[num_words] = tokens.size
    return num_words + 1


@inner
def _put_predictions(
    row: NDArray[np.uint32],
    code_bits: Scalar,
    tokens: NDArray[np.int32],
    positions: NDArray[np.int32],
    labels: NDArray[np.int32],
) -> None:
    """Write the tokens to predict, and put masks and random words in their place."""
    keep = (np.int64(1) << code_bits) - 1
    for i in range(positions.size):
        word = np.int64(row[HEADER_WORDS + i])
        position, code = word >> code_bits, word & keep
        original = np.int64(tokens[position])
        positions[i], labels[i] = position, original
        tokens[position] = original if code == keep else code


@kernel
def _fill_columns(
    rows: NDArray[np.uint32],
    order: NDArray[np.uint32],
    ids: NDArray[np.integer],
    cls_id: Scalar,
    sep_id: Scalar,
    code_bits: Scalar,
    word_bits: NDArray[np.uint16],
    token_splits: NDArray[np.int32],
    tokens: NDArray[np.int32],
    segments: NDArray[np.int8],
    prediction_splits: NDArray[np.int32],
    positions: NDArray[np.int32],
    labels: NDArray[np.int32],
    split_splits: NDArray[np.int32],
    splits: NDArray[np.int32],
) -> None:
    """Read instances into columns.

    Args:
      rows: uint32[any, words], see `bert_data.objectives.rows`.
      order: uint32[instances], the rows to read.
      ids: uint16 or int32[tokens] of the token store.
      word_bits: uint16[vocabulary size], see `tokens.word_bits`; empty: words are not needed.
      token_splits, prediction_splits: int32[instances + 1], row splits of tokens and predictions.
      tokens, segments: [tokens], filled.
      positions, labels: [predictions], filled.
      split_splits: int32[instances + 1], filled: the row splits of `splits`.
      splits: int32[tokens + instances], filled: the row splits of the words of each instance.
    """
    num_splits = np.int64(0)
    split_splits[0] = 0
    for i in range(order.size):
        prefetch_instances(rows, order, i, ids)
        row, start, stop = rows[order[i]], token_splits[i], token_splits[i + 1]
        own = tokens[start:stop]
        b_start = _put_tokens(row, ids, cls_id, sep_id, own, segments[start:stop])
        if word_bits.size:
            num_splits += _put_word_splits(own, b_start, word_bits, splits[num_splits:])
        split_splits[i + 1] = num_splits
        start, stop = prediction_splits[i], prediction_splits[i + 1]
        _put_predictions(row, code_bits, own, positions[start:stop], labels[start:stop])


def read_columns(
    rows: NDArray[np.uint32],
    order: NDArray[np.uint32],
    ids: NDArray[np.integer],
    vocabulary: Vocabulary,
    kind: RecordKind,
) -> ColumnBatch:
    """Read instances into columns.

    Args:
      rows: uint32[any, words], see `bert_data.objectives.rows`.
      order: uint32[instances], the rows to read.
      ids: uint16 or int32[tokens] of the token store that the rows point into.
    """
    lengths, flags = rows[order, 4], rows[order, 5]
    has_b = lengths >> 16 > 0
    token_splits = _splits_of((lengths & 0xFFFF) + (lengths >> 16) + 2 + has_b)
    prediction_splits = _splits_of(flags >> 1)
    num_tokens, num_predictions = token_splits[-1], prediction_splits[-1]
    has_words = INPUT_IDS_SPLITS in kind.fields
    tokens, segments = np.empty(num_tokens, np.int32), np.empty(num_tokens, np.int8)
    positions, labels = np.empty((2, num_predictions), np.int32)
    split_splits = np.empty(order.size + 1, np.int32)
    splits = np.empty(num_tokens + order.size if has_words else 0, np.int32)
    _fill_columns(
        rows, order, ids, vocabulary.cls_id, vocabulary.sep_id, code_bits(vocabulary.size),
        vocabulary.word_bits if has_words else _NO_WORDS,
        token_splits, tokens, segments, prediction_splits, positions, labels, split_splits, splits,
    )  # fmt: skip
    columns = {
        INPUT_IDS.name: Column(tokens, token_splits),
        SEGMENT_IDS.name: Column(segments, token_splits),
        NEXT_SENTENCE_LABELS.name: Column(flags & 1 != 0),
        MASKED_LM_POSITIONS.name: Column(positions, prediction_splits),
        MASKED_LM_IDS.name: Column(labels, prediction_splits),
        INPUT_IDS_SPLITS.name: Column(splits[: split_splits[-1]], split_splits),
    }
    return ColumnBatch(kind=kind, columns={f.name: columns[f.name] for f in kind.stored})


def _splits_of(lengths: NDArray[np.uint32]) -> NDArray[np.int32]:
    """Return int32[rows + 1], the row splits of rows with these lengths."""
    splits = np.zeros(lengths.size + 1, np.int32)
    np.cumsum(lengths, out=splits[1:])
    return splits
