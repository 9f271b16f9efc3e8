"""Programs that start at once: a process that has loaded their modules forks for each of them.

    done = programs.run([script, "--input_file=a.txt"], cwd=folder)      as of subprocess.run
    program = tensorflow_programs.start([script, ...], cwd=folder)       as of subprocess.Popen

A program gets a process of its own, as if Python had started it: arguments, folder, environment,
signals, and the end as of any other. Only what it imports of `MODULES` is there already, and that
is most of what a short program takes; `tensorflow_programs` has TensorFlow, too. All have one hash
seed; that bytes do not depend on it is held by tests/test_golden_outputs.py, whose programs are
started by `subprocess`, as is any whose imports are what a test is about.
"""

import atexit
import contextlib
import ctypes
import gc
import importlib.util
import json
import os
import resource
import runpy
import select
import signal
import socket
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

# They define no flag and, like all that they import, load no TensorFlow.
MODULES = (
    "absl.app",
    "bert_data.curation.running.run",
    "bert_data.records.definition",
    "bert_data.records.sets.creating",
    "bert_data.records.sets.partitioned",
    "bert_data.gpt.export",
    "bert_data.records.sets.summary",
    "bert_data.records.formats.tfrecord",
    "bert_data.inspection.set_check",
    *(["pandas"] if importlib.util.find_spec("pandas") else []),  # pyarrow imports it
)
TENSORFLOW_MODULES = (
    *MODULES,
    "tensorflow",
    "tensorboard.summary.v2",
    "bert_data.hub",
    "bert_data.reader.tensors",
    "bert_data.recipes.recipe_source",
    "bert_data.training.loop",
)
LASTING_THREADS = {"jemalloc_bg_thd"}
"""Threads that start anew in a child."""


class Program:
    """A program that runs; names and meanings are those of `subprocess.Popen`."""

    returncode: int | None = None

    def __init__(self, arguments: list[str], status: int, stdout: int, stderr: int) -> None:
        self.args = arguments
        self.stdout, self.stderr = (os.fdopen(end, encoding="utf-8") for end in (stdout, stderr))
        self._status = os.fdopen(status, "rb", buffering=0)
        self.pid = int(self._status.read(8))

    def _has_ended(self, timeout: float | None) -> bool:
        waiting = select.poll()  # unlike select, it takes descriptors from 1,024 on
        waiting.register(self._status, select.POLLIN)
        return bool(waiting.poll(None if timeout is None else 1000 * timeout))

    def poll(self) -> int | None:
        if self.returncode is None and self._has_ended(0):
            self.wait()
        return self.returncode

    def wait(self, timeout: float | None = None) -> int:
        if self.returncode is None:
            if not self._has_ended(timeout):
                raise subprocess.TimeoutExpired(self.args, timeout or 0)
            self.returncode = int(self._status.read(8))
            self._status.close()
        return self.returncode

    def communicate(self, timeout: float | None = None) -> tuple[str, str]:
        with self.stdout, self.stderr, ThreadPoolExecutor(2) as readers:
            texts = readers.map(lambda file: file.read(), (self.stdout, self.stderr))
            self.wait(timeout)
            stdout, stderr = texts
        return stdout, stderr

    def send_signal(self, number: int) -> None:
        if self.poll() is None:
            os.kill(self.pid, number)

    def kill(self) -> None:
        self.send_signal(signal.SIGKILL)


class Programs:
    """The process that forks, and what it is asked for."""

    def __init__(self, checkout: Path, modules: tuple[str, ...] = MODULES) -> None:
        environment = {
            **os.environ,
            "PYTHONPATH": str(checkout),
            "OPENBLAS_NUM_THREADS": "1",
            # What TensorFlow would remark, a program that imports it keeps from being seen.
            "TF_CPP_MIN_LOG_LEVEL": "3",
        }
        self._socket, other = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        with other:
            # What Python takes for a file at its start cannot become a pipe later.
            self._server = subprocess.Popen(
                [sys.executable, __file__, *modules],
                stdin=other,
                stdout=subprocess.PIPE,
                env=environment,
            )

    def start(
        self,
        arguments: list[str],
        *,
        cwd: Path,
        env: dict[str, str] | None = None,
        max_file_bytes: int | None = None,
    ) -> Program:
        """Start `python ARGUMENTS`.

        Args:
          arguments: the program's path, or "-m" and a module's name; then what it is told.
          cwd: the folder that it runs in.
          env: its environment; None for that of this process.
          max_file_bytes: the size beyond which no file can grow; None for none.
        """
        sys.audit("os.fork")  # of a test that does not say so, see conftest.py
        task = {
            "arguments": arguments,
            "cwd": str(cwd),
            "env": dict(os.environ) if env is None else env,
            "max_file_bytes": max_file_bytes,
        }
        pipes = os.pipe(), os.pipe(), os.pipe()
        socket.send_fds(self._socket, [json.dumps(task).encode()], [end for _, end in pipes])
        for _, end in pipes:
            os.close(end)
        return Program(arguments, *(end for end, _ in pipes))

    def run(self, arguments: list[str], **options: Any) -> subprocess.CompletedProcess[str]:
        """Run `python ARGUMENTS` to its end; for the options see `start`."""
        program = self.start(arguments, **options)
        outputs = program.communicate()
        return subprocess.CompletedProcess(arguments, program.wait(), *outputs)

    def close(self) -> None:
        self._socket.close()
        self._server.communicate()


