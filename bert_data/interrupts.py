"""Ctrl-C, SIGTERM and SIGHUP as KeyboardInterrupt, in a program that can always be stopped.

While it cleans up, further signals do not disturb it. Python drops an exception that is raised
where nothing can catch it: in `__del__`, or when a weak reference ends, as often while modules are
imported. Then the next signal raises another, and training stops by itself.

Python cannot interrupt a request, and libraries send it again and again: a program that has used a
server which does not answer is ended by force. What is left then is what a killed program leaves:
later runs remove it.
"""

import contextlib
import os
import signal
import sys
import threading
from types import FrameType, TracebackType

SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
"""Those that end a program."""
SIGNAL_STATUS = 128
"""Plus a signal's number: the shell's exit status of a program that the signal ended."""
requested: int | None = None
"""The first signal that has asked the program to end."""
SECONDS_TO_END = 30.0
"""From a signal, or from an error, to the end by force."""
_PIPE_BYTES = 64
_reader: int | None = None  # of a pipe to which Python writes the numbers of signals
_watcher: threading.Thread | None = None
_is_limited = False


def raise_on_signals() -> None:
    """Make signals that would end the program raise KeyboardInterrupt, except ignored ones."""
    global _reader
    if _reader is None and threading.current_thread() is threading.main_thread():
        _reader, writer = os.pipe()
        os.set_blocking(writer, False)  # set_wakeup_fd requires it
        signal.set_wakeup_fd(writer, warn_on_full_buffer=False)
    for number in SIGNALS:
        if signal.getsignal(number) is not signal.SIG_IGN:
            signal.signal(number, _interrupt)


def end_imports_on_signals() -> None:
    """Let signals end a script in one line from now on, while it imports what it needs.

    `entry.run` does so for what follows.
    """
    raise_on_signals()
    sys.excepthook = _say_interrupt


def _say_interrupt(
    kind: type[BaseException], error: BaseException, trace: TracebackType | None
) -> None:
    if isinstance(error, KeyboardInterrupt):
        raise SystemExit(end(os.path.basename(sys.argv[0]).removesuffix(".py"), error))
    sys.__excepthook__(kind, error, trace)


def end(program: str, interrupt: KeyboardInterrupt) -> int:
    """Ignore further signals, say by which one a program was stopped, and return its status."""
    for number in SIGNALS:
        signal.signal(number, signal.SIG_IGN)
    number = interrupt.args[0] if interrupt.args else signal.SIGINT
    say_error(program, f"stopped by {signal.Signals(number).name}")
    return SIGNAL_STATUS + number


def say_error(program: str, sentence: str) -> None:
    """Write an error to standard error, unless that is closed."""
    with contextlib.suppress(OSError):
        if sys.stderr is not None:
            sys.stderr.write(f"{program}: error: {sentence}\n")
            sys.stderr.flush()


def _interrupt(number: int, _: FrameType | None) -> None:
    global requested
    requested = requested or number
    if not _is_under_way():
        raise KeyboardInterrupt(number)


def _is_under_way() -> bool:
    """Whether an interrupt is being handled here, possibly with errors of cleaning up."""
    error = sys.exception()
    while error is not None and not isinstance(error, KeyboardInterrupt):
        error = error.__context__
    return error is not None


def note_server() -> None:
    """Note that the program uses a server: from now on a signal limits the time to its end."""
    global _watcher
    if _reader is not None and _watcher is None:
        _watcher = threading.Thread(target=_watch, args=(_reader,), name="end", daemon=True)
        _watcher.start()


def limit_end(error: BaseException | None) -> None:
    """Limit the time to the end, as an error is on its way out of a program that uses a server."""
    global _is_limited
    if _watcher is not None and isinstance(error, OSError) and not _is_limited:
        _is_limited = True
        named = error.filename is not None and error.strerror
        sentence = f"{error.filename}: {error.strerror}" if named else str(error)
        timer = threading.Timer(SECONDS_TO_END, _end_by_force, (1, sentence))
        timer.daemon = True
        timer.start()


def _watch(reader: int) -> None:
    """Wait for a signal that ends the program, and then for the end."""
    while True:
        for number in os.read(reader, _PIPE_BYTES):
            if number in SIGNALS:
                threading.Event().wait(SECONDS_TO_END)
                _end_by_force(SIGNAL_STATUS + number, f"stopped by {signal.Signals(number).name}")


def _end_by_force(status: int, sentence: str) -> None:
    program = os.path.basename(sys.argv[0]).removesuffix(".py")
    seconds = f"{SECONDS_TO_END:g} s: a server does not answer"
    say_error(program, f"{sentence}; ended by force, as cleaning up took more than {seconds}")
    os._exit(status)
