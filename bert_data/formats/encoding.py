"""The kernel that writes framed tf.train.Examples from any columns.

    table     features, sorted by name: where their values are, how to write them, padding
    record    values --packed--> sizes of all entries --> tags, sizes, names, values; frame

The kernel visits a record's features twice, as sizes precede values. Values that are bytes already,
such as masks and segment ids, are copied straight to their place.
"""

import numpy as np
from numpy.typing import NDArray

from bert_data.formats.wire import (
    BLOCK_BYTES,
    BYTES_LIST,
    FIELD_1,
    FLOAT_LIST,
    FRAME_START,
    bytes_at,
    int32s_at,
    int64s_at,
    packed_list_size,
    put_bytes,
    put_entry_header,
    put_frame,
    put_little_endian,
    put_repeated,
    put_small_varints,
    put_varint,
    put_varints,
    tagged_entry_size,
)
from bert_data.kernels import Scalar, inner, kernel

MAX_EXAMPLE_BYTES = 2**31 - 1
"""The limit of protobuf."""

ONES, FLOAT_ONES, BYTE, INT32, SMALL_INT32, INT64, FLOAT32, TEXT = range(8)
"""How a feature's values are written; `SMALL_INT32` hints that they are mostly below 128."""

LIST, TYPE, NAME, NAME_SIZE = range(4)
"""Columns of the table: tag of the list, one of the kinds above, offset and bytes of the name."""

VALUES, NUM_VALUES, SPLITS, WIDTH, TEXT_ENDS, PADDED_TO = range(4, 10)
"""More columns: addresses of the values (of texts: of their bytes), of row splits (0: each record
has `WIDTH` values) and of texts' ends; number of values of all records, and of a padded record."""

_BEGIN, _END, _PACKED, _PACKED_END, _SIZE, HEADER_FOR, _HEADER_SIZE = range(10, 17)
TABLE_COLUMNS = 17
"""The kernel uses the columns from 10 on; `HEADER_FOR` is -1 at first."""

FLOAT_BYTES = 4
_NOT_PACKED = -1
_ONE = 0x3F800000  # 1.0 as float32


@inner
def _find_bounds(table: NDArray[np.int64], key: Scalar, record: Scalar) -> tuple[Scalar, Scalar]:
    """Return where a record's values begin and end in a feature's column."""
    if table[key, SPLITS] == 0:
        width = table[key, WIDTH]
        return record * width, (record + 1) * width
    splits = int32s_at(table[key, SPLITS], record + 2)
    return np.int64(splits[record]), np.int64(splits[record + 1])


@inner
def _put_texts(
    out: NDArray[np.uint8],
    at: Scalar,
    texts: NDArray[np.uint8],
    ends: NDArray[np.int64],
    begin: Scalar,
    end: Scalar,
) -> Scalar:
    """Write the texts begin to end, each with its tag and size; return their end."""
    for i in range(begin, end):
        start = ends[i - 1] if i else np.int64(0)
        out[at] = FIELD_1
        at = put_varint(out, at + 1, ends[i] - start)
        at = put_bytes(out, at, texts, start, ends[i] - start)
    return at


@inner
def _pack_bytes(out: NDArray[np.uint8], at: Scalar, values: NDArray[np.uint8]) -> Scalar:
    """Pack int8 values, of which one is negative; return their end."""
    for i in range(values.size):
        at = put_varint(out, at, np.int64(np.int8(values[i])))
    return at


@inner
def _pack_feature(
    table: NDArray[np.int64], key: Scalar, payload: NDArray[np.uint8], at: Scalar
) -> Scalar:
    """Pack a feature's values into the payload unless they are bytes already; return the end."""
    begin, end, kind = table[key, _BEGIN], table[key, _END], table[key, TYPE]
    values, size = table[key, VALUES], table[key, NUM_VALUES]
    table[key, _PACKED] = at
    if kind == INT32:
        return put_varints(payload, at, int32s_at(values + 4 * begin, end - begin))
    if kind == SMALL_INT32:
        return put_small_varints(payload, at, int32s_at(values + 4 * begin, end - begin))
    if kind == INT64:
        return put_varints(payload, at, int64s_at(values + 8 * begin, end - begin))
    if kind == TEXT:
        ends = int64s_at(table[key, TEXT_ENDS], size)
        return _put_texts(
            payload, at, bytes_at(values, ends[size - 1] if size else 0), ends, begin, end
        )
    if kind == BYTE:
        small = bytes_at(values + begin, end - begin)
        all_bits = np.uint8(0)
        for i in range(small.size):
            all_bits |= small[i]
        if all_bits >= 128:
            return _pack_bytes(payload, at, small)
    table[key, _PACKED] = _NOT_PACKED
    return at


