"""tf.train.Example bytes of instances, framed as TFRecords, straight from rows and the token store.

    row + store  ->  length, crc(length), Example{input_ids, input_mask, ...}, crc(Example)

An Example is a protobuf map and protobuf leaves the order of a map's entries open; here they are
sorted by name, so that equal records are equal bytes.
"""

import numpy as np
from numpy.typing import NDArray

from bert_data.formats.byte_blocks import put_bytes, put_repeated
from bert_data.kernels import Scalar, inner
from bert_data.records.layout import ABSENT, HEADER_ROOM, NAMES, RecordLayout, RecordScratch
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

_NUM_FEATURES = len(NAMES)
_IDS, _SPLITS, _MASK, _LABELS, _POSITIONS, _WEIGHTS, _NEXT, _SEGMENTS = range(_NUM_FEATURES)
_ONE = 0x3F800000  # 1.0 as float32


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
