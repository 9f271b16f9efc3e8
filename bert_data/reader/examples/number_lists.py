"""Decode lists of numbers, one for each record, to given places of an int32 array.

    places 0 4, stops 3 8, lists (7 8) (9 9 9)   ->   7 8 0 0 9 9 9 0        up to the end, 8

A span says where a record's list is, relative to the record's start, and in which form:

    (begin, end)     packed: varints, or floats of four bytes
    (~begin, end)    a protocol buffer's list in several parts

The processor's vector instructions decode sixteen bytes of packed varints at a time:

    data     05 | 80 7D | 00 | ...        high bits  0 1 0 0 ...  (uint16, first byte lowest)
    widened   5 . . .                     correct where no high bit is set
    gathered  5  16000  0  ...            the numbers that end in the first eight bytes

Source of the gathering: Plaisance, Kurz and Lemire, "Vectorized VByte Decoding" (2015), with a
table for eight bytes instead of twelve, so that it stays in the cache.
"""

import platform
from typing import Any

import llvmlite.binding
import numpy as np
from llvmlite import ir
from numpy.typing import NDArray

from bert_data.kernels import Scalar, inner, intrinsic
from bert_data.reader.examples.wire import (
    FIELD_1,
    FIXED32_1,
    VARINT_1,
    address_of,
    load_int32,
    next_field,
    read_varint,
)

VECTOR_BYTES = 16
GATHERED_NUMBERS = 4
_WINDOW_BYTES = 8
_MAX_NUMBER_BYTES = 3
_NUMBER_BYTES = 4
_NOTHING = 0x80  # the instruction writes a zero where an index has its high bit set

_BYTE, _INT32, _INT64 = ir.IntType(8), ir.IntType(32), ir.IntType(64)
_BYTES = ir.VectorType(_BYTE, VECTOR_BYTES)


def _has_shuffle() -> bool:
    if platform.machine().lower() not in ("x86_64", "amd64"):
        return False
    return bool(llvmlite.binding.get_host_cpu_features().get("ssse3", False))


HAS_SHUFFLE = _has_shuffle()


def _make_tables() -> tuple[NDArray[np.uint8], NDArray[np.int64], NDArray[np.int64]]:
    """Compute what follows from the high bits of eight bytes.

    That is which byte goes where, uint8[256 * 16]; how many numbers of up to three bytes end in the
    eight, at most four and none after a longer one, int64[256]; and their bytes, int64[256].
    """
    orders = np.full((256, VECTOR_BYTES), _NOTHING, np.uint8)
    counts, sizes = np.zeros((2, 256), np.int64)
    for bits in range(256):
        begin = 0
        for number in range(GATHERED_NUMBERS):
            end = begin + 1
            while end <= _WINDOW_BYTES and bits >> (end - 1) & 1:
                end += 1
            if end > _WINDOW_BYTES or end - begin > _MAX_NUMBER_BYTES:
                break
            first = number * _NUMBER_BYTES
            orders[bits, first : first + end - begin] = np.arange(begin, end)
            counts[bits], sizes[bits], begin = number + 1, end, end
    return orders.ravel(), counts, sizes


ORDERS, COUNTS, SIZES = _make_tables()


def _load_bytes(context: Any, builder: Any, array_type: Any, values: Any) -> Any:
    return builder.load(address_of(context, builder, array_type, values, _BYTES), align=1)


def _store_numbers(context: Any, builder: Any, array_type: Any, values: Any, numbers: Any) -> None:
    builder.store(numbers, address_of(context, builder, array_type, values, numbers.type), align=4)


@intrinsic
def high_bits(typing_context: Any, data: Any, at: Any) -> Any:
    """Return the high bits of data[at : at + 16] (uint8 array), the first byte's lowest."""
    from numba import types

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        loaded = _load_bytes(context, builder, signature.args[0], arguments[:2])
        is_high = builder.icmp_signed("<", loaded, ir.Constant(_BYTES, None))
        bits = builder.bitcast(is_high, ir.IntType(VECTOR_BYTES))
        return builder.zext(bits, _INT64)

    return types.int64(data, types.intp), generate


@intrinsic
def put_widened(typing_context: Any, data: Any, at: Any, out: Any, place: Any) -> Any:
    """Write the bytes data[at : at + 16] as numbers to out[place : place + 16] (int32)."""
    from numba import types

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        loaded = _load_bytes(context, builder, signature.args[0], arguments[:2])
        numbers = builder.zext(loaded, ir.VectorType(_INT32, VECTOR_BYTES))
        _store_numbers(context, builder, signature.args[2], arguments[2:], numbers)
        return context.get_dummy_value()

    return types.void(data, types.intp, out, types.intp), generate


