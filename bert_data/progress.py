"""Progress of a long stage: a bar with an ETA on a terminal, log lines elsewhere.

The stage reports the units that are done:

    with progress("instances", total=2000, unit="document") as advance:
        for document in documents:
            ...
            advance(1)

    terminal   instances:  42%|####      | 840/2000 [00:03<00:04, 271 document/s]
    log        instances: 42% (840 of 2,000 documents), 0:00:04 left
"""

import contextlib
import sys
import time
from collections.abc import Callable, Iterator

from absl import logging

_SECONDS_BETWEEN_LINES = 10.0
_may_draw = True
_may_log = True


def say_in_log() -> None:
    """Log progress instead of drawing bars, from now on; for processes that share a terminal."""
    global _may_draw
    _may_draw = False


def keep_silent() -> None:
    """Show no progress from now on; for processes whose log is read when they are done."""
    global _may_draw, _may_log
    _may_draw = _may_log = False


@contextlib.contextmanager
def progress(name: str, *, total: int, unit: str) -> Iterator[Callable[[int], None]]:
    """Show the progress of a stage while the block runs.

    Args:
      name: of the stage.
      total: units of work in all, >= 0; 0 if that is unknown.
      unit: singular name of a unit, such as "document"; "B" is shown in powers of 1,000.

    Yields:
      advance(n): call it, from one thread, when n >= 0 more units are done.
    """
    if _may_draw and sys.stderr.isatty():
        from tqdm import tqdm  # 40 ms that jobs without a terminal save

        with tqdm(total=total or None, desc=name, unit=unit, unit_scale=True, leave=False) as bar:
            yield bar.update
        return
    lines = _Lines(name, total, unit)
    yield lines.advance


class _Lines:
    """Progress as log lines, one every `_SECONDS_BETWEEN_LINES`; a short stage logs nothing."""

    def __init__(self, name: str, total: int, unit: str) -> None:
        self._name, self._total, self._unit = name, total, unit
        self._done = 0
        self._start = self._last = time.monotonic()

    def advance(self, num_units: int) -> None:
        self._done += num_units
        now = time.monotonic()
        if now - self._last < _SECONDS_BETWEEN_LINES or not _may_log:
            return
        self._last = now
        unit = self._unit if self._unit == "B" else self._unit + "s"
        if not self._total or not self._done:
            logging.info("%s: %s %s", self._name, f"{self._done:,}", unit)
            return
        left = (now - self._start) * (self._total - self._done) / self._done
        done = f"{100 * self._done // self._total}% ({self._done:,} of {self._total:,} {unit})"
        logging.info("%s: %s, %s left", self._name, done, duration(left))


def duration(seconds: float) -> str:
    """Return seconds as h:mm:ss."""
    whole = max(0, round(seconds))
    return f"{whole // 3600}:{whole // 60 % 60:02d}:{whole % 60:02d}"
