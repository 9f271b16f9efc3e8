"""Tasks on shards, files and chunks, and the executors that run them.

    with open_executor(num_workers) as executor:      processes: tasks that write their own files
        for report in run_tasks(tasks, executor): ...

    with open_threads(num_workers) as executor:       threads: chunks in memory, inside one task
        for block in executor.ordered_map(tokenize, blocks): ...

`executor.py` defines the contract that all executors keep, `engine.py` has the engines, which open
the executor of a command's tasks. Processes and Ray are imported only when they are used.
"""

from bert_data.work.engine import ENGINE_SETTINGS, ENGINES, THIS_MACHINE, make_engine, open_executor
from bert_data.work.executor import MAX_WORKERS, Engine, Executor, count_workers, open_threads
from bert_data.work.tasks import Filled, FolderTask, Made, Task, fingerprint, read_report, run_tasks
from bert_data.work.work_folder import open_work, open_work_folder, remove_damaged
