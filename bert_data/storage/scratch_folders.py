"""Folders for what a run writes before its output, such as documents that come from Python.

    with scratch_folder("data/train.tfrecord") as folder: ...     data/.bert_data-n7-1c9e21-89.../

They vanish with the block, and those of a killed run when the next run for the same output begins.
"""

import contextlib
import os
from collections.abc import Iterator

from bert_data.storage.changing import remove
from bert_data.storage.hidden import new_token, own_work_folder, work_folder
from bert_data.storage.paths import is_remote
from bert_data.storage.run_lock import RunLock
from bert_data.storage.statuses import is_folder


@contextlib.contextmanager
def scratch_folder(output: str | None = None) -> Iterator[str]:
    """Make a folder on the disk of an output that a run will write.

    Args:
      output: a file, which need not exist, nor its folder. The folder of a remote one, and of None,
        is among the temporary files.

    Yields:
      The folder's path.

    Raises:
      BlockingIOError: another run for the same output holds its folder.
    """
    import tempfile  # not at the top: it adds 10 ms to each start, and few runs need it

    if output is None or is_remote(output):
        with tempfile.TemporaryDirectory(prefix="bert_data-", ignore_cleanup_errors=True) as folder:
            yield folder
        return
    parent = os.path.dirname(os.path.abspath(output))
    while not is_folder(parent):
        parent = os.path.dirname(parent)
    name = os.path.join(parent, os.path.basename(output))
    lock, token = RunLock(own_work_folder(name, "documents.lock")), new_token()
    try:
        lock.note_start(token, [name], parent)
        folder = work_folder(parent, token)
        os.mkdir(folder, 0o700)
        yield folder
    finally:
        remove(work_folder(parent, token))
        lock.release()
