"""System calls in kernels: read a range of a file, or copy many ranges of maps.

`read_range` reads any file. Where files are mapped, `copy_ranges` has the system copy dozens of
ranges at once to a file in memory, and the processor fetch them into its caches first. To touch
such a map would end the process if its file has become shorter.
"""

import ctypes
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bert_data.kernels import Scalar, inner, intrinsic
from bert_data.kernels.declaring import prefetch


def _address_of(name: str) -> np.int64:
    function = getattr(ctypes.CDLL(None), name, None)
    return np.int64(ctypes.cast(function, ctypes.c_void_p).value or 0 if function else 0)


PREAD, PWRITEV = _address_of("pread"), _address_of("pwritev")
MAX_RANGES = 64
"""At a time: few enough for the caches; the system takes 1,024 at most."""

_CACHE_LINE = 64


@intrinsic
def _pread(
    typing_context: Any, function: Any, file: Any, data: Any, at: Any, size: Any, offset: Any
) -> Any:
    """Call the system's pread into data[at : at + size] (uint8 array); return bytes read, or -1."""
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
    """Read a range of a file into data[at : at + size].

    Args:
      function: PREAD.
      file: a descriptor.
      data: uint8[any].
      at, size, offset: int64, in bytes.

    Returns:
      How many bytes were read, fewer at the end of the file; and whether the system reports an
        error.
    """
    done, count = np.int64(0), np.int64(1)
    while done < size and count > 0:
        count = _pread(function, file, data, at + done, size - done, offset + done)
        done += max(count, np.int64(0))
    return done, count < 0


@intrinsic
def _pwritev(
    typing_context: Any, function: Any, file: Any, ranges: Any, count: Any, offset: Any
) -> Any:
    """Call the system's pwritev of ranges[:count] (int64[any, 2]); return bytes written, or -1."""
    from llvmlite import ir
    from numba import types

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        address, descriptor, array_value, number, start = arguments
        array = context.make_array(signature.args[2])(context, builder, array_value)
        wide, short, byte = ir.IntType(64), ir.IntType(32), ir.IntType(8).as_pointer()
        kind = ir.FunctionType(wide, [short, byte, short, wide])
        call = builder.inttoptr(address, kind.as_pointer())
        source = builder.bitcast(array.data, byte)
        short_numbers = [builder.trunc(value, short) for value in (descriptor, number)]
        return builder.call(call, [short_numbers[0], source, short_numbers[1], start])

    int64 = types.int64
    return int64(int64, int64, ranges, int64, int64), generate


@inner
def copy_ranges(
    function: Scalar, target: Scalar, ranges: NDArray[np.int64], offset: Scalar
) -> bool:
    """Have the system copy ranges of maps to a file, one after the other.

    Args:
      function: PWRITEV.
      target: descriptor of the file.
      ranges: int64[1 ... MAX_RANGES, 2], the address and the size of each.
      offset: int64, where in the file the first one begins.

    Returns:
      Whether all were copied: what a file has lost since it was mapped, or cannot be read, is not.
    """
    num_bytes = np.int64(0)
    for i in range(ranges.shape[0]):
        num_bytes += ranges[i, 1]
        for at in range(0, ranges[i, 1], _CACHE_LINE):
            prefetch(ranges[i, 0] + at)
    return _pwritev(function, target, ranges, np.int64(ranges.shape[0]), offset) == num_bytes
