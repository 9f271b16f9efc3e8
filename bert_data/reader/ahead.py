"""A thread that works ahead of its consumer.

    consumer  |take 0|......|take 1|......|take 2|
    thread    |0|1|2|wait...|3|wait...|4|

The items come in the same order as without the thread, and so does the error that ends them.
"""

import contextlib
import os
import queue
import threading
from collections.abc import Generator, Iterator
from typing import Any, TypeVar

T = TypeVar("T")

_SECONDS_BETWEEN_LOOKS = 0.1


def work_ahead(items: Iterator[T], max_ahead: int) -> Generator[T]:
    """Yield the items, which a thread makes; at most `max_ahead` wait to be taken.

    The thread starts with the first item that is asked for, and ends with the generator. An error
    raised while an item is made is raised here, in its place.
    """
    ready: queue.Queue[tuple[Any, BaseException | None]] = queue.Queue(max_ahead)
    is_over = threading.Event()

    def put(item: Any, error: BaseException | None = None) -> None:
        while not is_over.is_set():
            with contextlib.suppress(queue.Full):
                ready.put((item, error), timeout=_SECONDS_BETWEEN_LOOKS)
                return

    def work() -> None:
        error: BaseException = StopIteration()
        try:
            for item in items:
                put(item)
                if is_over.is_set():
                    break
        except BaseException as raised:
            error = raised
        put(None, error)

    process = os.getpid()
    thread = threading.Thread(target=work, name="work_ahead", daemon=True)
    thread.start()
    try:
        while True:
            if os.getpid() != process:
                raise RuntimeError(
                    "the process was forked during an iteration; start a new iteration in the child"
                )
            item, error = ready.get()
            if isinstance(error, StopIteration):
                return
            if error is not None:
                raise error
            yield item
    finally:
        is_over.set()
        if os.getpid() == process:
            thread.join()
