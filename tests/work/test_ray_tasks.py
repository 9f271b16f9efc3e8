"""Properties of Ray beyond the contract of all executors (test_executor.py).

The cluster's nodes are processes of this machine.
"""

import contextlib
import functools
import hashlib
import os
import pickle
import re
import signal
import socket
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace

import pytest
from absl import logging

from bert_data import interrupts
from bert_data.work import ray_cluster
from bert_data.work.ray_cluster import connected
from bert_data.work.ray_tasks import RayTasks
from bert_data.work.remote_calls import MAX_LOGGED, Session, call, digest_of_code, open_answer
from tests.conftest import RAY_NODE
from tests.work.cluster_items import die, die_at_first, wait_for_ends, wait_until, warn

COVERS = ("work/ray_cluster",)


@pytest.fixture
def workers(ray_cluster):
    with RayTasks(address=ray_cluster.address) as executor:
        yield executor


def node_id() -> str:
    import ray

    return ray.get_runtime_context().get_node_id()


def wait_for_go(folder: Path, number: int) -> int:
    """Say which node and process work on an item, and wait for a file."""
    (folder / f"{number}-{node_id()}-{os.getpid()}").touch()
    wait_until((folder / "go").exists, folder=folder)
    return 2 * number


@contextlib.contextmanager
def then_go(folder: Path) -> Iterator[None]:
    """Let the items end, whatever happens: an error would wait for them."""
    try:
        yield
    finally:
        (folder / "go").touch()


def nodes_of(folder: Path) -> set[str]:
    return {path.name.split("-")[1] for path in folder.glob("*-*")}


@pytest.mark.process
@pytest.mark.slow
def test_a_task_whose_worker_dies_runs_again(workers, tmp_path):
    function = functools.partial(die_at_first, tmp_path)
    assert list(workers.ordered_map(function, range(5))) == [0, 2, 4, 6, 8]
    assert {path.name for path in tmp_path.iterdir()} == {"0", "3"}


@pytest.mark.process
@pytest.mark.slow
def test_a_task_that_kills_its_workers_is_an_error_at_its_turn(workers):
    results = workers.ordered_map(die, range(3))
    assert next(results) == 0
    with pytest.raises(ChildProcessError, match="died at the same task 4 times"):
        next(results)


def digest(data: bytes, number: int) -> str:
    return hashlib.sha256(data + bytes([number])).hexdigest()


@pytest.mark.process
@pytest.mark.slow
def test_a_large_function_comes_whole(workers):
    function = functools.partial(digest, data := bytes(range(256)) * 1000)
    expected = [hashlib.sha256(data + bytes([n])).hexdigest() for n in range(5)]
    assert list(workers.ordered_map(function, range(5))) == expected


@pytest.mark.process
@pytest.mark.slow
def test_what_workers_log_is_in_the_log_once(workers, caplog):
    assert list(workers.ordered_map(warn, range(5))) == [*range(5)]
    messages = sorted(r.getMessage() for r in caplog.records if r.levelname == "WARNING")
    assert messages == [f"number {number}" for number in range(5)]


@pytest.mark.process
@pytest.mark.slow
def test_a_node_that_joins_gets_work(ray_cluster, workers, tmp_path):
    joined = []

    def items():  # read by this thread
        yield from range(4)
        with then_go(tmp_path):
            wait_until(lambda: len(nodes_of(tmp_path)) == 2, folder=tmp_path)
            joined.append(ray_cluster.add_node(**RAY_NODE))
            wait_until(lambda: len(nodes_of(tmp_path)) == 3, folder=tmp_path)

    results = workers.ordered_map(functools.partial(wait_for_go, tmp_path), items())
    assert list(results) == [0, 2, 4, 6]
    ray_cluster.remove_node(joined[0])


