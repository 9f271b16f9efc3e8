"""Ends a program by force if a server that does not answer keeps it from ending.

Python cannot interrupt a request, and libraries send it again and again. What is left then is what
a killed program leaves: later runs remove it. This concerns programs only that listen to signals
(`interrupts.raise_on_signals`) and have used a server.
"""

import os
import signal
import sys
import threading

SECONDS = 30.0
"""From a signal, or from an error, to the end."""

_PIPE_BYTES = 64
_reader: int | None = None  # of a pipe to which Python writes the numbers of signals
_watcher: threading.Thread | None = None
_is_limited = False


def listen() -> None:
    """Have the numbers of signals written to a pipe, as they arrive; only in the main thread."""
    global _reader
    if _reader is None and threading.current_thread() is threading.main_thread():
        _reader, writer = os.pipe()
        os.set_blocking(writer, False)  # set_wakeup_fd requires it
        signal.set_wakeup_fd(writer, warn_on_full_buffer=False)


def note_server() -> None:
    """Note that the program uses a server: from now on a signal limits the time to its end."""
    global _watcher
    if _reader is not None and _watcher is None:
        _watcher = threading.Thread(target=_watch, args=(_reader,), name="end", daemon=True)
        _watcher.start()


def limit(error: BaseException | None) -> None:
    """Limit the time to the end, as an error is on its way out of a program that uses a server."""
    global _is_limited
    if _watcher is not None and isinstance(error, OSError) and not _is_limited:
        _is_limited = True
        named = error.filename is not None and error.strerror
        sentence = f"{error.filename}: {error.strerror}" if named else str(error)
        timer = threading.Timer(SECONDS, _end, (1, sentence))
        timer.daemon = True
        timer.start()


def _watch(reader: int) -> None:
    """Wait for a signal that ends the program, and then for the end."""
    while True:
        for number in os.read(reader, _PIPE_BYTES):
            if number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
                threading.Event().wait(SECONDS)
                _end(128 + number, f"stopped by {signal.Signals(number).name}")


def _end(status: int, sentence: str) -> None:
    program = os.path.basename(sys.argv[0]).removesuffix(".py")
    sys.stderr.write(
        f"{program}: error: {sentence}; ended by force, as cleaning up took more than"
        f" {SECONDS:g} s: a server does not answer\n"
    )
    sys.stderr.flush()
    os._exit(status)
