"""Properties of Slurm beyond the contract of all executors (test_executor.py), on a real one."""

import functools
import logging
import os
import signal
import sys
import threading
from pathlib import Path

import pytest

from bert_data.work.engine import Slurm
from bert_data.work.slurm import SlurmTasks
from tests.work.cluster_items import die, die_at_first, wait_until, warn

on_a_cluster = [pytest.mark.process, pytest.mark.slow]


@pytest.fixture
def open_workers(slurm_cluster, tmp_path, monkeypatch):
    """Opens an executor whose folder must be empty at its end; logs are left in the current one."""
    folder = tmp_path / "work"
    folder.mkdir()
    monkeypatch.chdir(tmp_path)
    yield functools.partial(SlurmTasks, folder=str(folder))
    assert not list(folder.iterdir())
    assert slurm_cluster.jobs("State") == []


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


def die_on_a_node(folder: Path, number: int) -> int:
    """Die on one of the nodes."""
    if os.environ["SLURMD_NODENAME"] == "n1":
        (folder / f"{number}-{os.environ['SLURM_JOB_ID']}").touch()
        os.kill(os.getpid(), signal.SIGKILL)
    return 2 * number


def describe_job(_: int) -> tuple[str, ...]:
    names = ("SLURM_JOB_ID", "SLURM_NTASKS", "SLURM_MEM_PER_NODE", "SLURM_JOB_PARTITION")
    return tuple(os.environ.get(name, "") for name in names)


