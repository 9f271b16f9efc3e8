"""The executor of threads, for functions that release the GIL, on items in memory.

with Threads(2) as executor:
executor.ordered_map(tokenize, blocks)

for item in work_ahead(items, 2): ...      a thread makes the next items meanwhile
"""

import itertools
import os
import sys
from collections.abc import Callable, Generator, Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Any, TypeVar

from bert_data import forced_end
from bert_data.work.executor import Executor, InProcess

T = TypeVar("T")

_END = object()


class Threads(Executor):
    """An executor of threads, started as work arrives; functions need not be picklable."""

    def __init__(self, num_workers: int, *, max_in_flight: int | None = None) -> None:
        """Create the executor; no thread is started yet.

        Args:
          num_workers: >= 1.
          max_in_flight: see `Executor`; None: enough that no worker waits while the caller handles
            a result.
        """
        super().__init__(num_workers, max_in_flight or 2 * num_workers + 1)
        self._pool = ThreadPoolExecutor(num_workers, thread_name_prefix="bert_data")

    def __exit__(self, *_: object) -> None:
        forced_end.limit(sys.exception())
        self._pool.shutdown(cancel_futures=True)

    def _begin(self, function: Callable[[Any], Any], item: Any) -> Future[Any]:
        return self._pool.submit(function, item)

    def _finish(self, pending: Future[Any]) -> Any:
        return pending.result()

    def _end_map(self, unfinished: Iterable[Any]) -> None:
        for pending in unfinished:
            if isinstance(pending, Future):
                pending.cancel()


def open_threads(num_workers: int) -> Executor:
    """Return workers that share this process's memory, for functions that release the GIL.

    Args:
      num_workers: >= 1; a single one works in the caller's thread.
    """
    if num_workers == 1:
        return InProcess()
    return Threads(num_workers)


def work_ahead(items: Iterator[T], max_ahead: int) -> Generator[T]:
    """Yield the items, which a thread makes; at most `max_ahead` wait to be taken.

    The items come in the same order as without the thread, and so does the error that ends them.

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
