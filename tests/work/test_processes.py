"""Properties of processes beyond the contract of all executors (test_executor.py)."""

import functools
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from absl import logging

from bert_data.work.processes import Processes

pytestmark = pytest.mark.process


def process_of(_: object) -> int:
    return os.getpid()


def surroundings_of(_: object) -> tuple[str | None, str]:
    return os.environ.get("SET_LATE"), os.getcwd()


def die_at(bad: int, number: int) -> int:
    if number == bad:
        os.kill(os.getpid(), signal.SIGKILL)
    return number


def exit_at(bad: int, number: int) -> int:
    if number == bad:
        os._exit(7)
    return number


def fail_oddly(kind: str) -> object:
    if kind == "result":
        return lambda: 1
    if kind == "making":
        raise NeedsTwo("odd", 2)
    error = ValueError("odd")
    error.odd = lambda: 1
    raise error


class NeedsTwo(Exception):
    """Cannot be made from what is pickled of it."""

    def __init__(self, one: str, two: int) -> None:
        super().__init__(f"{one} {two}")


class CannotBeRead:
    """Pickled well, but not to be made again."""

    def __reduce__(self):
        return _refuse, ()


def _refuse() -> None:
    raise KeyError("cannot be read")


def test_processes_stay_for_the_next_map():
    with Processes(2) as processes:
        first = set(processes.ordered_map(process_of, range(9)))
        assert os.getpid() not in first and len(first) <= 2
        assert set(processes.ordered_map(process_of, range(9))) <= first
        with pytest.raises(ChildProcessError):
            list(processes.ordered_map(functools.partial(die_at, 3), range(9)))
        second = set(processes.ordered_map(process_of, range(9)))
        assert os.getpid() not in second and not first <= second


def test_workers_have_the_environment_and_folder_of_now(tmp_path, monkeypatch):
    """They are forked from a process that began earlier."""
    for number in range(2):
        monkeypatch.setenv("SET_LATE", str(number))
        folder = tmp_path / str(number)
        folder.mkdir()
        monkeypatch.chdir(folder)
        with Processes(2) as processes:
            found = set(processes.ordered_map(surroundings_of, range(9)))
        assert found == {(str(number), str(folder))}


def test_a_single_item_is_not_worth_a_process():
    with Processes(3) as processes:
        assert list(processes.ordered_map(process_of, [3])) == [os.getpid()]
    with Processes(1, is_apart=True) as processes:
        assert list(processes.ordered_map(process_of, [3])) != [os.getpid()]


@pytest.mark.parametrize(
    ("kind", "sentence"),
    [("error", "ValueError: odd"), ("making", "NeedsTwo: odd 2"), ("result", "fail_oddly.*lambda")],
)
def test_what_cannot_be_pickled_is_told(kind, sentence):
    with Processes(2) as processes, pytest.raises(Exception, match=sentence) as caught:
        list(processes.ordered_map(fail_oddly, [kind] * 3))
    assert "In a worker process:" in caught.value.__notes__[0]


def test_an_item_that_cannot_be_pickled_is_an_error_at_its_turn():
    with Processes(2) as processes:
        results = processes.ordered_map(str, [1, 2, lambda: 3, 4])
        assert [next(results), next(results)] == ["1", "2"]
        with pytest.raises(Exception, match="lambda"):
            next(results)
        with pytest.raises(KeyError, match="cannot be read"):
            list(processes.ordered_map(str, [1, CannotBeRead()]))


def test_the_death_of_a_worker_is_told():
    with Processes(2) as processes:
        with pytest.raises(ChildProcessError, match="ended by SIGKILL; the system"):
            list(processes.ordered_map(functools.partial(die_at, 5), range(9)))
        with pytest.raises(ChildProcessError, match="exited unexpectedly, with status 7"):
            list(processes.ordered_map(functools.partial(exit_at, 0), range(9)))


def warn(number: int) -> int:
    logging.warning("number %d in %s", number, CannotBeRead.__name__)
    return number


def test_what_workers_log_is_in_the_log_once(caplog):
    with Processes(2) as processes:
        assert list(processes.ordered_map(warn, range(5))) == [*range(5)]
    messages = sorted(record.getMessage() for record in caplog.records)
    assert messages == [f"number {number} in CannotBeRead" for number in range(5)]
    assert {record.levelname for record in caplog.records} == {"WARNING"}
    assert {record.filename for record in caplog.records} == {"test_processes.py"}


PROGRAM = """
import os, signal
from pathlib import Path
from bert_data.cli import entry
from bert_data.work import open_executor

def wait(number):
    begun = Path(f"begun-{os.getpid()}")
    begun.touch()
    try:
        os.write(1, f"{number} {os.getpid()}\\n".encode())
        while True:
            signal.pause()
    finally:
        begun.unlink()

def main(argv):
    with open_executor(2) as executor:
        list(executor.ordered_map(wait, range(4)))

if __name__ == "__main__":
    entry.run(main)
"""


@pytest.fixture
def waiting(checkout, tmp_path):
    """A command whose two workers wait for ever, and their ids by item; its folder is tmp_path."""
    program = tmp_path / "program.py"
    program.write_text(PROGRAM)
    with subprocess.Popen(
        [sys.executable, str(program)],
        cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": str(checkout)},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        start_new_session=True,
    ) as parent:
        assert parent.stdout is not None
        workers = dict(map(int, parent.stdout.readline().split()) for _ in range(2))
        assert set(workers) == {0, 1} and len({parent.pid, *workers.values()}) == 3
        yield parent, workers
        parent.kill()


