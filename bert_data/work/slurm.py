"""The engine and the executor of a Slurm cluster: tasks are elements of job arrays.

    with SlurmTasks(8, folder="out/.work") as executor:
        executor.ordered_map(run, tasks)   sbatch --array=0-99%8, squeue from time to time

    out/.work/.shared.HOST-1c9e.writing/   a folder that all nodes must see
        0.tasks                            the function and the items of array 0
        answers/0-17                       what element 17 of it answered
        123_17.log                         what it printed, as job 123_17 of Slurm

Each element calls the function on one item, as workers of Ray do (`remote_calls.py`). One that is
lost (its process died, its node failed, it was preempted, nobody knows it any more) is submitted
again, up to three times. At the end of a map that ends early, the jobs are cancelled.
"""

import contextlib
import dataclasses
import itertools
import os
import pickle
import re
import secrets
import shlex
import sys
import time
from collections.abc import Iterable, Sequence
from typing import Annotated, Any, Self

from absl import logging

from bert_data import storage
from bert_data.progress import how_many
from bert_data.settings import Within, check_settings
from bert_data.work.executor import Engine, Executor, Job, QueuedExecutor
from bert_data.work.remote_calls import begin_session, open_message
from bert_data.work.slurm_jobs import (
    CANCELLED,
    ENDED,
    FAILED,
    RAN_OUT_OF_TIME,
    USUAL_ARRAY_SIZE,
    BusyError,
    Jobs,
    LimitError,
    State,
    explain_loss,
    find_in_accounts,
    is_installed,
    main_of,
    max_array_size,
    name_node,
)

_RETRIES = 3  # of a task that was lost
_IN_FLIGHT_A_WORKER = 16
_FIRST_PAUSE, LAST_PAUSE = 0.01, 2.0  # seconds between two listings of the answers
FIRST_LOOK, LAST_LOOK = 1.0, 30.0  # seconds between two calls of squeue
VISIBLE_SECONDS = 90.0  # until a network file system shows what other hosts have written
SILENCE_SECONDS = 1800.0  # in which Slurm does not answer
_SAY_SECONDS = 300.0
_OWN_OPTIONS = re.compile(
    r"--(array|wrap|output|error|job-name|chdir|parsable|wait|export)(=|$)|-[aoeJDW]"
)
_PROGRAM = "from bert_data.work.slurm_jobs import run_element; run_element()"


@dataclasses.dataclass(frozen=True, kw_only=True)
class Slurm(Engine):
    """A Slurm cluster.

    Attributes:
      slurm_options: options of sbatch for each task, separated by spaces, such as
        "--partition=long --time=4:00:00 --mem=2G". By default a task asks for one core and the
        memory that it needs.
      slurm_array_size: most tasks of a job array; 0: as many as the cluster allows (MaxArraySize).
    """

    name = "slurm"
    slurm_options: str = ""
    slurm_array_size: Annotated[int, Within(0, 10_000_000)] = 0

    def __post_init__(self) -> None:
        check_settings(self)
        self.sbatch_options()

    def sbatch_options(self) -> list[str]:
        """Return the options of sbatch; raise ValueError if one is what the command itself sets."""
        try:
            options = shlex.split(self.slurm_options)
        except ValueError as error:
            raise ValueError(f"slurm_options is {self.slurm_options!r}: {error}") from None
        for option in filter(_OWN_OPTIONS.match, options):
            name = option.partition("=")[0]
            raise ValueError(
                f"slurm_options is {self.slurm_options!r}; the command itself sets {name}"
            )
        return options

    def open_executor(self, num_workers: int, *, folder: str | None, task_bytes: int) -> Executor:
        """Return what runs tasks as jobs; its files are in the folder, if that is a local one."""
        return SlurmTasks(num_workers, settings=self, folder=folder, task_bytes=task_bytes)


@dataclasses.dataclass(eq=False, slots=True)
class _Element:
    """A task that was submitted.

    Attributes:
      array, index: its array, by our number, and its place there.
      job_id: of Slurm, such as 123_17.
      num_lost: how often it was lost.
      missing_since: when it had first ended without an answer that is visible here.
    """

    job: Job
    array: int
    index: int
    job_id: str = ""
    num_lost: int = 0
    missing_since: float | None = None

    @property
    def answer(self) -> str:
        return f"{self.array}-{self.index}"