@intrinsic
def put_gathered(
    typing_context: Any, data: Any, at: Any, orders: Any, order: Any, out: Any, place: Any
) -> Any:
    """Write four numbers, decoded from data[at : at + 8], to out[place : place + 4] (int32).

    The first COUNTS[order / 16] are correct; `orders` is ORDERS, `order` 16 times the eight bytes'
    high bits. Reads sixteen bytes.
    """
    from numba import types
    from numba.core import cgutils

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        kinds = signature.args
        loaded = _load_bytes(context, builder, kinds[0], arguments[:2])
        order = _load_bytes(context, builder, kinds[2], arguments[2:4])
        shuffle = cgutils.get_or_insert_function(
            builder.module, ir.FunctionType(_BYTES, [_BYTES, _BYTES]), "llvm.x86.ssse3.pshuf.b.128"
        )
        vector_type = ir.VectorType(_INT32, GATHERED_NUMBERS)
        vector = builder.bitcast(builder.call(shuffle, [loaded, order]), vector_type)
        numbers = ir.Constant(vector_type, None)
        for byte in range(_MAX_NUMBER_BYTES):  # seven bits of each, side by side
            shift, part = (
                ir.Constant(vector_type, [value] * GATHERED_NUMBERS)
                for value in (byte, 0x7F << 7 * byte)
            )
            numbers = builder.or_(numbers, builder.and_(builder.lshr(vector, shift), part))
        _store_numbers(context, builder, kinds[4], arguments[4:], numbers)
        return context.get_dummy_value()

    return types.void(data, types.intp, orders, types.intp, out, types.intp), generate


_MAX_INT32, _NEGATIVE_INT32 = np.uint64(0x7FFFFFFF), np.uint64(0xFFFFFFFF80000000)


@inner
def _copy_words(
    data: NDArray[np.uint8],
    begin: Scalar,
    end: Scalar,
    out: NDArray[np.int32],
    at: Scalar,
    stop: Scalar,
) -> Scalar:
    """Copy the words data[begin:end] to out[at:stop]; return where they end."""
    count = min((end - begin) >> 2, stop - at)
    for k in range(count):
        out[at + k] = load_int32(data, begin + 4 * k)
    return at + count


@inner
def _put_varint(out: NDArray[np.int32], at: Scalar, value: Scalar) -> None:
    is_int32 = value <= _MAX_INT32 or value >= _NEGATIVE_INT32
    out[at] = np.int32(value) if is_int32 else np.int32(-1)


@inner
def _put_fields(
    data: NDArray[np.uint8],
    begin: Scalar,
    end: Scalar,
    is_float: bool,
    out: NDArray[np.int32],
    at: Scalar,
    stop: Scalar,
) -> Scalar:
    """Decode a list of any form in data[begin:end] to out[at:stop]; return where that ends."""
    while begin < end:
        tag, i, last = next_field(data, begin, end)
        begin = last
        if tag != FIELD_1 and tag != (FIXED32_1 if is_float else VARINT_1):
            continue
        while i < last and at < stop:
            if is_float:
                out[at] = load_int32(data, i)
                i += 4
            else:
                value, i = read_varint(data, i, last)
                if i < 0:
                    return at
                _put_varint(out, at, value)
            at += 1
    return at


@inner
def _put_packed_varints(
    data: NDArray[np.uint8],
    i: Scalar,
    end: Scalar,
    out: NDArray[np.int32],
    at: Scalar,
    stop: Scalar,
) -> Scalar:
    """Decode data[i:end] to out[at:stop], return the end; after it, anything may be written.

    Masks and segments have one byte each and are decoded sixteen at a time, ids have one to three
    and are decoded four at a time.
    """
    while i < end and at < stop:
        room = stop - at
        if room >= GATHERED_NUMBERS and data.size - i >= VECTOR_BYTES:
            here = min(end - i, VECTOR_BYTES)
            inside = (np.int64(1) << here) - 1
            bits = high_bits(data, i)
            if bits & inside == 0 and room >= VECTOR_BYTES:
                put_widened(data, i, out, at)
                i, at = i + here, at + here
                continue
            bits = (bits | ~inside) & 255  # bytes after the end do not end a number
            if HAS_SHUFFLE and COUNTS[bits] > 0:
                put_gathered(data, i, ORDERS, VECTOR_BYTES * bits, out, at)
                i, at = i + SIZES[bits], at + COUNTS[bits]
                continue
        value, i = np.uint64(data[i]), i + 1
        if value >= 128:
            value, i = read_varint(data, i - 1, end)
        if i < 0:
            return at
        _put_varint(out, at, value)
        at += 1
    return at


@inner
def put_numbers(
    data: NDArray[np.uint8],
    starts: NDArray[np.int64],
    spans: NDArray[np.int32],
    places: NDArray[np.int64],
    stops: NDArray[np.int64],
    is_float: bool,
    out: NDArray[np.int32],
) -> None:
    """Decode the numbers of one feature of records.

    Args:
      spans: int32[records, 2], of the feature.
      places, stops: int64[records], ascending: where in `out` the numbers of each record begin, and
        the limit of where they end.
      is_float: whether they are floats, which are copied bit by bit.
      out: int32[any], filled, with zeros between the lists. Integers that are not int32 become
        -1.
    """
    at = 0
    for record in range(starts.size):
        for k in range(at, places[record]):
            out[k] = 0
        at, stop = places[record], stops[record]
        start, begin, end = starts[record], np.int64(spans[record, 0]), np.int64(spans[record, 1])
        if begin < 0:
            at = _put_fields(data, start + ~begin, start + end, is_float, out, at, stop)
        elif is_float:
            at = _copy_words(data, start + begin, start + end, out, at, stop)
        else:
            at = _put_packed_varints(data, start + begin, start + end, out, at, stop)
    for k in range(at, out.size):
        out[k] = 0
