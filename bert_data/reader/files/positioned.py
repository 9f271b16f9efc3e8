"""Bytes of open files at given places, read by kernels.

A file that has become shorter gives fewer bytes; where it were mapped, the process would end.
"""

import ctypes
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bert_data.kernels import Scalar, inner, intrinsic

PREAD = np.int64(ctypes.cast(ctypes.CDLL(None).pread, ctypes.c_void_p).value or 0)


@intrinsic
def _pread(
    typing_context: Any, function: Any, file: Any, data: Any, at: Any, size: Any, offset: Any
) -> Any:
    """The system's pread into data[at : at + size] (uint8 array): bytes read, or -1; all int64."""
    from llvmlite import ir
    from numba import types

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        address, descriptor, array_value, place, count, start = arguments
        array = context.make_array(signature.args[2])(context, builder, array_value)
        wide, byte = ir.IntType(64), ir.IntType(8).as_pointer()
        kind = ir.FunctionType(wide, [ir.IntType(32), byte, wide, wide])
        call = builder.inttoptr(address, kind.as_pointer())
        target = builder.bitcast(builder.gep(array.data, [place]), byte)
        number = builder.trunc(descriptor, ir.IntType(32))
        return builder.call(call, [number, target, count, start])

    int64 = types.int64
    return int64(int64, int64, data, types.intp, int64, int64), generate


@inner
def read_range(
    function: Scalar,
    file: Scalar,
    data: NDArray[np.uint8],
    at: Scalar,
    size: Scalar,
    offset: Scalar,
) -> tuple[Scalar, Scalar]:
    """Reads a range of a file into data[at : at + size].

    Args:
      function: PREAD.
      file: a descriptor.
      data: uint8[any].
      at, size, offset: int64, in bytes.

    Returns:
      How many bytes there are, fewer where the file ends; and whether the system reports an error.
    """
    done, count = np.int64(0), np.int64(1)
    while done < size and count > 0:
        count = _pread(function, file, data, at + done, size - done, offset + done)
        done += max(count, np.int64(0))
    return done, count < 0
