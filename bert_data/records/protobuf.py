"""Kernels that write protobuf's wire format, and little-endian numbers.

    varint       300 -> AC 02        7 bits a byte, lowest first; the top bit: more follow
    map entry    0A n ( key 0A n name | value 12 n ( list n ( packed 0A n payload )))

The entry is that of Features in tensorflow/core/example: `list` is the tag of the feature's kind.
"""

import numpy as np
from numpy.typing import NDArray

from bert_data.formats.byte_blocks import put_bytes
from bert_data.kernels import Scalar, inner

FLOAT_LIST, INT64_LIST = 0x12, 0x1A  # tags of the kinds of Feature
FIELD_1, FIELD_2 = 0x0A, 0x12  # tags of fields 1 and 2 that hold bytes


@inner
def varint_size(value: Scalar) -> Scalar:
    """Bytes of a varint, value in [0, 2**35)."""
    return (
        1
        + np.int64(value >= 1 << 7)
        + np.int64(value >= 1 << 14)
        + np.int64(value >= 1 << 21)
        + np.int64(value >= 1 << 28)
    )


@inner
def put_varint(out: NDArray[np.uint8], at: Scalar, value: Scalar) -> Scalar:
    """Writes a varint, value >= 0; returns its end."""
    while value >= 128:
        out[at] = value & 127 | 128
        value >>= 7
        at += 1
    out[at] = value
    return at + 1


@inner
def put_little_endian(
    out: NDArray[np.uint8], at: Scalar, value: Scalar, num_bytes: Scalar
) -> Scalar:
    """Writes a number, lowest byte first; returns its end."""
    for i in range(num_bytes):
        out[at + i] = value >> (8 * i) & 255
    return at + num_bytes


@inner
def put_varints(
    out: NDArray[np.uint8], at: Scalar, values: NDArray[np.int32], num_values: Scalar
) -> Scalar:
    """Writes packed varints, values >= 0; returns their end.

    Up to three bytes behind it change.
    Ids have one byte to three, in no order that a processor could predict; so four are stored
    always, at once, and only how far to go on depends on the value.
    """
    for i in range(num_values):
        value = np.int64(values[i])
        if value >= 1 << 21:
            at = put_varint(out, at, value)
            continue
        two, three = np.int64(value >= 1 << 7), np.int64(value >= 1 << 14)
        low, middle = value & 127 | two << 7, value >> 7 & 127 | three << 7
        put_little_endian(out, at, low | middle << 8 | value >> 14 << 16, 4)
        at += 1 + two + three
    return at


@inner
def put_ascending(
    out: NDArray[np.uint8], at: Scalar, values: NDArray[np.int32], num_values: Scalar
) -> Scalar:
    """Writes packed varints of ascending values, of which those below 128 are bytes already."""
    num_small = np.int64(0)
    for i in range(num_values):
        num_small += np.int64(values[i] < 128)
    for i in range(num_small):
        out[at + i] = values[i]
    at += num_small
    for i in range(num_small, num_values):
        at = put_varint(out, at, np.int64(values[i]))
    return at


@inner
def _list_size(payload_size: Scalar) -> Scalar:
    """Bytes of a list with a packed payload, without its tag and size; nothing if it is empty."""
    return payload_size + 1 + varint_size(payload_size) if payload_size else np.int64(0)


@inner
def _entry_size(name_size: Scalar, payload_size: Scalar) -> Scalar:
    """Bytes of a map entry without its tag and size."""
    list_size = _list_size(payload_size)
    feature_size = 1 + varint_size(list_size) + list_size
    return 3 + name_size + varint_size(feature_size) + feature_size


@inner
def tagged_entry_size(name_size: Scalar, payload_size: Scalar) -> Scalar:
    """Bytes of a map entry with its tag and size."""
    size = _entry_size(name_size, payload_size)
    return 1 + varint_size(size) + size


@inner
def put_entry_header(
    out: NDArray[np.uint8],
    at: Scalar,
    names: NDArray[np.uint8],
    name_start: Scalar,
    name_size: Scalar,
    kind: Scalar,
    payload_size: Scalar,
) -> Scalar:
    """Writes all of a map entry that stands before its payload; returns the end."""
    list_size = _list_size(payload_size)
    out[at] = FIELD_1
    at = put_varint(out, at + 1, _entry_size(name_size, payload_size))
    out[at] = FIELD_1
    out[at + 1] = name_size
    at = put_bytes(out, at + 2, names, name_start, name_size)
    out[at] = FIELD_2
    at = put_varint(out, at + 1, 1 + varint_size(list_size) + list_size)
    out[at] = kind
    at = put_varint(out, at + 1, list_size)
    if payload_size:
        out[at] = FIELD_1
        at = put_varint(out, at + 1, payload_size)
    return at
