"""A Slurm of the test's own: its programs, and a process that starts the elements of job arrays.

    with Cluster(folder) as cluster:                cluster.bin is for PATH
        cluster.ask("end", "1_0", "NODE_FAIL")      kills element 0 of job 1

The process forks for each element, so that Python and its modules are there already.
"""

import contextlib
import gc
import importlib
import json
import os
import select
import shlex
import signal
import socket
import subprocess
import sys
import traceback
from pathlib import Path
from typing import Any, Self

PROGRAMS = ("sbatch", "squeue", "scancel", "sacct", "scontrol")
MODULES = ("bert_data.work.slurm", "tests.work.test_executor", "tests.work.test_slurm")
NUM_CORES = 4
_PROGRAM = """#!{python} -SE
import json, os, socket, sys
with socket.socket(socket.AF_UNIX) as asked:
    asked.connect({address!r})
    words = [os.path.basename(sys.argv[0]), *sys.argv[1:]]
    asked.sendall(json.dumps([words, dict(os.environ)]).encode() + b"\\n")
    code, out, err = json.load(asked.makefile())
sys.stdout.write(out), sys.stderr.write(err)
sys.exit(code)
"""


class Cluster:
    """A cluster, between `__enter__` and `__exit__`."""

    def __init__(self, folder: Path) -> None:
        self.bin, self._address = folder / "bin", str(folder / "socket")
        self.bin.mkdir()
        for name in PROGRAMS:
            path = self.bin / name
            path.write_text(_PROGRAM.format(python=sys.executable, address=self._address))
            path.chmod(0o755)

    def __enter__(self) -> Self:
        checkout = str(Path(__file__).resolve().parents[2])
        self._process = subprocess.Popen(
            [sys.executable, "-m", "tests.work.slurm_cluster", self._address],
            env={**os.environ, "PYTHONPATH": checkout, "OPENBLAS_NUM_THREADS": "1"},
            stdout=subprocess.PIPE,
            cwd=checkout,
        )
        assert self._process.stdout is not None
        assert self._process.stdout.readline() == b"begun\n"
        return self

    def __exit__(self, *_: object) -> None:
        self._process.terminate()
        self._process.communicate()

    def ask(self, *words: str) -> str:
        """Run a command of Slurm, or one of the test; return what it printed."""
        with socket.socket(socket.AF_UNIX) as asked:
            asked.connect(self._address)
            asked.sendall(json.dumps([words, dict(os.environ)]).encode() + b"\n")
            code, out, err = json.load(asked.makefile())
        assert code == 0, err
        return str(out)

    def jobs(self) -> dict[str, str]:
        """Return the states of all elements, by their ids."""
        return dict(line.split("|") for line in self.ask("jobs").splitlines())

    def set(self, name: str, value: Any) -> None:
        """Set a number of the `Controller`."""
        self.ask("set", name, json.dumps(value))


class Refusal(Exception):
    """A program ends with this on standard error."""


class Element:
    """An element of a job array."""

    def __init__(self, options: dict[str, str], job: int, index: int, env: dict[str, str]) -> None:
        self.options, self.index, self.env = options, index, env
        self.id, self.name = f"{job}_{index}", options["--job-name"]
        _, _, throttle = options["--array"].partition("%")
        self.array, self.throttle = job, int(throttle or 10**9)
        self.state, self.pid = "PENDING", 0
        self.is_listed = self.is_accounted = True

    def start(self) -> None:
        self.pid, self.state = os.fork(), "RUNNING"
        if self.pid:
            return
        code = 1
        with contextlib.suppress(BaseException):
            code = self._run()
        os._exit(code)

    def _run(self) -> int:
        """Do what the shell does with `exec env PYTHONPATH=... python -P -c CODE ARGUMENT ...`."""
        path = (
            self.options["--output"].replace("%A", str(self.array)).replace("%a", str(self.index))
        )
        output = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
        os.dup2(output, 1)
        os.dup2(output, 2)
        signal.signal(signal.SIGTERM, signal.SIG_DFL)
        os.environ.clear()
        os.environ.update(self.env, SLURM_ARRAY_TASK_ID=str(self.index))
        os.chdir(self.options["--chdir"])
        words = shlex.split(self.options["--wrap"])
        assert words[:2] == ["exec", "env"] and words[4:6] == ["-P", "-c"]
        sys.path[:] = words[2].removeprefix("PYTHONPATH=").split(":")
        sys.argv = ["-c", *words[7:]]
        try:
            exec(words[6], {"__name__": "__main__"})
        except BaseException:
            traceback.print_exc()
            return 1
        finally:
            sys.stdout.flush()
            sys.stderr.flush()
        return 0

    def end(self, state: str) -> None:
        if self.state == "RUNNING":
            os.kill(self.pid, signal.SIGKILL if state != "CANCELLED" else signal.SIGTERM)
            os.waitpid(self.pid, 0)
        if self.state in ("RUNNING", "PENDING"):
            self.state = state


