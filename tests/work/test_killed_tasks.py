"""Commands of which a worker or the whole is ended amid a task, and given again."""

import dataclasses
import os
import re
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.gpt.stores import write_store
from tests.work.cluster_items import wait_until

pytestmark = pytest.mark.process

NUM_TASKS = 5


@dataclasses.dataclass(frozen=True, kw_only=True)
class Case:
    """A command; the function in whose third call it gets stuck, of `NUM_TASKS`."""

    command: str
    function: str
    flags: tuple[str, ...]
    is_text: bool = True
    done: str  # pattern of what appears when a task is done


CASES = {
    "tokenize": Case(
        command="tokenize",
        function="bert_data.tokens.store_making.fill_store",
        flags=("--output_prefix=out/s", f"--num_partitions={NUM_TASKS}"),
        done="out/*.store.json",
    ),
    "curate": Case(
        command="curate",
        function="bert_data.curation.running.passes.split_document",
        flags=(
            "--output_file=out/c.jsonl@2",
            "--shard_mb=0.004",
            "--split_sentences",
            "--steps=exact_duplicates",
        ),
        done="out/.c.jsonl.curation/*/pass-1/[0-9]*/report.json",
    ),
    "build_samples": Case(
        command="build_samples",
        function="bert_data.gpt.export.columns_of",
        flags=(f"--output_file=out/t@{NUM_TASKS}", "--seq_length=8", "--epochs=3"),
        is_text=False,
        done="out/.t.samples/*/train/[0-9]*/report.json",
    ),
}


# What each signal does to the processes is the same for all commands (test_processes.py).
ENDED = [
    ("tokenize", "worker SIGKILL"),
    ("curate", "parent SIGTERM"),
    ("build_samples", "group SIGKILL"),
]


@pytest.fixture(scope="module")
def case(request) -> Case:
    return CASES[request.param]


class Runs:
    """Runs of a case's command in a folder."""

    def __init__(self, case: Case, checkout: Path, folder: Path, flags: list[str]) -> None:
        self.folder = folder
        self._case = case
        command = [sys.executable, "-m", f"bert_data.cli.{case.command}"]
        self._command = [*command, *case.flags, *flags]
        stuck = Path(__file__).with_name("stuck")
        self._environment = {
            **os.environ,
            "PYTHONPATH": f"{stuck}{os.pathsep}{checkout}",
            "STUCK_IN": case.function,
        }

    def start(self, num_workers: int) -> subprocess.Popen[str]:
        return subprocess.Popen(
            [*self._command, f"--num_workers={num_workers}"],
            cwd=self.folder,
            env=self._environment,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            start_new_session=True,
        )

    def well(self) -> str:
        """The log of a run that nothing disturbs, with another number of workers."""
        with self.start(1) as run:
            stderr = run.communicate()[1]
        assert run.returncode == 0, stderr
        return stderr

    def ended(self, ending: str) -> tuple[int, str]:
        """(exit status, log) of a run that is ended when all tasks but one are done."""
        (self.folder / "stuck").mkdir()
        whom, name = ending.split()
        number = signal.Signals[name]
        with self.start(2) as run:
            assert run.stdout is not None and run.stderr is not None
            try:
                wait_until(
                    lambda: run.poll() is not None or len(self.done()) == NUM_TASKS - 1,
                    folder=self.folder,
                    pid=run.pid,
                )
                assert run.poll() is None, run.stderr.read()
                (self.folder / "go").touch()
                worker = int(run.stdout.readline())
                if whom == "group":
                    os.killpg(run.pid, number)
                else:
                    os.kill(worker if whom == "worker" else run.pid, number)
                assert run.stdout.read() == ""  # at its end only when all workers have gone
                stderr = run.stderr.read()
            finally:
                run.kill()
        (self.folder / "go").unlink()
        for claim in (self.folder / "stuck").iterdir():
            claim.rmdir()
        (self.folder / "stuck").rmdir()
        return run.returncode, stderr

    def done(self) -> dict[Path, int]:
        """The files that tell that tasks are done, and when they were made."""
        return {p: p.stat().st_mtime_ns for p in self.folder.glob(self._case.done)}


def contents(folder: Path) -> dict[str, bytes]:
    return {
        str(path.relative_to(folder)): path.read_bytes()
        for path in sorted(folder.rglob("*"))
        if path.is_file()
    }


@pytest.fixture(scope="module")
def text(tmp_path_factory) -> Path:
    path = tmp_path_factory.mktemp("text") / "text.txt"
    path.write_text("".join(f"ba dodo {n}.\nki do.\n\n" for n in range(1000)))
    return path


@pytest.fixture(scope="module")
def stores(tmp_path_factory) -> str:
    folder = tmp_path_factory.mktemp("stores")
    stories = [range(number, number + 9) for number in range(100)]
    return ",".join(write_store(folder / name, stories) for name in "ab")


@pytest.fixture(scope="module")
def make_runs(case, checkout, text, stores, small_vocabulary):
    flags = [f"--input_file={text}", f"--vocab_file={small_vocabulary}"]
    if not case.is_text:
        flags = [f"--input={stores}"]

    def make(folder: Path) -> Runs:
        return Runs(case, checkout, folder, flags)

    return make


@pytest.fixture(scope="module")
def undisturbed(make_runs, tmp_path_factory) -> Iterator[dict[str, bytes]]:
    folder = tmp_path_factory.mktemp("undisturbed")
    make_runs(folder).well()
    return contents(folder)


@pytest.mark.parametrize(("case", "ending"), ENDED, indirect=["case"])
def test_ended_amid_a_task_and_given_again(make_runs, tmp_path, undisturbed, ending):
    runs = make_runs(tmp_path)
    status, log = runs.ended(ending)
    if ending == "worker SIGKILL":
        assert status == 1
        assert re.search("error: a worker process was ended by SIGKILL; the system", log)
    elif "SIGKILL" in ending:
        assert status == -signal.SIGKILL
    else:
        name = ending.split()[1]
        assert status == 128 + signal.Signals[name]
        assert log.endswith(f"error: stopped by {name}\n")
    left = contents(tmp_path)
    whole = {name for name in left if "/." not in name}
    assert all(left[name] == undisturbed[name] for name in whole)
    if "SIGKILL" not in ending:
        assert not [name for name in left if name.endswith((".lock", ".partial"))]
    before = runs.done()
    assert len(before) == NUM_TASKS - 1
    log = runs.well()
    assert f"{NUM_TASKS - 1} of {NUM_TASKS} were done by an earlier run" in log
    assert contents(tmp_path) == undisturbed
    after = runs.done()
    assert all(after[path] == before[path] for path in before if path in after)
