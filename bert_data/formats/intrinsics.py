"""What encoding needs of LLVM: arrays at addresses, and bytes moved 64 at a time.

    table[key] = values.ctypes.data           int32s_at(table[key], size)[i]    inside the kernel
    put_bytes(out, at, data, start, size)     out[at : at + size] = data[start : start + size]

A kernel is compiled once for each combination of its arguments' types; a table of addresses has one
type whatever it points to. The caller keeps the arrays alive, contiguous and as long as it says.

For runs of mostly less than a hundred bytes, a loop that checks whether two arrays overlap and ends
byte by byte costs more than the bytes. These kernels move whole vectors of 64 bytes, so up to 63
bytes after the run change: callers write from left to right and leave that much room at the end.
"""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from bert_data.kernels import Scalar, inner, intrinsic

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