@inner
def _measure_features(
    table: NDArray[np.int64], record: Scalar, payload: NDArray[np.uint8]
) -> Scalar:
    """Pack the values of a record and note where they are; return the bytes of all entries."""
    at, total = np.int64(0), np.int64(0)
    for key in range(table.shape[0]):
        begin, end = _find_bounds(table, key, record)
        table[key, _BEGIN], table[key, _END] = begin, end
        start, at = at, _pack_feature(table, key, payload, at)
        table[key, _PACKED_END] = at
        item_bytes = FLOAT_BYTES if table[key, LIST] == FLOAT_LIST else 1
        padding = max(np.int64(0), table[key, PADDED_TO] - (end - begin))
        used = item_bytes * (end - begin) if table[key, _PACKED] == _NOT_PACKED else at - start
        size = used + item_bytes * padding
        table[key, _SIZE] = size
        list_size = size if table[key, LIST] == BYTES_LIST else packed_list_size(size)
        total += tagged_entry_size(table[key, NAME_SIZE], list_size)
    return total


@inner
def _put_column(
    out: NDArray[np.uint8], at: Scalar, column: NDArray[np.uint8], start: Scalar, size: Scalar
) -> Scalar:
    """Copy bytes of a column, in whole blocks if it is long enough; return their end."""
    if start + size + BLOCK_BYTES <= column.size:
        return put_bytes(out, at, column, start, size)
    for i in range(size):
        out[at + i] = column[start + i]
    return at + size


@inner
def _put_values(
    out: NDArray[np.uint8],
    at: Scalar,
    table: NDArray[np.int64],
    key: Scalar,
    payload: NDArray[np.uint8],
) -> Scalar:
    """Write a feature's values and their padding; return the end."""
    stop, kind = at + table[key, _SIZE], table[key, TYPE]
    begin, end, packed = table[key, _BEGIN], table[key, _END], table[key, _PACKED]
    if packed != _NOT_PACKED:
        at = put_bytes(out, at, payload, packed, table[key, _PACKED_END] - packed)
    elif kind == ONES:
        at = put_repeated(out, at, 1, end - begin)
    elif kind == FLOAT_ONES:
        for _ in range(begin, end):
            at = put_little_endian(out, at, np.int64(_ONE), FLOAT_BYTES)
    else:
        item_bytes = FLOAT_BYTES if kind == FLOAT32 else 1
        column = bytes_at(table[key, VALUES], item_bytes * table[key, NUM_VALUES])
        at = _put_column(out, at, column, item_bytes * begin, item_bytes * (end - begin))
    return put_repeated(out, at, 0, stop - at)


@kernel
def write_records(
    table: NDArray[np.int64],
    names: NDArray[np.uint8],
    headers: NDArray[np.uint8],
    payload: NDArray[np.uint8],
    out: NDArray[np.uint8],
    ends: NDArray[np.int64],
) -> Scalar:
    """Write records, one after another.

    Args:
      table: int64[features, 17], the features sorted by name, see the columns above.
      names: uint8[bytes], their names, end to end, and a block to spare.
      headers: uint8[features, bytes], room for what precedes the values of each feature. As it
        depends only on their size, it is mostly the same for the next record.
      payload: uint8[bytes], room for the packed values of one record.
      out: uint8[bytes], room for all records.
      ends: int64[records], filled: where in `out` each record ends.

    Returns:
      The bytes written; or -1 - i if record i is larger than an Example may be.
    """
    at = np.int64(0)
    for record in range(ends.size):
        total = _measure_features(table, record, payload)
        if total > MAX_EXAMPLE_BYTES:
            return -1 - record
        out[at + FRAME_START] = FIELD_1
        stop = put_varint(out, at + FRAME_START + 1, total)
        for key in range(table.shape[0]):
            size, header = table[key, _SIZE], headers[key]
            if table[key, HEADER_FOR] != size:
                table[key, HEADER_FOR] = size
                table[key, _HEADER_SIZE] = put_entry_header(
                    header, np.int64(0), names, table[key, NAME], table[key, NAME_SIZE],
                    table[key, LIST], size,
                )  # fmt: skip
            stop = put_bytes(out, stop, header, np.int64(0), table[key, _HEADER_SIZE])
            stop = _put_values(out, stop, table, key, payload)
        at = put_frame(out, at, stop)
        ends[record] = at
    return at
