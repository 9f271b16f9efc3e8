"""Stop between two steps when the system or the user asks for it.

    SIGTERM ─▶ a byte in a pipe ─▶ a thread ─▶ a variable ─▶ the graph ends its loop after this step

Python runs a signal handler only once the interpreter is active again, and a call of the graph can
take thousands of steps. Preemptible machines give half a minute.
"""

import contextlib
import os
import signal
import threading
from collections.abc import Iterator

import tensorflow as tf
from absl import logging

from bert_data import interrupts
from bert_data.interrupts import SIGNALS

_PIPE_BYTES = 64


class StopRequest:
    """Whether training is to stop.

    Attributes:
      flag: float32 scalar variable, 1 if a signal has asked this process to stop, else 0.
      signal_number: that signal, or SIGTERM if another host was asked; None if none was.
    """

    def __init__(self) -> None:
        with tf.device("cpu:0"):
            self.flag = tf.Variable(0.0, trainable=False)
        self.signal_number: int | None = None

    def ask(self, number: int) -> None:
        """Note a signal; further ones change nothing."""
        if self.signal_number is None:
            self.signal_number = number
            self.flag.assign(1.0)
            logging.info("%s: stopping after this step", signal.Signals(number).name)

    def note_other_host(self) -> None:
        """Note that all hosts stop because one was asked, possibly this one."""
        if self.signal_number is None:
            self.signal_number = signal.SIGTERM
            logging.info("another host was asked to stop: stopping after this step")

    def raise_if_asked(self) -> None:
        """Raise KeyboardInterrupt(signal number) if training is to stop."""
        if self.signal_number is not None:
            raise KeyboardInterrupt(self.signal_number)


@contextlib.contextmanager
def heed_signals() -> Iterator[StopRequest]:
    """Turn Ctrl-C, SIGTERM and SIGHUP into a request to stop.

    Signals that the program ignores stay ignored. One that came before, and whose interrupt Python
    has lost, is a request, too. Outside the main thread, the only one that can change signal
    handlers, this does nothing.
    """
    request = StopRequest()
    if threading.current_thread() is not threading.main_thread():
        yield request
        return
    reader, writer = os.pipe()
    os.set_blocking(writer, False)  # set_wakeup_fd requires it
    watcher = threading.Thread(target=_watch, args=(reader, request), name="signals", daemon=True)
    watcher.start()
    old_writer = signal.set_wakeup_fd(writer, warn_on_full_buffer=False)
    old_handlers = {}
    try:
        for number in SIGNALS:
            if signal.getsignal(number) not in (signal.SIG_IGN, None):
                # The handler that Python runs later has nothing to do: the byte is in the pipe.
                old_handlers[number] = signal.signal(number, lambda *_: None)
        if interrupts.requested is not None:
            request.ask(interrupts.requested)
        yield request
    finally:
        for number, handler in old_handlers.items():
            signal.signal(number, handler)
        signal.set_wakeup_fd(old_writer)
        os.close(writer)
        watcher.join()
        os.close(reader)


def _watch(reader: int, request: StopRequest) -> None:
    """Read signal numbers, one byte each, until the pipe is closed."""
    while numbers := os.read(reader, _PIPE_BYTES):
        for number in numbers:
            if number in SIGNALS:
                request.ask(number)
