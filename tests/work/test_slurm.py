"""Properties of Slurm beyond the contract of all executors (test_executor.py).

The cluster is one of processes of this machine (slurm_cluster.py).
"""

import functools
import json
import signal
import subprocess
import threading
from pathlib import Path

import pytest

from bert_data.work import slurm, slurm_jobs
from bert_data.work.slurm import Slurm, SlurmTasks
from tests.work.cluster_items import die, die_at_first, wait_until, warn

COVERS = ("work/slurm_jobs",)
process = pytest.mark.process


@pytest.fixture(autouse=True)
def quick(monkeypatch):
    """Slurm is asked often."""
    monkeypatch.setattr(slurm, "FIRST_LOOK", 0.02)
    monkeypatch.setattr(slurm, "LAST_LOOK", 0.2)
    monkeypatch.setattr(slurm, "LAST_PAUSE", 0.05)


@pytest.fixture
def cluster(slurm_cluster):
    yield slurm_cluster
    for name, value in {"max_array_size": 1001, "max_jobs": 10**9, "num_failures": 0}.items():
        slurm_cluster.set(name, value)


@pytest.fixture
def open_workers(cluster, tmp_path):
    """Opens an executor whose folder must be empty at its end."""
    folder = tmp_path / "work"
    folder.mkdir()
    yield functools.partial(SlurmTasks, folder=str(folder))
    assert not list(folder.iterdir())


def double(number: int) -> int:
    return 2 * number


def wait_for_go(folder: Path, number: int) -> int:
    """Wait for a file, at the first try of the first item."""
    begun = folder / f"begun-{number}"
    if number == 0 and not begun.exists():
        try:
            begun.touch()
            wait_until((folder / "go").exists, folder=folder)
        finally:
            (folder / "ended").touch()
    return 2 * number


@process
def test_a_task_whose_process_dies_runs_again(open_workers, tmp_path, caplog):
    with open_workers(2) as workers:
        function = functools.partial(die_at_first, tmp_path)
        assert list(workers.ordered_map(function, range(5))) == [0, 2, 4, 6, 8]
    assert (tmp_path / "0").exists() and (tmp_path / "3").exists()
    assert "ended as FAILED" in caplog.text and "runs again" in caplog.text


@process
def test_a_task_that_kills_its_jobs_is_an_error_at_its_turn(open_workers):
    with open_workers() as workers:
        results = workers.ordered_map(die, range(3))
        assert next(results) == 0
        sentence = (
            r"^job \d+_1 of Slurm ended as FAILED; its task was tried 4 times; the last line of its"
            r" log: no space left on the device$"
        )
        with pytest.raises(ChildProcessError, match=sentence):
            next(results)


@process
@pytest.mark.parametrize(
    ("ending", "log"),
    [
        (("NODE_FAIL",), "ended as NODE_FAIL"),
        (("PREEMPTED", "squeue"), "ended as PREEMPTED"),
        (("BOOT_FAIL", "squeue", "sacct"), "vanished"),
        (("COMPLETED",), "ended as COMPLETED"),
    ],
)
def test_a_lost_task_runs_again(cluster, open_workers, tmp_path, caplog, monkeypatch, ending, log):
    monkeypatch.setattr(slurm, "VISIBLE_SECONDS", 0.1)
    with open_workers() as workers:
        thread = lose_first(cluster, tmp_path, ending)
        function = functools.partial(wait_for_go, tmp_path)
        assert list(workers.ordered_map(function, range(3))) == [0, 2, 4]
        thread.join()
    assert f"_0 of Slurm {log}" in caplog.text


def lose_first(
    cluster, folder: Path, ending: tuple[str, ...], *, index: int = 0
) -> threading.Thread:
    """End the element that waits, from a thread, as the caller waits for its answer."""

    def end() -> None:
        wait_until((folder / "begun-0").exists, folder=folder)
        (job,) = [
            id
            for id, state in cluster.jobs().items()
            if state == "RUNNING" and id.endswith(f"_{index}")
        ]
        cluster.ask("end", job, *ending)

    thread = threading.Thread(target=end)
    thread.start()
    return thread


