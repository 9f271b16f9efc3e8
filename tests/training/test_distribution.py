"""Several devices and several workers give what one device gives."""

import json
import os
import re
import signal
import socket
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
import tensorflow as tf

from bert_data.training.checkpoints import Checkpoint, latest_checkpoint
from bert_data.training.distribution import device_names, make_strategy, naming_lost_worker
from bert_data.training.training_config import DistributionConfig
from tests.forking import Program, Programs
from tests.training.tiny import random_batch, signal_at, tiny_config, write_records


@pytest.mark.process
def test_two_devices_equal_one(
    tensorflow_programs: Programs, checkout: Path, tmp_path: Path
) -> None:
    command = ["tests/training/mirrored_program.py", str(tmp_path)]
    done = tensorflow_programs.run(command, cwd=checkout)
    assert done.returncode == 0, done.stderr
    losses = json.loads(done.stdout.splitlines()[-1])
    one = losses["one"]
    assert losses["halves"] == pytest.approx(one, rel=1e-5)
    assert losses["packed"] == pytest.approx(one, rel=1e-5)
    assert losses["fit"] == pytest.approx([one[step // 2] for step in range(5)], rel=1e-5)
    assert len(one) == len(set(one)) == 5


def free_ports(count: int) -> list[int]:
    sockets = [socket.socket() for _ in range(count)]
    for each in sockets:
        each.bind(("127.0.0.1", 0))
    ports = [each.getsockname()[1] for each in sockets]
    for each in sockets:
        each.close()
    return ports


def step_lines(log: str) -> list[str]:
    """The reports about steps, without the pace."""
    lines = [line for line in log.splitlines() if line.startswith("step ")]
    return [line.split("  lr ")[0] for line in lines]


StartWorkers = Callable[..., list[Program]]


@pytest.fixture
def start_workers(
    tensorflow_programs: Programs, checkout: Path, tmp_path: Path
) -> Iterator[StartWorkers]:
    """Starts two workers, which train together, with more flags."""
    started = []

    def start(*more: str) -> list[Program]:
        started.extend(begin_workers(tensorflow_programs, checkout, tmp_path, *more))
        return started

    yield start
    for process in started:
        process.kill()


def begin_workers(
    programs: Programs, checkout: Path, folder: Path, *more: str
) -> Iterator[Program]:
    write_records(str(folder / "r.tfrecord"), random_batch(num_examples=40))
    (folder / "bert.json").write_text(tiny_config(num_hidden_layers=1).to_json())
    command = [
        "run_pretraining.py", "--do_train", "--distribution=multi_worker",
        f"--bert_config_file={folder}/bert.json", f"--input_file={folder}/r.tfrecord",
        f"--output_dir={folder}/out", "--max_seq_length=9", "--max_predictions_per_seq=3",
        "--train_batch_size=8", "--num_warmup_steps=2", "--learning_rate=0.01", *more,
    ]  # fmt: skip
    workers = [f"127.0.0.1:{port}" for port in free_ports(2)]
    for index in range(2):
        task = {"cluster": {"worker": workers}, "task": {"type": "worker", "index": index}}
        yield programs.start(
            command, cwd=checkout, env={**os.environ, "TF_CONFIG": json.dumps(task)}
        )


def logs_of(processes: list[Program]) -> list[str]:
    """The output of each when all are over."""
    return [process.communicate(timeout=600)[1] for process in processes]


@pytest.mark.process
def test_two_workers_print_equal_losses(start_workers: StartWorkers, tmp_path: Path) -> None:
    """Each update is of two batches, and the chief alone evaluates."""
    write_records(str(tmp_path / "e.tfrecord"), random_batch(seed=7))
    processes = start_workers(
        "--num_train_steps=6", "--log_every_steps=1",
        "--save_checkpoints_steps=3", "--num_accumulation_steps=2", "--eval_every_steps=3",
        f"--eval_input_file={tmp_path}/e.tfrecord",
    )  # fmt: skip
    logs = logs_of(processes)
    assert [process.returncode for process in processes] == [0, 0], logs
    first, second = map(step_lines, logs)
    assert first == second
    assert [line.split()[1] for line in first] == [f"{step}/6" for step in range(1, 7)]
    description = json.loads(Checkpoint(str(tmp_path / "out")).read("global_step/data_description"))
    assert description["batching"] == "pools"
    assert "num_hosts" not in description  # one could go on: the batches are the same
    for word in ("saved", "evaluation of step 6"):
        assert word in logs[0] and word not in logs[1]


@pytest.mark.process
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGHUP])
def test_a_signal_ends_the_wait_for_a_worker(start_workers: StartWorkers, number: int) -> None:
    here, other = start_workers("--num_train_steps=6")
    other.kill()
    other.communicate(timeout=600)
    signal_at(here, "waiting for worker 1 (127.0.0.1:", number)
    assert here.communicate(timeout=600)[1].endswith(f"stopped by {signal.Signals(number).name}\n")
    assert here.returncode == 128 + number


@pytest.mark.process
def test_all_workers_stop_when_one_is_asked(start_workers: StartWorkers, tmp_path: Path) -> None:
    processes = start_workers("--num_train_steps=99999", "--log_every_steps=20")
    signal_at(processes[1], "step 20/", signal.SIGTERM)  # not the chief
    logs = logs_of(processes)
    assert [process.returncode for process in processes] == [143, 143], logs
    last_lines = [step_lines(log)[-1] for log in logs]
    assert last_lines[0] == last_lines[1]
    step = last_lines[0].split()[1].split("/")[0]
    assert latest_checkpoint(str(tmp_path / "out")) == str(tmp_path / f"out/model.ckpt-{step}")
    for log in logs:
        assert log.splitlines()[-1] == "run_pretraining: error: stopped by SIGTERM"


@pytest.mark.process
@pytest.mark.slow
def test_a_lost_worker_is_named(start_workers: StartWorkers, tmp_path: Path) -> None:
    flags = ("--num_train_steps=99999", "--log_every_steps=20", "--save_checkpoints_steps=20")
    chief, other = processes = start_workers(*flags)
    signal_at(other, "step 40/", signal.SIGKILL, chief)
    logs = logs_of(processes)
    assert other.returncode == 1, logs
    assert re.fullmatch(
        r"run_pretraining: error: worker 0 \(127.0.0.1:\d+\) of this run was lost; start all"
        r" workers again with the same flags: they continue from the last checkpoint in"
        rf" {tmp_path}/out",
        logs[1].splitlines()[-1],
    )


class Resolver:
    """Of the second of two workers."""

    task_type, task_id = "worker", 1

    def cluster_spec(self) -> tf.train.ClusterSpec:
        return tf.train.ClusterSpec({"worker": ["a:1", "b:2"]})


class TwoWorkers:
    cluster_resolver = Resolver()


@pytest.mark.parametrize(
    ("message", "named"),
    [
        ("reported from /job:worker/task:0: unhealthy:\n/job:worker/replica:0/task:0", "worker 0 "),
        ("on /job:worker/replica:0/task:1/device:CPU:0: /job:worker/replica:0/task:0", "worker 0 "),
        ("/job:chief/replica:0/task:0 is gone", "chief 0 of this run was lost"),
        ("recvmsg:Connection reset by peer", "another worker of this run was lost"),
    ],
)
def test_the_worker_that_is_named_is_another_one(message: str, named: str) -> None:
    with (
        pytest.raises(ConnectionError, match=rf"^{named}"),
        naming_lost_worker(TwoWorkers(), "out"),
    ):
        raise tf.errors.UnavailableError(None, None, message)
    with pytest.raises(tf.errors.InternalError), naming_lost_worker(TwoWorkers(), "out"):
        raise tf.errors.InternalError(None, None, message)


def test_workers_need_their_names(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("TF_CONFIG", raising=False)
    with pytest.raises(ValueError, match="TF_CONFIG names no workers"):
        make_strategy(DistributionConfig(distribution="multi_worker"))
    monkeypatch.setenv("TF_CONFIG", "{")
    with pytest.raises(ValueError, match="TF_CONFIG cannot be read"):
        make_strategy(DistributionConfig())


def test_one_device_is_what_there_is_here(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("TF_CONFIG", raising=False)
    assert make_strategy(DistributionConfig()).num_replicas_in_sync == 1


def test_the_log_names_the_devices(caplog: pytest.LogCaptureFixture) -> None:
    strategy = make_strategy(DistributionConfig(distribution="mirrored"))
    assert "no GPU that TensorFlow can use: training on its CPU alone" in caplog.text
    assert device_names(strategy) == device_names(tf.distribute.get_strategy()) == "CPU:0"
