"""Kernels that write protobuf's wire format, and the frames of a TFRecord file.

    varint       300 -> AC 02        7 bits a byte, lowest first; the top bit: more follow
    map entry    0A n ( key 0A n name | value 12 n ( list n ( packed 0A n payload )))
    frame        length (8 bytes), its checksum (4), data, its checksum (4)

The entry is that of Features in tensorflow/core/example/feature.proto: `list` is the tag of the
feature's kind. A list of bytes is not packed: each value has its own tag and size.

A table of addresses has one type whatever it points to, so a kernel that takes one is compiled
once: `int32s_at(table[key], size)` is the array at an address. The caller keeps the arrays alive,
contiguous and as long as it says.

For runs of mostly less than a hundred bytes, a loop that checks whether two arrays overlap and ends
byte by byte costs more than the bytes. `put_bytes` and `put_repeated` move whole vectors of 64
bytes, so up to 63 bytes after the run change: callers write from left to right and leave that much
room at the end.
"""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from bert_data.kernels import Scalar, inner, intrinsic
from bert_data.kernels.crc32c import masked_crc32c_of_range

BLOCK_BYTES = 64


def _array_intrinsic(dtype: str) -> Any:
    """Return an intrinsic: (address int64, size int64) -> array of `size` values of a dtype."""

    @intrinsic
    def array_at(typing_context: Any, address: Any, size: Any) -> Any:
        from numba import types

        kind = types.Array(getattr(types, dtype), 1, "C")
        return kind(types.int64, types.int64), _make_array

    return array_at


