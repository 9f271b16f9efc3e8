"""`@kernel`: numba's compiler with the settings and the cache that every kernel here shares.

    @kernel
    def running_sum(values, total): ...      # arrays in, arrays out, no I/O, no configuration

A kernel releases the GIL, so threads run kernels in parallel. It is compiled at its first call and
kept on disk beside its source (or in numba's user-wide folder when that is read-only); the first
compilation of a process is said in the log, because it takes seconds and happens once.

numba's own cache looks at the file of the kernel alone, so a kernel whose callee in another module
(or whose global constant) changed would go on as it was. Here the stamp of a kernel covers its
source file, the stamps of the kernels it calls and the constants it reads.
"""

import functools
import hashlib
import threading
from collections.abc import Callable
from typing import Any

import numba
import numpy as np
from absl import logging
from numba.core import caching, event
from numba.core.runtime import rtsys

Scalar = Any
"""A whole number that a kernel computes with: `int` to a caller, 64 bits in the kernel."""

_CONSTANTS = (bool, int, float, str, bytes, tuple, np.generic)


@functools.cache
def _source_digest(path: str) -> bytes:
    with open(path, "rb") as file:
        return hashlib.sha256(file.read()).digest()


def _stamp(function: Callable[..., Any]) -> str:
    """Hex digest of what a kernel's machine code depends on, numba and the processor apart."""
    digest = hashlib.sha256(_source_digest(__file__))  # the settings
    digest.update(_source_digest(function.__code__.co_filename))
    for name in sorted(function.__code__.co_names):
        value: Any = function.__globals__.get(name)
        if hasattr(value, "kernel_stamp"):
            digest.update(f"{name}={value.kernel_stamp}".encode())
        elif isinstance(value, _CONSTANTS):
            digest.update(f"{name}={value!r}".encode())
        elif isinstance(value, np.ndarray):
            digest.update(name.encode() + value.tobytes())
    return digest.hexdigest()


class _Stamped:
    """A place for machine code whose freshness is the kernel's stamp."""

    def __init__(self, py_func: Any, py_file: str) -> None:
        super().__init__(py_func, py_file)  # type: ignore[call-arg]
        self._function = py_func

    def get_source_stamp(self) -> str:
        return _stamp(self._function)


class _Chosen(_Stamped, caching.UserProvidedCacheLocator):
    """The folder that NUMBA_CACHE_DIR names."""


class _BesideSource(_Stamped, caching.InTreeCacheLocator):
    """`__pycache__` beside the source."""


class _UserWide(_Stamped, caching.UserWideCacheLocator):
    """The user's cache folder, where the source's folder is read-only."""


class _CacheImpl(caching.CompileResultCacheImpl):
    _locator_classes = (_Chosen, _BesideSource, _UserWide)


class _KernelCache(caching.FunctionCache):
    _impl_class = _CacheImpl

    def load_overload(self, sig: Any, target_context: Any) -> Any:
        """Loads machine code without numba's tables of all that could be compiled.

        Filling those takes a quarter of a second, and only a compilation needs them, which fills
        them itself. What machine code needs is numba's runtime, for the arrays it is handed.
        """
        rtsys.initialize(target_context)
        with self._guard_against_spurious_io_errors():
            return self._load_overload(sig, target_context)

    def save_overload(self, sig: Any, data: Any) -> None:
        """Keeps machine code on disk, if there is room; without it the next run compiles again."""
        try:
            super().save_overload(sig, data)
        except OSError as error:
            logging.warning("compiled kernels cannot be kept: %s", error)


class _SayCompiling(event.Listener):
    """Logs once a process that kernels are being compiled."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._said = False

    def on_start(self, event: Any) -> None:
        if getattr(event.data.get("dispatcher"), "kernel_stamp", None) is None:
            return
        with self._lock:
            said, self._said = self._said, True
        if not said:
            logging.info("compiling, first run only (the machine code is kept for the next runs)")

    def on_end(self, event: Any) -> None:
        """Part of numba's interface: the end of a compilation is not told."""


event.register("numba:compile", _SayCompiling())


# numba counts references to arrays, atomically, wherever one is passed on or a part of it is named.
# Kernels hold none that their callers do not hold, and run up to four times as fast without counts.
_SETTINGS = {"nogil": True, "error_model": "numpy", "boundscheck": False, "_nrt": False}


def kernel(function: Callable[..., Any]) -> Any:
    """Compiles a function with numba: no GIL, no bounds checks, C's division, kept on disk.

    Args:
      function: takes NumPy arrays and numbers, writes into the arrays and returns numbers; it
        makes no array. The kernels that it calls and the constants that it reads must be defined
        before it.

    Returns:
      numba's dispatcher; called like the function.
    """
    dispatcher = numba.njit(**_SETTINGS)(function)
    dispatcher.kernel_stamp = _stamp(function)
    dispatcher._cache = _KernelCache(function)
    return dispatcher


def inner(function: Callable[..., Any]) -> Any:
    """Compiles a part of kernels, that only kernels can call.

    It has no way in from Python and no file of its own, which halves the time to compile a kernel
    made of several parts. Tests call `function.py_func`, or the kernel.
    """
    dispatcher = numba.njit(no_cpython_wrapper=True, no_cfunc_wrapper=True, **_SETTINGS)(function)
    dispatcher.kernel_stamp = _stamp(function)
    return dispatcher
