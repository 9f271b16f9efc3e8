"""The programs of Slurm that submit jobs, look at them and cancel them, and what a job runs.

jobs = Jobs("bert_data-1c9e")
jobs.submit([0, 1, 2], ["--output=..."], "exec python ...")   "123"
jobs.look()                                                    {"123_0": State("RUNNING", ...), ...}
"""

import os
import pickle
import re
import signal
import subprocess
import sys
import time
from collections.abc import Sequence
from typing import NamedTuple

from absl import logging

from bert_data.storage import read_bytes, write_bytes
from bert_data.work.remote_calls import call

USUAL_ARRAY_SIZE = 1000
RAN_OUT_OF_TIME = ("TIMEOUT", "DEADLINE")
CANCELLED = "CANCELLED"
FAILED = (
    "BOOT_FAIL", "FAILED", "NODE_FAIL", "OUT_OF_MEMORY", "PREEMPTED", "REVOKED",
    *RAN_OUT_OF_TIME, CANCELLED,
)  # fmt: skip
ENDED = (*FAILED, "COMPLETED")
"""States of jobs that have ended."""

_COMMAND_SECONDS = 60.0
_GRACE_SECONDS = 10.0  # for cancelled jobs to end
_LIMITS = re.compile(r"limit|invalid job array", re.IGNORECASE)
_BUSY = re.compile(r"timed out|unable to contact|temporarily|try again|slurm_load", re.IGNORECASE)


class LimitError(OSError):
    """Slurm takes no more jobs of this user for now, or no array of this size."""


class BusyError(OSError):
    """Slurm does not answer for now."""


class State(NamedTuple):
    """The state of an element of an array, such as RUNNING, and why it waits."""

    name: str
    reason: str = ""


class Jobs:
    """All jobs of one name, which nobody else uses."""

    def __init__(self, name: str) -> None:
        self.name = name

    def submit(
        self, indexes: Sequence[int], options: Sequence[str], script: str, *, most: int
    ) -> str:
        """Submit an array with ascending indexes, of which `most`, or all for 0, run at a time.

        Args:
          options: of sbatch, besides name and array.
          script: one line of shell.

        Returns:
          The job's id.

        Raises:
          LimitError, BusyError: it may be taken later.
        """
        shown = ",".join(map(str, indexes))
        if len(indexes) > 1 and indexes[-1] - indexes[0] == len(indexes) - 1:
            shown = f"{indexes[0]}-{indexes[-1]}"
        array = f"--array={shown}%{most}" if most else f"--array={shown}"
        own = ("--parsable", f"--job-name={self.name}", array)
        done = _run("sbatch", *own, *options, f"--wrap={script}")
        if done.returncode == 0:
            return done.stdout.strip().partition(";")[0]
        reason = _one_line(done.stderr)
        if _LIMITS.search(reason):
            raise LimitError(reason)
        raise (BusyError if _BUSY.search(reason) else OSError)(reason)

    def look(self) -> dict[str, State]:
        """Return the elements that Slurm knows, by id, such as 123_17; some have ended."""
        which = ("--noheader", "--array", "--states=all", f"--name={self.name}")
        done = _run("squeue", *which, "--format=%i|%T|%r")
        if done.returncode:
            raise BusyError(_one_line(done.stderr))
        rows = [line.strip().split("|") for line in done.stdout.splitlines() if line.strip()]
        return {row[0]: State(row[1], row[2]) for row in rows}

    def cancel(self) -> None:
        """Cancel all that have not ended, and wait for a moment until they have."""
        end, pause = time.monotonic() + _GRACE_SECONDS, 0.01
        is_taken = False
        while time.monotonic() < end:
            is_taken = is_taken or _run("scancel", f"--name={self.name}").returncode == 0
            done = _run("squeue", "--noheader", f"--name={self.name}", "--format=%i")
            if not done.stdout.strip() and (is_taken or not done.returncode):
                return
            time.sleep(pause)
            pause = min(2 * pause, 1.0)
        if not is_taken:
            logging.warning("Slurm does not answer; cancel by scancel --name=%s", self.name)


