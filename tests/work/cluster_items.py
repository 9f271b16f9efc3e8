"""Tasks for tests on clusters, and ways to wait for them."""

import contextlib
import ctypes
import os
import select
import signal
from collections.abc import Callable, Iterable
from pathlib import Path

from absl import logging

SECONDS = 600.0
_ADDED = 0x80 | 0x100  # IN_MOVED_TO, IN_CREATE of <sys/inotify.h>
_libc = ctypes.CDLL(None)


def wait_until(is_true: Callable[[], object], *, folder: Path | None = None) -> None:
    """Wait until something is true that files tell which are added to a folder, or to those in it.

    Args:
      folder: by default, the current one.
    """
    with contextlib.ExitStack() as stack:
        changes = _libc.inotify_init()
        assert changes >= 0
        stack.callback(os.close, changes)
        while True:
            # Watched before it is asked, so that nothing comes unseen.
            for path, _, _ in os.walk(folder or "."):
                _libc.inotify_add_watch(changes, os.fsencode(path), _ADDED)
            if is_true():
                return
            assert _is_ready(changes)
            os.read(changes, 1 << 16)


def _is_ready(descriptor: int) -> bool:
    """Wait until a descriptor can be read; unlike select, poll takes those from 1,024 on."""
    waiting = select.poll()
    waiting.register(descriptor, select.POLLIN)
    return bool(waiting.poll(1000 * SECONDS))


def wait_for_ends(pids: Iterable[int]) -> None:
    """Wait until processes are gone, of whatever parent they are."""
    for pid in pids:
        with contextlib.suppress(ProcessLookupError):
            process = os.pidfd_open(pid)
            try:
                assert _is_ready(process)
            finally:
                os.close(process)


def warn(number: int) -> int:
    logging.warning("number %d", number)
    return number


def die_at_first(folder: Path, number: int) -> int:
    """Die at the first try of a third of the items."""
    path = folder / str(number)
    if number % 3 == 0 and not path.exists():
        path.touch()
        os.kill(os.getpid(), signal.SIGKILL)
    return 2 * number


def die(number: int) -> int:
    if number == 1:
        print("no space left on the device\n", flush=True)
        os.kill(os.getpid(), signal.SIGKILL)
    return number