class TestOnACluster:
    pytestmark = on_a_cluster

    def test_a_task_whose_process_dies_runs_again(self, open_workers, tmp_path, caplog):
        with open_workers(2) as workers:
            function = functools.partial(die_at_first, tmp_path)
            assert list(workers.ordered_map(function, range(5))) == [0, 2, 4, 6, 8]
        assert (tmp_path / "0").exists() and (tmp_path / "3").exists()
        assert "ended as FAILED on node n" in caplog.text
        assert "with exit code 137, try 1; its log, slurm-" in caplog.text
        assert len(list(tmp_path.glob("slurm-*_[03]-n[12]-exit-137.log"))) == 2

    def test_a_task_that_kills_its_jobs_is_an_error_with_its_log(self, open_workers, tmp_path):
        with open_workers() as workers:
            results = workers.ordered_map(die, range(3))
            assert next(results) == 0
            sentence = (
                r"^job \d+ of Slurm ended as FAILED on node n[12] with exit code 137, try 4; its"
                r" log, slurm-\d+-n[12]-exit-137.log, ends in: no space left on the device"
            )
            with pytest.raises(ChildProcessError, match=sentence):
                next(results)
        logs = list(tmp_path.glob("slurm-*-exit-137.log"))
        assert len(logs) == 4
        assert all("no space left on the device" in log.read_text() for log in logs)

    def test_a_node_that_failed_twice_is_excluded(self, open_workers, tmp_path):
        with open_workers() as workers:
            function = functools.partial(die_on_a_node, tmp_path)
            assert list(workers.ordered_map(function, range(8))) == [2 * n for n in range(8)]
        deaths = [path.name.partition("-")[0] for path in tmp_path.glob("[0-9]-*")]
        assert len(deaths) >= 2
        # The first that is seen may come back to the node before the second is seen; no other does.
        assert len(deaths) <= len({*deaths}) + 1

    def test_a_job_that_somebody_cancels_is_an_error(self, slurm_cluster, open_workers, tmp_path):
        def cancel() -> None:
            wait_until((tmp_path / "begun-0").exists, folder=tmp_path)
            slurm_cluster.run("scancel", "--user=root")

        thread = threading.Thread(target=cancel)
        with open_workers() as workers:
            thread.start()
            with pytest.raises(ChildProcessError, match=r"^job \d+_0 of Slurm ended as CANCELLED "):
                list(workers.ordered_map(functools.partial(wait_for_go, tmp_path), range(3)))
            thread.join()

    def test_a_task_that_reached_its_time_limit_runs_again(
        self, slurm_cluster, open_workers, tmp_path, caplog
    ):
        def end() -> None:
            wait_until((tmp_path / "begun-0").exists, folder=tmp_path)
            ((job_id,),) = [
                job[1:] for job in slurm_cluster.jobs("State", "JobArrayID") if job[0] == "RUNNING"
            ]
            slurm_cluster.run("scontrol", "update", f"jobid={job_id}", "endtime=now+1")

        thread = threading.Thread(target=end)
        with open_workers(options={"time": "10"}) as workers:
            thread.start()
            function = functools.partial(wait_for_go, tmp_path)
            assert list(workers.ordered_map(function, range(1))) == [0]
            thread.join()
        assert (tmp_path / "ended").exists()  # by SIGTERM, as by Ctrl-C
        assert "ended as TIMEOUT" in caplog.text and "it runs again" in caplog.text

    def test_tasks_of_a_node_that_fails_run_again(
        self, slurm_cluster, open_workers, tmp_path, caplog
    ):
        def fail() -> None:
            wait_until((tmp_path / "begun-0").exists, folder=tmp_path)
            (node,) = {node for (node,) in slurm_cluster.jobs("NodeList") if node}
            slurm_cluster.run("scontrol", "update", f"nodename={node}", "state=down", "reason=x")

        thread = threading.Thread(target=fail)
        with open_workers() as workers:
            thread.start()
            function = functools.partial(wait_for_go, tmp_path)
            assert list(workers.ordered_map(function, range(1))) == [0]
            thread.join()
        assert "ended as NODE_FAIL on node n" in caplog.text

    def test_a_map_that_ends_cancels_its_jobs(self, slurm_cluster, open_workers, tmp_path):
        with open_workers() as workers:
            results = workers.ordered_map(
                functools.partial(wait_for_go, tmp_path), [1, 0, *range(2, 9)]
            )
            assert next(results) == 2
            wait_until((tmp_path / "begun-0").exists, folder=tmp_path)
            results.close()
            assert slurm_cluster.jobs("State") == []
            assert (tmp_path / "ended").exists()
            assert list(workers.ordered_map(double, range(3))) == [0, 2, 4]

    def test_arrays_are_as_large_as_the_cluster_allows(self, open_workers):
        with open_workers() as workers:
            assert list(workers.ordered_map(double, range(20))) == [2 * n for n in range(20)]

    def test_what_slurm_does_not_take_is_one_sentence(self, open_workers):
        sentence = "^Slurm does not take the job: sbatch: error: invalid partition specified: none"
        with (
            open_workers(options={"partition": "none"}) as workers,
            pytest.raises(OSError, match=sentence),
        ):
            list(workers.ordered_map(double, range(1)))

    def test_what_jobs_log_is_in_the_log_once(self, open_workers, caplog):
        with open_workers(2) as workers:
            assert list(workers.ordered_map(warn, range(4))) == [*range(4)]
        messages = sorted(r.getMessage() for r in caplog.records if r.levelno == logging.WARNING)
        assert messages == [f"number {number}" for number in range(4)]

    def test_options_and_several_tasks_a_job(self, open_workers):
        options = Slurm(slurm_options="--partition=main --comment='a b'").options()
        with open_workers(options=options, tasks_per_job=2, task_bytes=300_000_000) as workers:
            jobs = list(workers.ordered_map(describe_job, range(5)))
        assert [jobs.count(job) for job in dict.fromkeys(jobs)] == [2, 2, 1]
        assert {job[1:] for job in jobs} == {("2", "573", "main")}
        with open_workers(options={"mem-per-cpu": "100M"}) as workers:
            ((_, num_tasks, memory, _),) = workers.ordered_map(describe_job, range(1))
        assert (num_tasks, memory) == ("1", "")


@pytest.mark.parametrize(
    ("settings", "sentence"),
    [
        ({"slurm_options": "--comment='a"}, r"^slurm_options is .*: No closing quotation$"),
        (
            {"slurm_options": "--array=1-3"},
            ": --array=1-3 is not --name=value, or the command itself sets it$",
        ),
        ({"slurm_options": "-p long"}, ": -p is not --name=value, or the command itself sets it$"),
        ({"tasks_per_job": 0}, "^tasks_per_job is 0; 1 to 1,024 is allowed$"),
    ],
)
def test_settings_that_cannot_be_used(settings, sentence):
    with pytest.raises(ValueError, match=sentence):
        Slurm(**settings)


@pytest.mark.process
def test_a_host_without_slurm_is_told(monkeypatch, tmp_path):
    monkeypatch.setenv("PATH", str(tmp_path))
    sentence = "^engine is 'slurm', but there is no program sbatch here; run the command on a host"
    with pytest.raises(ValueError, match=sentence), SlurmTasks():
        pass
    monkeypatch.setitem(sys.modules, "submitit", None)
    with pytest.raises(ValueError, match=r"install it with pip install '.\[slurm\]'"), SlurmTasks():
        pass
