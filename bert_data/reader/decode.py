"""Records in, one dense batch out.

    spans of records of 3, 5, 2 tokens, width 5  ->  input_ids  [[101 7592  102    0    0]
                                                                 [101 2023 2003 1037  102]
                                                                 [101  102    0    0    0]] ...

Source of the format: see `bert_data.reader.wire`.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from bert_data.kernels import kernel
from bert_data.reader.block import RecordBlock
from bert_data.reader.scan import IDS, LABELS, MASK, NEXT, POSITIONS, SEGMENTS, WEIGHTS
from bert_data.reader.wire import FIELD_1, FIXED32_1, VARINT_1, next_field, read_varint

NUM_TOKEN_FEATURES = NUM_PREDICTION_FEATURES = 3
_ALIGNMENT_BYTES = 64  # what TensorFlow asks of memory that it takes over instead of copying
_WORD_BYTES = 4


class Shape(NamedTuple):
    """How large a batch is.

    Attributes:
      rows: >= 1.
      width: tokens a row, >= 1.
      predictions: predictions a row, >= 0.
    """

    rows: int
    width: int
    predictions: int

    @property
    def num_words(self) -> int:
        """Numbers of four bytes in all features together."""
        a_row = NUM_TOKEN_FEATURES * self.width + NUM_PREDICTION_FEATURES * self.predictions + 1
        return self.rows * a_row


def padded_words(num_words: int) -> int:
    """The number rounded up so that what follows is aligned as TensorFlow wants it."""
    unit = _ALIGNMENT_BYTES // _WORD_BYTES
    return -(-num_words // unit) * unit


def new_buffer(num_words: int) -> NDArray[np.int32]:
    """int32[num_words], not initialised, aligned as TensorFlow wants it."""
    raw = np.empty(num_words * _WORD_BYTES + _ALIGNMENT_BYTES, np.uint8)
    skip = -raw.ctypes.data % _ALIGNMENT_BYTES
    return raw[skip : skip + num_words * _WORD_BYTES].view(np.int32)


@kernel
def _put_varints(data, begin, end, out):
    """Numbers of an Int64List into out int32[width], zeros behind; returns the largest one."""
    at = 0
    largest = np.uint64(0)
    while begin < end:
        tag, i, last = next_field(data, begin, end)
        begin = last
        if tag != FIELD_1 and tag != VARINT_1:
            continue
        while i < last and at < out.size:
            if data[i] < 128:
                value = np.uint64(data[i])
                i += 1
            elif last - i >= 2 and data[i + 1] < 128:
                value = np.uint64(data[i] & 127) | np.uint64(data[i + 1]) << np.uint64(7)
                i += 2
            else:
                value, i = read_varint(data, i, last)
                if i < 0:
                    i = last
            out[at] = np.int32(value)
            largest = max(largest, value)
            at += 1
    out[at:] = 0
    return largest


@kernel
def _put_bytes(data, begin, end, out):
    """As `_put_varints`, for a list whose numbers are mostly of one byte each (0 and 1)."""
    tag, first, last = next_field(data, begin, end) if begin < end else (0, 0, 0)
    high = np.uint8(0)
    for i in range(first, last):
        high |= data[i]
    if last != end or tag != FIELD_1 or high >= 128:
        _put_varints(data, begin, end, out)
        return
    count = min(last - first, out.size)
    for i in range(count):
        out[i] = data[first + i]
    out[count:] = 0


@kernel
def _put_floats(data, begin, end, out):
    """Numbers of a FloatList into out int32[width], bit by bit, zeros behind."""
    at = 0
    while begin < end:
        tag, i, last = next_field(data, begin, end)
        begin = last
        if tag != FIELD_1 and tag != FIXED32_1:
            continue
        while i < last and at < out.size:
            out[at] = np.int32(
                np.uint32(data[i])
                | np.uint32(data[i + 1]) << np.uint32(8)
                | np.uint32(data[i + 2]) << np.uint32(16)
                | np.uint32(data[i + 3]) << np.uint32(24)
            )
            i += 4
            at += 1
    out[at:] = 0


@kernel
def _decode(data, starts, spans, tokens, predictions, labels):
    """Fills a batch; returns the largest id and the largest position, as unsigned numbers."""
    largest_id = largest_position = np.uint64(0)
    for row in range(starts.size):
        start, span = starts[row], spans[row]
        largest = _put_varints(data, start + span[IDS, 0], start + span[IDS, 1], tokens[0, row])
        largest_id = max(largest_id, largest)
        _put_bytes(data, start + span[MASK, 0], start + span[MASK, 1], tokens[1, row])
        _put_bytes(data, start + span[SEGMENTS, 0], start + span[SEGMENTS, 1], tokens[2, row])
        begin, end = start + span[POSITIONS, 0], start + span[POSITIONS, 1]
        largest_position = max(
            largest_position, _put_varints(data, begin, end, predictions[0, row])
        )
        begin, end = start + span[LABELS, 0], start + span[LABELS, 1]
        largest_id = max(largest_id, _put_varints(data, begin, end, predictions[1, row]))
        begin, end = start + span[WEIGHTS, 0], start + span[WEIGHTS, 1]
        _put_floats(data, begin, end, predictions[2, row])
        _put_varints(data, start + span[NEXT, 0], start + span[NEXT, 1], labels[row])
    return largest_id, largest_position


def decode_records(block: RecordBlock, shape: Shape, out: NDArray[np.int32]) -> tuple[int, int]:
    """Decodes records into one dense batch.

    Args:
      block: `shape.rows` records.
      shape: rows, width, predictions; what does not fit is cut off, what is missing is 0.
      out: int32[shape.num_words], filled: input_ids, input_mask, segment_ids [rows, width] each,
        then masked_lm_positions, masked_lm_ids, masked_lm_weights (the bits of float32)
        [rows, predictions] each, then next_sentence_labels [rows, 1].

    Returns:
      The largest id in the records and the largest position; a negative one counts as 2**64 less
      it.
    """
    rows, width, predictions = shape
    cut = NUM_TOKEN_FEATURES * rows * width
    token_rows = out[:cut].reshape(NUM_TOKEN_FEATURES, rows, width)
    prediction_rows = out[cut : out.size - rows].reshape(NUM_PREDICTION_FEATURES, rows, predictions)
    labels = out[out.size - rows :].reshape(rows, 1)
    largest = _decode(block.data, block.starts, block.spans, token_rows, prediction_rows, labels)
    return int(largest[0]), int(largest[1])
