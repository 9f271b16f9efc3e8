"""The executor of threads: for functions that release the GIL, on items in memory.

with Threads(2) as executor:
    executor.ordered_map(tokenize, blocks)
"""

import sys
from collections.abc import Callable, Iterable
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Any

from bert_data import forced_end
from bert_data.work.executor import Executor, InProcess


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
