"""The executor of a Slurm cluster: tasks run in job arrays, by submitit.

    with SlurmTasks(8, folder="out/.work") as executor:
        executor.ordered_map(run, tasks)   sbatch --array=0-99%8, squeue from time to time

Function, items, answers and logs are files of a hidden folder, which all nodes must see. A job that
is lost (its process died, its node failed, it reached its time limit, it was preempted, nobody
knows it any more) is submitted again, up to three times, and not to a node that has lost two.
"""

import collections
import contextlib
import dataclasses
import os
import platform
import secrets
import shlex
import subprocess
import sys
import time
from collections.abc import Mapping
from functools import partial
from typing import Any, Self

from absl import logging

from bert_data import interrupts, storage
from bert_data.packages import load_package
from bert_data.work.executor import Function, Job, QueuedExecutor
from bert_data.work.remote_calls import Session, begin_session, call, open_message

_RETRIES, _IN_FLIGHT_A_WORKER, _ARRAY_SIZE = 3, 16, 1000
_PAUSE, _LOOK_PAUSE, _LAST_LOOK_PAUSE = 0.2, 1.0, 30.0  # seconds between listings, and squeue
_VISIBLE_SECONDS = 90.0  # until a network file system shows what other hosts have written
_COMMAND_SECONDS, _GRACE_SECONDS = 60.0, 10.0
_ALIVE = "COMPLETING CONFIGURING PENDING REQUEUED RESIZING RUNNING STAGE_OUT STOPPED SUSPENDED"


@dataclasses.dataclass(eq=False)
class _SlurmJob:
    """Tasks, their job as submitit has it, when it was seen to have ended, and its losses."""

    tasks: list[Job]
    submitted: Any = None
    ended: float = 0.0
    num_lost: int = 0


