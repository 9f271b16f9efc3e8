"""The contract of all executors: a function is run on items, and its results keep their order.

    with open_executor(num_workers=3) as executor:
        executor.ordered_map(len, ["a", "bb", "ccc"])  ->  1, 2, 3

One map at a time, whatever runs it:

- Results come in the order of the items, and never depend on the number of workers.
- Items may be an iterator. It is read by the caller's thread, as results are taken: never more than
  `max_in_flight` items have been read whose results have not been yielded.
- The first error in the order of the items is raised at its turn, after all results before it, be
  it the function's or the iterator's. Its traceback or a note of it shows where a worker raised it.
- A worker that dies is a ChildProcessError at the turn of its item.
- A map that ends early (an error, `close`, Ctrl-C) begins nothing more. Threads finish the items
  that they are at; processes are interrupted, as if by Ctrl-C, and have a moment to clean up.
"""

import abc
import collections
import os
from collections.abc import Callable, Generator, Iterable, Iterator
from typing import Any, Self, TypeVar

Item = TypeVar("Item")
Result = TypeVar("Result")


class Executor(abc.ABC):
    """Runs functions on items; it works between `__enter__` and `__exit__`.

    Attributes:
      num_workers: how many items are worked on at a time.
    """

    def __init__(self, num_workers: int, max_in_flight: int) -> None:
        """Starts no worker yet.

        Args:
          num_workers: >= 1.
          max_in_flight: items that have been read and whose results have not been yielded, >= 1.
        """
        assert num_workers >= 1 and max_in_flight >= 1
        self.num_workers = num_workers
        self._max_in_flight = max_in_flight

    def ordered_map(
        self, function: Callable[[Item], Result], items: Iterable[Item]
    ) -> Generator[Result]:
        """Applies a function to every item; see the contract in the module's docstring.

        Args:
          function: pure but for files; picklable (as its items, results and errors) unless the
            executor is known to share the caller's memory.
          items: the work.

        Yields:
          The results, in the order of the items.

        Raises:
          ChildProcessError: a worker died.
        """
        waiting: collections.deque[Any] = collections.deque()
        try:
            for pending in self._begin_all(function, items):
                waiting.append(pending)
                if len(waiting) >= self._max_in_flight:
                    yield self._result(waiting.popleft())
            while waiting:
                yield self._result(waiting.popleft())
        finally:
            self._end_map(waiting)

    def _begin_all(self, function: Callable[[Any], Any], items: Iterable[Any]) -> Iterator[Any]:
        """Begins every item; an error of the items is one more, whose result is that error."""
        try:
            for item in items:
                yield self._begin(function, item)
        except Exception as error:
            yield _Failure(error)

    def _result(self, pending: Any) -> Any:
        if isinstance(pending, _Failure):
            raise pending.error
        return self._finish(pending)

    def __enter__(self) -> Self:
        return self

    @abc.abstractmethod
    def __exit__(self, *_: object) -> None:
        """Ends the workers."""

    @abc.abstractmethod
    def _begin(self, function: Callable[[Any], Any], item: Any) -> Any:
        """Hands an item to the workers; gives what `_finish` takes."""

    @abc.abstractmethod
    def _finish(self, pending: Any) -> Any:
        """Waits for the result of an item, or raises its error."""

    @abc.abstractmethod
    def _end_map(self, unfinished: Iterable[Any]) -> None:
        """Gives up the items of a map that were begun but not finished; often there are none."""


class _Failure:
    """An error that the iterator of items raised."""

    def __init__(self, error: Exception) -> None:
        self.error = error


class InProcess(Executor):
    """Does the work in the caller's thread, when its result is asked for."""

    def __init__(self) -> None:
        super().__init__(num_workers=1, max_in_flight=1)

    def __exit__(self, *_: object) -> None:
        pass

    def _begin(self, function: Callable[[Any], Any], item: Any) -> Any:
        return function, item

    def _finish(self, pending: Any) -> Any:
        function, item = pending
        return function(item)

    def _end_map(self, unfinished: Iterable[Any]) -> None:
        pass


def count_workers(num_workers: int) -> int:
    """The number of workers that a flag asks for: 0 stands for every core this process may use.

    Raises:
      ValueError: num_workers is negative.
    """
    if num_workers < 0:
        raise ValueError(f"num_workers is {num_workers}; 0 (all cores) or more is allowed")
    return num_workers or len(os.sched_getaffinity(0))


def open_threads(num_workers: int) -> Executor:
    """Workers that share this process's memory, for functions that release the GIL.

    Args:
      num_workers: >= 1; one works in the caller's thread.
    """
    if num_workers == 1:
        return InProcess()
    from bert_data.work.threads import Threads

    return Threads(num_workers)


def open_executor(num_workers: int) -> Executor:
    """Workers for tasks: functions that take and return little, and read and write files.

    Args:
      num_workers: >= 1; one works in this process.
    """
    if num_workers == 1:
        return InProcess()
    from bert_data.work.processes import Processes

    return Processes(num_workers)
