"""How often a request is sent before its error is raised.

    AWS_MAX_ATTEMPTS=3     max_attempts() -> 3
    retried(file.read_at, 10, 0)

The libraries of the file systems send failing requests again. Only for reads that are shorter than
the text of an error does S3's lose the error's kind, and with it the knowledge that it may pass.
"""

import os
import re
import time
from collections.abc import Callable
from typing import Any, TypeVar

LOST_REASON = "Failed to flush response stream"
_MAX_ATTEMPTS = 6  # for some 25 s in all, if each fails at once
_FIRST_SECONDS, _MOST_SECONDS = 0.1, 10.0

Result = TypeVar("Result")


def max_attempts() -> int:
    """Return how often a request to S3 is sent before its error is raised.

    Raises:
      ValueError: AWS_MAX_ATTEMPTS is not a number from 1 on.
    """
    value = os.environ.get("AWS_MAX_ATTEMPTS") or str(_MAX_ATTEMPTS)
    if not re.fullmatch("[1-9][0-9]{0,3}", value):
        raise ValueError(f"AWS_MAX_ATTEMPTS is {value!r}; it must be a number from 1 to 9999")
    return int(value)


def retried(read: Callable[..., Result], *args: Any) -> Result:
    """Return what a read returns, after further attempts if the reason of its error was lost.

    Raises:
      OSError: of the last attempt, or of another kind.
    """
    seconds = _FIRST_SECONDS
    for _ in range(max_attempts() - 1):
        try:
            return read(*args)
        except OSError as error:
            if LOST_REASON not in str(error):
                raise
        time.sleep(seconds)
        seconds = min(2 * seconds, _MOST_SECONDS)
    return read(*args)