class SlurmTasks(QueuedExecutor):
    """An executor of a Slurm cluster; for the arguments see `open_executor`."""

    def __init__(
        self,
        num_workers: int = 0,
        *,
        options: Mapping[str, Any] = {},
        tasks_per_job: int = 1,
        folder: str | None = None,
        task_bytes: int = 0,
    ) -> None:
        """Create the executor; nothing is submitted yet."""
        workers = num_workers or _ARRAY_SIZE * tasks_per_job
        super().__init__(workers, _IN_FLIGHT_A_WORKER * workers)
        self._options, self._tasks_per_job, self._task_bytes = options, tasks_per_job, task_bytes
        self._folder = os.getcwd() if folder is None or storage.is_remote(folder) else folder
        self._name = f"bert_data-{secrets.token_hex(6)}"  # of all jobs
        self._array_size, self._look_pause = _ARRAY_SIZE, _LOOK_PAUSE
        self._next_try = self._next_look = 0.0
        self._waiting: list[_SlurmJob] = []
        self._jobs: dict[str, _SlurmJob] = {}  # that were submitted, by their ids
        self._losses: collections.Counter[str] = collections.Counter()  # of nodes
        self._function: Function | None = None  # of the last map
        self._stack = contextlib.ExitStack()

    def __enter__(self) -> Self:
        os.environ.setdefault("SUBMITIT_LOG_LEVEL", "NOCONFIG")  # else it writes to the terminal
        submitit: Any = load_package("submitit", "`engine=slurm`", extra="slurm")
        cloudpickle: Any = load_package("cloudpickle", "submitit", extra="slurm")
        if any(_run(program, "--version").returncode for program in ("sbatch", "srun")):
            where = "run the command on a host of the Slurm cluster"
            raise ValueError(f"engine is 'slurm', but there is no program sbatch here; {where}")
        storage.remove_abandoned(self._folder)
        self._session = begin_session(None, self._stack, platform.node)
        shared = storage.open_shared_folder(os.path.abspath(self._folder))
        self._room = self._stack.enter_context(shared)
        self._submitit = submitit.SlurmExecutor(folder=self._room)
        self._pickle = cloudpickle.dumps  # takes what a script defines, too
        logging.info("Slurm: all jobs are called %s", self._name)
        return self

    def __exit__(self, *_: object) -> None:
        with self._stack:
            self._give_up()

    def _begin(self, function: Function, item: Any) -> Job:
        if function is not self._function:
            path = os.path.join(self._room, f"{secrets.token_hex(4)}.function")
            storage.write_bytes(path, self._pickle(function))
            self._function, self._run = function, partial(_run_task, self._session, path)
        return super()._begin(function, self._pickle(item))

    def _advance(self) -> None:
        """Submit what waits; take the answers that have come, or wait for a moment."""
        size = self._tasks_per_job
        if not self._waiting and 2 * size * len(self._jobs) <= self.num_workers:
            while self._queue and len(self._waiting) < self._array_size and not self._has_failed:
                tasks = [self._queue.popleft() for _ in range(min(size, len(self._queue)))]
                self._waiting.append(_SlurmJob(tasks))
        if self._waiting and time.monotonic() >= self._next_try:
            self._submit(self._waiting[: self._array_size])
        answered = self._find_answered()
        for job in map(self._jobs.pop, answered):
            try:
                answers = [open_message(each) for each in filter(None, job.submitted.results())]
            except Exception as error:  # of submitit, with a traceback, or of unpickling
                answers = [(None, error)] * len(job.tasks)
            for task, answer in zip(job.tasks, answers, strict=True):
                self._settle(task, *answer)
        if answered:
            self._look_pause = _LOOK_PAUSE
        elif time.monotonic() < self._next_look:
            time.sleep(_PAUSE)
        else:
            self._look()
            self._next_look = time.monotonic() + self._look_pause
            self._look_pause = min(2 * self._look_pause, _LAST_LOOK_PAUSE)

    def _submit(self, jobs: list[_SlurmJob]) -> None:
        """Submit an array; what Slurm does not take is tried in a smaller one, or later."""
        calls = [partial(self._run, [task.item for task in job.tasks]) for job in jobs]
        self._submitit.update_parameters(**self._parameters())
        try:
            submitted = self._submitit.submit_array(calls)
        except RuntimeError as error:
            reason = " ".join(str(error).split())
            if len(jobs) == 1 and not (self._jobs or self._losses):
                raise OSError(f"Slurm does not take the job: {reason}") from None
            logging.warning("Slurm does not take %d jobs: %s", len(jobs), reason)
            self._losses.clear()  # perhaps no other node is left
            if self._jobs:  # their end may make room
                self._next_try = time.monotonic() + self._look_pause
            else:
                self._array_size = -(-len(jobs) // 2)
            return
        del self._waiting[: len(jobs)]
        for job, as_submitted in zip(jobs, submitted, strict=True):
            job.submitted, job.ended = as_submitted, 0.0
            self._jobs[as_submitted.job_id] = job

    def _parameters(self) -> dict[str, Any]:
        """Return submitit's parameters of the next jobs; None: as the cluster has it."""
        options, size = {**self._options}, self._tasks_per_job
        if self._task_bytes and not any(name.startswith("mem") for name in options):
            options["mem"] = f"{-(-self._task_bytes * size >> 20)}M"
        if lossy := [node for node, num_lost in self._losses.items() if num_lost > 1]:
            options["exclude"] = ",".join([*filter(None, [options.get("exclude")]), *lossy])
        path = shlex.quote(os.pathsep.join(filter(None, sys.path)))
        return {
            "job_name": self._name,
            "time": None,
            "wckey": None,
            "ntasks_per_node": size,
            "array_parallelism": -(-self.num_workers // size),
            "stderr_to_stdout": True,
            "srun_args": ["--output=all"],  # to the job's own log
            "setup": [
                f"export PYTHONSAFEPATH=1 PYTHONPATH={path}",
                "export SRUN_CPUS_PER_TASK=${SLURM_CPUS_PER_TASK:-1}",  # else srun takes one
            ],
            # In place of submitit's signal, which requeues: SIGTERM ends a task, and we submit it.
            "additional_parameters": {"signal": "B:CONT@1", "no-requeue": True, **options},
        }

    def _find_answered(self) -> list[str]:
        """Return the jobs whose tasks have all answered, as the folder shows."""
        names = [name.rsplit("_", 2) for name in storage.list_folder(self._room)]
        count = collections.Counter(name[0] for name in names if name[-1] == "result.pkl")
        return [each for each in self._jobs if count[each] == self._tasks_per_job]

    def _look(self) -> None:
        """Ask Slurm what has become of the jobs without an answer."""
        which = ("--noheader", "--array", "--states=all", f"--name={self._name}")
        done = _run("squeue", *which, "--Format=JobArrayID:|,State:|,NodeList:|,exit_code:|")
        if done.returncode:
            logging.warning("Slurm does not answer (%s); waiting for it", done.stderr.strip())
            return
        rows = [[cell.strip() for cell in row.split("|")] for row in done.stdout.splitlines()]
        states = {job_id: values for job_id, *values, _ in rows}
        now = time.monotonic()
        for job_id in self._jobs.keys() - self._find_answered():
            state, node, status = states.get(job_id, ("", "", ""))
            if state not in _ALIVE.split():
                self._jobs[job_id].ended = ended = self._jobs[job_id].ended or now
                if state not in ("", "COMPLETED") or now - ended > _VISIBLE_SECONDS:
                    self._lose(self._jobs.pop(job_id), state, node, status)

    def _lose(self, job: _SlurmJob, state: str, node: str, status: str) -> None:
        """Keep the log of a job that ended without an answer; submit it again, or fail."""
        job.num_lost += 1
        self._losses[node] += state in ("BOOT_FAIL", "FAILED", "NODE_FAIL")
        code = os.waitstatus_to_exitcode(int(status)) if status.isdigit() else status
        job_id = job.submitted.job_id
        what = f"job {job_id} of Slurm {f'ended as {state}' if state else 'vanished'}"
        what += f" on node {node or 'unknown'} with exit code {code}, try {job.num_lost}"
        path = f"slurm-{job_id}-{node}-exit-{code}.log"  # in the current folder, as Slurm's own
        try:
            text = storage.read_bytes(str(job.submitted.paths.stdout))
            storage.write_bytes(path, text)
            end = " ".join(text.decode(errors="replace").split())[-500:]
            what += f"; its log, {path}, ends in: {end}"
        except OSError:
            what += f"; it has no log: do all nodes see {os.path.dirname(self._room)}?"
        if state != "CANCELLED" and job.num_lost <= _RETRIES:
            logging.warning("%s; it runs again", what)
            self._waiting.append(job)
            return
        for task in job.tasks:
            self._settle(task, None, ChildProcessError(what))

    def _give_up(self) -> None:
        """Cancel all jobs that are left, and wait for a moment until they have ended."""
        self._waiting.clear()
        self._jobs.clear()
        which, end = f"--name={self._name}", time.monotonic() + _GRACE_SECONDS
        while _run("scancel", which).returncode or _run("squeue", "--noheader", which).stdout:
            if time.monotonic() > end:
                logging.warning("jobs may still run; end them by scancel %s", which)
                return
            time.sleep(_PAUSE)


def _run(*command: str) -> "subprocess.CompletedProcess[str]":
    """Run a program of Slurm; one that does not end, or is not there, counts as failed."""
    try:
        return subprocess.run(command, capture_output=True, text=True, timeout=_COMMAND_SECONDS)
    except (OSError, subprocess.TimeoutExpired) as error:
        return subprocess.CompletedProcess(command, 1, "", str(error))


def _run_task(session: Session, path: str, items: list[bytes]) -> bytes:
    """Run the task of a job that has this process's number; return its message."""
    interrupts.raise_on_signals()  # so that SIGTERM lets it clean up
    mine = items[int(os.environ["SLURM_PROCID"]) :][:1]
    return call(session, path, storage.read_bytes(path), mine[0]) if mine else b""
