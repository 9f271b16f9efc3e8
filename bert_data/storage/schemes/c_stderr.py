"""What C libraries write to standard error while a call runs, kept off it if the call fails.

    with heard() as said:
        call()        raises OSError
        said()        "hdfsOpenFile(/a): ... error:\njava.io.IOException: ..."

libhdfs tells the reason of an error nowhere else, and there with Java's stack. Python's own
standard error is not affected: only the variable `stderr` of C changes, which the GNU C Library
allows; with another one nothing is heard. What no error has told is passed on.
"""

import contextlib
import ctypes
import os
import threading
from collections.abc import Callable, Iterator

_UNBUFFERED = 2  # _IONBF of stdio.h
_STANDARD_ERROR = 2


class _Ear:
    """A file in memory that stands in for C's standard error while calls of any thread run."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._num_calls = 0
        self._is_told = False
        self._file = os.memfd_create("stderr")
        libc = ctypes.CDLL(None)
        libc.fdopen.restype = ctypes.c_void_p
        self._stream = libc.fdopen(self._file, b"a")
        libc.setvbuf(ctypes.c_void_p(self._stream), None, _UNBUFFERED, 0)
        self._stderr = ctypes.c_void_p.in_dll(libc, "stderr")
        self._usual = self._stderr.value
        os.register_at_fork(after_in_child=self._restore)

    def begin(self) -> int:
        """Begin to hear, and return where what is said will begin."""
        with self._lock:
            self._num_calls += 1
            self._stderr.value = self._stream
            return os.fstat(self._file).st_size

    def said(self, start: int) -> bytes:
        return os.pread(self._file, os.fstat(self._file).st_size - start, start)

    def end(self, *, is_told: bool) -> None:
        with self._lock:
            self._num_calls -= 1
            self._is_told |= is_told
            if self._num_calls:
                return
            self._restore()
            if not self._is_told and (said := self.said(0)):
                os.write(_STANDARD_ERROR, said)
            self._is_told = False
            os.ftruncate(self._file, 0)

    def _restore(self) -> None:
        self._stderr.value = self._usual


@contextlib.contextmanager
def heard() -> Iterator[Callable[[], str]]:
    """Hear what C libraries write to standard error while the block runs.

    Yields:
      What returns it, for the error that the block raises.
    """
    if _EAR is None:
        yield str
        return
    start = _EAR.begin()
    is_told = True
    try:
        yield lambda: _EAR.said(start).decode(errors="replace")
        is_told = False
    finally:
        _EAR.end(is_told=is_told)


def _open_ear() -> _Ear | None:
    try:
        return _Ear() if os.confstr("CS_GNU_LIBC_VERSION") else None
    except (OSError, ValueError):  # another C library, or a system without files in memory
        return None


_EAR = _open_ear()  # here, as a second one would take the stream of the first for the usual one