def _make_array(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
    from numba.core import cgutils

    address, size = arguments
    kind = signature.return_type
    value_type = context.get_data_type(kind.dtype)
    item_bytes = size.type(context.get_abi_sizeof(value_type))
    array = context.make_array(kind)(context, builder)
    array.data = builder.inttoptr(address, value_type.as_pointer())
    array.itemsize, array.nitems = item_bytes, size
    array.shape = cgutils.pack_array(builder, [size])
    array.strides = cgutils.pack_array(builder, [item_bytes])
    array.meminfo = cgutils.get_null_value(array.meminfo.type)
    array.parent = cgutils.get_null_value(array.parent.type)
    return array._getvalue()


def data_address(array: NDArray[Any]) -> int:
    """Return where the values of an array begin; the caller keeps it alive."""
    address: int = array.__array_interface__["data"][0]
    return address


bytes_at, int32s_at, int64s_at = map(_array_intrinsic, ("uint8", "int32", "int64"))


def _block_type() -> Any:
    from llvmlite import ir

    return ir.VectorType(ir.IntType(8), BLOCK_BYTES)


def _block_at(context: Any, builder: Any, array_type: Any, array: Any, start: Any) -> Any:
    """Return the address of 64 bytes of an array, as that of one vector."""
    data = context.make_array(array_type)(context, builder, array).data
    return builder.bitcast(builder.gep(data, [start]), _block_type().as_pointer())


@intrinsic
def _copy_block(typing_context: Any, out: Any, at: Any, data: Any, start: Any) -> Any:
    from numba import types

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        out, at, data, start = arguments
        source = _block_at(context, builder, signature.args[2], data, start)
        target = _block_at(context, builder, signature.args[0], out, at)
        builder.store(builder.load(source, align=1), target, align=1)
        return context.get_dummy_value()

    return types.void(out, types.intp, data, types.intp), generate


@inner
def put_bytes(
    out: NDArray[np.uint8], at: Scalar, data: NDArray[np.uint8], start: Scalar, size: Scalar
) -> Scalar:
    """Copy data[start : start + size] to out[at:], in whole blocks; return at + size."""
    for i in range(0, size, BLOCK_BYTES):
        _copy_block(out, at + i, data, start + i)
    return at + size


@intrinsic
def _fill_block(typing_context: Any, out: Any, at: Any, byte: Any) -> Any:
    from llvmlite import ir
    from numba import types

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        out, at, byte = arguments
        vector = ir.Constant(_block_type(), ir.Undefined)
        vector = builder.insert_element(vector, byte, ir.IntType(32)(0))
        everywhere = ir.Constant(ir.VectorType(ir.IntType(32), BLOCK_BYTES), [0] * BLOCK_BYTES)
        vector = builder.shuffle_vector(vector, vector, everywhere)
        target = _block_at(context, builder, signature.args[0], out, at)
        builder.store(vector, target, align=1)
        return context.get_dummy_value()

    return types.void(out, types.intp, types.uint8), generate


@inner
def put_repeated(out: NDArray[np.uint8], at: Scalar, byte: Scalar, count: Scalar) -> Scalar:
    """Write a byte `count` times to out[at:], in whole blocks; return at + count."""
    for i in range(0, count, BLOCK_BYTES):
        _fill_block(out, at + i, byte)
    return at + count


BYTES_LIST, FLOAT_LIST, INT64_LIST = 0x0A, 0x12, 0x1A  # tags of the kinds of Feature
FIELD_1, FIELD_2 = 0x0A, 0x12  # tags of fields 1 and 2 that hold bytes
MAX_VARINT_BYTES = 10
FRAME_START, FRAME_END = 12, 4
"""Bytes of a frame before and after its data."""

_CRC_BYTES = 4
_SEVEN, _HIGH_BIT = np.uint64(7), np.uint64(128)
_FOUR_BYTES = np.uint64(1 << 21)  # a varint of this or more has four bytes or more


@inner
def varint_size(value: Scalar) -> Scalar:
    """Return the bytes of a varint, value in [0, 2**35)."""
    return (
        1
        + np.int64(value >= 1 << 7)
        + np.int64(value >= 1 << 14)
        + np.int64(value >= 1 << 21)
        + np.int64(value >= 1 << 28)
    )


@inner
def put_varint(out: NDArray[np.uint8], at: Scalar, value: Scalar) -> Scalar:
    """Write a varint; return its end. A negative number counts modulo 2**64."""
    rest = np.uint64(value)
    while rest >= _HIGH_BIT:
        out[at] = rest | _HIGH_BIT
        rest >>= _SEVEN
        at += 1
    out[at] = rest
    return at + 1


@inner
def put_little_endian(
    out: NDArray[np.uint8], at: Scalar, value: Scalar, num_bytes: Scalar
) -> Scalar:
    """Write a number, lowest byte first; return its end."""
    for i in range(num_bytes):
        out[at + i] = value >> (8 * i) & 255
    return at + num_bytes


@inner
def put_varints(out: NDArray[np.uint8], at: Scalar, values: NDArray[np.integer]) -> Scalar:
    """Write packed varints; return their end.

    Up to three bytes after it change. Ids have one to three bytes, in an order that no processor
    can predict; so four are always stored at once, and only how far to advance depends on the
    value.
    """
    for i in range(values.size):
        value = np.int64(values[i])
        if np.uint64(value) >= _FOUR_BYTES:
            at = put_varint(out, at, value)
            continue
        two, three = np.int64(value >= 1 << 7), np.int64(value >= 1 << 14)
        low, middle = value & 127 | two << 7, value >> 7 & 127 | three << 7
        put_little_endian(out, at, low | middle << 8 | value >> 14 << 16, 4)
        at += 1 + two + three
    return at


@inner
def put_small_varints(out: NDArray[np.uint8], at: Scalar, values: NDArray[np.int32]) -> Scalar:
    """Do the same, fast if all but the last value are in [0, 128): these are bytes."""
    last = values.size - 1
    all_bits = np.uint32(0)
    for i in range(last):
        all_bits |= np.uint32(values[i])
    if last < 0 or all_bits >= np.uint32(128):
        return put_varints(out, at, values)
    small = out[at : at + last]  # begins at 0, so that LLVM vectorizes the loop
    for i in range(last):
        small[i] = values[i]
    return put_varint(out, at + last, np.int64(values[last]))


@inner
def packed_list_size(payload_size: Scalar) -> Scalar:
    """Return the bytes of a list with a packed payload, without tag and size; 0 if it is empty."""
    return payload_size + 1 + varint_size(payload_size) if payload_size else np.int64(0)


@inner
def _entry_size(name_size: Scalar, list_size: Scalar) -> Scalar:
    """Return the bytes of a map entry without its tag and size."""
    feature_size = 1 + varint_size(list_size) + list_size
    return 2 + varint_size(name_size) + name_size + varint_size(feature_size) + feature_size


@inner
def tagged_entry_size(name_size: Scalar, list_size: Scalar) -> Scalar:
    """Return the bytes of a map entry with its tag and size."""
    size = _entry_size(name_size, list_size)
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
    """Write all of a map entry that precedes its payload; return the end."""
    is_packed = kind != BYTES_LIST
    list_size = packed_list_size(payload_size) if is_packed else payload_size
    out[at] = FIELD_1
    at = put_varint(out, at + 1, _entry_size(name_size, list_size))
    out[at] = FIELD_1
    at = put_varint(out, at + 1, name_size)
    at = put_bytes(out, at, names, name_start, name_size)
    out[at] = FIELD_2
    at = put_varint(out, at + 1, 1 + varint_size(list_size) + list_size)
    out[at] = kind
    at = put_varint(out, at + 1, list_size)
    if is_packed and payload_size:
        out[at] = FIELD_1
        at = put_varint(out, at + 1, payload_size)
    return at


@inner
def put_frame(out: NDArray[np.uint8], at: Scalar, stop: Scalar) -> Scalar:
    """Frame the data that begins `FRAME_START` bytes after `at`; return the record's end."""
    data = at + FRAME_START
    put_little_endian(out, at, stop - data, 8)
    crc = np.int64(masked_crc32c_of_range(out, at, at + 8))
    put_little_endian(out, at + 8, crc, _CRC_BYTES)
    crc = np.int64(masked_crc32c_of_range(out, data, stop))
    return put_little_endian(out, stop, crc, _CRC_BYTES)