@process
@pytest.mark.parametrize(
    ("ending", "error", "sentence"),
    [
        ("CANCELLED", ChildProcessError, r"^job \d+_0 of Slurm was cancelled; the last line of"),
        ("TIMEOUT", ChildProcessError, r"^job \d+_0 of Slurm reached its time limit; set a longer"),
    ],
)
def test_what_would_not_help_to_repeat_is_an_error(
    cluster, open_workers, tmp_path, ending, error, sentence
):
    with open_workers() as workers:
        thread = lose_first(cluster, tmp_path, (ending,))
        with pytest.raises(error, match=sentence):
            list(workers.ordered_map(functools.partial(wait_for_go, tmp_path), range(3)))
        thread.join()


def test_too_little_memory_is_named():
    error = slurm_jobs.explain_loss("7_1", "OUT_OF_MEMORY", 4, "; its log is empty")
    assert isinstance(error, MemoryError)
    assert str(error).startswith("job 7_1 of Slurm had too little memory (tries: 4); ask for more")


@process
def test_a_map_that_ends_cancels_its_jobs(cluster, open_workers, tmp_path):
    with open_workers() as workers:
        results = workers.ordered_map(
            functools.partial(wait_for_go, tmp_path), [1, 0, *range(2, 9)]
        )
        assert next(results) == 2
        wait_until((tmp_path / "begun-0").exists, folder=tmp_path)
        results.close()
        assert not {"RUNNING", "PENDING"} & set(cluster.jobs().values())
        assert (tmp_path / "ended").exists()  # by SIGTERM, as by Ctrl-C
        assert list(workers.ordered_map(double, range(3))) == [0, 2, 4]


@process
def test_jobs_are_cancelled_though_the_controller_fails_once(cluster, open_workers, tmp_path):
    with open_workers() as workers:
        results = workers.ordered_map(functools.partial(wait_for_go, tmp_path), [1, 0])
        assert next(results) == 2
        wait_until((tmp_path / "begun-0").exists, folder=tmp_path)
        cluster.set("num_failures", 1)
        results.close()
        assert not {"RUNNING", "PENDING"} & set(cluster.jobs().values())


@process
def test_lost_tasks_that_slurm_does_not_take_again_are_an_error(cluster, open_workers, tmp_path):
    with open_workers() as workers:
        results = workers.ordered_map(functools.partial(wait_for_go, tmp_path), [1, 0])
        assert next(results) == 2
        thread = lose_first(cluster, tmp_path, ("NODE_FAIL",), index=1)
        cluster.set("max_jobs", 0)
        with pytest.raises(OSError, match=r"^Slurm does not take the job: .*SubmitJobLimit$"):
            next(results)
        thread.join()


@process
def test_arrays_are_as_large_as_the_cluster_allows(cluster, open_workers):
    cluster.set("max_array_size", 4)  # so the last index is 3
    first = len(json.loads(cluster.ask("submitted")))
    with open_workers() as workers:
        assert list(workers.ordered_map(double, range(8))) == [2 * n for n in range(8)]
    cluster.set("max_jobs", 3)
    with open_workers(settings=Slurm(slurm_array_size=8)) as workers:
        assert list(workers.ordered_map(double, range(8))) == [2 * n for n in range(8)]
    words = json.loads(cluster.ask("submitted"))[first:]
    arrays = [word for each in words for word in each if word.startswith("--array=")]
    assert arrays[0] == "--array=0-2"


@process
def test_what_slurm_does_not_take_is_one_sentence(cluster, open_workers):
    sentence = "^Slurm does not take the job: sbatch: error: invalid partition specified: none$"
    with (
        open_workers(settings=Slurm(slurm_options="--partition=none")) as workers,
        pytest.raises(OSError, match=sentence),
    ):
        list(workers.ordered_map(double, range(3)))


