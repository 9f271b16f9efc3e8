"""How work on shards, files and chunks is divided into tasks, and what runs it.

    with open_executor(num_workers) as executor:      processes: tasks that write their own files
        for report in run_tasks(tasks, executor): ...

    with open_threads(num_workers) as executor:       threads: chunks in memory, inside one task
        for block in executor.ordered_map(tokenize, blocks): ...

A stage is passed an `Executor` and calls it. `executor.py` defines the contract that all executors
keep, `threads.py` and `processes.py` implement it, and `tasks.py` says what a task is and how the
result of an earlier run is found. Processes are imported only when they are used.

    rounds = Rounds(folder, parts, max_bytes, executor)                     decisions over all data
    keys = rounds.over_parts("keys", write_keys, {"keys": layout})["keys"]

`rounds.py` divides decisions over all data into tasks of bounded memory; they exchange the sorted
files of `records.py`, which `ranges.py` reads. They load NumPy, so import them from there.
"""

from bert_data.work.executor import (
    MAX_WORKERS,
    Executor,
    count_workers,
    open_executor,
    open_threads,
)
from bert_data.work.folder_tasks import FolderTask, open_work_folder, read_report
from bert_data.work.tasks import Task, fingerprint, run_tasks
