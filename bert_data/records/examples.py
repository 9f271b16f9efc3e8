"""tf.train.Example bytes of instances, framed as TFRecords, straight from rows and the token store.

    row + store  ->  length, crc(length), Example{input_ids, input_mask, ...}, crc(Example)

An Example is a protobuf map and protobuf leaves the order of a map's entries open; here they are
sorted by name, so that equal records are equal bytes.
"""

import numpy as np
from numpy.typing import NDArray

from bert_data.kernels import Scalar, inner, kernel
from bert_data.records.crc32c import masked_crc32c_of_range
from bert_data.records.layout import ABSENT, HEADER_ROOM, NAMES, RecordLayout, RecordScratch
from bert_data.records.memory import put_bytes, put_repeated
from bert_data.records.protobuf import (
    FIELD_1,
    FLOAT_LIST,
    INT64_LIST,
    put_ascending,
    put_entry_header,
    put_little_endian,
    put_varint,
    put_varints,
    tagged_entry_size,
)
from bert_data.records.row_values import find_words, read_predictions, read_tokens

_NUM_FEATURES = len(NAMES)
_IDS, _SPLITS, _MASK, _LABELS, _POSITIONS, _WEIGHTS, _NEXT, _SEGMENTS = range(_NUM_FEATURES)
_ONE = 0x3F800000  # 1.0 as float32
_CRC_BYTES = 4
_FRAME_START = 12  # bytes of a frame before its data


@inner
def _put_features(
    out: NDArray[np.uint8],
    at: Scalar,
    names: NDArray[np.uint8],
    name_bounds: NDArray[np.int64],
    payload: NDArray[np.uint8],
    starts: NDArray[np.int64],
    sizes: NDArray[np.int64],
    ones: NDArray[np.int64],
    headers: NDArray[np.uint8],
    header_for: NDArray[np.int64],
    header_sizes: NDArray[np.int64],
) -> Scalar:
    """Writes the entries of an Example; returns their end.

    Args:
      out, at: where to.
      names, name_bounds: of the features.
      payload, starts: packed values of features, and where each begins; the others are constant.
      sizes: of the features' values with padding, in bytes; ABSENT for one that is left out.
      ones: for each feature, the range [ones[2 key], ones[2 key + 1]) of its values that are one
        (a mask, a segment, a weight) or are in the payload; the others are zero.
      headers, header_for, header_sizes: the header that each feature had last, for which size of
        values it was, and its own size. Mostly it is the same again.
    """
    for key in range(_NUM_FEATURES):
        size = sizes[key]
        if size < 0:
            continue
        header = key * HEADER_ROOM
        if header_for[key] != size:
            name, name_size = name_bounds[key], name_bounds[key + 1] - name_bounds[key]
            kind = FLOAT_LIST if key == _WEIGHTS else INT64_LIST
            end = put_entry_header(headers, header, names, name, name_size, kind, size)
            header_for[key], header_sizes[key] = size, end - header
        at = put_bytes(out, at, headers, header, header_sizes[key])
        stop = at + size
        begin, end = ones[2 * key], ones[2 * key + 1]
        if key == _WEIGHTS:
            for _ in range(end):
                at = put_little_endian(out, at, np.int64(_ONE), 4)
        elif key in (_MASK, _SEGMENTS, _NEXT):
            at = put_repeated(out, at, 0, begin)
            at = put_repeated(out, at, 1, end - begin)
        else:
            at = put_bytes(out, at, payload, starts[key], end)
        at = put_repeated(out, at, 0, stop - at)
    return at


@inner
def _measure_constants(
    sizes: NDArray[np.int64],
    ones: NDArray[np.int64],
    length: Scalar,
    padding: Scalar,
    b_start: Scalar,
    predictions: Scalar,
    unpredicted: Scalar,
) -> None:
    """Fills in the sizes, and the ranges of ones, of the features that hold nothing but 0 and 1."""
    sizes[_MASK] = sizes[_SEGMENTS] = length + padding
    ones[2 * _MASK + 1] = ones[2 * _SEGMENTS + 1] = length
    ones[2 * _SEGMENTS] = b_start
    sizes[_WEIGHTS] = 4 * (predictions + unpredicted)
    ones[2 * _WEIGHTS + 1] = predictions


@inner
def _entries_size(sizes: NDArray[np.int64], name_bounds: NDArray[np.int64]) -> Scalar:
    """Bytes of all entries of an Example."""
    total = np.int64(0)
    for key in range(_NUM_FEATURES):
        if sizes[key] >= 0:
            total += tagged_entry_size(name_bounds[key + 1] - name_bounds[key], sizes[key])
    return total


