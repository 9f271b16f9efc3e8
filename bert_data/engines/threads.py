"""Runs a function on items in threads and gives the results in the items' order.

ordered_map(len, ["a", "bb", "ccc"], num_workers=2)  ->  1, 2, 3
"""

import collections
import os
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from typing import TypeVar

Item = TypeVar("Item")
Result = TypeVar("Result")


def count_workers(num_workers: int) -> int:
    """The number of threads that a flag asks for: 0 stands for every core this process may use.

    Raises:
      ValueError: num_workers is negative.
    """
    if num_workers < 0:
        raise ValueError(f"num_workers is {num_workers}; 0 (all cores) or more is allowed")
    return num_workers or len(os.sched_getaffinity(0))


def ordered_map(
    function: Callable[[Item], Result], items: Iterable[Item], *, num_workers: int
) -> Iterator[Result]:
    """Applies `function` to every item; at most 2 * `num_workers` + 1 items are under way.

    That many, so that no worker waits while this thread takes a result in.

    Args:
      function: releases the GIL for most of its work; pure.
      items: read in this thread, as workers become free.
      num_workers: >= 1; with 1 the work is done in this thread.

    Yields:
      The results, in the order of the items. An exception of the function or of the items comes at
      its turn, after the results before it: which one a caller sees does not depend on num_workers.
    """
    if num_workers == 1:
        yield from map(function, items)
        return
    waiting: collections.deque[Future[Result]] = collections.deque()
    with ThreadPoolExecutor(num_workers) as pool:
        try:
            for future in _submit_all(pool, function, items):
                waiting.append(future)
                if len(waiting) > 2 * num_workers:
                    yield waiting.popleft().result()
            while waiting:
                yield waiting.popleft().result()
        finally:
            for future in waiting:
                future.cancel()


def _submit_all(
    pool: ThreadPoolExecutor, function: Callable[[Item], Result], items: Iterable[Item]
) -> Iterator[Future[Result]]:
    """Gives the future of each item; an error of the items themselves is one more, failed one."""
    try:
        for item in items:
            yield pool.submit(function, item)
    except Exception as error:
        failed: Future[Result] = Future()
        failed.set_exception(error)
        yield failed
