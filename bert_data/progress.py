"""Progress of a long stage: a bar with an ETA on a terminal, log lines elsewhere.

The stage reports the units that are done:

    with progress("make instances", total=2000, unit="document") as advance:
        for document in documents:
            ...
            advance(1)

    terminal   make instances:  42%|####      | 840 of 2.00k documents [00:03<00:04]
    log        make instances: 42% (840 of 2,000 documents), 0:00:04 left

While there is a bar, what goes to standard error (the log, warnings) appears above it.
"""

import contextlib
import sys
import threading
import time
from collections.abc import Callable, Iterator
from typing import Any, TextIO

from absl import logging

SECONDS_BETWEEN_LINES = 10.0
_BYTES = "B"
_BAR = "{{desc}}: {{percentage:3.0f}}%|{{bar}}| {done} [{{elapsed}}<{{remaining}}]"
_COUNT = "{{desc}}: {done} [{{elapsed}}]"  # for a total that is unknown
_may_draw = True
_may_log = True
_bars: list[Any] = []  # on the terminal


def say_in_log() -> None:
    """Log progress instead of drawing bars, from now on; for processes that share a terminal."""
    global _may_draw
    _may_draw = False
    _bars.clear()  # of a fork, whose parent draws them
    if isinstance(sys.stderr, _AboveBars):
        sys.stderr = sys.stderr.terminal


def keep_silent() -> None:
    """Show no progress from now on; for processes whose log is read when they are done."""
    global _may_draw, _may_log
    _may_draw = _may_log = False


def draws_bars() -> bool:
    """Whether progress is drawn on a terminal, so that a library may draw its own."""
    return _may_draw and sys.stderr is not None and sys.stderr.isatty()  # None: it is closed


@contextlib.contextmanager
def tell_time(name: str) -> Iterator[None]:
    """Log how long a stage has been running, for what reports nothing while it works."""
    start = time.monotonic()
    is_over = threading.Event()

    def log() -> None:
        while not is_over.wait(SECONDS_BETWEEN_LINES):
            logging.info("%s: %s so far", name, duration(time.monotonic() - start))

    thread = threading.Thread(target=log, daemon=True)
    if _may_log and not draws_bars():
        thread.start()
    try:
        yield
    finally:
        is_over.set()
        if thread.is_alive():
            thread.join()


def pause(reason: str) -> Callable[[], None]:
    """Say on the bars why nothing advances; return what ends the pause, which no rate counts."""
    bars = [(bar, bar.desc) for bar in _bars]
    start = time.time()  # tqdm's clock
    for bar, _ in bars:
        bar.set_description_str(reason)

    def resume() -> None:
        for bar, name in bars:
            bar.start_t += time.time() - start
            bar.last_print_t = time.time()
            bar.set_description_str(name)

    return resume


@contextlib.contextmanager
def progress(name: str, *, total: int, unit: str) -> Iterator[Callable[[int], None]]:
    """Show the progress of a stage while the block runs.

    Args:
      total: units of work in all, >= 0; 0 if that is unknown.
      unit: singular name of a unit, such as "document"; "B" is shown in powers of 1,000.

    Yields:
      advance(n): call it, from one thread, when n >= 0 more units are done.
    """
    if draws_bars():
        with _draw(name, total, unit) as advance:
            yield advance
        return
    lines = _Lines(name, total, unit)
    yield lines.advance


