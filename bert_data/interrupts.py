"""Ctrl-C, SIGTERM and SIGHUP as KeyboardInterrupt, in a program that can always be stopped.

While it cleans up, further signals do not disturb it. Python drops an exception that is raised
where nothing can catch it: in `__del__`, or when a weak reference ends, as often while modules are
imported. Then the next signal raises another, and training stops by itself.
"""

import os
import signal
import sys
from types import FrameType, TracebackType

from bert_data import forced_end

SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
"""Those that end a program."""
SIGNAL_STATUS = 128
"""Plus a signal's number: the shell's exit status of a program that the signal ended."""
_requested: int | None = None


def raise_on_signals() -> None:
    """Make signals that would end the program raise KeyboardInterrupt, except ignored ones."""
    forced_end.listen()
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


def requested_signal() -> int | None:
    """Return the first signal that has asked the program to end, or None."""
    return _requested


def end(program: str, interrupt: KeyboardInterrupt) -> int:
    """Ignore further signals, say by which one a program was stopped, and return its status."""
    for number in SIGNALS:
        signal.signal(number, signal.SIG_IGN)
    number = interrupt.args[0] if interrupt.args else signal.SIGINT
    sys.stderr.write(f"{program}: error: stopped by {signal.Signals(number).name}\n")
    return SIGNAL_STATUS + number


def _interrupt(number: int, _: FrameType | None) -> None:
    global _requested
    _requested = _requested or number
    if not _is_under_way():
        raise KeyboardInterrupt(number)


def _is_under_way() -> bool:
    """Whether an interrupt is being handled here, possibly with errors of cleaning up."""
    error = sys.exception()
    while error is not None and not isinstance(error, KeyboardInterrupt):
        error = error.__context__
    return error is not None
