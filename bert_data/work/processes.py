"""The executor of processes: for tasks, which the GIL would keep from running in parallel threads.

    with Processes(3) as executor:
        executor.ordered_map(run, tasks)  ->  run(tasks[0]), run(tasks[1]), ...

On Linux they are forks of this process while it has one thread, which takes no time, and let go of
its files, locks and log. Otherwise they are spawned. On Linux only the first is: it imports what
this process has imported of bert_data, unless that needs TensorFlow or PyTorch, and workers are
forked from it. Spawned ones do not run the main program again, so a script needs no `if __name__ ==
"__main__"`, unless it defines the function or an item.

Each gets the function once, and then the items one by one; they are kept for the next map, and end
with this process, however it ends. Their log messages appear in this process's log.
"""

import contextlib
import logging
import multiprocessing
import os
import pickle
import signal
import sys
import threading
import time
import types
from collections.abc import Iterable, Iterator, Mapping
from multiprocessing import connection
from multiprocessing.context import ForkContext, ForkServerContext, SpawnContext
from multiprocessing.process import BaseProcess
from typing import Any

from bert_data import progress
from bert_data.storage import list_folder
from bert_data.storage.descriptors import open_descriptors, replace_descriptors
from bert_data.work.executor import Function, Job, QueuedExecutor
from bert_data.work.remote_calls import answer, open_answer, picklable, pickle_error

_IN_FLIGHT_A_WORKER = 16  # results are small, and no worker should wait for an earlier, long task
_GRACE_SECONDS = 5.0  # for an interrupted worker to remove what it has begun to write
_LOGGER = "absl"
_SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


class Processes(QueuedExecutor):
    """An executor of processes, which are started when there is work for more than one."""

    def __init__(self, num_workers: int, *, is_apart: bool = False) -> None:
        """Create an executor; with `is_apart`, a single item gets a process, too.

        Libraries that do not heed signals, or crash, are ended there without this process. Such
        items must write no files: their processes are killed, not interrupted.
        """
        super().__init__(num_workers, _IN_FLIGHT_A_WORKER * num_workers)
        self._is_apart = is_apart
        self._workers: list[_Worker] = []

    def __exit__(self, *_: object) -> None:
        workers, self._workers = self._workers, []
        _end(workers, is_at_once=self._is_apart)

    def _begin(self, function: Function, item: Any) -> Job:
        job = super()._begin(function, item)
        if self._workers or len(self._queue) > 1 or self._is_apart:
            while len(self._workers) < min(self.num_workers, len(self._queue) + self._num_busy()):
                self._workers.append(_start(job))
            self._give_out()
        return job

    def _finish(self, pending: Job) -> Any:
        if not (self._workers or pending.is_done):  # a single item is not worth a process
            self._queue.clear()
            return pending.function(pending.item)
        return super()._finish(pending)

    def _give_up(self) -> None:
        if self._num_busy():
            self.__exit__()

    def _num_busy(self) -> int:
        return sum(worker.job is not None for worker in self._workers)

    def _give_out(self) -> None:
        for worker in self._workers:
            if worker.job is None and self._queue and not self._has_failed:
                job = self._queue.popleft()
                try:
                    worker.give(job)
                except Exception as error:  # it cannot be pickled
                    self._settle(job, None, error)

    def _advance(self) -> None:
        busy = {worker.pipe: worker for worker in self._workers if worker.job is not None}
        for pipe in connection.wait(list(busy)):
            if done := busy[pipe].take():  # type: ignore[index]
                self._settle(*done)
        self._workers = [worker for worker in self._workers if not worker.is_dead]
        self._give_out()


class _Worker:
    """A process, and our end of the pipe to it."""

    def __init__(self, process: BaseProcess, pipe: connection.Connection) -> None:
        self.process, self.pipe = process, pipe
        self.is_dead = False
        self.job: Job | None = None
        self._function: Function | None = None  # that it has

    def give(self, job: Job) -> None:
        new_function = None if job.function is self._function else job.function
        message = pickle.dumps((new_function, job.item))
        self.job, self._function = job, job.function
        with contextlib.suppress(BrokenPipeError):  # it has died: `take` raises
            self.pipe.send_bytes(message)

    def take(self) -> tuple[Job, Any, BaseException | None] | None:
        """Return its job, the result and the error; None if it has sent a log message."""
        result: Any = None
        error: BaseException | None = None
        try:
            message = pickle.loads(self.pipe.recv_bytes())
            if isinstance(message, logging.LogRecord):
                logging.getLogger(message.name).handle(message)
                return None
            result, error = open_answer(message)
        except (EOFError, ConnectionResetError):
            self.process.join()
            self.is_dead = True
            error = ChildProcessError(_describe_end(self.process.exitcode))
        assert self.job is not None
        job, self.job = self.job, None
        return job, result, error


def _describe_end(exit_code: int | None) -> str:
    if exit_code is not None and exit_code < 0:
        name = signal.Signals(-exit_code).name
        hint = "; the system does that when memory is short" if name == "SIGKILL" else ""
        return f"a worker process was ended by {name}{hint}"
    return f"a worker process exited unexpectedly, with status {exit_code}"


