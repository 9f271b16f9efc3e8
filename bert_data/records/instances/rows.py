"""An instance as a row of 32-bit words: where its tokens are in the store, and what is masked.

    word   0 1        2 3        4              5                  6 ...
           A begins   B begins   len(B)<<16 |   predictions<<1 |   position<<code_bits | code,
           (64 bits)  (64 bits)  len(A)         label              positions ascending

The label of a pair is 0 if B follows A; an instance with a single segment has neither B nor label.

A and B are always ranges of the token store, even after truncation, so a row takes about 100 bytes
for an instance of length 128, whose tokens, masks and labels would take 340. A code is the id shown
at the position instead of the token, or all ones for "the token itself".

    row + store  ->  input_ids  [CLS] un ##known [SEP] [MASK] [SEP]     segment_ids  0 0 0 0 1 1
                     input_ids_splits_0  0 1 3 4 5 6                    next_sentence_labels  False
                     masked_lm_positions  4     masked_lm_ids  it

Words are split as before masking.
"""

import dataclasses

import numpy as np
from numpy.typing import NDArray

from bert_data.kernels import Scalar, inner, kernel
from bert_data.kernels.declaring import prefetch
from bert_data.records.columns import Column, ColumnBatch
from bert_data.records.fields import (
    INPUT_IDS,
    INPUT_IDS_SPLITS,
    MASKED_LM_IDS,
    MASKED_LM_POSITIONS,
    NEXT_SENTENCE_LABELS,
    SEGMENT_IDS,
    RecordKind,
)
from bert_data.records.masking.rule import NOT_PREDICTED, MaskingScratch
from bert_data.tokens.vocabulary import TokenTable
from bert_data.tokens.word_bits import goes_on

HEADER_WORDS = 6

_AHEAD = 8  # instances whose tokens are fetched before their use, and twice as many rows
_LINE_WORDS, _LINE_IDS = 16, 32  # of a cache line


def code_bits(vocab_size: int) -> int:
    """Return the bits of a code: every id fits, and all ones."""
    return vocab_size.bit_length()


def check_row_fits(max_seq_length: int, vocab_size: int) -> None:
    """Refuse lengths and vocabularies that do not fit the words of a row."""
    if (max_seq_length - 1).bit_length() + code_bits(vocab_size) > 32:
        raise ValueError(
            f"max_seq_length {max_seq_length} with a vocabulary of {vocab_size:,} entries: "
            "their bits together must be at most 32"
        )


@dataclasses.dataclass(frozen=True, kw_only=True)
class Instance:
    """One unpadded instance, for people and tests.

    Attributes:
      ids: token ids with [CLS], [SEP], masks and random words, each in [0, vocabulary size).
      segment_ids: 0 for A with its [CLS] and [SEP], 1 for B with its [SEP], if there is a B.
      masked_positions: ascending positions in `ids` that are to be predicted.
      masked_ids: the original ids there.
      label: whether B does not follow A: it comes from elsewhere, or from before A. None if there
        is no B.
    """

    ids: tuple[int, ...]
    segment_ids: tuple[int, ...]
    masked_positions: tuple[int, ...]
    masked_ids: tuple[int, ...]
    label: bool | None


@inner
def put_header(
    row: NDArray[np.uint32],
    segments: tuple[Scalar, Scalar, Scalar, Scalar],
    num_predictions: Scalar,
    label: Scalar,
) -> None:
    """Write a row's header; `segments` are the first token and the tokens of A, and of B or 0."""
    a_begin, a_length, b_begin, b_length = segments
    row[0], row[1] = np.uint32(a_begin), np.uint32(a_begin >> 32)
    row[2], row[3] = np.uint32(b_begin), np.uint32(b_begin >> 32)
    row[4] = np.uint32(b_length << 16 | a_length)
    row[5] = np.uint32(num_predictions << 1 | np.int64(label))


@inner
def put_predictions(
    scratch: MaskingScratch,
    num_predictions: Scalar,
    code_bits: Scalar,
    row: NDArray[np.uint32],
) -> None:
    """Write the predictions of an instance after its row's header.

    Args:
      scratch: as `choose_predictions` left it; `shown` is reset to NOT_PREDICTED.
    """
    kept = (np.int64(1) << code_bits) - 1
    t = k = np.int64(0)
    while k < num_predictions:
        position, code = np.int64(scratch.places[t]), np.int64(scratch.shown[t])
        row[HEADER_WORDS + k] = position << code_bits | (code if code >= 0 else kept)
        k += np.int64(code != NOT_PREDICTED)
        scratch.shown[t] = NOT_PREDICTED
        t += 1