@inner
def put_frame(out: NDArray[np.uint8], at: Scalar, stop: Scalar) -> Scalar:
    """Frames the data that begins 12 bytes behind `at` as a TFRecord; returns the record's end."""
    data = at + 8 + _CRC_BYTES
    put_little_endian(out, at, stop - data, 8)
    crc = np.int64(masked_crc32c_of_range(out, at, at + 8))
    put_little_endian(out, at + 8, crc, _CRC_BYTES)
    crc = np.int64(masked_crc32c_of_range(out, data, stop))
    return put_little_endian(out, stop, crc, _CRC_BYTES)


@inner
def put_example(
    out: NDArray[np.uint8],
    at: Scalar,
    layout: RecordLayout,
    scratch: RecordScratch,
    length: Scalar,
    b_start: Scalar,
    num_splits: Scalar,
    predictions: Scalar,
    is_random: Scalar,
) -> Scalar:
    """Writes the Example of an instance; returns its end.

    Args:
      out, at: where to.
      layout: what to pad to; names.
      scratch: tokens, splits, positions and labels hold the instance's; the rest is room.
      length: of the tokens.
      b_start: the first token of B.
      num_splits: of the words; 0 for an Example without them.
      predictions: positions and labels.
      is_random: whether B does not follow A, 0 or 1; -1 where there is no B.
    """
    payload, starts = scratch.payload, scratch.starts
    sizes, ones = scratch.sizes, scratch.ones
    end = np.int64(0)
    if num_splits:
        starts[_SPLITS] = end
        end = put_ascending(payload, end, scratch.splits, num_splits)
        sizes[_SPLITS] = ones[2 * _SPLITS + 1] = end
    padding = max(layout.padded_length - length, 0)
    unpredicted = max(layout.padded_predictions - predictions, 0)
    for key in (_IDS, _LABELS, _POSITIONS):
        starts[key] = end
        if key == _IDS:
            end = put_varints(payload, end, scratch.tokens, length)
        elif key == _LABELS:
            end = put_varints(payload, end, scratch.labels, predictions)
        else:
            end = put_ascending(payload, end, scratch.positions, predictions)
        ones[2 * key + 1] = end - starts[key]
        sizes[key] = end - starts[key] + (padding if key == _IDS else unpredicted)
    _measure_constants(sizes, ones, length, padding, b_start, predictions, unpredicted)
    ones[2 * _NEXT + 1] = is_random
    sizes[_NEXT] = ABSENT if is_random < 0 else 1
    out[at] = FIELD_1
    at = put_varint(out, at + 1, _entries_size(sizes, layout.name_bounds))
    return _put_features(
        out, at, layout.names, layout.name_bounds, payload, starts, sizes, ones,
        scratch.headers, scratch.header_for, scratch.header_sizes,
    )  # fmt: skip


@kernel
def write_records(
    rows: NDArray[np.uint32],
    order: NDArray[np.uint32],
    ids: NDArray[np.integer],
    layout: RecordLayout,
    scratch: RecordScratch,
    out: NDArray[np.uint8],
    ends: NDArray[np.int64],
    num_tokens: NDArray[np.uint32],
) -> Scalar:
    """Writes records, one after another.

    Args:
      rows: uint32[any, words], see `bert_data.objectives.rows`.
      order: uint32[records], the rows to write.
      ids: uint16 or int32[tokens] of the token store.
      layout: of the records.
      scratch: room for one record.
      out: uint8[bytes], at least `max_record_bytes` for each record.
      ends: int64[records], filled: where in `out` each record ends.
      num_tokens: uint32[records], filled: unpadded length of each instance.

    Returns:
      The bytes written.
    """
    tokens = scratch.tokens
    at = np.int64(0)
    for record in range(order.size):
        row = rows[order[record]]
        length, b_start = read_tokens(row, ids, layout.cls_id, layout.sep_id, tokens)
        num_splits = np.int64(0)
        if layout.padded_length == 0:
            num_splits = find_words(tokens, length, b_start, layout.continues, scratch.splits)
        predictions = read_predictions(
            row, layout.code_bits, tokens, scratch.positions, scratch.labels
        )
        data = at + _FRAME_START
        label = np.int64(row[5] & 1) if b_start < length else np.int64(-1)
        stop = put_example(
            out, data, layout, scratch, length, b_start, num_splits, predictions, label
        )
        at = put_frame(out, at, stop)
        ends[record] = at
        num_tokens[record] = length
    return at
