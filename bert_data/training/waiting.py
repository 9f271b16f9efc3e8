"""Wait for the other machines of a run until they answer; a signal ends it.

    await_servers({"10.0.0.2:2222": "worker 1"}, own="10.0.0.1:2222", seconds=600)
        waiting for worker 1 (10.0.0.2:2222), up to 600 s

TensorFlow waits in C++, without an end, and holds Python's lock, so that no handler of a signal
runs. It begins when all machines have answered. Until then a worker listens in its place.
"""

import contextlib
import os
import signal
import socket
import threading
import time
from collections.abc import Iterator, Mapping

from absl import logging

from bert_data.interrupts import SIGNALS

_PAUSE_SECONDS, _ANSWER_SECONDS = 0.5, 2.0
_BACKLOG = 1024  # workers that may ask before anyone looks


def await_servers(servers: Mapping[str, str], *, own: str | None = None, seconds: float) -> None:
    """Return when each server has answered once.

    Args:
      servers: what each is, by its address, HOST:PORT.
      own: address at which this process will be a server.

    Raises:
      ConnectionError: one has not answered in time.
      OSError: the port of `own` is not free.
    """
    end, said = time.monotonic() + seconds, ""
    left = dict(servers)
    with contextlib.nullcontext() if own is None else _listen(own):
        while left := {address: what for address, what in left.items() if not _answers(address)}:
            names = ", ".join(f"{what} ({address})" for address, what in left.items())
            if names != said:
                logging.info("waiting for %s, up to %g s", names, seconds)
                said = names
            if time.monotonic() >= end:
                advice = "`max_wait_seconds` sets how long a run waits"
                raise ConnectionError(f"{names} has not answered for {seconds:g} s; {advice}")
            time.sleep(_PAUSE_SECONDS)


def _split(address: str) -> tuple[str, int]:
    host, _, port = address.rpartition(":")
    if not port.isdecimal():
        raise ValueError(f"the address {address!r} has no port; it must be HOST:PORT")
    return host.strip("[]"), int(port)


def _listen(address: str) -> socket.socket:
    """Listen as TensorFlow will, at the port of an address on all networks."""
    port = _split(address)[1]
    try:
        return socket.create_server(("", port), backlog=_BACKLOG)
    except OSError as error:
        reason = os.strerror(error.errno or 0)
        raise OSError(f"cannot listen at {address}, this worker's address: {reason}") from None


def _answers(address: str) -> bool:
    try:
        socket.create_connection(_split(address), _ANSWER_SECONDS).close()
    except OSError:
        return False
    return True


@contextlib.contextmanager
def ended_by_signals(seconds: float) -> Iterator[None]:
    """Let signals, or the time, end the process without Python, while TensorFlow connects."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    numbers = (*SIGNALS, signal.SIGALRM)
    handlers = {n: h for n in numbers if (h := signal.getsignal(n)) not in (signal.SIG_IGN, None)}
    for number in handlers:
        signal.signal(number, signal.SIG_DFL)
    signal.setitimer(signal.ITIMER_REAL, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        for number, handler in handlers.items():
            signal.signal(number, handler)
