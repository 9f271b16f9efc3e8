"""The connection to a Ray cluster: made in bounded time, and watched.

    with connected("10.0.0.1:6379", num_workers=0) as cluster:
        cluster.num_cores()        8
        cluster.check_head()       raises ConnectionError if the head is lost

When the head of a cluster is lost, Ray ends the driver a minute later, without an exception.
`check_head` is earlier.
"""

import contextlib
import os
import signal
import socket
import sys
import threading
import time
from collections.abc import Iterator
from logging import getLogger
from typing import Any

from absl import logging

from bert_data import interrupts
from bert_data.packages import load_package
from bert_data.progress import how_many
from bert_data.work.executor import count_workers

CONNECT_SECONDS = 10.0
_STORE_BYTES = 100_000_000  # for objects; tasks take and return little
_SLOW_SECONDS = 30.0
_HEAD_SHARE = 0.75  # of the time after which Ray ends the driver
_HEAD_VARIABLE = "RAY_gcs_rpc_server_reconnect_timeout_s"
_HEAD_SECONDS = 60.0  # Ray's default for it
_OOM_VARIABLE = "RAY_task_oom_retries"  # Ray's default is to retry for ever
_OOM_RETRIES = "3"
# What a client of HTTP/2 begins with, and an empty frame of settings, which the server answers.
_GREETING = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n" + bytes([0, 0, 0, 4, 0, 0, 0, 0, 0])
_HEADER_BYTES, _SETTINGS = 9, 4


def load_ray() -> Any:
    """Import Ray, or raise ValueError."""
    os.environ.setdefault(_OOM_VARIABLE, _OOM_RETRIES)
    return load_package("ray", "`engine=ray`", extra="ray")


@contextlib.contextmanager
def connected(address: str | None, num_workers: int) -> Iterator["Cluster"]:
    """Connect to a cluster, or start one on this machine, until the block ends.

    A connection that this process already has is used, and stays.

    Args:
      num_workers: cores of a cluster that is started here; 0: all.
    """
    ray = load_ray()
    if ray.is_initialized():
        yield Cluster(ray)
        return
    address = address or os.environ.get("RAY_ADDRESS") or "local"
    _check_address(address)
    options: dict[str, Any] = {}
    if address == "local":
        os.environ.setdefault("RAY_worker_niceness", "0")
        os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")
        options = {
            "num_cpus": count_workers(num_workers),
            "object_store_memory": _STORE_BYTES,
            "include_dashboard": False,
        }
    else:
        interrupts.note_server()
    handler = signal.getsignal(signal.SIGTERM)
    slow = threading.Timer(
        _SLOW_SECONDS, logging.warning, ("still waiting for the Ray cluster at %s", address)
    )
    slow.daemon = True
    slow.start()
    try:
        getLogger("ray").setLevel("ERROR")
        ray.init(address=address, log_to_driver=False, configure_logging=False, **options)
    except Exception as error:
        reason = " ".join(str(error).split())
        raise ConnectionError(
            f"the Ray cluster {address!r} cannot be used: {reason}; this host must belong to it"
            " (ray start --address=HOST:PORT --num-cpus=0), and if it wants a token,"
            " RAY_AUTH_MODE=token and RAY_AUTH_TOKEN or ~/.ray/auth_token must hold it"
        ) from error
    finally:
        slow.cancel()
        if threading.current_thread() is threading.main_thread():
            signal.signal(signal.SIGTERM, handler)  # which Ray has replaced
    try:
        yield Cluster(ray, is_own=address == "local")
    finally:
        interrupts.limit_end(sys.exception())  # without a network Ray waits for more than a minute
        ray.shutdown()


def _check_address(address: str) -> None:
    """Make sure that a head answers at an address; Ray itself waits for minutes."""
    if address in ("local", "auto"):
        return
    host, _, port = address.rpartition(":")
    if "://" in address or not host or not port.isdecimal():
        raise ValueError(
            f"ray_address is {address!r}; it must be the HOST:PORT of a cluster's head, such as"
            " 10.0.0.1:6379, auto or local"
        )
    reason = _ask_head(address)
    if reason:
        raise ConnectionError(f"no head of a Ray cluster answers at {address!r}: {reason}")