@contextlib.contextmanager
def _draw(name: str, total: int, unit: str) -> Iterator[Callable[[int], None]]:
    from tqdm import tqdm  # 40 ms that jobs without a terminal save

    class Bar(tqdm):
        monitor_interval = 0  # no thread, beside which workers could not be forked

    above: contextlib.AbstractContextManager[None] = contextlib.nullcontext()
    if isinstance(sys.stderr, _AboveBars):  # a stage within a stage
        terminal = sys.stderr.terminal
    else:
        terminal = sys.stderr
        above = _redirect(_AboveBars(terminal))
    count = "{n_fmt} of {total_fmt}" if total else "{n_fmt}"
    if unit == _BYTES:
        done = count.replace("_fmt}", "_fmt}B")
    else:
        done = f"{count} {unit}s"
    bar_format = (_BAR if total else _COUNT).format(done=done)
    with (
        above,
        Bar(
            total=total or None,
            miniters=1,  # or a monitor would have to notice that updates come more slowly
            desc=name,
            unit_scale=True,
            leave=False,
            file=terminal,
            bar_format=bar_format,
        ) as bar,
    ):
        _bars.append(bar)
        try:
            yield bar.update
        finally:
            _bars.remove(bar)


class _AboveBars:
    """Standard error while there are bars: whole lines go above them."""

    def __init__(self, terminal: TextIO) -> None:
        self.terminal = terminal
        self._line = ""

    def __getattr__(self, name: str) -> Any:
        return getattr(self.terminal, name)

    def write(self, text: str) -> int:
        from tqdm import tqdm

        lines, newline, self._line = (self._line + text).rpartition("\n")
        if newline:
            with tqdm.external_write_mode(file=self.terminal):
                self.terminal.write(lines + newline)
        return len(text)

    def finish(self) -> None:
        """Write a last line that has no end."""
        self.terminal.write(self._line)


@contextlib.contextmanager
def _redirect(above: _AboveBars) -> Iterator[None]:
    """Send standard error, and the log if it goes there, through `above` while the block runs."""
    handler = logging.get_absl_handler().python_handler
    stream = handler.stream
    with contextlib.redirect_stderr(above):
        try:
            if stream is above.terminal:
                handler.setStream(above)
            yield
        finally:
            if handler.stream is above:
                handler.setStream(stream)
            above.finish()


class _Lines:
    """Progress as log lines, one every `SECONDS_BETWEEN_LINES`; a short stage logs nothing."""

    def __init__(self, name: str, total: int, unit: str) -> None:
        self._name, self._total, self._unit = name, total, unit
        self._done = 0
        self._start = self._last = time.monotonic()

    def advance(self, num_units: int) -> None:
        self._done += num_units
        now = time.monotonic()
        if now - self._last < SECONDS_BETWEEN_LINES or not _may_log:
            return
        self._last = now
        done, total = self._count(self._done), self._count(self._total)
        unit = "" if self._unit == _BYTES else f" {self._unit}s"
        if not self._total or not self._done:
            logging.info("%s: %s%s", self._name, done, unit)
            return
        left = (now - self._start) * (self._total - self._done) / self._done
        share = 100 * self._done // self._total
        logging.info(
            "%s: %d%% (%s of %s%s), %s left", self._name, share, done, total, unit, duration(left)
        )

    def _count(self, number: int) -> str:
        return size(number) if self._unit == _BYTES else f"{number:,}"


def duration(seconds: float) -> str:
    """Return seconds as h:mm:ss."""
    whole = max(0, round(seconds))
    return f"{whole // 3600}:{whole // 60 % 60:02d}:{whole % 60:02d}"


def how_many(number: int, noun: str) -> str:
    """Return a number of things: "1 file", "1,234 files"."""
    return f"{number:,} {noun if number == 1 else plural(noun)}"


def plural(noun: str) -> str:
    """Return the plural of a noun: "files", "entries"."""
    return f"{noun[:-1]}ies" if noun.endswith("y") else f"{noun}s"


def size(num_bytes: int) -> str:
    """Return a number of bytes in the unit that people use: "999 bytes", "1.2 MB", "3.4 TB"."""
    if num_bytes < 1000:
        return f"{num_bytes} bytes" if num_bytes != 1 else "1 byte"
    scaled, units = num_bytes / 1000, ["kB", "MB", "GB", "TB"]
    while scaled >= 999.95 and len(units) > 1:
        scaled /= 1000
        units.pop(0)
    return f"{scaled:,.1f} {units[0]}"