class Controller:
    """The requests of the programs.

    Attributes:
      max_array_size: as in `scontrol show config`.
      max_jobs: elements that one user may have submitted.
      num_failures: so many commands fail before the others.
      num_unanswered: so many arrays are taken, though sbatch does not learn of it.
    """

    def __init__(self) -> None:
        self.max_array_size, self.max_jobs = 1001, 10**9
        self.num_failures = self.num_unanswered = 0
        self._elements: list[Element] = []
        self._num_jobs = 0
        self._options: list[list[str]] = []

    @property
    def _left(self) -> list[Element]:
        return [each for each in self._elements if each.state in ("RUNNING", "PENDING")]

    def answer(self, words: list[str], env: dict[str, str]) -> tuple[int, str, str]:
        """Return the exit status of a program, and what it prints."""
        name, *rest = words
        if self.num_failures and name in PROGRAMS:
            self.num_failures -= 1
            return 1, "", f"{name}: error: Unable to contact slurm controller\n"
        options = dict(word.partition("=")[::2] for word in rest if word.startswith("--"))
        try:
            return 0, getattr(self, f"_{name}")(rest, options, env), ""
        except Refusal as error:
            return 1, "", f"{name}: error: {error}\n"

    def _sbatch(self, words: list[str], options: dict[str, str], env: dict[str, str]) -> str:
        if words == ["--version"]:
            return "slurm 0\n"
        self._options.append(words)
        indexes: list[int] = []
        for part in options["--array"].partition("%")[0].split(","):
            first, _, last = part.partition("-")
            indexes += range(int(first), int(last or first) + 1)
        if max(indexes) >= self.max_array_size:
            raise Refusal("Batch job submission failed: Invalid job array specification")
        if len(self._left) + len(indexes) > self.max_jobs:
            raise Refusal("AssocMaxSubmitJobLimit")
        if options.get("--partition") == "none":
            raise Refusal("invalid partition specified: none")
        self._num_jobs += 1
        self._elements += [Element(options, self._num_jobs, index, env) for index in indexes]
        if self.num_unanswered:
            self.num_unanswered -= 1
            raise Refusal("Batch job submission failed: Socket timed out on send/recv operation")
        return f"{self._num_jobs}\n"

    def _squeue(self, words: list[str], options: dict[str, str], env: dict[str, str]) -> str:
        listed = self._elements if "--states" in options else self._left
        own = [each for each in listed if each.is_listed and each.name == options["--name"]]
        texts = [options["--format"].replace("%i", each.id) for each in own]
        pairs = zip(texts, own, strict=True)
        return "".join(f"{t.replace('%T', e.state).replace('%r', 'None')}\n" for t, e in pairs)

    def _scancel(self, words: list[str], options: dict[str, str], env: dict[str, str]) -> str:
        for each in self._left:
            if each.name == options.get("--name") or each.id in words:
                each.end("CANCELLED")
        return ""

    def _sacct(self, words: list[str], options: dict[str, str], env: dict[str, str]) -> str:
        asked = options["--jobs"].split(",")
        own = [e for e in self._elements if str(e.array) in asked and e.is_accounted]
        return "".join(f"{each.id}|{each.state} by 0\n" for each in own)

    def _scontrol(self, words: list[str], options: dict[str, str], env: dict[str, str]) -> str:
        return f"MailProg = /bin/mail\nMaxArraySize            = {self.max_array_size}\n"

    def _set(self, words: list[str], options: dict[str, str], env: dict[str, str]) -> str:
        setattr(self, words[0], json.loads(words[1]))
        return ""

    def _jobs(self, words: list[str], options: dict[str, str], env: dict[str, str]) -> str:
        return "".join(f"{each.id}|{each.state}\n" for each in self._elements)

    def _end(self, words: list[str], options: dict[str, str], env: dict[str, str]) -> str:
        """end ID STATE [squeue [sacct]]: kill an element, of which these then do not know."""
        (element,) = [each for each in self._elements if each.id == words[0]]
        element.end(words[1])
        element.is_listed, element.is_accounted = "squeue" not in words, "sacct" not in words
        return ""

    def _submitted(self, words: list[str], options: dict[str, str], env: dict[str, str]) -> str:
        return json.dumps(self._options)

    def step(self) -> bool:
        """See who has ended, and start whom there is room for; return whether any element runs."""
        running = [each for each in self._elements if each.state == "RUNNING"]
        for each in running:
            pid, status = os.waitpid(each.pid, os.WNOHANG)
            if pid:
                each.state = "FAILED" if status else "COMPLETED"
        running = [each for each in running if each.state == "RUNNING"]
        for each in self._elements:
            own = sum(other.array == each.array for other in running)
            if each.state == "PENDING" and len(running) < NUM_CORES and own < each.throttle:
                each.start()
                running.append(each)
        return bool(running)

    def stop(self) -> None:
        for each in self._left:
            each.end("CANCELLED")


def main() -> None:
    for module in MODULES:
        importlib.import_module(module)
    from bert_data.work.remote_calls import digest_of_code

    digest_of_code()  # which each element would compute
    gc.freeze()
    controller = Controller()
    signal.signal(signal.SIGTERM, lambda *_: sys.exit())
    with socket.socket(socket.AF_UNIX) as server:
        server.bind(sys.argv[1])
        server.listen(100)
        print("begun", flush=True)
        try:
            while True:
                has_running = controller.step()
                ready, _, _ = select.select([server], [], [], 0.005 if has_running else None)
                if ready:
                    client, _ = server.accept()
                    with client, client.makefile("r") as asked:
                        answer = controller.answer(*json.loads(asked.readline()))
                        client.sendall(json.dumps(answer).encode())
        finally:
            controller.stop()


if __name__ == "__main__":
    main()
