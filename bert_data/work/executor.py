"""The contract of all executors: they run a function on items and keep the order of the results.

    with open_executor(num_workers=3) as executor:
        executor.ordered_map(len, ["a", "bb", "ccc"])  ->  1, 2, 3

One map runs at a time, and for every executor:

- Results come in the order of the items, and never depend on the number of workers.
- Items may be an iterator. The caller's thread reads it as results are taken; at most
  `max_in_flight` of the items read have results that are not yielded yet.
- The first error in the order of the items, of the function or of the iterator, is raised at its
  turn, after all results before it. Its traceback or a note shows where a worker raised it.
- If a worker dies, ChildProcessError is raised at the turn of its item. Ray first runs the item
  again, up to three times, on any node.
- A map that ends early (an error, `close`, Ctrl-C) starts nothing more. Threads finish their
  current items; processes are interrupted, as if by Ctrl-C, and get a moment to clean up.
"""

import abc
import atexit
import collections
import contextlib
import dataclasses
import itertools
import os
import sys
import weakref
from collections.abc import Callable, Generator, Iterable, Iterator
from typing import TYPE_CHECKING, Any, ClassVar, Self, TypeVar

from bert_data import interrupts
from bert_data.checks import check_integer

if TYPE_CHECKING:
    from concurrent.futures import Future

MAX_WORKERS = 1024
"""More than machines have cores; more threads and processes would only cost memory."""

Item = TypeVar("Item")
Result = TypeVar("Result")
Function = Callable[[Any], Any]


@dataclasses.dataclass(eq=False, slots=True)
class Job:
    """An item that was begun in another process, and its result."""

    function: Function
    item: Any
    is_done: bool = False
    result: Any = None
    error: BaseException | None = None


class Executor(abc.ABC):
    """Runs functions on items, between `__enter__` and `__exit__`."""

    def __init__(self, num_workers: int, max_in_flight: int) -> None:
        """Create an executor; no worker is started yet.

        Args:
          max_in_flight: most items that are read but whose results are not yielded, >= 1.
        """
        assert num_workers >= 1 and max_in_flight >= 1
        self.num_workers = num_workers
        self.max_in_flight = max_in_flight

    def ordered_map(
        self, function: Callable[[Item], Result], items: Iterable[Item]
    ) -> Generator[Result]:
        """Yield the results of a function for all items, in their order.

        Args:
          function: without side effects except on files; picklable (as are its items, results and
            errors) unless the executor is known to share the caller's memory.

        Raises:
          ChildProcessError: a worker died.
        """
        waiting: collections.deque[Any] = collections.deque()
        try:
            for pending in self._begin_all(function, items):
                waiting.append(pending)
                if len(waiting) >= self.max_in_flight:
                    yield self._result(waiting.popleft())
            while waiting:
                yield self._result(waiting.popleft())
        finally:
            self._end_map(waiting)

    def _begin_all(self, function: Function, items: Iterable[Any]) -> Iterator[Any]:
        """Begin every item; an error of the iterator counts as one more item, which raises it."""
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
        """End the workers."""

    @abc.abstractmethod
    def _begin(self, function: Function, item: Any) -> Any:
        """Pass an item to the workers; return the argument for `_finish`."""

    @abc.abstractmethod
    def _finish(self, pending: Any) -> Any:
        """Wait for the result of an item, or raise its error."""

    @abc.abstractmethod
    def _end_map(self, unfinished: Iterable[Any]) -> None:
        """Give up the items of a map that were begun but not finished, if any."""


class _Failure:
    def __init__(self, error: Exception) -> None:
        self.error = error


class QueuedExecutor(Executor):
    """An executor of other processes, for which jobs wait in a queue.

    After a job that has failed, no other of the map is begun.
    """

    def __init__(self, num_workers: int, max_in_flight: int) -> None:
        super().__init__(num_workers, max_in_flight)
        self._queue: collections.deque[Job] = collections.deque()
        self._has_failed = False

    def _begin(self, function: Function, item: Any) -> Job:
        job = Job(function, item)
        self._queue.append(job)
        return job

    def _finish(self, pending: Job) -> Any:
        while not pending.is_done:
            self._advance()
        if pending.error is not None:
            raise pending.error
        return pending.result

    def _end_map(self, unfinished: Iterable[Any]) -> None:
        del unfinished  # the queue and the workers have the rest
        self._queue.clear()
        self._has_failed = False
        self._give_up()

    def _settle(self, job: Job, result: Any, error: BaseException | None) -> None:
        job.is_done, job.result, job.error = True, result, error
        self._has_failed |= error is not None

    @abc.abstractmethod
    def _advance(self) -> None:
        """Begin jobs of the queue, and wait for others, for a moment or until one is done."""

    @abc.abstractmethod
    def _give_up(self) -> None:
        """End the jobs that were begun, if any."""


