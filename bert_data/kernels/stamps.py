"""What a kernel's machine code depends on, as a digest."""

import functools
import hashlib
import importlib.util
import os
from collections.abc import Callable, Iterator
from types import CodeType
from typing import Any

import numpy as np

# Of a larger or strided array numba compiles the address, which is another in the next process.
_MAX_ARRAY_BYTES = 1_000_000
_CONSTANTS = (bool, int, float, str, bytes, tuple, np.generic)


@functools.cache
def _file_digest(path: str) -> bytes:
    with open(path, "rb") as file:
        return hashlib.sha256(file.read()).digest()


@functools.cache
def _compiler_digest() -> bytes:
    """Digest of this package and of the version of numba, found without importing it."""
    here = os.path.dirname(__file__)
    sources = [os.path.join(here, name) for name in sorted(os.listdir(here))]
    digest = hashlib.sha256(b"".join(map(_file_digest, filter(os.path.isfile, sources))))
    spec = importlib.util.find_spec("numba")
    if spec is not None and spec.origin is not None:
        digest.update(_file_digest(os.path.join(os.path.dirname(spec.origin), "_version.py")))
    return digest.digest()


def global_names(code: CodeType) -> Iterator[str]:
    """The names of the globals (and attributes) that a function and those inside it read."""
    yield from code.co_names
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            yield from global_names(constant)


def make_stamp(function: Callable[..., Any]) -> str:
    """Hex digest of all that a function's machine code depends on, but for the processor.

    That is what compiles it, here and in numba, the source file, the stamps of what it
    calls (in `stamp`), and the constants that it reads.

    Raises:
      ValueError: a constant is an array of more than 1 MB, or with gaps.
    """
    digest = hashlib.sha256(_compiler_digest())
    digest.update(_file_digest(function.__code__.co_filename))
    for name in sorted(set(global_names(function.__code__))):
        value: Any = function.__globals__.get(name)
        stamp = getattr(value, "stamp", None)
        if isinstance(stamp, str):
            digest.update(f"{name}={stamp}".encode())
        elif isinstance(value, _CONSTANTS):
            digest.update(f"{name}={value!r}".encode())
        elif isinstance(value, np.ndarray):
            if value.nbytes > _MAX_ARRAY_BYTES or not value.flags.forc:
                raise ValueError(f"{name} is too large, or has gaps: pass it as an argument")
            digest.update(f"{name}={value.dtype!r}{value.shape}".encode() + value.tobytes())
    return digest.hexdigest()
