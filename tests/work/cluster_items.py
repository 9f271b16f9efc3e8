"""Tasks for tests on clusters, and ways to wait for them."""

import os
import signal
import time
from collections.abc import Callable
from pathlib import Path

from absl import logging

SECONDS = 600.0


def wait_until(is_true: Callable[[], object]) -> None:
    end = time.monotonic() + SECONDS
    while not is_true():
        assert time.monotonic() < end
        time.sleep(0.01)


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
