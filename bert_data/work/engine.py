"""The engines: what runs the tasks of a command.

Local()                                   processes of this machine
Ray(ray_address="10.0.0.1:6379")          the Ray cluster with this head
Slurm(slurm_options="--partition=long")   the Slurm cluster of this host

make_engine("ray", ray_address="auto")    the same by names, as flags and keywords have them
with open_executor(num_workers, engine=engine, folder=work_folder) as executor: ...
"""

import dataclasses
from collections.abc import Mapping
from typing import Any

from bert_data.checks import check_choice
from bert_data.work.executor import Engine, Executor, InProcess, count_workers
from bert_data.work.ray_tasks import Ray
from bert_data.work.slurm import Slurm


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


THIS_MACHINE = Local()
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