@pytest.mark.parametrize(
    ("name", "to_all"),
    [("SIGKILL", False), ("SIGKILL", True), ("SIGINT", False), ("SIGINT", True),
     ("SIGTERM", False), ("SIGHUP", True)],
)  # fmt: skip
def test_workers_end_with_their_parent(waiting, tmp_path, name, to_all):
    """The pipe that they hold as standard output is at its end only when all have gone."""
    parent, _ = waiting
    number = signal.Signals[name]
    (os.killpg if to_all else os.kill)(parent.pid, number)
    assert parent.stdout.read() == b""
    stderr = parent.stderr.read().decode()
    if name == "SIGKILL":
        assert parent.wait() == -signal.SIGKILL
    else:
        assert parent.wait() == 128 + number
        assert stderr == f"program: error: stopped by {name}\n"
        assert not list(Path(tmp_path).glob("begun-*"))  # workers have cleaned up


@pytest.mark.parametrize("name", ["SIGKILL", "SIGTERM"])
def test_the_end_of_one_worker_ends_the_command(waiting, tmp_path, name):
    parent, workers = waiting
    killed = workers[0]  # what became of the second item would be told after the first one
    os.kill(killed, signal.Signals[name])
    stderr = parent.stderr.read().decode()
    assert parent.wait() == 1
    assert f"program: error: a worker process was ended by {name}" in stderr
    left = [f"begun-{killed}"] if name == "SIGKILL" else []
    assert [path.name for path in Path(tmp_path).glob("begun-*")] == left


DEAF_PROGRAM = """
import os, signal
from pathlib import Path
from bert_data.cli import entry
from bert_data.work.processes import Processes

def wait(_):
    signal.signal(signal.SIGTERM, lambda *_: Path("asked").touch())
    os.write(1, b"begun\\n")
    while True:
        signal.pause()

def main(argv):
    with Processes(1, is_apart=True) as process:
        list(process.ordered_map(wait, [0]))

if __name__ == "__main__":
    entry.run(main)
"""


def test_a_process_apart_is_killed_not_asked(checkout, tmp_path):
    (tmp_path / "program.py").write_text(DEAF_PROGRAM)
    with subprocess.Popen(
        [sys.executable, "program.py"],
        cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": str(checkout)},
        stdout=subprocess.PIPE,
    ) as parent:
        assert parent.stdout is not None
        assert parent.stdout.readline() == b"begun\n"
        parent.send_signal(signal.SIGTERM)
        assert parent.stdout.read() == b""  # the process that holds it, too, has gone
    assert parent.returncode == 143
    assert [path.name for path in tmp_path.iterdir()] == ["program.py"]


FORKING_PROGRAM = """
import os, sys, threading
from bert_data.work.processes import Processes

def look(number):
    path = f"/proc/self/fd/{number}"
    return os.getppid() == int(os.environ["PARENT"]), os.path.exists(path) and os.readlink(path)

def main():
    os.environ["PARENT"] = str(os.getpid())
    if sys.argv[1:]:
        threading.Thread(target=threading.Event().wait, daemon=True).start()
    with open("held", "w") as held, Processes(2) as executor:
        print(*executor.ordered_map(look, [held.fileno()] * 2))

if __name__ == "__main__":
    main()
"""


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux's libraries bear to be forked")
@pytest.mark.parametrize("has_thread", [False, True])
def test_forks_are_of_one_thread_and_hold_nothing_of_their_parent(checkout, tmp_path, has_thread):
    """A lock that a fork held, too, would outlive the command that was killed."""
    (tmp_path / "program.py").write_text(FORKING_PROGRAM)
    done = subprocess.run(
        [sys.executable, "program.py", *["thread"] * has_thread],
        cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": str(checkout)},
        capture_output=True,
        text=True,
        check=True,
    )
    if has_thread:
        assert "True, " not in done.stdout and "held" not in done.stdout
    else:
        assert done.stdout == "(True, '/dev/null') (True, '/dev/null')\n"


PROGRAMS = {
    "which reaps no children": """
signal.signal(signal.SIGCHLD, signal.SIG_IGN)
""",
    "whose own processes have ended": """
fork = multiprocessing.get_context("fork")
gate, go = os.pipe()
ended = [fork.Process(target=os.read, args=(gate, 1)) for _ in range(2)]
for each in ended:
    each.start()  # it reaps those that have ended before
os.write(go, b"12")
for each in ended:
    connection.wait([each.sentinel])
    os.waitid(os.P_PID, each.pid, os.WEXITED | os.WNOWAIT)
del ended, each
""",
    "with a log of its own": """
log = logging.getLogger("absl")
log.propagate = False
log.handlers[:] = [logging.StreamHandler(sys.stdout)]
""",
}
BEGIN = """
import logging, multiprocessing, os, signal, sys
from multiprocessing import connection
from absl import logging as absl_logging
from bert_data.work.processes import Processes
"""
END = """
with Processes(2) as executor:
    list(executor.ordered_map(absl_logging.warning, ["one", "two"]))
"""


@pytest.mark.process
@pytest.mark.skipif(sys.platform != "linux", reason="only Linux's libraries bear to be forked")
@pytest.mark.parametrize("kind", PROGRAMS)
def test_workers_of_a_program(kind, checkout, tmp_path):
    (tmp_path / "program.py").write_text(BEGIN + PROGRAMS[kind] + END)
    done = subprocess.run(
        [sys.executable, "program.py"],
        cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": str(checkout), "OPENBLAS_NUM_THREADS": "1"},
        capture_output=True,
        text=True,
        check=True,
    )
    told = done.stdout if "log" in kind else done.stderr
    assert sorted(line.split()[-1] for line in told.splitlines()) == ["one", "two"]
