"""A real Slurm on this machine, of two nodes with two cores each, for tests that need it.

    apt-get install --no-install-recommends slurmctld slurmd slurm-client munge     (Debian)

    with Cluster(folder) as cluster:                  SLURM_CONF names it to the clients
        cluster.run("scontrol", "update", ...)

Its daemons, and their munge, are its own, and need root. They end with it, also where it is
killed. MaxArraySize is 17.
"""

import contextlib
import os
import platform
import shutil
import socket
import subprocess
from pathlib import Path
from typing import Self

import pytest

DAEMONS = ("munged", "slurmctld", "slurmd")
NODES = ("n1", "n2")
_PATH = f"{os.environ['PATH']}:/usr/sbin:/sbin"
_CONF = """\
ClusterName=test
SlurmctldHost={host}(127.0.0.1)
SlurmctldPort={ports[0]}
SlurmUser=root
SlurmdUser=root
AuthType=auth/munge
AuthInfo=socket={folder}/munge.socket
StateSaveLocation={folder}/state
SlurmdSpoolDir={folder}/spool-%n
SlurmctldPidFile={folder}/slurmctld.pid
SlurmdPidFile={folder}/slurmd-%n.pid
SlurmctldLogFile={folder}/slurmctld.log
SlurmdLogFile={folder}/slurmd-%n.log
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
SelectType=select/cons_tres
SelectTypeParameters=CR_Core
ReturnToService=2
JobAcctGatherType=jobacct_gather/none
MaxArraySize=17
KillWait=5
SlurmdParameters=config_overrides
SchedulerParameters=sched_interval=1,sched_min_interval=0,batch_sched_delay=0
NodeName=n1 NodeHostname={host} NodeAddr=127.0.0.1 Port={ports[1]} CPUs=4 RealMemory=4000
NodeName=n2 NodeHostname={host} NodeAddr=127.0.0.1 Port={ports[2]} CPUs=4 RealMemory=4000
PartitionName=main Nodes=n1,n2 Default=YES MaxTime=INFINITE State=UP
"""
# Its input ends with the test's process, or before.
_END = 'cat; scancel --full --user=root; kill -9 $(cat "$0"/*.pid)'


def skip_without_slurm() -> None:
    """Say what a test needs, where it is not there."""
    missing = [name for name in (*DAEMONS, "sbatch") if not shutil.which(name, path=_PATH)]
    if missing or os.geteuid():
        pytest.skip(f"needs Slurm and root: {', '.join(missing) or 'root'} is not here")


class Cluster:
    """A cluster, between `__enter__` and `__exit__`."""

    def __init__(self, folder: Path) -> None:
        self.conf = folder / "slurm.conf"
        self._folder = folder
        self._env = {**os.environ, "PATH": _PATH, "SLURM_CONF": str(self.conf)}
        for name in ("state", *(f"spool-{node}" for node in NODES)):
            (folder / name).mkdir()
        with contextlib.ExitStack() as stack:
            sockets = [stack.enter_context(socket.socket()) for _ in range(3)]
            for each in sockets:
                each.bind(("127.0.0.1", 0))
            ports = [each.getsockname()[1] for each in sockets]
        host = platform.node().partition(".")[0]
        self.conf.write_text(_CONF.format(folder=folder, host=host, ports=ports))

    def __enter__(self) -> Self:
        folder = self._folder
        folder.chmod(0o755)
        (folder / "munge.key").touch(0o600)
        (folder / "munge.key").write_bytes(os.urandom(128))
        names = {"socket": "socket", "key-file": "key", "pid-file": "pid", "log-file": "log"}
        files = [f"--{name}={folder}/munge.{ending}" for name, ending in names.items()]
        self._end = subprocess.Popen(
            ["sh", "-c", _END, folder], env=self._env, stdin=subprocess.PIPE, start_new_session=True
        )
        try:
            self.run("munged", *files, f"--seed-file={folder}/munge.seed")
            self.run("slurmctld", "-c")
            for node in NODES:
                self.run("slurmd", "-N", node)
            self.run(
                "srun", f"--nodes={len(NODES)}", "--quiet", "true"
            )  # waits until they are there
        except BaseException:
            self.__exit__()
            raise
        return self

    def __exit__(self, *_: object) -> None:
        self._end.communicate()

    def run(self, *command: str) -> str:
        """Run a program, and return what it prints."""
        done = subprocess.run(command, env=self._env, capture_output=True, text=True, check=False)
        assert not done.returncode, done.stderr
        return done.stdout

    def jobs(self, *fields: str) -> list[list[str]]:
        """Values of the jobs that have not ended, such as "JobArrayID" and "State"."""
        asked = ",".join(f"{field}:|" for field in fields)
        rows = self.run("squeue", "--noheader", "--array", f"--Format={asked}").splitlines()
        return [row.removesuffix("|").split("|") for row in rows]
