"""How work on shards, files and chunks is divided into tasks, and what runs it.

    with open_executor(num_workers) as executor:      processes: tasks that write their own files
        for report in run_tasks(tasks, executor): ...

    with open_threads(num_workers) as executor:       threads: chunks in memory, inside one task
        for block in executor.ordered_map(tokenize, blocks): ...

A stage is passed an `Executor` and calls it. `executor.py` defines the contract that all executors
keep; `threads.py`, `processes.py`, `ray_tasks.py` and `slurm.py` implement it. `engine.py` has the
engines, which open the executor of a command's tasks. `tasks.py` says what a task is and how the
result of an earlier run is found. Processes and Ray are imported only when they are used.
"""

from bert_data.work.engine import (
    ENGINE_SETTINGS,
    ENGINES,
    THIS_MACHINE,
    make_engine,
    open_executor,
)
from bert_data.work.executor import MAX_WORKERS, Engine, Executor, count_workers
from bert_data.work.folder_tasks import Filled, FolderTask, Made, read_report
from bert_data.work.tasks import Task, fingerprint, run_tasks
from bert_data.work.threads import open_threads
from bert_data.work.work_folder import open_work, open_work_folder, remove_damaged
