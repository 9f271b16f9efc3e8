"""Encode column batches as tf.train.Examples, framed as in TFRecord files.

    batch of 2 records  ->  length, crc(length), Example{input_ids, input_mask, ...}, crc(Example),
                            length, crc(length), Example{...}, crc(Example)      ends [310 655]

An Example is a protobuf map, whose entries may have any order; here they are sorted by name, so
that equal records are equal bytes. A table tells the kernel how to write each feature; it visits a
record's features twice, as sizes precede values.
"""

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bert_data.kernels import Scalar, inner, kernel
from bert_data.records import fields
from bert_data.records.columns import Column, ColumnBatch
from bert_data.records.fields import Axis, Field, RecordKind, Role
from bert_data.records.formats.wire_kernels import (
    BLOCK_BYTES,
    BYTES_LIST,
    FIELD_1,
    FLOAT_LIST,
    FRAME_END,
    FRAME_START,
    INT64_LIST,
    MAX_VARINT_BYTES,
    bytes_at,
    data_address,
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
from bert_data.records.ragged_arrays import Values

MAX_EXAMPLE_BYTES = 2**31 - 1  # the limit of protobuf

# How a feature's values are written; _SMALL_INT32 hints that they are mostly below 128.
_ONES, _FLOAT_ONES, _BYTE, _INT32, _SMALL_INT32, _INT64, _FLOAT32, _TEXT = range(8)

# Columns of the table: tag of the list, one of the kinds above, offset and bytes of the name;
_LIST, _TYPE, _NAME, _NAME_SIZE = range(4)
# addresses of the values (of texts: of their bytes), of row splits (0: each record has _WIDTH
# values) and of texts' ends; number of values of all records, and of a padded record;
_VALUES, _NUM_VALUES, _SPLITS, _WIDTH, _TEXT_ENDS, _PADDED_TO = range(4, 10)
# and what the kernel uses by itself; _HEADER_FOR is -1 at first.
_BEGIN, _END, _PACKED, _PACKED_END, _SIZE, _HEADER_FOR, _HEADER_SIZE = range(10, 17)
_TABLE_COLUMNS = 17

_FLOAT_BYTES = 4
_NOT_PACKED = -1
_ONE = 0x3F800000  # 1.0 as float32


@inner
def _find_bounds(table: NDArray[np.int64], key: Scalar, record: Scalar) -> tuple[Scalar, Scalar]:
    """Return where a record's values begin and end in a feature's column."""
    if table[key, _SPLITS] == 0:
        width = table[key, _WIDTH]
        return record * width, (record + 1) * width
    splits = int32s_at(table[key, _SPLITS], record + 2)
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
    begin, end, kind = table[key, _BEGIN], table[key, _END], table[key, _TYPE]
    values, size = table[key, _VALUES], table[key, _NUM_VALUES]
    table[key, _PACKED] = at
    if kind == _INT32:
        return put_varints(payload, at, int32s_at(values + 4 * begin, end - begin))
    if kind == _SMALL_INT32:
        return put_small_varints(payload, at, int32s_at(values + 4 * begin, end - begin))
    if kind == _INT64:
        return put_varints(payload, at, int64s_at(values + 8 * begin, end - begin))
    if kind == _TEXT:
        ends = int64s_at(table[key, _TEXT_ENDS], size)
        return _put_texts(
            payload, at, bytes_at(values, ends[size - 1] if size else 0), ends, begin, end
        )
    if kind == _BYTE:
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
        item_bytes = _FLOAT_BYTES if table[key, _LIST] == FLOAT_LIST else 1
        padding = max(np.int64(0), table[key, _PADDED_TO] - (end - begin))
        used = item_bytes * (end - begin) if table[key, _PACKED] == _NOT_PACKED else at - start
        size = used + item_bytes * padding
        table[key, _SIZE] = size
        list_size = size if table[key, _LIST] == BYTES_LIST else packed_list_size(size)
        total += tagged_entry_size(table[key, _NAME_SIZE], list_size)
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
    stop, kind = at + table[key, _SIZE], table[key, _TYPE]
    begin, end, packed = table[key, _BEGIN], table[key, _END], table[key, _PACKED]
    if packed != _NOT_PACKED:
        at = put_bytes(out, at, payload, packed, table[key, _PACKED_END] - packed)
    elif kind == _ONES:
        at = put_repeated(out, at, 1, end - begin)
    elif kind == _FLOAT_ONES:
        for _ in range(begin, end):
            at = put_little_endian(out, at, np.int64(_ONE), _FLOAT_BYTES)
    else:
        item_bytes = _FLOAT_BYTES if kind == _FLOAT32 else 1
        column = bytes_at(table[key, _VALUES], item_bytes * table[key, _NUM_VALUES])
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
            if table[key, _HEADER_FOR] != size:
                table[key, _HEADER_FOR] = size
                table[key, _HEADER_SIZE] = put_entry_header(
                    header, np.int64(0), names, table[key, _NAME], table[key, _NAME_SIZE],
                    table[key, _LIST], size,
                )  # fmt: skip
            stop = put_bytes(out, stop, header, np.int64(0), table[key, _HEADER_SIZE])
            stop = _put_values(out, stop, table, key, payload)
        at = put_frame(out, at, stop)
        ends[record] = at
    return at


_LISTS = {"int64_list": INT64_LIST, "float_list": FLOAT_LIST, "bytes_list": BYTES_LIST}
_KINDS = (_BYTE, _BYTE, _INT32, _INT64, _FLOAT32, _TEXT)
_TYPES = dict(zip(fields.DTYPES, _KINDS, strict=True))
_HEADER_BYTES = 64  # of a feature at most, besides its name: tags and sizes


def _new_bytes(size: int) -> NDArray[np.uint8]:
    return np.empty(size, np.uint8)


class ExampleEncoder:
    """Encodes batches of one kind of records; any number of threads may use it at a time."""

    def __init__(self, kind: RecordKind) -> None:
        """Prepare what all batches share."""
        self._fields = sorted(kind.fields, key=kind.feature_of)
        names = [kind.feature_of(field).encode() for field in self._fields]
        self._names = np.frombuffer(b"".join([*names, bytes(BLOCK_BYTES)]), np.uint8)
        self._header_bytes = _HEADER_BYTES + max(map(len, names), default=0) + 2 * BLOCK_BYTES
        table = np.zeros((len(names), _TABLE_COLUMNS), np.int64)
        table[:, _LIST] = [_LISTS[field.feature_kind] for field in self._fields]
        table[:, _TYPE] = list(map(_type_of, self._fields))
        table[:, _NAME] = np.cumsum([0, *map(len, names)])[:-1]
        table[:, _NAME_SIZE] = list(map(len, names))
        table[:, _PADDED_TO] = [kind.padded_to.get(field.axis, 0) for field in self._fields]
        table[:, _HEADER_FOR] = -1
        self._table = table

    def encode(
        self, batch: ColumnBatch, new_bytes: Callable[[int], NDArray[np.uint8]] = _new_bytes
    ) -> tuple[NDArray[np.uint8], NDArray[np.int64]]:
        """Encode records as framed Examples.

        Args:
          new_bytes: returns uint8[at least so many] to write the records into.

        Returns:
          uint8[bytes], the records end to end, a view of the start of what `new_bytes` returned;
            and
          int64[records], where each ends.
        """
        table = self._table.copy()
        arrays = [_place(row, field, batch) for row, field in zip(table, self._fields, strict=True)]
        most = MAX_VARINT_BYTES * int(table[:, _NUM_VALUES].sum()) + sum(
            values.size for values, _, ends in arrays if ends is not None
        )
        padding = int(
            np.where(table[:, _LIST] == FLOAT_LIST, _FLOAT_BYTES, 1) @ table[:, _PADDED_TO]
        )
        record_bytes = FRAME_START + FRAME_END + self._header_bytes * (len(table) + 1) + padding
        ends = np.empty(batch.num_records, np.int64)
        payload = np.empty(most + 2 * BLOCK_BYTES, np.uint8)
        headers = np.empty((len(table), self._header_bytes), np.uint8)
        out = new_bytes(most + (ends.size + 1) * record_bytes)
        size = write_records(table, self._names, headers, payload, out, ends)
        if size < 0:
            raise ValueError(
                f"record {-1 - size} of the batch takes more than {MAX_EXAMPLE_BYTES:,}"
                " bytes, the most that protobuf allows"
            )
        return out[:size], ends


def _type_of(field: Field) -> int:
    """Return how the values of a field are written."""
    if field.is_implied:
        return _FLOAT_ONES if field.dtype == fields.FLOAT32 else _ONES
    if field.dtype == fields.INT32 and field.role is not Role.IDS:
        return _SMALL_INT32
    return _TYPES[field.dtype]


def _place(row: NDArray[np.int64], field: Field, batch: ColumnBatch) -> Any:
    """Fill in the addresses of a field's values; return the arrays that must stay alive."""
    column = batch.column_of(field.axis) if field.is_implied else batch[field]
    values, splits, ends = np.ascontiguousarray(column.values), column.splits, None
    row[_NUM_VALUES] = values.size
    if splits is None:
        row[_WIDTH] = values.size // max(1, len(values))
    else:
        splits = np.ascontiguousarray(splits)
        row[_SPLITS] = data_address(splits)
    if field.dtype == fields.BYTES:
        ends = np.cumsum([len(text) for text in values.flat], dtype=np.int64)
        values = np.frombuffer(b"".join([*values.flat, bytes(BLOCK_BYTES)]), np.uint8)
        row[_TEXT_ENDS] = data_address(ends)
    row[_VALUES] = data_address(values)
    return values, splits, ends


def encode_example(features: Mapping[str, Values]) -> bytes:
    """Return the bytes of one tf.train.Example; equal features give equal bytes.

    Args:
      features: values by name. An int64 array becomes an int64_list, a float32 array a float_list,
        a sequence of bytes (or an object array) a bytes_list; each may be empty. Arrays have one
        dimension.

    Raises:
      ValueError: values have another type or more dimensions.
    """
    arrays = {name: _array_of(name, values) for name, values in features.items()}
    kind = RecordKind(
        name="example",
        fields=tuple(
            Field(name, array.dtype, Axis.INSTANCES, Role.LABELS) for name, array in arrays.items()
        ),
    )
    columns = {name: Column(array[np.newaxis]) for name, array in arrays.items()}
    if not columns:
        return bytes((FIELD_1, 0))
    data, _ = ExampleEncoder(kind).encode(ColumnBatch(kind=kind, columns=columns))
    return data[FRAME_START:-FRAME_END].tobytes()


def _array_of(name: str, values: Values) -> NDArray[Any]:
    if not isinstance(values, np.ndarray):
        array = np.empty(len(values), object)
        array[:] = values
        values = array
    if values.ndim != 1:
        raise ValueError(f"feature {name!r} has {values.ndim} dimensions; it must have one")
    kinds = {type(value) for value in values} - {bytes} if values.dtype == object else set()
    if values.dtype.name not in ("int64", "float32", "object") or kinds:
        kind = kinds.pop().__name__ if kinds else values.dtype
        raise ValueError(f"feature {name!r} holds {kind}; it must hold int64, float32 or bytes")
    return values