def _context() -> SpawnContext | ForkServerContext | ForkContext:
    """Return how processes are made; only on Linux do all libraries bear to be forked."""
    if sys.platform != "linux":
        return multiprocessing.get_context("spawn")
    # Another thread might hold a lock, and a program with a handler of SIGCHLD reap our workers.
    reaps_own = signal.getsignal(signal.SIGCHLD) == signal.SIG_DFL
    if reaps_own and len(list_folder("/proc/self/task")) == 1:
        return multiprocessing.get_context("fork")
    context = multiprocessing.get_context("forkserver")
    # TensorFlow and PyTorch take seconds, and start threads; tasks that need them import them.
    are_heavy = not sys.modules.keys().isdisjoint(("tensorflow", "torch"))
    names = [name for name in sys.modules if name.startswith("bert_data.")]
    context.set_forkserver_preload([] if are_heavy else names)  # for the first worker of all
    return context


def _start(job: Job) -> _Worker:
    context = _context()
    ours, theirs = context.Pipe()
    level = logging.getLogger(_LOGGER).getEffectiveLevel()
    is_fork = isinstance(context, ForkContext)
    others = open_descriptors() if is_fork else None
    if others is not None:
        del others[theirs.fileno()]
    arguments = theirs, level, dict(os.environ), others
    process = context.Process(target=_work, args=arguments, daemon=True)
    # A new process inherits the mask, so that signals wait until it is ready for them.
    earlier = signal.pthread_sigmask(signal.SIG_BLOCK, _SIGNALS)
    try:
        with contextlib.nullcontext() if is_fork or _is_of_main(job) else _without_main():
            process.start()
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, earlier)
    theirs.close()
    return _Worker(process, ours)


def _is_of_main(job: Job) -> bool:
    """Whether a job holds what the main program defines; then workers must import it."""
    try:
        return b"__main__" in pickle.dumps((job.function, job.item))
    except Exception:  # it cannot be pickled: `_give_out` says so
        return False


@contextlib.contextmanager
def _without_main() -> Iterator[None]:
    """Keep new processes from running the main program, which may be a script without a guard."""
    main = sys.modules["__main__"]
    sys.modules["__main__"] = types.ModuleType("__main__")
    try:
        yield
    finally:
        sys.modules["__main__"] = main


def _end(workers: Iterable[_Worker], *, is_at_once: bool) -> None:
    """End idle workers, and interrupt the others so that they can remove unfinished files."""
    for worker in workers:
        if worker.job is None or is_at_once:
            worker.process.kill()
        else:
            worker.process.terminate()
    end = time.monotonic() + _GRACE_SECONDS
    for worker in workers:
        worker.process.join(max(0, end - time.monotonic()))
        worker.process.kill()
        worker.process.join()
        worker.process.close()
        worker.pipe.close()


def _let_go(descriptors: Mapping[int, os.stat_result]) -> None:
    """Let go of what is the parent's: locks and pipes that would outlive it, signals, its log."""
    signal.set_wakeup_fd(-1)
    replace_descriptors(descriptors)
    for logger in (logging.getLogger(), *map(logging.getLogger, logging.root.manager.loggerDict)):
        logger.handlers.clear()
        logger.filters.clear()
        logger.propagate = True


def _work(
    pipe: connection.Connection,
    log_level: int,
    environment: Mapping[str, str],
    descriptors: Mapping[int, os.stat_result] | None,
) -> None:
    """Run a worker process: it takes items and sends results or errors until the pipe is closed.

    Args:
      descriptors: of a fork: the files that its parent had open.
    """
    if descriptors is not None:
        _let_go(descriptors)
    os.environ.clear()  # it is that of the process which was forked
    os.environ.update(environment)
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the parent gets it too, and ends this process
    signal.signal(signal.SIGHUP, signal.SIG_IGN)
    signal.signal(signal.SIGTERM, _interrupt)
    threading.Thread(target=_end_with_parent, daemon=True).start()
    progress.say_in_log()
    log = _LogPipe(pipe)
    logging.getLogger().addHandler(log)
    logging.getLogger(_LOGGER).setLevel(log_level)
    try:
        signal.pthread_sigmask(signal.SIG_UNBLOCK, _SIGNALS)
        with contextlib.suppress(EOFError, ConnectionResetError, BrokenPipeError):
            for answer in _answers(pipe):
                log.send(answer)
    except KeyboardInterrupt:
        signal.signal(signal.SIGTERM, signal.SIG_DFL)
        os.kill(os.getpid(), signal.SIGTERM)


class _LogPipe(logging.Handler):
    def __init__(self, pipe: connection.Connection) -> None:
        super().__init__()
        self._pipe = pipe

    def emit(self, record: logging.LogRecord) -> None:
        with contextlib.suppress(OSError):  # the parent has gone
            self._pipe.send_bytes(pickle.dumps(picklable(record)))

    def send(self, answer: bytes) -> None:
        """Send something else, never in the middle of another thread's log message."""
        self.acquire()
        try:
            self._pipe.send_bytes(answer)
        finally:
            self.release()


def _interrupt(*_: object) -> None:
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    raise KeyboardInterrupt


def _answers(pipe: connection.Connection) -> Iterator[bytes]:
    """Yield the answer for each pickled item, see `bert_data.work.remote_calls`."""
    function: Function = repr
    while True:
        message = pipe.recv_bytes()
        try:
            new_function, item = pickle.loads(message)
        except Exception as error:
            yield pickle_error(error)
            continue
        function = new_function or function
        yield answer(function, item)


def _end_with_parent() -> None:
    parent = multiprocessing.parent_process()
    assert parent is not None
    connection.wait([parent.sentinel])
    os._exit(1)
