"""Folders for what a run writes before its output, such as documents that come from Python.

    with scratch_folder("data/train.tfrecord") as folder: ...     data/.bert_data-n7-1c9e21-89.../

They vanish with the block, and those of a killed run when the next run for the same output begins.

    staged = StagedFolder("s3://bucket/out")     /tmp/bert_data-x7/, for programs such as TensorFlow
    staged.upload(last=".index")                 s3://bucket/out/model.data, then .../model.index
    CopiedFolder(["s3://bucket/model.index", "s3://bucket/model.data"]).path      files to read

The last two vanish with their object, or with the process if it is not killed.
"""

import contextlib
import os
import shutil
import weakref
from collections.abc import Iterator, Sequence

from bert_data.storage import local_copies
from bert_data.storage.changing import remove
from bert_data.storage.hidden import new_token, own_work_folder, work_folder
from bert_data.storage.paths import is_remote
from bert_data.storage.run_lock import RunLock
from bert_data.storage.statuses import is_folder
from bert_data.storage.uploading import upload


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


class StagedFolder:
    """A folder to write files into; those of a remote one are uploaded.

    Attributes:
      path: of a local folder: the folder itself, or, of a remote one, a new folder among the
        system's temporary files.
    """

    def __init__(self, folder: str) -> None:
        self._folder, self.path = folder, folder
        if is_remote(folder):
            self.path = _make_folder_of(self)

    def upload(self, *, last: str = "") -> None:
        """Upload all files, if the folder is remote; each of them replaces one of its name.

        Args:
          last: files whose names end so are uploaded when the others are there.
        """
        if not is_remote(self._folder):
            return
        names = sorted(os.listdir(self.path))
        for name in sorted(names, key=lambda name: bool(last) and name.endswith(last)):
            upload(os.path.join(self.path, name), os.path.join(self._folder, name))


class CopiedFolder:
    """Copies of remote files, side by side under their own names.

    Attributes:
      path: of the local folder.
    """

    def __init__(self, uris: Sequence[str]) -> None:
        """Copy the files, see `local_copies`.

        Raises:
          OSError: a file cannot be read, or there is no room for its copy.
          ValueError: a file is larger than the copies may be.
        """
        self.path = _make_folder_of(self)
        for uri in uris:
            copy = local_copies.hold(uri)
            weakref.finalize(self, local_copies.release, copy)
            os.symlink(copy, os.path.join(self.path, os.path.basename(uri)))


def _make_folder_of(owner: object) -> str:
    """Make a temporary folder, which is removed with an object."""
    import tempfile  # not at the top: it adds 10 ms to each start, and few runs need it

    path = tempfile.mkdtemp(prefix="bert_data-")
    weakref.finalize(owner, shutil.rmtree, path, ignore_errors=True)
    return path
