"""The engines: what runs the tasks of a command.

Local()                                   processes of this machine
Ray(ray_address="10.0.0.1:6379")          the Ray cluster with this head
Slurm(slurm_options="--partition=long")   the Slurm cluster of this host

make_engine("ray", ray_address="auto")    the same by names, as flags and keywords have them
with open_executor(num_workers, engine=engine, folder=work_folder) as executor: ...
"""

import dataclasses
import re
import shlex
from collections.abc import Mapping
from typing import Annotated, Any

from bert_data.checks import check_choice
from bert_data.settings import Within, check_settings
from bert_data.work.executor import MAX_WORKERS, Engine, Executor, InProcess, count_workers

_OPTION = re.compile(
    r"--(?!(?:array|error|job-name|open-mode|output|parsable|signal|wait|wrap)\b)([\w-]+)(?:=(.*))?"
)


@dataclasses.dataclass(frozen=True, kw_only=True)
class Local(Engine):
    """Processes of this machine."""

    name = "local"
    is_cluster = False

    def count_workers(self, num_workers: int) -> int:
        """Return the number of workers for a flag's value, where 0 means all cores."""
        return count_workers(num_workers)

    def open_executor(self, num_workers: int, *, folder: str | None, task_bytes: int) -> Executor:
        """Return processes; a single worker is this process."""
        del folder, task_bytes
        if num_workers == 1:
            return InProcess()
        from bert_data.work.processes import Processes

        return Processes(num_workers)


@dataclasses.dataclass(frozen=True, kw_only=True)
class Ray(Engine):
    """A Ray cluster.

    Attributes:
      ray_address: HOST:PORT of the cluster's head; auto: of the cluster that this machine belongs
        to; local: a new one on this machine. By default the environment's RAY_ADDRESS, which ray
        job submit sets, or else local.
    """

    name = "ray"
    ray_address: str | None = None

    def open_executor(self, num_workers: int, *, folder: str | None, task_bytes: int) -> Executor:
        """Return what runs tasks on the cluster, whose nodes are checked to see the folder."""
        from bert_data.work.ray_tasks import RayTasks

        return RayTasks(num_workers, address=self.ray_address, folder=folder, task_bytes=task_bytes)


@dataclasses.dataclass(frozen=True, kw_only=True)
class Slurm(Engine):
    """A Slurm cluster.

    Attributes:
      slurm_options: options of sbatch for each job, separated by spaces, such as
        "--partition=long --time=4:00:00". By default a job asks for one core and the memory that it
        needs, for each of its tasks.
      tasks_per_job: tasks that a job runs at a time, for clusters that give whole nodes.
    """

    name = "slurm"
    slurm_options: str = ""
    tasks_per_job: Annotated[int, Within(1, MAX_WORKERS)] = 1

    def __post_init__(self) -> None:
        check_settings(self)
        self.options()

    def options(self) -> dict[str, Any]:
        """Return the options by name; raise ValueError for one that cannot be passed on."""
        options = {}
        try:
            for word in shlex.split(self.slurm_options):
                if not (option := _OPTION.fullmatch(word)):
                    raise ValueError(f"{word} is not --name=value, or the command itself sets it")
                options[option[1]] = option[2] or True
        except ValueError as error:
            raise ValueError(f"slurm_options is {self.slurm_options!r}: {error}") from None
        return options

    def open_executor(self, num_workers: int, *, folder: str | None, task_bytes: int) -> Executor:
        """Return what runs tasks in jobs; its files are in the folder, or the current one."""
        from bert_data.work.slurm import SlurmTasks

        return SlurmTasks(
            num_workers,
            options=self.options(),
            tasks_per_job=self.tasks_per_job,
            folder=folder,
            task_bytes=task_bytes,
        )


THIS_MACHINE: Engine = Local()
ENGINES: Mapping[str, type[Engine]] = {each.name: each for each in (Local, Ray, Slurm)}

ENGINE_SETTINGS: Mapping[str, type[Engine]] = {
    field.name: engine for engine in ENGINES.values() for field in dataclasses.fields(engine)
}
"""The settings of all engines, by name, and the engine that each is for."""


def make_engine(name: str, **settings: Any) -> Engine:
    """Return an engine by its name.

    Args:
      settings: of any engine; those of others must have their defaults.
    """
    check_choice("engine", name, ENGINES)
    own = {}
    for setting, value in settings.items():
        owner = ENGINE_SETTINGS[setting]
        if owner is ENGINES[name]:
            own[setting] = value
        elif value != owner.__dataclass_fields__[setting].default:
            raise ValueError(f"{setting} needs `engine={owner.name}`")
    return ENGINES[name](**own)


def open_executor(
    num_workers: int,
    *,
    engine: Engine = THIS_MACHINE,
    folder: str | None = None,
    task_bytes: int = 0,
) -> Executor:
    """Return workers for tasks: functions with small arguments and results, which use files.

    Args:
      num_workers: tasks to run at a time, see `Engine.count_workers`.
      folder: an existing one that the tasks write to; all machines that run tasks must see it.
      task_bytes: memory that a task needs, which clusters reserve for it.
    """
    return engine.open_executor(num_workers, folder=folder, task_bytes=task_bytes)
