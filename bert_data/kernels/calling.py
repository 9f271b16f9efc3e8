"""`@kernel`: from a call in Python to machine code, and back.

    (array, 7, Pair(array, 1.5))  ->  their types, by which machine code is kept
                                  ->  words: address, size, itemsize, shape, strides, 7, ...

A word is 64 bits; `compiling.py` has the code that puts arrays and tuples together again.
"""

import contextlib
import ctypes
import struct
import threading
import time
from collections.abc import Callable, Hashable, Iterable, Iterator
from typing import Any

import numpy as np

from bert_data.kernels.declaring import Declared
from bert_data.progress import pause

_LETTERS = {"b": "?7x", "i": "q", "u": "Q", "f": "d"}  # `struct`'s, by the kind of a NumPy dtype
_NUMBERS: dict[type, str] = {bool: "?7x", int: "q", float: "d"}
_ARRAY_WORDS = 3  # address, size and itemsize; shape and strides follow


class Constants:
    """A tuple that many calls take as an argument: its words and types are computed once."""

    def __init__(self, values: Iterable[Any]) -> None:
        self.values = tuple(values)
        self.words: list[Any] = []
        flatten(self.values, self.words)
        self.kind = type_of(self.values)

    def __reduce__(self) -> tuple[Any, ...]:
        return Constants, (self.values,)


def _layout(flags: Any) -> str:
    if flags.c_contiguous:
        return "C"
    return "F" if flags.f_contiguous else "A"


def type_of(value: Any) -> Hashable:
    """Return what distinguishes an argument from those that need other machine code."""
    if isinstance(value, np.ndarray):
        flags = value.flags
        return value.dtype, value.ndim, _layout(flags), flags.writeable, flags.aligned
    if isinstance(value, Constants):
        return value.kind
    if isinstance(value, tuple):
        return type(value), getattr(value, "_fields", None), *map(type_of, value)
    if isinstance(value, np.generic) and value.dtype.kind in _LETTERS:
        return value.dtype
    if type(value) in _NUMBERS:
        return type(value).__name__
    raise TypeError(f"a kernel takes arrays, numbers and tuples of them, not {value!r}")


def flatten(values: Iterable[Any], out: list[Any]) -> None:
    """Append the numbers that represent arguments, one per word, to `out`."""
    for value in values:
        if isinstance(value, np.ndarray):
            out += (_address(value), value.size, value.itemsize, *value.shape, *value.strides)
        elif isinstance(value, Constants):
            out += value.words
        elif isinstance(value, tuple):
            flatten(value, out)
        else:
            out.append(value)


def _address(array: Any) -> int:
    """Return where an array begins, in a fifth of the time if ctypes takes it."""
    if array.size and array.flags.writeable and array.flags.c_contiguous:
        return ctypes.addressof(ctypes.c_char.from_buffer(array))
    return int(array.__array_interface__["data"][0])


def letters(values: Iterable[Any]) -> str:
    """Return how `struct` packs the numbers that `flatten` appends."""
    parts: list[str] = []
    for value in values:
        if isinstance(value, np.ndarray):
            parts.append("q" * (_ARRAY_WORDS + 2 * value.ndim))
        elif isinstance(value, tuple):
            parts.append(letters(value))
        elif isinstance(value, np.generic):
            parts.append(_LETTERS[value.dtype.kind])
        else:
            parts.append(_NUMBERS[type(value)])
    return "".join(parts)


class Kernel(Declared):
    """A function that is called from Python and runs as machine code."""

    def __init__(self, function: Callable[..., Any]) -> None:
        super().__init__(function)
        self._num_arguments = function.__code__.co_argcount
        self._natives: dict[Hashable, Any] = {}
        self._lock = threading.Lock()

    def __call__(self, *arguments: Any) -> Any:
        """Run the kernel; refuse arguments that are neither arrays, numbers nor tuples of them."""
        if len(arguments) != self._num_arguments:
            name, count = self.__name__, len(arguments)
            raise TypeError(f"{name} takes {self._num_arguments} arguments, not {count}")
        numbers: list[Any] = []
        flatten(arguments, numbers)
        types = tuple(map(type_of, arguments))
        native = self._natives.get(types)
        if native is None:
            native = self._load(types, arguments, numbers)
        return native(numbers)

    def _load(self, types: Hashable, arguments: tuple[Any, ...], numbers: list[Any]) -> Any:
        from bert_data.kernels.keeping import Shelf
        from bert_data.kernels.machine_code import NativeFunction

        arguments = tuple(a.values if isinstance(a, Constants) else a for a in arguments)
        # numba treats an integer of more than 63 bits as unsigned: refuse it here.
        struct.pack(letters(arguments), *numbers)
        with self._lock:
            if types in self._natives:
                return self._natives[types]
            shelf = Shelf(self.py_func.__code__.co_filename, self.__name__, self.stamp)
            code = shelf.find(repr(types))
            if code is None:
                with stop_clock(), shelf.compiling():
                    code = shelf.find(repr(types))  # another process may have compiled it
                    if code is None:
                        from bert_data.kernels.compiling import compile_kernel

                        code = compile_kernel(self, arguments)
                        shelf.keep(repr(types), code)
            self._natives[types] = NativeFunction(code, self.__name__, letters(arguments))
            return self._natives[types]


def kernel(function: Callable[..., Any]) -> Any:
    """Compile a function at its first call: no GIL, no bounds checks, C's division, kept on disk.

    The function takes NumPy arrays, numbers, and tuples of them, by position; it writes into the
    arrays and returns a number or truth value, a tuple of them, or nothing. It allocates no array
    and raises nothing. The kernels that it calls and the constants that it reads must be defined
    before it.
    """
    return Kernel(function)


_lock = threading.Lock()
_num_compiling = 0
_stopped_at = 0.0  # if _num_compiling
_stood_still = 0.0  # seconds, before _stopped_at
_resume: Callable[[], None]  # the progress of what waits, if _num_compiling


def clock() -> float:
    """Return seconds since some moment, without those in which kernels were compiled."""
    with _lock:
        now = _stopped_at if _num_compiling else time.perf_counter()
        return now - _stood_still


@contextlib.contextmanager
def stop_clock() -> Iterator[None]:
    """Stop the clock while the block runs; in several threads, until the last one is done.

    Bars say meanwhile that kernels are compiled.
    """
    global _num_compiling, _stopped_at, _stood_still, _resume
    with _lock:
        if not _num_compiling:
            _stopped_at = time.perf_counter()
            _resume = pause("compiling kernels")
        _num_compiling += 1
    try:
        yield
    finally:
        with _lock:
            _num_compiling -= 1
            if not _num_compiling:
                _stood_still += time.perf_counter() - _stopped_at
                _resume()
