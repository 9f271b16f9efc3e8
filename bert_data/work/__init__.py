"""All work on shards, files and chunks: what it is made of, and what runs it.

    with open_executor(num_workers) as executor:      processes: tasks that make files of their own
        for report in run_tasks(tasks, executor): ...

    with open_threads(num_workers) as executor:       threads: chunks in memory, inside one task
        for block in executor.ordered_map(tokenize, blocks): ...

A stage is given an `Executor` and calls it; `executor.py` has the one contract that all of them
keep, `threads.py` and `processes.py` do the work, and `tasks.py` says what a task is and how one
that an earlier run has done is found again. Processes are imported only when they are asked for.
"""

from bert_data.work.executor import Executor, count_workers, open_executor, open_threads
from bert_data.work.folder_tasks import FolderTask, open_work_folder, read_report
from bert_data.work.tasks import Task, fingerprint, run_tasks

__all__ = [
    "Executor",
    "FolderTask",
    "Task",
    "count_workers",
    "fingerprint",
    "open_executor",
    "open_threads",
    "open_work_folder",
    "read_report",
    "run_tasks",
]