def wait_for_task(asked: socket.socket) -> tuple[dict[str, Any], list[int]]:
    """Fork for each task that comes; return it in the child, with the ends of pipes to write to."""
    ended, wake = os.pipe()
    os.set_blocking(wake, False)
    before = signal.set_wakeup_fd(wake)
    signal.signal(signal.SIGCHLD, lambda *_: None)  # without a handler, nothing is written to wake
    running: dict[int, int] = {}  # where to say how it ended, by process
    while True:
        ready, _, _ = select.select([asked, ended], [], [])
        if ended in ready:
            os.read(ended, 1000)
            tell_of_ends(running)
        if asked not in ready:
            continue
        message, descriptors, *_ = socket.recv_fds(asked, 1_000_000, 3)
        if not message:
            raise SystemExit
        status, *outputs = descriptors
        child = os.fork()
        if not child:
            signal.signal(signal.SIGCHLD, signal.SIG_DFL)
            signal.set_wakeup_fd(before)
            for descriptor in (ended, wake, status, *running.values()):
                os.close(descriptor)
            return json.loads(message), outputs
        os.write(status, b"%8d" % child)
        running[child] = status
        for output in outputs:
            os.close(output)


def tell_of_ends(running: dict[int, int]) -> None:
    """Write how processes have ended to those who wait for them."""
    while running:
        child, status = os.waitpid(-1, os.WNOHANG)
        if not child:
            return
        with contextlib.suppress(BrokenPipeError), os.fdopen(running.pop(child), "wb") as told:
            told.write(b"%8d" % os.waitstatus_to_exitcode(status))


def become(task: dict[str, Any], outputs: list[int]) -> None:
    """Make this process what a new one would be."""
    for number, descriptor in enumerate([os.open(os.devnull, os.O_RDONLY), *outputs]):
        os.dup2(descriptor, number)
        os.close(descriptor)
    os.environ.clear()
    os.environ.update(task["env"])
    os.chdir(task["cwd"])
    if task["max_file_bytes"] is not None:
        resource.setrlimit(resource.RLIMIT_FSIZE, (task["max_file_bytes"],) * 2)


def keep_modules() -> None:
    """Spare the end of each child to free what it has of its parent, which takes 0.1 s and more."""
    kept = list(sys.modules.items())

    def hide() -> None:
        for name, module in kept:
            if name not in ("sys", "builtins") and sys.modules.get(name) is module:
                ctypes.pythonapi.Py_IncRef(ctypes.py_object(module))
                ctypes.pythonapi.Py_IncRef(ctypes.py_object(module.__dict__))
                del sys.modules[name]

    atexit.register(hide)  # the first that is registered is the last that is called


if __name__ == "__main__":
    for module in sys.argv[1:]:
        importlib.import_module(module)
    keep_modules()
    gc.freeze()  # so that children do not write to pages that they share
    threads = {path.read_text().strip() for path in Path("/proc/self/task").glob("*/comm")}
    threads -= {Path("/proc/self/comm").read_text().strip(), *LASTING_THREADS}
    assert not threads, f"{threads} would be missing in a child"
    with socket.socket(fileno=os.dup(0)) as asked:
        arrived = wait_for_task(asked)
    become(*arrived)
    sys.argv = arrived[0]["arguments"]
    if sys.argv[0] == "-m":
        sys.path[0] = os.getcwd()
        del sys.argv[0]
        runpy.run_module(sys.argv[0], run_name="__main__", alter_sys=True)
    else:
        sys.path[0] = os.path.dirname(os.path.abspath(sys.argv[0]))
        runpy.run_path(sys.argv[0], run_name="__main__")
