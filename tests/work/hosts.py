"""Hosts in one machine: each has its own network, name, processes and /tmp, and all share a folder.

    with Network(folder) as network:
        head, node = network.add("head"), network.add("node")      10.77.0.1, 10.77.0.2
        head.run("ray", "start", "--head")
        node.cut()                                                  its cable is pulled

They are namespaces of Linux, joined by a bridge in a namespace of its own, so that nothing of them
is seen outside. What they share is at /mnt.
"""

import contextlib
import os
import subprocess
from pathlib import Path
from typing import Any, Self

_NAMESPACES = ("--net", "--uts", "--mount", "--pid")
# The first process of a host collects those that end without a parent, as `sleep` would not.
_BEGIN_HOST = """
set -e
hostname "$1"
mount --bind "$2" /mnt
mount -t tmpfs tmpfs /tmp
mount -t tmpfs tmpfs /dev/shm
ip link set lo up
mkdir /tmp/home
echo begun
while sleep 600; do :; done
"""
_TRY = """
set -e
hostname host
ip link add port1 type veth peer name port2
ip link add bridge type bridge
mount -t tmpfs tmpfs /mnt
"""


def why_not(seen: Path) -> str:
    """Return why this machine cannot have hosts, which must see a folder; "" if it can."""
    if seen.is_relative_to("/tmp") or seen.is_relative_to("/mnt"):
        return f"a host does not see {seen}, as its /tmp and /mnt are its own"
    command = ["unshare", *_NAMESPACES, "--fork", "--mount-proc", "sh", "-c", _TRY]
    try:
        done = subprocess.run(command, capture_output=True, text=True, check=False)
    except OSError as error:
        return str(error)
    return f"no namespaces: {done.stderr.strip()}" if done.returncode else ""


class Network:
    """Hosts that are joined by a bridge, between `__enter__` and `__exit__`."""

    def __init__(self, shared: Path) -> None:
        self._shared, self._hosts = shared, 0
        self._stack = contextlib.ExitStack()

    def __enter__(self) -> Self:
        self._switch = self._begin(
            "unshare", "--net", "sh", "-c", "echo begun; exec sleep infinity"
        )
        self.at_switch("ip", "link", "add", "bridge", "type", "bridge")
        self.at_switch("ip", "link", "set", "bridge", "up")
        return self

    def __exit__(self, *_: object) -> None:
        self._stack.close()

    def _begin(self, *command: str) -> int:
        process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
        self._stack.enter_context(process)
        self._stack.callback(process.kill)
        assert process.stdout is not None and process.stdout.readline() == "begun\n"
        return process.pid

    def at_switch(self, *command: str) -> None:
        """Run a program where the bridge is."""
        subprocess.run(["nsenter", f"--target={self._switch}", "--net", *command], check=True)

    def add(self, name: str) -> "Host":
        """Start a host and plug it in."""
        self._hosts += 1
        own = ("--fork", "--kill-child", "--mount-proc")
        script = ("sh", "-c", _BEGIN_HOST, "sh", name, str(self._shared))
        parent = self._begin("unshare", *_NAMESPACES, *own, *script)
        children = Path(f"/proc/{parent}/task/{parent}/children").read_text()
        host = Host(self, name, int(children), f"10.77.0.{self._hosts}", f"port{self._hosts}")
        peer = ("peer", "name", "eth0", "netns", str(parent))
        self.at_switch("ip", "link", "add", host.port, "type", "veth", *peer)
        self.at_switch("ip", "link", "set", host.port, "master", "bridge", "up")
        host.run("ip", "address", "add", f"{host.address}/24", "dev", "eth0")
        host.run("ip", "link", "set", "eth0", "up")
        host.run("ip", "route", "add", "default", "via", "10.77.0.254")
        return host


class Host:
    """A host of a network.

    Attributes:
      address: its IP address.
      port: its interface at the bridge.
    """

    def __init__(self, network: Network, name: str, pid: int, address: str, port: str) -> None:
        self._network, self.name, self.pid = network, name, pid
        self.address, self.port = address, port
        self.environment: dict[str, str] = {"HOME": "/tmp/home", "TMPDIR": "/tmp"}

    def begin(self, *command: str, **options: Any) -> subprocess.Popen[str]:
        """Start a program on the host, in the shared folder."""
        options.setdefault("env", {**os.environ, **self.environment})
        place = (f"--target={self.pid}", "--net", "--uts", "--mount", "--pid")
        entered = ("nsenter", *place, "env", "--chdir=/mnt", *command)
        return subprocess.Popen(entered, text=True, **options)

    def run(self, *command: str, is_checked: bool = True) -> str:
        """Run a program on the host to its end, as a rule with status 0; return what it printed."""
        process = self.begin(*command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
        printed, _ = process.communicate()
        assert not (is_checked and process.returncode), printed
        return printed

    def cut(self) -> None:
        """Pull the host's cable."""
        self._network.at_switch("ip", "link", "set", self.port, "down")

    def join(self) -> None:
        """Plug the cable in again."""
        self._network.at_switch("ip", "link", "set", self.port, "up")
