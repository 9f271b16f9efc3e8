"""The executor of a Ray cluster: tasks run on all its nodes.

    with RayTasks(0, address="10.0.0.1:6379", folder="out/.work") as executor:
        executor.ordered_map(run, tasks)  ->  run(tasks[0]), run(tasks[1]), ...

Nodes share only files with this process, the driver: functions, items and results are small, and
data stays on storage that all nodes see. A task whose worker or node dies runs again elsewhere. The
workers' log messages appear in the driver's log when their task is done.
"""

import contextlib
import functools
import os
import pickle
import re
import secrets
import time
from collections.abc import Callable
from typing import Any, Self

from absl import logging as absl_logging

import bert_data
from bert_data.checks import check_integer
from bert_data.errors import first_sentence
from bert_data.work.executor import MAX_WORKERS, Function, Job, QueuedExecutor
from bert_data.work.ray_cluster import Cluster, connected
from bert_data.work.remote_calls import Session, begin_session, call, open_message

_RETRIES = 3  # of a task whose worker died
_IN_FLIGHT_A_WORKER = 16
_BEGUN_A_CORE = 2  # so that the next task is there when one ends
_TICK_SECONDS = 1.0
_PART_BYTES = 50_000  # of a function; Ray sends larger arguments by the nodes' stores
_GRACE_SECONDS = 1.0  # for tasks to end by themselves when their map ends
_NO_ROOM_SECONDS = 600.0  # for a node with room for a task to join the cluster
_LOOK_SECONDS = 10.0
_NODE_OF_ERROR = re.compile(r"IP: ([^,)\s]+)")


