"""Protocol buffers' wire format, as far as a tf.train.Example needs it, for kernels.

    field = varint (number << 3 | type), then by type: 0 varint, 1 eight bytes, 2 length and bytes,
            5 four bytes

Source: the encoding chapter of protobuf.dev; the messages of tensorflow/core/example/feature.proto.
The packed numbers of a list may be spread over several fields, mixed with single numbers.
"""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from bert_data.kernels import Scalar, intrinsic, kernel

FIELD_1, FIELD_2, FIELD_3 = 0x0A, 0x12, 0x1A  # fields 1, 2 and 3 that hold a length and bytes
VARINT_1, FIXED32_1 = 0x08, 0x0D  # field 1 as a single varint or float
WORD_BYTES = 8
_MAX_VARINT_BYTES = 10
HIGH_BITS = np.uint64(0x8080808080808080)
_ONES = np.uint64(0x0101010101010101)
_SEVEN, _TOP = np.uint64(7), np.uint64(56)


def address_of(context: Any, builder: Any, array_type: Any, values: Any, kind: Any) -> Any:
    """Return the address of a vector in an array (values: the array and the place in it)."""
    array = context.make_array(array_type)(context, builder, values[0])
    return builder.bitcast(builder.gep(array.data, [values[1]]), kind.as_pointer())


def _loader(dtype: str, num_bits: int) -> Any:
    """Return an intrinsic: (uint8 array, place) -> the integer there, its first byte lowest."""

    @intrinsic
    def load(typing_context: Any, data: Any, at: Any) -> Any:
        from llvmlite import ir
        from numba import types

        def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
            kind = ir.IntType(num_bits)
            address = address_of(context, builder, signature.args[0], arguments, kind)
            return builder.load(address, align=1)

        return getattr(types, dtype)(data, types.intp), generate

    return load


load_word, load_int32 = _loader("uint64", 64), _loader("int32", 32)


@kernel
def read_varint(data: NDArray[np.uint8], at: Scalar, stop: Scalar) -> tuple[Scalar, Scalar]:
    """Return the varint at data[at:stop] as uint64, and its end; the end is -1 if it is cut off."""
    value = np.uint64(0)
    shift = np.uint64(0)
    for i in range(at, min(stop, at + _MAX_VARINT_BYTES)):
        byte = data[i]
        value |= np.uint64(byte & 127) << shift
        if byte < 128:
            return value, i + 1
        shift += np.uint64(7)
    return value, -1


@kernel
def next_field(data: NDArray[np.uint8], at: Scalar, stop: Scalar) -> tuple[Scalar, Scalar, Scalar]:
    """Return tag, begin and end of the content of the field at data[at:stop]; begin -1 if none."""
    tag = np.int64(data[at])
    at += 1
    if tag >= 128:  # a field number above 15: not one of ours, but still a field
        rest, at = read_varint(data, at, stop)
        if at < 0:
            return 0, -1, -1
        tag = np.int64(tag & 127) | np.int64(rest) << 7
    wire_type = tag & 7
    if wire_type == 2:
        if at < stop and data[at] < 128:
            size, begin = np.int64(data[at]), at + 1
        elif at + 1 < stop and data[at + 1] < 128:
            size, begin = np.int64(data[at] & 127) | np.int64(data[at + 1]) << 7, at + 2
        else:
            wide, begin = read_varint(data, at, stop)
            size = np.int64(wide)
            if begin < 0:
                return 0, -1, -1
        if size < 0 or size > stop - begin:
            return 0, -1, -1
        return tag, begin, begin + size
    if wire_type == 0:
        _, end = read_varint(data, at, stop)
        if end < 0:
            return 0, -1, -1
        return tag, at, end
    width = 8 if wire_type == 1 else 4
    if (wire_type != 1 and wire_type != 5) or width > stop - at:
        return 0, -1, -1
    return tag, at, at + width


@kernel
def count_varints(data: NDArray[np.uint8], begin: Scalar, end: Scalar) -> Scalar:
    """Count the packed varints in data[begin:end]: the bytes that end one."""
    count = np.int64(0)
    while end - begin >= WORD_BYTES:
        last_bytes = (~load_word(data, begin) & HIGH_BITS) >> _SEVEN
        count += np.int64(last_bytes * _ONES >> _TOP)  # the sum of the eight bytes
        begin += WORD_BYTES
    while begin < end:
        count += np.int64(data[begin] < 128)
        begin += 1
    return count


@kernel
def count_packed(data: NDArray[np.uint8], begin: Scalar, end: Scalar, is_float: bool) -> Scalar:
    """Count the packed numbers in data[begin:end]; -1 if the last one is cut off."""
    if is_float:
        return (end - begin) >> 2 if (end - begin) & 3 == 0 else -1
    if end > begin and data[end - 1] >= 128:
        return -1
    return count_varints(data, begin, end)


@kernel
def count_numbers(data: NDArray[np.uint8], begin: Scalar, end: Scalar, is_float: bool) -> Scalar:
    """Count the numbers in the Int64List or FloatList at data[begin:end]; -1 if it is malformed."""
    count = 0
    while begin < end:
        tag, first, last = next_field(data, begin, end)
        if first < 0:
            return -1
        if tag == FIELD_1:
            packed = count_packed(data, first, last, is_float)
            if packed < 0:
                return -1
            count += packed
        elif tag == (FIXED32_1 if is_float else VARINT_1):
            count += 1
        begin = last
    return count