class InProcess(Executor):
    """Does the work in the caller's thread, when the result is requested."""

    def __init__(self) -> None:
        super().__init__(num_workers=1, max_in_flight=1)

    def __exit__(self, *_: object) -> None:
        pass

    def _begin(self, function: Function, item: Any) -> Any:
        return function, item

    def _finish(self, pending: Any) -> Any:
        function, item = pending
        return function(item)

    def _end_map(self, unfinished: Iterable[Any]) -> None:
        pass


@dataclasses.dataclass(frozen=True, kw_only=True)
class Engine(abc.ABC):
    """The engine that runs the tasks of a command; their files do not depend on it.

    The fields of a subclass are its settings, with the names of their flags.

    Attributes:
      name: the value of --engine.
      is_cluster: whether tasks may run on other machines, which share only files with this one.
    """

    name: ClassVar[str]
    is_cluster: ClassVar[bool] = True

    def count_workers(self, num_workers: int) -> int:
        """Return the number of workers for a flag's value; 0, for a cluster, is all that it has."""
        return check_integer("num_workers", num_workers, 0, MAX_WORKERS)

    @abc.abstractmethod
    def open_executor(self, num_workers: int, *, folder: str | None, task_bytes: int) -> Executor:
        """Return workers for tasks; for the arguments see `work.open_executor`."""


def count_workers(num_workers: int) -> int:
    """Return the number of workers for a flag's value; 0: every core of this process."""
    num_workers = check_integer("num_workers", num_workers, 0, MAX_WORKERS)
    if num_workers:
        return num_workers
    if hasattr(os, "sched_getaffinity"):  # macOS has none
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


T = TypeVar("T")

_END = object()


class Threads(Executor):
    """An executor of threads, started as work arrives; functions need not be picklable."""

    def __init__(self, num_workers: int, *, max_in_flight: int | None = None) -> None:
        """Create the executor; no thread is started yet.

        Args:
          max_in_flight: see `Executor`; None: enough that no worker waits while the caller handles
            a result.
        """
        from concurrent.futures import ThreadPoolExecutor  # here, as it would delay the start

        super().__init__(num_workers, max_in_flight or 2 * num_workers + 1)
        self._pool = ThreadPoolExecutor(num_workers, thread_name_prefix="bert_data")

    def __exit__(self, *_: object) -> None:
        interrupts.limit_end(sys.exception())
        self._pool.shutdown(cancel_futures=True)

    def _begin(self, function: Function, item: Any) -> "Future[Any]":
        return self._pool.submit(function, item)

    def _finish(self, pending: "Future[Any]") -> Any:
        return pending.result()

    def _end_map(self, unfinished: Iterable[Any]) -> None:
        for pending in unfinished:
            if not isinstance(pending, _Failure):
                pending.cancel()


def open_threads(num_workers: int) -> Executor:
    """Return workers that share this process's memory; a single one is the caller's thread."""
    if num_workers == 1:
        return InProcess()
    return Threads(num_workers)


def work_ahead(items: Iterator[T], max_ahead: int) -> Generator[T]:
    """Yield the items, which a thread makes; at most `max_ahead` wait to be taken.

    Their order, and the error that ends them, are those of `items`. The thread begins with the
    first item that is requested, and ends with the generator, or the process.

    Raises:
      RuntimeError: the process was forked during the iteration; the thread is not in the child.
    """
    ahead = _work_ahead(items, max_ahead)
    _AHEAD.add(ahead)
    return ahead


def _work_ahead(items: Iterator[T], max_ahead: int) -> Generator[T]:
    process = os.getpid()
    with Threads(1, max_in_flight=max_ahead + 1) as executor:
        results = executor.ordered_map(lambda _: next(items, _END), itertools.repeat(None))
        while os.getpid() == process and (item := next(results)) is not _END:
            yield item  # type: ignore[misc]
        if os.getpid() != process:
            raise RuntimeError(
                "the process was forked during an iteration; start a new iteration in the child"
            )


_AHEAD: weakref.WeakSet[Generator[Any]] = weakref.WeakSet()


@atexit.register
def _end_ahead() -> None:
    """End what still works ahead, while the modules that this needs are there."""
    for ahead in list(_AHEAD):
        with contextlib.suppress(ValueError):  # another thread is in it
            ahead.close()
