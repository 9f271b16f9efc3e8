"""An instance as a row of 32-bit words: where its tokens are in the store, and what is masked.

    word   0 1        2 3        4              5                  6 ...
           A begins   B begins   len(B)<<16 |   predictions<<1 |   position<<code_bits | code,
           (64 bits)  (64 bits)  len(A)         label              positions ascending

The label of a pair is 0 if B follows A; an instance with a single segment has neither B nor label.

A and B are always ranges of the token store, even after truncation, so a row takes about 100 bytes
for an instance of length 128, whose tokens, masks and labels would take 340. A code is the id shown
at the position instead of the token, or all ones for "the token itself".
"""

import dataclasses
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from bert_data.kernels import Scalar, inner
from bert_data.kernels.declaring import prefetch
from bert_data.objectives.masking import NOT_PREDICTED
from bert_data.tokens.vocabulary import Vocabulary

HEADER_WORDS = 6
MAX_SEQ_LENGTH = (1 << 16) - 1  # lengths of A and B share a word

_AHEAD = 8  # instances whose tokens are fetched before their use, and twice as many rows
_LINE_WORDS, _LINE_IDS = 16, 32  # of a cache line


def code_bits(vocab_size: int) -> int:
    """Return the bits of a code: every id fits, and all ones."""
    return vocab_size.bit_length()


def check_row_fits(max_seq_length: int, vocab_size: int) -> None:
    """Refuse lengths and vocabularies that do not fit the words of a row.

    Raises:
      ValueError: a position and a code together need more than 32 bits.
    """
    if (max_seq_length - 1).bit_length() + code_bits(vocab_size) > 32:
        raise ValueError(
            f"max_seq_length {max_seq_length} with a vocabulary of {vocab_size:,} entries: "
            "their bits together must be at most 32"
        )


@dataclasses.dataclass(frozen=True, kw_only=True)
class Instance:
    """One unpadded instance, for people and tests; kernels do not use it.

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


def decode_row(
    row: NDArray[np.uint32], ids: NDArray[np.integer], vocabulary: Vocabulary
) -> Instance:
    """Decode a row, uint32[words]; `ids` are the tokens of the store that it points into."""
    words: Sequence[int] = row.tolist()
    a_begin, b_begin = words[0] | words[1] << 32, words[2] | words[3] << 32
    a_length, b_length = words[4] & 0xFFFF, words[4] >> 16
    a = ids[a_begin : a_begin + a_length].tolist()
    b = ids[b_begin : b_begin + b_length].tolist()
    segments = [[vocabulary.cls_id, *a, vocabulary.sep_id]]
    if b_length:
        segments.append([*b, vocabulary.sep_id])
    tokens = [token for segment in segments for token in segment]
    bits = code_bits(vocabulary.size)
    keep = (1 << bits) - 1
    predictions = words[HEADER_WORDS : HEADER_WORDS + (words[5] >> 1)]
    positions = tuple(word >> bits for word in predictions)
    labels = tuple(tokens[position] for position in positions)
    for word, position in zip(predictions, positions, strict=True):
        if word & keep != keep:
            tokens[position] = word & keep
    return Instance(
        ids=tuple(tokens),
        segment_ids=tuple(i for i, segment in enumerate(segments) for _ in segment),
        masked_positions=positions,
        masked_ids=labels,
        label=bool(words[5] & 1) if b_length else None,
    )


@inner
def put_header(
    row: NDArray[np.uint32],
    segments: tuple[Scalar, Scalar, Scalar, Scalar],
    num_predictions: Scalar,
    label: Scalar,
) -> None:
    """Write a row's header.

    Args:
      row: uint32[words].
      segments: first token of A, tokens of A, first token of B, tokens of B or 0.
      num_predictions: words after the header.
      label: of the pair, 0 or 1.
    """
    a_begin, a_length, b_begin, b_length = segments
    row[0], row[1] = np.uint32(a_begin), np.uint32(a_begin >> 32)
    row[2], row[3] = np.uint32(b_begin), np.uint32(b_begin >> 32)
    row[4] = np.uint32(b_length << 16 | a_length)
    row[5] = np.uint32(num_predictions << 1 | np.int64(label))


@inner
def put_predictions(
    shown: NDArray[np.int32],
    a_length: Scalar,
    num_predictions: Scalar,
    code_bits: Scalar,
    row: NDArray[np.uint32],
) -> None:
    """Write the predictions of an instance after its row's header.

    Args:
      shown: int32[tokens], as `choose_predictions` left it, for each token of A and B; reset to
        NOT_PREDICTED.
      a_length: tokens of A.
      num_predictions: how many of `shown` are not NOT_PREDICTED.
      code_bits: bits of a code.
      row: uint32[words].
    """
    kept = (np.int64(1) << code_bits) - 1
    t = k = np.int64(0)
    while k < num_predictions:
        position = t + 1 + np.int64(t >= a_length)  # after [CLS], and B after [SEP]
        code = np.int64(shown[t])
        row[HEADER_WORDS + k] = position << code_bits | (code if code >= 0 else kept)
        k += np.int64(code != NOT_PREDICTED)
        shown[t] = NOT_PREDICTED
        t += 1


@inner
def _prefetch(array: NDArray[np.generic], place: Scalar) -> None:
    """Prefetch the cache line of array[place], which may be out of bounds."""
    prefetch(np.int64(array.ctypes.data) + place * array.itemsize)


@inner
def _prefetch_tokens(row: NDArray[np.uint32], ids: NDArray[np.integer]) -> None:
    """Prefetch the tokens of an instance, which may be anywhere in the store."""
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

    Args:
      rows: uint32[any, words], see `bert_data.objectives.rows`.
      order: uint32[instances], the rows in the order in which they are used.
      i: in [0, instances).
      ids: uint16 or int32[tokens] that the rows point into.
    """
    last = order.size - 1
    row = rows[order[min(i + 2 * _AHEAD, last)]]
    for word in range(0, row.size, _LINE_WORDS):
        _prefetch(row, word)
    _prefetch_tokens(rows[order[min(i + _AHEAD, last)]], ids)