@inner
def _prefetch(array: NDArray[np.generic], place: Scalar) -> None:
    """Prefetch the cache line of array[place], which may be out of bounds."""
    prefetch(np.int64(array.ctypes.data) + place * array.itemsize)


@inner
def _prefetch_tokens(row: NDArray[np.uint32], ids: NDArray[np.integer]) -> None:
    for half in range(2):
        begin = np.int64(row[2 * half]) | np.int64(row[2 * half + 1]) << 32
        for line in range(2):
            _prefetch(ids, begin + _LINE_IDS * line)


@inner
def prefetch_instances(
    rows: NDArray[np.uint32], order: NDArray[np.uint32], i: Scalar, ids: NDArray[np.integer]
) -> None:
    """Prefetch what comes after instance i of an order: a row, and the tokens of one before it.

    Processors cannot foresee such an order, and waiting for memory costs more than the work.
    """
    last = order.size - 1
    row = rows[order[min(i + 2 * _AHEAD, last)]]
    for word in range(0, row.size, _LINE_WORDS):
        _prefetch(row, word)
    _prefetch_tokens(rows[order[min(i + _AHEAD, last)]], ids)


_NO_WORDS = np.zeros(0, np.uint16)


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
      order: uint32[instances], the rows to read.
      word_bits: uint16[ids], see `tokens.word_bits`; empty: words are not needed.
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


def decode_row(
    row: NDArray[np.uint32], ids: NDArray[np.integer], vocabulary: TokenTable
) -> Instance:
    """Decode a row, uint32[words]; `ids` are the tokens of the store that it points into."""
    columns = _read(row[None], np.zeros(1, np.uint32), ids, vocabulary, _NO_WORDS)
    values = {name: column.values.tolist() for name, column in columns.items()}
    has_b = row[4] >> 16 > 0
    return Instance(
        ids=tuple(values[INPUT_IDS.name]),
        segment_ids=tuple(values[SEGMENT_IDS.name]),
        masked_positions=tuple(values[MASKED_LM_POSITIONS.name]),
        masked_ids=tuple(values[MASKED_LM_IDS.name]),
        label=values[NEXT_SENTENCE_LABELS.name][0] if has_b else None,
    )


def read_columns(
    rows: NDArray[np.uint32],
    order: NDArray[np.uint32],
    ids: NDArray[np.integer],
    vocabulary: TokenTable,
    kind: RecordKind,
) -> ColumnBatch:
    """Read the instances of the rows in `order` into columns; `ids` are the store's tokens."""
    word_bits = vocabulary.word_bits if INPUT_IDS_SPLITS in kind.fields else _NO_WORDS
    columns = _read(rows, order, ids, vocabulary, word_bits)
    return ColumnBatch(kind=kind, columns={f.name: columns[f.name] for f in kind.stored})


def _read(
    rows: NDArray[np.uint32],
    order: NDArray[np.uint32],
    ids: NDArray[np.integer],
    vocabulary: TokenTable,
    word_bits: NDArray[np.uint16],
) -> dict[str, Column]:
    lengths, flags = rows[order, 4], rows[order, 5]
    has_b = lengths >> 16 > 0
    token_splits = _splits_of((lengths & 0xFFFF) + (lengths >> 16) + 2 + has_b)
    prediction_splits = _splits_of(flags >> 1)
    num_tokens, num_predictions = token_splits[-1], prediction_splits[-1]
    tokens, segments = np.empty(num_tokens, np.int32), np.empty(num_tokens, np.int8)
    positions, labels = np.empty((2, num_predictions), np.int32)
    split_splits = np.empty(order.size + 1, np.int32)
    splits = np.empty(num_tokens + order.size if word_bits.size else 0, np.int32)
    _fill_columns(
        rows, order, ids, vocabulary.cls_id, vocabulary.sep_id, code_bits(vocabulary.size),
        word_bits, token_splits, tokens, segments, prediction_splits, positions, labels,
        split_splits, splits,
    )  # fmt: skip
    return {
        INPUT_IDS.name: Column(vocabulary.plain(tokens), token_splits),
        SEGMENT_IDS.name: Column(segments, token_splits),
        NEXT_SENTENCE_LABELS.name: Column(flags & 1 != 0),
        MASKED_LM_POSITIONS.name: Column(positions, prediction_splits),
        MASKED_LM_IDS.name: Column(vocabulary.plain(labels), prediction_splits),
        INPUT_IDS_SPLITS.name: Column(splits[: split_splits[-1]], split_splits),
    }


def _splits_of(lengths: NDArray[np.uint32]) -> NDArray[np.int32]:
    splits = np.zeros(lengths.size + 1, np.int32)
    np.cumsum(lengths, out=splits[1:])
    return splits
