"""Kernels that move bytes 64 at a time, the most that a processor's vector holds.

    put_bytes(out, at, data, start, size)     out[at : at + size] = data[start : start + size]

For runs of mostly less than a hundred bytes, a loop that checks whether two arrays overlap and ends
byte by byte costs more than the bytes. These kernels move whole blocks, so up to 63 bytes after the
run change: callers write from left to right and leave that much room at the end.
"""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from bert_data.kernels import Scalar, inner, intrinsic

BLOCK_BYTES = 64


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
