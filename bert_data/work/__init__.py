"""Tasks on shards, files and chunks, and the executors that run them.

    with open_executor(num_workers) as executor:      processes: tasks that write their own files
        for report in run_tasks(tasks, executor): ...

    with open_threads(num_workers) as executor:       threads: chunks in memory, inside one task
        for block in executor.ordered_map(tokenize, blocks): ...

`executor.py` defines the contract that all executors keep, `engine.py` has the engines, which open
the executor of a command's tasks. Processes and Ray are imported only when they are used.
"""

from typing import TYPE_CHECKING

from bert_data.packages import import_on_use

if TYPE_CHECKING:
    from bert_data.work.engine import ENGINE_SETTINGS as ENGINE_SETTINGS
    from bert_data.work.engine import ENGINES as ENGINES
    from bert_data.work.engine import THIS_MACHINE as THIS_MACHINE
    from bert_data.work.engine import make_engine as make_engine
    from bert_data.work.engine import open_executor as open_executor
    from bert_data.work.executor import MAX_WORKERS as MAX_WORKERS
    from bert_data.work.executor import Engine as Engine
    from bert_data.work.executor import Executor as Executor
    from bert_data.work.executor import count_workers as count_workers
    from bert_data.work.executor import open_threads as open_threads
    from bert_data.work.tasks import Filled as Filled
    from bert_data.work.tasks import FolderTask as FolderTask
    from bert_data.work.tasks import Made as Made
    from bert_data.work.tasks import Task as Task
    from bert_data.work.tasks import fingerprint as fingerprint
    from bert_data.work.tasks import read_report as read_report
    from bert_data.work.tasks import run_tasks as run_tasks
    from bert_data.work.work_folder import open_work as open_work
    from bert_data.work.work_folder import open_work_folder as open_work_folder
    from bert_data.work.work_folder import remove_damaged as remove_damaged

__getattr__, __all__ = import_on_use(__name__)