class RayTasks(QueuedExecutor):
    """An executor of a Ray cluster, connected from `__enter__` to `__exit__`."""

    _cluster: Cluster

    def __init__(
        self,
        num_workers: int = 0,
        *,
        address: str | None = None,
        folder: str | None = None,
        task_bytes: int = 0,
    ) -> None:
        """Create the executor; it is not connected yet.

        Args:
          num_workers: tasks at a time, >= 0; 0: as many as the cluster has cores.
          folder: an existing one that all nodes must see; None: nothing is checked.
          task_bytes: memory that a task needs, >= 0.
        """
        num_workers = check_integer("num_workers", num_workers, 0, MAX_WORKERS)
        self._max_workers = num_workers
        super().__init__(max(1, num_workers), _IN_FLIGHT_A_WORKER * max(1, num_workers))
        self._address, self._folder, self._task_bytes = address, folder, task_bytes
        self._running: dict[Any, Job] = {}
        self._begun: tuple[Function | None, Any] = (None, None)  # a function, what begins its tasks
        self._marker, self._connection = contextlib.ExitStack(), contextlib.ExitStack()

    def __enter__(self) -> Self:
        with self._marker:
            self._session = begin_session(self._folder, self._marker, _name_node)
            self._connect()
            absl_logging.info("Ray: %s", self._cluster.describe())
            self._marker = self._marker.pop_all()
        return self

    def __exit__(self, *_: object) -> None:
        with self._marker:
            self._disconnect()

    def _connect(self) -> None:
        connection = connected(self._address, self._max_workers)
        self._cluster = self._connection.enter_context(connection)
        self._looked, self._had_room = -_LOOK_SECONDS, time.monotonic()
        self._look()

    def _disconnect(self) -> None:
        """End the connection, and with it all tasks: Ray ends their workers by SIGTERM.

        `ray.cancel` would do the same, but ends this process if a task is done at that moment.
        """
        self._begun, self._running = (None, None), {}
        self._connection.close()

    def _begin(self, function: Function, item: Any) -> Job:
        if not self._cluster.ray.is_initialized():
            self._connect()
        job = super()._begin(function, item)
        self._give_out()
        return job

    def _advance(self) -> None:
        self._collect()
        self._give_out()

    def _give_up(self) -> None:
        running, self._running = list(self._running), {}
        if running and self._cluster.is_lost:
            return
        if running:
            wait = self._cluster.ray.wait
            _, running = wait(running, num_returns=len(running), timeout=_GRACE_SECONDS)
        if running:
            self._disconnect()

    def _give_out(self) -> None:
        limit = self._max_workers or _BEGUN_A_CORE * self.num_workers
        while self._queue and len(self._running) < limit and not self._has_failed:
            job = self._queue.popleft()
            try:
                begin = self._remote(job.function)
                self._running[begin(self._cluster.ray.cloudpickle.dumps(job.item))] = job
            except (TypeError, AttributeError, pickle.PicklingError) as error:  # of pickling
                self._settle(job, None, error)

    def _remote(self, function: Function) -> Callable[[bytes], Any]:
        if self._begun[0] is not function:
            self._begun = (function, self._make_remote(function))
        return self._begun[1]

    def _make_remote(self, function: Function) -> Callable[[bytes], Any]:
        ray = self._cluster.ray
        remote = ray.remote(_call).options(
            num_cpus=1, memory=self._task_bytes or None, max_retries=_RETRIES, name=_name(function)
        )
        pickled, key = ray.cloudpickle.dumps(function), secrets.token_hex(8)
        parts = [pickled[n : n + _PART_BYTES] for n in range(0, len(pickled), _PART_BYTES)]
        return lambda item: remote.remote(self._session, key, item, *parts)

    def _collect(self) -> None:
        ray, running = self._cluster.ray, list(self._running)
        done, rest = ray.wait(running, num_returns=1, timeout=_TICK_SECONDS)
        if rest and done:
            done += ray.wait(rest, num_returns=len(rest), timeout=0)[0]
        for task in done:
            self._take(task)
        if self._cluster.check_head():
            self._look()

    def _take(self, task: Any) -> None:
        ray, result = self._cluster.ray, None
        error: BaseException | None
        try:
            result, error = open_message(ray.get(task, timeout=_TICK_SECONDS))
        except ray.exceptions.GetTimeoutError:
            return  # it is on its way from another node
        except ray.exceptions.RayError as failure:
            error = self._explain(failure)
        except Exception as failure:  # it cannot be unpickled
            error = failure
        self._settle(self._running.pop(task), result, error)

    def _explain(self, failure: Exception) -> Exception:
        kinds = self._cluster.ray.exceptions
        node = _NODE_OF_ERROR.search(str(failure))
        where = f"node {node[1]}" if node else "a node"
        if isinstance(failure, kinds.OutOfMemoryError):
            return MemoryError(
                f"{where} of the Ray cluster had too little memory for a task (tries:"
                f" {self._cluster.max_oom_tries}, reserved: {self._task_bytes // 1_000_000:,} MB);"
                " start Ray there with a smaller --num-cpus, so that fewer tasks share the memory"
            )
        cause = getattr(failure, "cause", failure)
        if isinstance(failure, kinds.RayTaskError) and not isinstance(cause, kinds.RayError):
            # Before `call` was reached.
            reason = first_sentence(cause)
            return ChildProcessError(
                f"{where} of the Ray cluster cannot run bert_data {bert_data.__version__}, which"
                f" must be installed on all nodes ({reason})"
            )
        if isinstance(failure, (kinds.WorkerCrashedError, kinds.NodeDiedError)):
            return ChildProcessError(
                f"a worker process of the Ray cluster died at the same task {_RETRIES + 1} times;"
                " the logs of its node, in /tmp/ray/session_latest/logs, say more"
            )
        reason = " ".join(str(cause).split())  # one of Ray's own errors, whose last line says why
        return ChildProcessError(f"the Ray cluster failed at a task: {reason}")

    def _look(self) -> None:
        """Look at the cluster from time to time: it may have grown, or have no room for a task."""
        now = time.monotonic()
        if now - self._looked < _LOOK_SECONDS:
            return
        self._looked = now
        for address in self._cluster.find_lost_nodes():
            absl_logging.warning(
                "node %s has left the Ray cluster; what it had begun runs again on others, at once"
                " or, if its network is gone, in seven minutes at most",
                address,
            )
        num_cores = max(1, self._cluster.num_cores())
        if not self._max_workers and num_cores != self.num_workers:
            self.num_workers = num_cores
            self.max_in_flight = _IN_FLIGHT_A_WORKER * num_cores
        if self._cluster.has_room(self._task_bytes):
            self._had_room = now
            return
        needs = f"a task needs a core and {self._task_bytes // 1_000_000:,} MB of memory"
        if self._cluster.is_own or now - self._had_room > _NO_ROOM_SECONDS:
            raise ValueError(f"{needs}, which no node of the Ray cluster has")
        absl_logging.warning("%s; waiting for a node that has both", needs)


def _call(session: Session, key: str, item: bytes, *function: bytes) -> bytes:
    """Call a function, whose parts came with the task.

    By Ray's stores, a node under load takes the driver for dead, and all of its tasks fail.
    """
    return call(session, key, b"".join(function), item)


def _name_node() -> str:
    import ray

    return f"{ray.util.get_node_ip_address()} ({os.uname().nodename})"


def _name(function: Function) -> str:
    while isinstance(function, functools.partial):
        function = function.func
    return getattr(function, "__name__", type(function).__name__)