def _ask_head(address: str) -> str:
    """Return why no head answers at an address, or "" if one does; it speaks HTTP/2."""
    host, _, port = address.rpartition(":")
    try:
        with socket.create_connection((host.strip("[]"), int(port)), CONNECT_SECONDS) as connection:
            connection.sendall(_GREETING)
            frame = connection.recv(_HEADER_BYTES)
    except (OSError, OverflowError) as error:
        return str(error)
    if len(frame) < _HEADER_BYTES or frame[3] != _SETTINGS:
        return "something else listens there"
    return ""


class Cluster:
    """A cluster that this process is connected to.

    Attributes:
      is_own: whether this process has started it, so that no other nodes join it.
      is_lost: whether its head is.
    """

    def __init__(self, ray: Any, *, is_own: bool = False) -> None:
        self.ray, self.is_own, self.is_lost = ray, is_own, False
        self.address: str = ray.get_runtime_context().gcs_address
        self._ray_seconds = float(os.environ.get(_HEAD_VARIABLE) or _HEAD_SECONDS)
        self.patience_seconds = _HEAD_SHARE * self._ray_seconds
        self._between_seconds = min(5.0, self.patience_seconds / 4)
        self._asked = self._answered = time.monotonic()
        self._dead: set[str] = set()
        self.find_lost_nodes()

    def describe(self) -> str:
        """Return the size of the cluster, and what happens if its head is lost."""
        if self.is_own:
            return f"started on this machine, with {how_many(self.num_cores(), 'core')}"
        num_nodes = sum(node["Alive"] for node in self.ray.nodes())
        return (
            f"{how_many(num_nodes, 'node')} with {how_many(self.num_cores(), 'core')} at"
            f" {self.address}; if its head is lost, this command ends within"
            f" {self._ray_seconds:.0f} s, and the same command resumes with what is missing"
        )

    @property
    def max_oom_tries(self) -> int:
        """Return how often a task is run that needs more memory than its node has."""
        return 1 + int(os.environ[_OOM_VARIABLE])

    def num_cores(self) -> int:
        """Return the number of cores of all nodes, >= 0."""
        return int(self.ray.cluster_resources().get("CPU", 0))

    def find_lost_nodes(self) -> list[str]:
        """Return the addresses of nodes lost since the last call."""
        dead = {node["NodeID"]: node for node in self.ray.nodes() if not node["Alive"]}
        new = [node["NodeManagerAddress"] for name, node in dead.items() if name not in self._dead]
        self._dead.update(dead)
        return new

    def has_room(self, num_bytes: int) -> bool:
        """Return whether some node has a core and so much memory, be it in use or not."""
        resources = [node["Resources"] for node in self.ray.nodes() if node["Alive"]]
        return any(r.get("CPU", 0) >= 1 and r.get("memory", 0) >= num_bytes for r in resources)

    def check_head(self) -> bool:
        """Ask the head if it is there, unless it was just asked; return whether it answered.

        Raises:
          ConnectionError: it has not answered for long.
        """
        if time.monotonic() - self._asked < self._between_seconds:
            return False
        reason = _ask_head(self.address)
        self._asked = now = time.monotonic()
        if not reason:
            self._answered = now
            return True
        silence = now - self._answered
        if silence > self.patience_seconds:
            self.is_lost = True
            raise ConnectionError(
                f"the head of the Ray cluster at {self.address} is lost ({reason}); when there is a"
                " cluster again, the same command resumes with what is missing"
            )
        logging.warning(
            "the head of the Ray cluster at %s does not answer (%s); waiting for %.0f s",
            self.address,
            reason,
            self.patience_seconds - silence,
        )
        return False