@process
def test_a_controller_that_fails_for_a_while_is_waited_for(
    cluster, open_workers, caplog, monkeypatch
):
    with open_workers() as workers:
        cluster.set("num_failures", 3)
        assert list(workers.ordered_map(double, range(3))) == [0, 2, 4]
        assert "Slurm does not answer (sbatch: error: Unable to contact" in caplog.text
        monkeypatch.setattr(slurm, "SILENCE_SECONDS", 0.0)
        cluster.set("num_failures", 1)
        with pytest.raises(ConnectionError, match=r"^Slurm does not answer: sbatch: error"):
            list(workers.ordered_map(double, range(3)))


def hang_at_first(folder: Path, number: int) -> int:
    try:
        (folder / str(number)).mkdir()
    except FileExistsError:
        return 2 * number
    while True:
        signal.pause()


@process
def test_an_array_that_was_submitted_twice_is_cancelled(cluster, open_workers, tmp_path):
    with open_workers() as workers:
        cluster.set("num_unanswered", 1)
        function = functools.partial(hang_at_first, tmp_path)
        assert list(workers.ordered_map(function, range(2))) == [0, 2]
        assert not {"RUNNING", "PENDING"} & set(cluster.jobs().values())


@process
def test_what_jobs_log_is_in_the_log_once(open_workers, caplog):
    with open_workers(2) as workers:
        assert list(workers.ordered_map(warn, range(4))) == [*range(4)]
    messages = sorted(r.getMessage() for r in caplog.records if r.levelname == "WARNING")
    assert messages == [f"number {number}" for number in range(4)]


@process
def test_the_options_of_sbatch(cluster, open_workers):
    settings = Slurm(slurm_options="--partition=long --time=4:00:00 --comment='a b'")
    with open_workers(3, settings=settings, task_bytes=300_000_000) as workers:
        assert list(workers.ordered_map(double, range(5))) == [0, 2, 4, 6, 8]
    words = json.loads(cluster.ask("submitted"))[-1]
    assert "--array=0-4%3" in words and "--mem=287M" in words
    at = words.index("--partition=long")
    assert words[at : at + 3] == ["--partition=long", "--time=4:00:00", "--comment=a b"]
    with open_workers(settings=Slurm(slurm_options="--mem-per-cpu=1G"), task_bytes=1) as workers:
        assert list(workers.ordered_map(double, range(2))) == [0, 2]
    words = json.loads(cluster.ask("submitted"))[-1]
    assert [word for word in words if word.startswith("--mem")] == ["--mem-per-cpu=1G"]


@pytest.mark.parametrize(
    ("settings", "sentence"),
    [
        ({"slurm_options": "--comment='a"}, r"^slurm_options is .*: No closing quotation$"),
        ({"slurm_options": "--array=1-3"}, "; the command itself sets --array$"),
        ({"slurm_options": "-o x"}, "; the command itself sets -o$"),
    ],
)
def test_settings_that_cannot_be_used(settings, sentence):
    with pytest.raises(ValueError, match=sentence):
        Slurm(**settings)


@process
def test_a_host_without_slurm_is_told(monkeypatch, tmp_path):
    monkeypatch.setenv("PATH", str(tmp_path))
    sentence = "^engine is 'slurm', but there is no program sbatch here; run the command on a host"
    with pytest.raises(ValueError, match=sentence), SlurmTasks():
        pass


def test_a_program_that_does_not_end_counts_as_failed(monkeypatch):
    def run(command, **_):
        raise subprocess.TimeoutExpired(command, 60)

    monkeypatch.setattr(subprocess, "run", run)
    with pytest.raises(slurm_jobs.BusyError, match=r"^squeue timed out$"):
        slurm_jobs.Jobs("x").look()