class SlurmTasks(QueuedExecutor):
    """An executor of a Slurm cluster."""

    _room: str

    def __init__(
        self,
        num_workers: int = 0,
        *,
        settings: Slurm = Slurm(),
        folder: str | None = None,
        task_bytes: int = 0,
    ) -> None:
        """Create the executor; nothing is submitted yet.

        Args:
          num_workers: elements of an array that run at a time; 0: as many as Slurm starts.
          folder: an existing one that all nodes see; None, or a remote one: the current folder.
          task_bytes: memory that a task needs, >= 0; 0: what Slurm gives.
        """
        super().__init__(max(1, num_workers), _IN_FLIGHT_A_WORKER * max(1, num_workers))
        self._max_workers = num_workers
        self._settings, self._task_bytes = settings, task_bytes
        self._folder = os.getcwd() if folder is None or storage.is_remote(folder) else folder
        self._jobs = Jobs(f"bert_data-{secrets.token_hex(6)}")
        self._elements: dict[str, _Element] = {}  # by the names of their answers
        self._again: list[_Element] = []  # were lost, and wait to be submitted
        self._is_submitting = self._may_run_twice = False
        self._numbers = itertools.count()  # of arrays
        self._stack = contextlib.ExitStack()
        self._array_size = settings.slurm_array_size or USUAL_ARRAY_SIZE

    def __enter__(self) -> Self:
        if not is_installed():
            raise ValueError(
                "engine is 'slurm', but there is no program sbatch here; run the command on a host"
                " of the Slurm cluster"
            )
        if not self._settings.slurm_array_size:
            self._array_size = max_array_size()
        if not self._max_workers:
            self.num_workers, self.max_in_flight = self._array_size, 2 * self._array_size
        with self._stack:
            storage.remove_abandoned(self._folder)
            parent = os.path.abspath(self._folder)
            self._room = self._stack.enter_context(storage.open_shared_folder(parent))
            storage.make_folder(os.path.join(self._room, "answers"))
            self._session = begin_session(self._room, self._stack, name_node)
            self._stack = self._stack.pop_all()
        logging.info(
            "Slurm: jobs are called %s, with up to %d tasks", self._jobs.name, self._array_size
        )
        return self

    def __exit__(self, *_: object) -> None:
        with self._stack:
            self._give_up()

    def _finish(self, pending: Job) -> Any:
        self._pause, self._look_pause = _FIRST_PAUSE, FIRST_LOOK
        self._answered = self._said = time.monotonic()
        self._next_look, self._next_try = self._answered + FIRST_LOOK, 0.0
        return super()._finish(pending)

    def _advance(self) -> None:
        self._submit()
        self._collect()

    def _submit(self) -> None:
        """Submit lost tasks, and those that wait if few others are left to run."""
        if time.monotonic() < self._next_try:
            return
        self._again.sort(key=lambda each: (each.array, each.index))
        for array, same in itertools.groupby(list(self._again), key=lambda each: each.array):
            lost = list(same)[: self._array_size]
            if self._sbatch(array, lost):
                self._again = [each for each in self._again if each not in lost]
        few = (self._max_workers or self._array_size) // 2
        while self._queue and not self._has_failed and len(self._elements) <= few:
            if not self._submit_array():
                return

    def _submit_array(self) -> bool:
        """Submit waiting tasks of one function; return False if Slurm takes them only later."""
        function = self._queue[0].function
        jobs: list[Job] = []
        items: list[bytes] = []
        try:
            pickled = pickle.dumps(function)
            for job in itertools.islice(self._queue, self._array_size):
                if job.function is not function:
                    break
                items.append(pickle.dumps(job.item))
                jobs.append(job)
        except Exception as error:  # it cannot be pickled
            if not jobs:
                self._settle(self._queue.popleft(), None, error)
                return True
        array = next(self._numbers)
        tasks = (sys.path, main_of(pickled, items), self._session, pickled, items)
        storage.write_bytes(os.path.join(self._room, f"{array}.tasks"), pickle.dumps(tasks))
        elements = [_Element(job, array, index) for index, job in enumerate(jobs)]
        is_taken = self._sbatch(array, elements)
        if is_taken:
            self._elements.update({each.answer: each for each in elements})
            for _ in jobs:
                self._queue.popleft()
        return is_taken

    def _sbatch(self, array: int, elements: Sequence[_Element]) -> bool:
        """Submit an array; return False if Slurm takes it only later, or only a smaller one."""
        own = self._settings.sbatch_options()
        needs_memory = self._task_bytes and not any(each.startswith("--mem") for each in own)
        self._next_try = time.monotonic() + self._look_pause  # unless this one is taken
        options = [
            f"--output={self._room.replace('%', '%%')}/%A_%a.log",
            f"--chdir={os.getcwd()}",
            "--ntasks=1",
            "--cpus-per-task=1",
            *([f"--mem={-(-self._task_bytes >> 20)}M"] if needs_memory else []),
            *own,
        ]
        path = os.pathsep.join(filter(None, sys.path))
        program = ["env", f"PYTHONPATH={path}", sys.executable, "-P", "-c", _PROGRAM]
        script = f"exec {shlex.join([*program, self._room, str(array)])}"
        self._is_submitting = True
        try:
            indexes = [each.index for each in elements]
            job_id = self._jobs.submit(indexes, options, script, most=self._max_workers)
        except LimitError as error:
            if len(self._elements) == len(self._again):  # none is there that will make room
                if len(elements) == 1:
                    raise OSError(f"Slurm does not take the job: {error}") from None
                self._array_size = len(elements) // 2
            return False
        except BusyError as error:
            self._may_run_twice = True  # what timed out may have been taken
            self._wait_for_slurm(error)
            return False
        except OSError as error:
            raise OSError(f"Slurm does not take the job: {error}") from None
        self._is_submitting, self._next_try = False, 0.0
        for each in elements:
            each.job_id, each.missing_since = f"{job_id}_{each.index}", None
        logging.info("Slurm: job %s has %s", job_id, how_many(len(elements), "task"))
        return True

    def _wait_for_slurm(self, error: BusyError) -> None:
        """Warn that Slurm does not answer, or raise it if that has been so for long."""
        if time.monotonic() - self._answered > SILENCE_SECONDS:
            raise ConnectionError(f"Slurm does not answer: {error}") from None
        logging.warning("Slurm does not answer (%s); waiting for it", error)

    def _collect(self) -> None:
        """Take the answers that are there, or wait for a moment."""
        names = self._answers() & self._elements.keys()
        for name in names:
            element = self._elements.pop(name)
            self._take(element)
        if names:
            self._again = [each for each in self._again if each.answer not in names]
            self._pause, self._answered = _FIRST_PAUSE, time.monotonic()
            return
        if time.monotonic() > self._next_look:
            self._look()
            self._look_pause = min(2 * self._look_pause, LAST_LOOK)
            self._next_look = time.monotonic() + self._look_pause
        time.sleep(self._pause)
        self._pause = min(1.5 * self._pause, LAST_PAUSE)

    def _answers(self) -> set[str]:
        return set(storage.list_folder(os.path.join(self._room, "answers")))

    def _take(self, element: _Element) -> None:
        path = os.path.join(self._room, "answers", element.answer)
        try:
            result, error = open_message(storage.read_bytes(path))
        except Exception as failure:  # it cannot be unpickled
            result, error = None, failure
        storage.remove(path)
        self._settle(element.job, result, error)

    def _look(self) -> None:
        """Ask Slurm what has become of the tasks without an answer."""
        try:
            states = self._jobs.look()
        except BusyError as error:
            self._wait_for_slurm(error)
            return
        self._answered = now = time.monotonic()
        self._say_why_nothing_runs(states.values(), now)
        submitted = [each for each in self._elements.values() if each not in self._again]
        ended = [
            each for each in submitted
            if each.job_id not in states or states[each.job_id].name in ENDED
        ]  # fmt: skip
        if unknown := [each.job_id for each in ended if each.job_id not in states]:
            states |= find_in_accounts(unknown)
        answers = self._answers() if ended else set()
        for each in ended:
            state = states.get(each.job_id, State("")).name
            each.missing_since = each.missing_since or now
            is_late = now - each.missing_since > VISIBLE_SECONDS
            if each.answer not in answers and (state in FAILED or is_late):
                self._lose(each, state)

    def _say_why_nothing_runs(self, states: Iterable[State], now: float) -> None:
        left = [state for state in states if state.name not in ENDED]
        if any(state.name != "PENDING" for state in left) or not left:
            self._said = now
        elif now - self._said > _SAY_SECONDS:
            self._said = now
            reasons = ", ".join(sorted({state.reason for state in left}))
            logging.warning("Slurm has run none of the tasks for a while (%s)", reasons)

    def _lose(self, element: _Element, state: str) -> None:
        """Submit a task again that ended without an answer, or raise what became of it."""
        element.num_lost += 1
        log = self._last_line(element.job_id)
        if state not in (CANCELLED, *RAN_OUT_OF_TIME) and element.num_lost <= _RETRIES:
            what = f"ended as {state}" if state else "vanished"
            logging.warning("job %s of Slurm %s%s; it runs again", element.job_id, what, log)
            self._again.append(element)
            self._may_run_twice = True  # Slurm may run it again by itself, or have forgotten it
            return
        error = explain_loss(element.job_id, state, element.num_lost, log)
        del self._elements[element.answer]
        self._settle(element.job, None, error)

    def _last_line(self, job_id: str) -> str:
        """Return the end of a job's log, for a sentence."""
        try:
            text = storage.read_bytes(os.path.join(self._room, f"{job_id}.log"))
        except OSError:
            return f"; it has no log: do all nodes see {os.path.dirname(self._room)}?"
        lines = text.decode(errors="replace").strip().splitlines()
        return f"; the last line of its log: {lines[-1][:500]}" if lines else "; its log is empty"

    def _give_up(self) -> None:
        """Cancel the jobs that have no answer yet, and those that run beside another one."""
        if self._elements or self._is_submitting or self._may_run_twice:
            self._elements.clear()
            self._again.clear()
            self._jobs.cancel()
        self._is_submitting = self._may_run_twice = False
