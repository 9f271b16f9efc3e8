"""`@kernel`: from a call in Python to machine code, and back."""

import contextlib
import struct
import threading
import time
from collections.abc import Callable, Hashable, Iterator
from typing import Any

from bert_data.kernels.arguments import Constants, flatten, letters, type_of
from bert_data.kernels.declaring import Declared


class Kernel(Declared):
    """A function that is called from Python and runs as machine code."""

    def __init__(self, function: Callable[..., Any]) -> None:
        super().__init__(function)
        self._num_arguments = function.__code__.co_argcount
        self._natives: dict[Hashable, Any] = {}
        self._lock = threading.Lock()

    def __call__(self, *arguments: Any) -> Any:
        """Run the kernel.

        Raises:
          TypeError: an argument is not an array, a number or a tuple of them, or there are too many
            or too few.
          struct.error: a number does not fit in 64 bits.
        """
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

    Args:
      function: takes NumPy arrays, numbers, and tuples of them; writes into the arrays and returns
        a number or truth value, a tuple of them, or nothing. It allocates no array and raises
        nothing. The kernels that it calls and the constants that it reads must be defined before
        it.

    Returns:
      A callable like the function; positional arguments only.
    """
    return Kernel(function)


_lock = threading.Lock()
_num_compiling = 0
_stopped_at = 0.0  # if _num_compiling
_stood_still = 0.0  # seconds, before _stopped_at


def clock() -> float:
    """Return seconds since some moment, without those in which kernels were compiled."""
    with _lock:
        now = _stopped_at if _num_compiling else time.perf_counter()
        return now - _stood_still


@contextlib.contextmanager
def stop_clock() -> Iterator[None]:
    """Stop the clock while the block runs; in several threads, until the last one is done."""
    global _num_compiling, _stopped_at, _stood_still
    with _lock:
        if not _num_compiling:
            _stopped_at = time.perf_counter()
        _num_compiling += 1
    try:
        yield
    finally:
        with _lock:
            _num_compiling -= 1
            if not _num_compiling:
                _stood_still += time.perf_counter() - _stopped_at
