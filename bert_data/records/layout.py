"""What the bytes of records depend on beside the instances: names, padding, special tokens."""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from bert_data import features
from bert_data.formats.byte_blocks import BLOCK_BYTES

NAMES = tuple(
    sorted(
        (
            features.INPUT_IDS,
            features.INPUT_IDS_SPLITS,
            features.INPUT_MASK,
            features.MASKED_LM_IDS,
            features.MASKED_LM_POSITIONS,
            features.MASKED_LM_WEIGHTS,
            features.NEXT_SENTENCE_LABELS,
            features.SEGMENT_IDS,
        )
    )
)
"""The features of an Example, sorted, which is the order of its entries."""

ABSENT = -1
"""The size of a feature that a layout does not have."""

HEADER_ROOM = 2 * BLOCK_BYTES
"""Bytes of scratch for one header: its name is written as a whole block."""

_FRAME_BYTES = 16  # of a TFRecord: length, its checksum, the data's checksum
_HEADER_BYTES = 64  # of a feature at most: tags, sizes and name
_SPARE_BYTES = BLOCK_BYTES  # whole blocks are stored and loaded


class RecordLayout(NamedTuple):
    """A layout, as kernels take it.

    Attributes:
      padded_length, padded_predictions: what is padded to; 0 for ragged records.
      continues: bool[vocabulary size], whether a piece continues a word.
      cls_id, sep_id: ids of [CLS] and [SEP].
      code_bits: bits of a code in a row.
      names: uint8[bytes], the names of the features, one after another, and a block to spare.
      name_bounds: int64[9], where each name begins, and where the last ends.
    """

    padded_length: int
    padded_predictions: int
    continues: NDArray[np.bool_]
    cls_id: int
    sep_id: int
    code_bits: int
    names: NDArray[np.uint8]
    name_bounds: NDArray[np.int64]


class RecordScratch(NamedTuple):
    """Room for one record.

    Attributes:
      tokens, splits, positions, labels: int32[tokens + 1], values of features.
      payload: uint8[bytes], packed values.
      starts, sizes: int64[8], where the packed values of each feature begin, and their bytes.
      ones: int64[16], ranges of values that are one.
      headers: uint8[bytes], the last header of each feature.
      header_for, header_sizes: int64[8], the size of values that it was for, and its own.
    """

    tokens: NDArray[np.int32]
    splits: NDArray[np.int32]
    positions: NDArray[np.int32]
    labels: NDArray[np.int32]
    payload: NDArray[np.uint8]
    starts: NDArray[np.int64]
    sizes: NDArray[np.int64]
    ones: NDArray[np.int64]
    headers: NDArray[np.uint8]
    header_for: NDArray[np.int64]
    header_sizes: NDArray[np.int64]


def unpadded_layout() -> RecordLayout:
    """A layout that pads nothing and knows no vocabulary, for tokens that stand there already."""
    return RecordLayout(
        padded_length=0,
        padded_predictions=0,
        continues=np.zeros(0, np.bool_),
        cls_id=0,
        sep_id=0,
        code_bits=0,
        names=np.frombuffer(bytearray("".join(NAMES).encode() + bytes(_SPARE_BYTES)), np.uint8),
        name_bounds=np.cumsum([0, *map(len, NAMES)]),
    )


def record_scratch(max_seq_length: int) -> RecordScratch:
    """Room for a record of `max_seq_length` tokens."""
    tokens, splits, positions, labels = np.empty((4, max_seq_length + 1), np.int32)
    payload = np.empty(4 * 5 * tokens.size + _SPARE_BYTES, np.uint8)
    return RecordScratch(
        tokens,
        splits,
        positions,
        labels,
        payload,
        starts=np.zeros(len(NAMES), np.int64),
        sizes=np.full(len(NAMES), ABSENT),
        ones=np.zeros(2 * len(NAMES), np.int64),
        headers=np.empty((len(NAMES) + 1) * HEADER_ROOM, np.uint8),
        header_for=np.full(len(NAMES), ABSENT),
        header_sizes=np.zeros(len(NAMES), np.int64),
    )


def max_record_bytes(max_seq_length: int, max_predictions_per_seq: int) -> int:
    """More bytes than any record of these lengths takes, frame included."""
    per_token = 5 + 3 + 1 + 1  # id, row split, mask, segment
    per_prediction = 5 + 3 + 4  # label, position, weight
    values = per_token * (max_seq_length + 1) + per_prediction * max_predictions_per_seq
    return _FRAME_BYTES + _SPARE_BYTES + _HEADER_BYTES * (len(NAMES) + 1) + values
