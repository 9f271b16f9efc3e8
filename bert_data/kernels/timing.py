"""A clock that stands still while kernels are compiled, for speeds that later runs reach, too.

    start = clock()
    ...               # the first run compiles for seconds, once
    seconds = clock() - start

It is one clock for all threads: while one compiles, the others mostly wait for the same kernel.
"""

import contextlib
import threading
import time
from collections.abc import Iterator

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
