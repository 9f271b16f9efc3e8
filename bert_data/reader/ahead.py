"""A thread that works ahead of its consumer.

    consumer  |take 0|......|take 1|......|take 2|
    thread    |0|1|2|wait...|3|wait...|4|

The items come in the same order as without the thread, and so does the error that ends them.
"""

import itertools
import os
from collections.abc import Generator, Iterator
from typing import TypeVar

from bert_data.work.threads import Threads

T = TypeVar("T")

_END = object()


def work_ahead(items: Iterator[T], max_ahead: int) -> Generator[T]:
    """Yield the items, which a thread makes; at most `max_ahead` wait to be taken.

    The thread starts with the first item that is requested, and ends with the generator.

    Raises:
      RuntimeError: the process was forked during the iteration; the thread is not in the child.
    """
    process = os.getpid()
    with Threads(1, max_in_flight=max_ahead + 1) as executor:
        results = executor.ordered_map(lambda _: next(items, _END), itertools.repeat(None))
        while os.getpid() == process and (item := next(results)) is not _END:
            yield item  # type: ignore[misc]
        if os.getpid() != process:
            raise RuntimeError(
                "the process was forked during an iteration; start a new iteration in the child"
            )