def is_installed() -> bool:
    """Whether this host has Slurm's programs."""
    return _run("sbatch", "--version").returncode == 0


def max_array_size() -> int:
    """Return the most elements of an array that the cluster allows, or raise ValueError."""
    found = re.search(r"MaxArraySize\s*=\s*(\d+)", _run("scontrol", "show", "config").stdout)
    if found and int(found[1]) < 2:
        raise ValueError("engine is 'slurm', but the cluster allows no job arrays (MaxArraySize)")
    return int(found[1]) - 1 if found else USUAL_ARRAY_SIZE


def find_in_accounts(job_ids: Sequence[str]) -> dict[str, State]:
    """Return the states of jobs that squeue has forgotten, where Slurm keeps accounts."""
    arrays = ",".join(sorted({each.partition("_")[0] for each in job_ids}))
    done = _run(
        *("sacct", "--noheader", "--parsable2", "--allocations", f"--jobs={arrays}"),
        "--format=JobID,State",
    )
    rows = [line.split("|") for line in done.stdout.splitlines() if "|" in line]
    return {row[0]: State(row[1].split(" ")[0]) for row in rows}  # "CANCELLED by 1000"


def _run(*command: str) -> subprocess.CompletedProcess[str]:
    """Run a program of Slurm; one that does not end, or is not there, counts as failed."""
    try:
        return subprocess.run(
            command,
            capture_output=True,
            text=True,
            check=False,
            timeout=_COMMAND_SECONDS,
            stdin=subprocess.DEVNULL,
        )
    except subprocess.TimeoutExpired:
        return subprocess.CompletedProcess(command, 1, "", f"{command[0]} timed out")
    except OSError as error:
        return subprocess.CompletedProcess(command, 1, "", f"{command[0]}: {error}")


def _one_line(text: str) -> str:
    return " ".join(text.split()) or "it says nothing"


def explain_loss(job_id: str, state: str, num_tries: int, log: str) -> Exception:
    """Return what the end of a job means to the user; `log` says, for a sentence, the log's end."""
    name = f"job {job_id} of Slurm"
    if state == CANCELLED:
        return ChildProcessError(f"{name} was cancelled{log}")
    if state in RAN_OUT_OF_TIME:
        return ChildProcessError(
            f"{name} reached its time limit; set a longer one by `slurm_options`, such as"
            f" --time=24:00:00{log}"
        )
    if state == "OUT_OF_MEMORY":
        return MemoryError(
            f"{name} had too little memory (tries: {num_tries}); ask for more by"
            f" `slurm_options`, such as --mem=4G{log}"
        )
    what = f"ended as {state}" if state else "vanished"
    return ChildProcessError(f"{name} {what}; its task was tried {num_tries} times{log}")


def main_of(function: bytes, items: Sequence[bytes]) -> str | None:
    """Return the path of the main program, if it has defined what a task needs."""
    needs = any(b"__main__" in pickled for pickled in (function, *items))
    return getattr(sys.modules["__main__"], "__file__", None) if needs else None


def name_node() -> str:
    """Return the name of this node."""
    return os.uname().nodename


def run_element() -> None:
    """Run the task of an element: `python -c PROGRAM ROOM ARRAY`, called by Slurm."""
    room, array = sys.argv[-2:]
    index = int(os.environ["SLURM_ARRAY_TASK_ID"])
    signal.signal(signal.SIGTERM, _interrupt)
    path, main, session, function, items = pickle.loads(
        read_bytes(os.path.join(room, f"{array}.tasks"))
    )
    sys.path[:] = path
    if main is not None:
        from multiprocessing import spawn

        spawn.prepare({"init_main_from_path": os.path.abspath(main)})
    message = call(session, f"{room}/{array}", function, items[index])
    write_bytes(os.path.join(room, "answers", f"{array}-{index}"), message)


def _interrupt(*_: object) -> None:
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    raise KeyboardInterrupt
