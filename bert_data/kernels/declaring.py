"""`@inner` and `@intrinsic`: what kernels are made of, each with the stamp of all it depends on."""

import functools
import hashlib
import importlib.util
import os
from collections.abc import Callable, Iterator
from types import CodeType
from typing import Any

import numpy as np

Scalar = Any
"""An integer in a kernel: 64 bits there, `int` to a caller."""

# numba compiles the address of a larger or strided array, which changes with every process.
_MAX_ARRAY_BYTES = 1_000_000
_CONSTANTS = (bool, int, float, str, bytes, tuple, np.generic)


class Declared:
    """A function that kernels can call.

    Attributes:
      py_func: the function as written.
      stamp: see `_make_stamp`.
      numba_object: its counterpart in numba; None until something that calls it is compiled.
    """

    def __init__(self, function: Callable[..., Any], *, is_intrinsic: bool = False) -> None:
        self.__name__, self.__doc__ = function.__name__, function.__doc__
        self.py_func = function
        self.stamp = _make_stamp(function)
        self.is_intrinsic = is_intrinsic
        self.numba_object: Any = None


def inner(function: Callable[..., Any]) -> Any:
    """Declare a part of kernels that only kernels can call; tests call its `py_func`."""
    return Declared(function)


def intrinsic(function: Callable[..., Any]) -> Any:
    """Declare a part of kernels that writes LLVM's instructions, as numba's `intrinsic` does.

    The function imports numba inside.
    """
    return Declared(function, is_intrinsic=True)


def global_names(code: CodeType) -> Iterator[str]:
    """Yield the names of the globals (and attributes) that a function and those inside it read."""
    yield from code.co_names
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            yield from global_names(constant)


def _make_stamp(function: Callable[..., Any]) -> str:
    """Return a hex digest of all that a function's machine code depends on but the processor.

    That is this package, the version of numba, the source file, the stamps of the functions it
    calls, and the constants it reads.
    """
    digest = hashlib.sha256(_compiler_digest())
    digest.update(_file_digest(function.__code__.co_filename))
    for name in sorted(set(global_names(function.__code__))):
        value: Any = function.__globals__.get(name)
        if isinstance(value, Declared):
            digest.update(f"{name}={value.stamp}".encode())
        elif isinstance(value, _CONSTANTS):
            digest.update(f"{name}={value!r}".encode())
        elif isinstance(value, np.ndarray):
            if value.nbytes > _MAX_ARRAY_BYTES or not value.flags.forc:
                raise ValueError(f"{name} is too large, or has gaps; pass it as an argument")
            digest.update(f"{name}={value.dtype!r}{value.shape}".encode() + value.tobytes())
    return digest.hexdigest()


@functools.cache
def _compiler_digest() -> bytes:
    """Return a digest of this package and of numba's version, without importing numba."""
    here = os.path.dirname(__file__)
    sources = [os.path.join(here, name) for name in sorted(os.listdir(here))]
    digest = hashlib.sha256(b"".join(map(_file_digest, filter(os.path.isfile, sources))))
    spec = importlib.util.find_spec("numba")
    if spec is not None and spec.origin is not None:
        digest.update(_file_digest(os.path.join(os.path.dirname(spec.origin), "_version.py")))
    return digest.digest()


@functools.cache
def _file_digest(path: str) -> bytes:
    with open(path, "rb") as file:
        return hashlib.sha256(file.read()).digest()


@intrinsic
def prefetch(typing_context: Any, address: Any) -> Any:
    """Fetch the cache line at an address (int64), without waiting; no memory need be there."""
    from llvmlite import ir
    from numba import types
    from numba.core import cgutils

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        byte, number = ir.IntType(8).as_pointer(), ir.IntType(32)
        kind = ir.FunctionType(ir.VoidType(), [byte, number, number, number])
        function = cgutils.get_or_insert_function(builder.module, kind, "llvm.prefetch.p0")
        hints = [ir.Constant(number, value) for value in (0, 3, 1)]  # to read, all caches, data
        builder.call(function, [builder.inttoptr(arguments[0], byte), *hints])
        return context.get_dummy_value()

    return types.void(types.int64), generate


@intrinsic
def trailing_zeros(typing_context: Any, bits: Any) -> Any:
    """Return how many of the lowest bits of a uint64 are 0; 64 if all are."""
    from llvmlite import ir
    from numba import types

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        return builder.cttz(arguments[0], ir.Constant(ir.IntType(1), 0))

    return types.int64(types.uint64), generate
