"""Programs that start at once: a process that has loaded their modules forks for each of them.

    done = programs.run([script, "--input_file=a.txt"], cwd=folder)   as of subprocess.run

A program gets a process of its own, as if Python had started it: arguments, folder, environment,
signals, and the end as of any other. Only what it imports of `MODULES` is there already, and that
is most of what a short program takes. All have one hash seed; that bytes do not depend on it is
held by tests/test_golden_outputs.py, whose programs are started by `subprocess`, as is any whose
imports are what a test is about.
"""

import gc
import importlib
import json
import os
import resource
import runpy
import socket
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

# They start no thread, define no flag and, like all that they import, load no TensorFlow.
MODULES = (
    "absl.app",
    "bert_data.datasets.defined_examples",
    "bert_data.datasets.masked_lm",
    "bert_data.datasets.partitioned",
    "bert_data.datasets.summary",
    "bert_data.formats.tfrecord",
)


def has_ended(pid: int) -> bool:
    """Whether a process is gone, or only its parent has not noticed it yet."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] == "Z"
    except (FileNotFoundError, ProcessLookupError):
        return True


class Programs:
    """The process that forks, and what it is asked for."""

    def __init__(self, checkout: Path) -> None:
        environment = {**os.environ, "PYTHONPATH": str(checkout), "OPENBLAS_NUM_THREADS": "1"}
        self._socket, other = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        with other:
            # What Python takes for a file at its start cannot become a pipe later.
            self._server = subprocess.Popen(
                [sys.executable, __file__], stdin=other, stdout=subprocess.PIPE, env=environment
            )

    def run(
        self,
        arguments: list[str],
        *,
        cwd: Path,
        env: dict[str, str] | None = None,
        max_file_bytes: int | None = None,
    ) -> subprocess.CompletedProcess[str]:
        """Run `python ARGUMENTS` to its end.

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
        pipes = os.pipe(), os.pipe()
        socket.send_fds(self._socket, [json.dumps(task).encode()], [end for _, end in pipes])
        for _, end in pipes:
            os.close(end)
        with ThreadPoolExecutor(2) as readers:
            outputs = list(readers.map(read_all, [end for end, _ in pipes]))
        status = int(self._socket.recv(100))
        return subprocess.CompletedProcess(arguments, status, *outputs)

    def close(self) -> None:
        self._socket.close()
        self._server.communicate()


def read_all(descriptor: int) -> str:
    with open(descriptor, encoding="utf-8") as file:
        return file.read()


def wait_for_task(asked: socket.socket) -> tuple[dict[str, Any], list[int]]:
    """Fork for each task that comes; return it in the child, with the ends of pipes to write to."""
    while True:
        message, outputs, *_ = socket.recv_fds(asked, 1_000_000, 2)
        if not message:
            raise SystemExit
        child = os.fork()
        if not child:
            return json.loads(message), outputs
        for output in outputs:
            os.close(output)
        asked.send(b"%d" % os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))


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


if __name__ == "__main__":
    for module in MODULES:
        importlib.import_module(module)
    gc.freeze()  # so that children do not write to pages that they share
    assert len(os.listdir("/proc/self/task")) == 1, "a thread would be missing in a child"
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
