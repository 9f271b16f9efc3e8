"""What runs tasks: processes of this machine, or a Ray cluster.

Engine()                                           processes
Engine(name="ray", ray_address="10.0.0.1:6379")    the cluster with this head

with open_executor(num_workers, engine=engine, folder=work_folder) as executor: ...
"""

import dataclasses

from bert_data.bounds import check_bounds, check_choice
from bert_data.work.executor import MAX_WORKERS, Executor, InProcess, count_workers

LOCAL, RAY = "local", "ray"
ENGINES = (LOCAL, RAY)


@dataclasses.dataclass(frozen=True, kw_only=True)
class Engine:
    """What runs tasks; their files do not depend on it.

    Attributes:
      name: "local" or "ray".
      ray_address: of a Ray cluster: host:port of its head, "auto" for the one that this machine
        belongs to, or "local" for a new one of this machine alone. None: RAY_ADDRESS of the
        environment, which `ray job submit` sets, or else "local".
    """

    name: str = LOCAL
    ray_address: str | None = None

    def __post_init__(self) -> None:
        check_choice("engine", self.name, ENGINES)
        if self.ray_address is not None and not self.is_cluster:
            raise ValueError("--ray_address needs --engine=ray")

    @property
    def is_cluster(self) -> bool:
        """Whether tasks may run on other machines, which share only files with this one."""
        return self.name == RAY

    def count_workers(self, num_workers: int) -> int:
        """Return the number of workers for a flag's value, where 0 means all cores.

        For a cluster that is 0 again: it grows and shrinks while it works.

        Raises:
          ValueError: num_workers is negative, or more than any machine has cores.
        """
        if self.is_cluster:
            check_bounds("num_workers", num_workers, 0, MAX_WORKERS)
            return num_workers
        return count_workers(num_workers)


THIS_MACHINE = Engine()


def open_executor(
    num_workers: int,
    *,
    engine: Engine = THIS_MACHINE,
    folder: str | None = None,
    task_bytes: int = 0,
) -> Executor:
    """Return workers for tasks: functions with small arguments and results, which use files.

    Args:
      num_workers: tasks to run at a time, >= 1; a single one works in this process. For Ray, 0
        means as many as the cluster has cores.
      engine: what runs the tasks.
      folder: an existing one that the tasks write to. With Ray, each node is checked to see it.
      task_bytes: memory that a task needs, which Ray reserves for it.
    """
    if engine.is_cluster:
        from bert_data.work.ray_tasks import RayTasks

        return RayTasks(
            num_workers, address=engine.ray_address, folder=folder, task_bytes=task_bytes
        )
    if num_workers == 1:
        return InProcess()
    from bert_data.work.processes import Processes

    return Processes(num_workers)
