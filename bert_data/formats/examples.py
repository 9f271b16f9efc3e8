"""Encode column batches as tf.train.Examples, framed as in TFRecord files.

    batch of 2 records  ->  length, crc(length), Example{input_ids, input_mask, ...}, crc(Example),
                            length, crc(length), Example{...}, crc(Example)      ends [310 655]

An Example is a protobuf map, whose entries may have any order; here they are sorted by name, so
that equal records are equal bytes. The form of a feature follows from its field: its list from the
dtype, its padding from the kind of records, its ones from `is_implied`.
"""

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bert_data.formats import encoding as kernel
from bert_data.formats.wire import (
    BLOCK_BYTES,
    BYTES_LIST,
    FIELD_1,
    FLOAT_LIST,
    FRAME_END,
    FRAME_START,
    INT64_LIST,
    MAX_VARINT_BYTES,
)
from bert_data.schema.columns import Column, ColumnBatch
from bert_data.schema.fields import BYTES, DTYPES, FLOAT32, INT32, Axis, Field, RecordKind, Role
from bert_data.schema.ragged_arrays import Values

_LISTS = {"int64_list": INT64_LIST, "float_list": FLOAT_LIST, "bytes_list": BYTES_LIST}
_KINDS = (kernel.BYTE, kernel.BYTE, kernel.INT32, kernel.INT64, kernel.FLOAT32, kernel.TEXT)
_TYPES = dict(zip(DTYPES, _KINDS, strict=True))
_HEADER_BYTES = 64  # of a feature at most, besides its name: tags and sizes


def _new_bytes(size: int) -> NDArray[np.uint8]:
    return np.empty(size, np.uint8)


class ExampleEncoder:
    """Encodes batches of one kind of records; any number of threads may use it at a time."""

    def __init__(self, kind: RecordKind) -> None:
        """Prepare what all batches share."""
        self._fields = sorted(kind.fields, key=lambda field: field.name)
        names = [field.name.encode() for field in self._fields]
        self._names = np.frombuffer(b"".join([*names, bytes(BLOCK_BYTES)]), np.uint8)
        self._header_bytes = _HEADER_BYTES + max(map(len, names), default=0) + 2 * BLOCK_BYTES
        table = np.zeros((len(names), kernel.TABLE_COLUMNS), np.int64)
        table[:, kernel.LIST] = [_LISTS[field.feature_kind] for field in self._fields]
        table[:, kernel.TYPE] = list(map(_type_of, self._fields))
        table[:, kernel.NAME] = np.cumsum([0, *map(len, names)])[:-1]
        table[:, kernel.NAME_SIZE] = list(map(len, names))
        table[:, kernel.PADDED_TO] = [kind.padded_to.get(field.axis, 0) for field in self._fields]
        table[:, kernel.HEADER_FOR] = -1
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

        Raises:
          ValueError: a record takes more bytes than protobuf allows.
        """
        table = self._table.copy()
        arrays = [_place(row, field, batch) for row, field in zip(table, self._fields, strict=True)]
        most = MAX_VARINT_BYTES * int(table[:, kernel.NUM_VALUES].sum()) + sum(
            values.size for values, _, ends in arrays if ends is not None
        )
        padding = int(
            np.where(table[:, kernel.LIST] == FLOAT_LIST, kernel.FLOAT_BYTES, 1)
            @ table[:, kernel.PADDED_TO]
        )
        record_bytes = FRAME_START + FRAME_END + self._header_bytes * (len(table) + 1) + padding
        ends = np.empty(batch.num_records, np.int64)
        payload = np.empty(most + 2 * BLOCK_BYTES, np.uint8)
        headers = np.empty((len(table), self._header_bytes), np.uint8)
        out = new_bytes(most + (ends.size + 1) * record_bytes)
        size = kernel.write_records(table, self._names, headers, payload, out, ends)
        if size < 0:
            raise ValueError(
                f"record {-1 - size} of the batch takes more than {kernel.MAX_EXAMPLE_BYTES:,}"
                " bytes, the most that protobuf allows"
            )
        return out[:size], ends


def _type_of(field: Field) -> int:
    """Return how the values of a field are written."""
    if field.is_implied:
        return kernel.FLOAT_ONES if field.dtype == FLOAT32 else kernel.ONES
    if field.dtype == INT32 and field.role is not Role.IDS:
        return kernel.SMALL_INT32
    return _TYPES[field.dtype]


def _place(row: NDArray[np.int64], field: Field, batch: ColumnBatch) -> Any:
    """Fill in the addresses of a field's values; return the arrays that must stay alive."""
    column = batch.column_of(field.axis) if field.is_implied else batch[field]
    values, splits, ends = np.ascontiguousarray(column.values), column.splits, None
    row[kernel.NUM_VALUES] = values.size
    if splits is None:
        row[kernel.WIDTH] = values.size // max(1, len(values))
    else:
        splits = np.ascontiguousarray(splits)
        row[kernel.SPLITS] = _address(splits)
    if field.dtype == BYTES:
        ends = np.cumsum([len(text) for text in values.flat], dtype=np.int64)
        values = np.frombuffer(b"".join([*values.flat, bytes(BLOCK_BYTES)]), np.uint8)
        row[kernel.TEXT_ENDS] = _address(ends)
    row[kernel.VALUES] = _address(values)
    return values, splits, ends


def _address(array: NDArray[Any]) -> int:
    address: int = array.__array_interface__["data"][0]
    return address


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
    fields = [
        Field(name, array.dtype, Axis.INSTANCES, Role.LABELS) for name, array in arrays.items()
    ]
    columns = {name: Column(array[np.newaxis]) for name, array in arrays.items()}
    if not columns:
        return bytes((FIELD_1, 0))
    batch = ColumnBatch(kind=RecordKind(name="example", fields=tuple(fields)), columns=columns)
    data, _ = ExampleEncoder(batch.kind).encode(batch)
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