@pytest.mark.process
@pytest.mark.slow
def test_the_tasks_of_a_node_that_is_killed_run_elsewhere(ray_cluster, workers, tmp_path):
    node = ray_cluster.add_node(**RAY_NODE)

    def items():
        yield from range(4)
        with then_go(tmp_path):
            wait_until(lambda: node.node_id in nodes_of(tmp_path), folder=tmp_path)
            os.kill(node.all_processes["raylet"][0].process.pid, signal.SIGKILL)
        yield from range(4, 8)

    results = workers.ordered_map(functools.partial(wait_for_go, tmp_path), items())
    assert list(results) == [2 * number for number in range(8)]
    ray_cluster.remove_node(node, allow_graceful=False)
    lost = {path.name.partition("-")[0] for path in tmp_path.glob(f"*-{node.node_id}-*")}
    assert lost


@pytest.mark.process
@pytest.mark.slow
def test_a_node_without_the_storage_is_named(ray_cluster, tmp_path):
    descriptor = os.open(tmp_path, os.O_RDONLY)  # no other process has it
    folder = f"/proc/self/fd/{descriptor}"
    try:
        with RayTasks(address=ray_cluster.address, folder=folder) as workers:
            assert len(os.listdir(tmp_path)) == 1
            sentence = rf"^node \d+\.\d+\.\d+\.\d+ \(.+\) does not see {re.escape(folder)} "
            with pytest.raises(OSError, match=sentence):
                list(workers.ordered_map(str, range(3)))
    finally:
        os.close(descriptor)
    assert not os.listdir(tmp_path)


@pytest.mark.process
@pytest.mark.slow
def test_tasks_that_do_not_end_are_ended_with_their_map(workers, tmp_path):
    results = workers.ordered_map(functools.partial(wait_after_first, tmp_path), range(2))
    assert next(results) == 0
    wait_until(lambda: bool(nodes_of(tmp_path)), folder=tmp_path)
    results.close()
    (task,) = tmp_path.glob("1-*")
    wait_for_ends([int(task.name.split("-")[2])])
    assert list(workers.ordered_map(str, range(3))) == ["0", "1", "2"]


@pytest.mark.process
@pytest.mark.slow
def test_a_map_that_outlives_its_executor_starts_no_cluster(ray_cluster, tmp_path):
    """Functions of Ray start one where there is none."""
    import ray

    with RayTasks(address=ray_cluster.address) as workers:
        results = workers.ordered_map(functools.partial(wait_after_first, tmp_path), range(2))
        assert next(results) == 0
    results.close()
    assert not ray.is_initialized()


def test_an_error_limits_the_time_for_disconnecting(monkeypatch):
    """Without a network, Ray takes more than a minute."""
    done: list[object] = []
    ray = SimpleNamespace(
        is_initialized=lambda: False,
        init=lambda **_: None,
        shutdown=lambda: done.append("disconnected"),
        nodes=list,
        get_runtime_context=lambda: SimpleNamespace(gcs_address="head:6379"),
    )
    monkeypatch.setattr(ray_cluster, "load_ray", lambda: ray)
    here, head = socket.socketpair()
    head.sendall(b"\0\0\0\4\0\0\0\0\0")  # settings: a server that speaks HTTP/2
    monkeypatch.setattr(socket, "create_connection", lambda *_: here)
    monkeypatch.setattr(interrupts, "limit_end", done.append)
    error = ConnectionError("lost")
    with head, pytest.raises(ConnectionError, match="lost"), connected("head:6379", 0):
        raise error
    assert done == [error, "disconnected"]


def test_nodes_that_are_lost_are_found_once():
    nodes = [{"NodeID": "a", "NodeManagerAddress": "10.0.0.1", "Alive": False}]
    ray = SimpleNamespace(
        get_runtime_context=lambda: SimpleNamespace(gcs_address="head:6379"), nodes=lambda: nodes
    )
    cluster = ray_cluster.Cluster(ray)
    nodes += [
        {"NodeID": "b", "NodeManagerAddress": "10.0.0.1", "Alive": True},
        {"NodeID": "c", "NodeManagerAddress": "10.0.0.2", "Alive": False},
    ]
    assert cluster.find_lost_nodes() == ["10.0.0.2"]
    nodes[1]["Alive"] = False
    assert cluster.find_lost_nodes() == ["10.0.0.1"]
    assert cluster.find_lost_nodes() == []


def wait_after_first(folder: Path, number: int) -> int:
    return wait_for_go(folder, number) if number else 0


def take_memory(number: int) -> int:
    while True:
        signal.pause()


