"""Decode sixteen bytes of packed varints at a time by the processor's vector instructions.

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

from bert_data.kernels import intrinsic

VECTOR_BYTES = 16
GATHERED_NUMBERS = 4
_WINDOW_BYTES = 8
_MAX_NUMBER_BYTES = 3
_LANE_BYTES = 4
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

    Returns:
      uint8[256 * 16], which byte goes where; int64[256], how many numbers of up to three bytes
      end in the eight, at most four and none after a longer one; int64[256], their bytes.
    """
    orders = np.full((256, VECTOR_BYTES), _NOTHING, np.uint8)
    counts, sizes = np.zeros((2, 256), np.int64)
    for bits in range(256):
        begin = 0
        for lane in range(GATHERED_NUMBERS):
            end = begin + 1
            while end <= _WINDOW_BYTES and bits >> (end - 1) & 1:
                end += 1
            if end > _WINDOW_BYTES or end - begin > _MAX_NUMBER_BYTES:
                break
            first = lane * _LANE_BYTES
            orders[bits, first : first + end - begin] = np.arange(begin, end)
            counts[bits], sizes[bits], begin = lane + 1, end, end
    return orders.ravel(), counts, sizes


ORDERS, COUNTS, SIZES = _make_tables()


def _load_bytes(context: Any, builder: Any, array_type: Any, values: Any) -> Any:
    """Load sixteen bytes of an array as a vector (values: the array and the place in it)."""
    array = context.make_array(array_type)(context, builder, values[0])
    address = builder.gep(array.data, [values[1]])
    return builder.load(builder.bitcast(address, _BYTES.as_pointer()), align=1)


def _store_numbers(context: Any, builder: Any, array_type: Any, values: Any, numbers: Any) -> None:
    """Store a vector of int32 in an array (values: the array and the place in it)."""
    array = context.make_array(array_type)(context, builder, values[0])
    address = builder.gep(array.data, [values[1]])
    builder.store(numbers, builder.bitcast(address, numbers.type.as_pointer()), align=4)


@intrinsic
def high_bits(typing_context: Any, data: Any, at: Any) -> Any:
    """Return the high bits of data[at : at + 16] (uint8 array), the first byte's lowest; int64."""
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

    The first COUNTS[bits] of them are correct, where `bits` are the eight bytes' high bits,
    `orders` is ORDERS and `order` is 16 * bits. Reads sixteen bytes.
    """
    from numba import types
    from numba.core import cgutils

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        kinds = signature.args
        loaded = _load_bytes(context, builder, kinds[0], arguments[:2])
        order = _load_bytes(context, builder, kinds[2], arguments[2:4])
        shuffle = cgutils.get_or_insert_function(
            builder.module,
            ir.FunctionType(_BYTES, [_BYTES, _BYTES]),
            "llvm.x86.ssse3.pshuf.b.128",
        )
        lanes_type = ir.VectorType(_INT32, GATHERED_NUMBERS)
        lanes = builder.bitcast(builder.call(shuffle, [loaded, order]), lanes_type)
        numbers = ir.Constant(lanes_type, None)
        for byte in range(_MAX_NUMBER_BYTES):  # seven bits of each, side by side
            shift, part = (
                ir.Constant(lanes_type, [value] * GATHERED_NUMBERS)
                for value in (byte, 0x7F << 7 * byte)
            )
            numbers = builder.or_(numbers, builder.and_(builder.lshr(lanes, shift), part))
        _store_numbers(context, builder, kinds[4], arguments[4:], numbers)
        return context.get_dummy_value()

    return types.void(data, types.intp, orders, types.intp, out, types.intp), generate