@pytest.mark.process
@pytest.mark.slow
def test_a_node_without_memory_is_named(ray_cluster):
    """The node ends what runs on it as if 1% of its memory were all."""
    small = {"RAY_memory_usage_threshold": "0.01", "RAY_memory_monitor_refresh_ms": "50"}
    node = ray_cluster.add_node(**RAY_NODE, memory=10**12, env_vars=small)
    try:
        with RayTasks(address=ray_cluster.address, task_bytes=5 * 10**11) as workers:
            sentence = r"^node \S+ of the Ray .* \(tries: \d, reserved: 500,000 MB\); start Ray"
            with pytest.raises(MemoryError, match=sentence):
                list(workers.ordered_map(take_memory, range(1)))
    finally:
        ray_cluster.remove_node(node)


@pytest.mark.process
@pytest.mark.slow
def test_a_task_that_no_node_has_memory_for(ray_folder):
    with (
        pytest.raises(ValueError, match=r"^a task needs a core and 10,000,000 MB of memory, which"),
        RayTasks(1, address="local", task_bytes=10**13),
    ):
        pass


@pytest.mark.parametrize("address", ["ray://head:10001", "head", "http://head:8265", ":1", "a:b"])
def test_addresses_that_are_not_those_of_a_head(address):
    with (
        pytest.raises(ValueError, match=f"^ray_address is {address!r}; it must be the HOST:PORT"),
        connected(address, 0),
    ):
        pass


@pytest.mark.parametrize("is_closed", [True, False])
def test_an_address_at_which_no_head_answers(is_closed, monkeypatch):
    monkeypatch.setattr("bert_data.work.ray_cluster.CONNECT_SECONDS", 0.2)
    with socket.create_server(("127.0.0.1", 0)) as server:
        address = f"127.0.0.1:{server.getsockname()[1]}"
        if is_closed:
            server.close()
        reason = "refused" if is_closed else "timed out"
        sentence = f"^no head of a Ray cluster answers at '{address}': .*{reason}"
        with pytest.raises(ConnectionError, match=sentence), connected(address, 0):
            pass


def test_without_ray_the_extra_is_named(monkeypatch):
    monkeypatch.setitem(__import__("sys").modules, "ray", None)
    with (
        pytest.raises(ValueError, match=r"^`engine=ray` needs .* '\.\[ray\]'$"),
        connected("local", 0),
    ):
        pass


def called(function, item, **session) -> tuple[list, object, BaseException | None]:
    """The answers of a worker: log messages, result, error."""
    known = {"folder": os.getcwd(), "name_node": lambda: "n1 (n1)", "log_level": 0}
    whole = {**known, "code": digest_of_code(), **session}
    answer = call(Session(**whole), function.__name__, pickle.dumps(function), pickle.dumps(item))
    messages, message = pickle.loads(answer)
    return messages, *open_answer(pickle.loads(message))


@pytest.fixture
def silent(monkeypatch):
    """Workers keep silent for good; this process must not."""
    monkeypatch.setattr("bert_data.progress.keep_silent", lambda: None)


def warn_often(number: int) -> None:
    for each in range(number):
        logging.warning("%d", each)


def test_a_call_answers_with_its_messages(silent):
    messages, result, error = called(warn, 3)
    assert ([m.getMessage() for m in messages], result, error) == (["number 3"], 3, None)
    assert len(called(warn_often, MAX_LOGGED + 5)[0]) == MAX_LOGGED


def test_a_node_with_other_code_or_storage_is_named(silent, tmp_path):
    marker = tmp_path / "marker"
    marker.write_bytes(b"1")
    _, _, error = called(str, 1, code="")
    assert re.match(r"node \S+ \(.+\) has another bert_data than this command, in ", str(error))
    _, result, error = called(str, 1, marker=str(marker), token=b"1")
    assert (result, error) == ("1", None)
    _, _, error = called(str, 1, marker=str(marker), token=b"2")
    assert re.search(f"has another {re.escape(str(tmp_path))} than this command", str(error))
    _, _, error = called(str, 1, marker=str(tmp_path / "no"), token=b"2")
    assert re.search(f"does not see {re.escape(str(tmp_path))} \\(No such file", str(error))
