"""Outputs that appear whole: written under hidden names, renamed together at the end.

    .a.partial  .b.partial  .a.lock     while the run works, and its folder for what spills to disk
    a  b                                when it is done

A run that dies leaves hidden files and a lock that names them; the next run for the same set
removes them, and also what it had begun to give final names.
"""

import contextlib
import errno
import fcntl
import json
import os
import secrets
import shutil
from collections.abc import Iterator, Sequence
from typing import IO, Any, Self

from absl import logging

from bert_data.files import naming, refuse_doubles


class OutputSet:
    """Files that appear together, each whole, or not at all.

    with OutputSet("train.tfrecord", ["train.tfrecord"], overwrite=False) as outputs:
        with outputs.open("train.tfrecord") as file:
            file.write(...)
        outputs.commit(["train.tfrecord"])

    A second run for the same set, at the same time, is refused. Leaving the block without `commit`
    removes all that was written, the folders made for it included.
    """

    def __init__(
        self, name: str, paths: Sequence[str], *, overwrite: bool, work_dir: str | None = None
    ) -> None:
        """Describes a set; nothing is made yet.

        Args:
          name: of the set; its lock lies beside it.
          paths: every file that the run will write under its final name; the one that is renamed
            last comes last.
          overwrite: whether files that exist under these names are replaced.
          work_dir: folder for what spills to disk; None: the folder of the first output.
        """
        self._lock_path = _hidden(name, "lock")
        self._paths = tuple(paths)
        self._overwrite = overwrite
        self._work_parent = work_dir
        self._lock: IO[str] | None = None
        self._made_folders: list[str] = []
        self.work_dir = ""

    def __enter__(self) -> Self:
        refuse_doubles(self._paths)
        parent = os.path.abspath(self._work_parent or os.path.dirname(self._lock_path))
        folders = {os.path.dirname(os.path.abspath(path)) for path in self._paths}
        try:
            for folder in sorted({*folders, parent}):
                _make_folders(folder, self._made_folders)
            self._lock = _take_lock(self._lock_path)
            self._refuse_existing()
            self.work_dir = os.path.join(parent, f".bert_data-{secrets.token_hex(8)}")
            paths = [os.path.abspath(path) for path in self._paths]
            self._note({"work_dir": self.work_dir, "paths": paths})
            os.mkdir(self.work_dir, 0o700)
        except BaseException:
            self._remove_everything()
            raise
        return self

    def __exit__(self, *_: object) -> None:
        try:
            self._remove_everything()
        except BaseException:  # Ctrl-C between two removals
            self._remove_everything()
            raise

    def _note(self, record: dict[str, Any]) -> None:
        """Writes into the lock what the next run must know if this one is killed."""
        assert self._lock is not None
        with naming(self._lock_path):
            self._lock.write(json.dumps(record) + "\n")
            self._lock.flush()

    def _refuse_existing(self) -> None:
        for path in self._paths:
            if os.path.isdir(path):
                raise IsADirectoryError(errno.EISDIR, "is a directory, not a file to write", path)
            if os.path.lexists(path) and not self._overwrite:
                reason = "exists already (--overwrite replaces it)"
                raise FileExistsError(errno.EEXIST, reason, path)
            if os.path.exists(path) and not os.path.isfile(path):
                raise FileExistsError(errno.EEXIST, "is a device or the like, not a file", path)

    @contextlib.contextmanager
    def open(self, path: str) -> Iterator[IO[bytes]]:
        """Opens a file of the set for writing, under its hidden name."""
        with naming(path), open(_hidden(path, "partial"), "wb") as file:
            yield file

    def commit(
        self, paths: Sequence[str], vouchers: Sequence[str] = (), *, obsolete: Sequence[str] = ()
    ) -> None:
        """Gives files of the set their final names.

        Args:
          paths: renamed first.
          vouchers: renamed last; each says of the others that they are whole, so those that exist
            from an earlier run are removed first: they must not vouch for a mixture.
          obsolete: files of an earlier run that would be mistaken for part of this set.
        """
        self._note({"obsolete": [os.path.abspath(path) for path in obsolete]})
        try:
            # The last one first: without it there is no whole set, and with it nothing is touched.
            for path in (*reversed(vouchers), *obsolete):
                _remove(path)
            for path in (*paths, *vouchers):
                os.replace(_hidden(path, "partial"), path)
        except BaseException:
            _remove_mixture(self._paths, obsolete)
            raise
        self._made_folders.clear()

    def _remove_everything(self) -> None:
        """Removes what is not committed; the lock last, for it tells the next run what is left."""
        if self.work_dir:
            shutil.rmtree(self.work_dir, ignore_errors=True)
        if self._lock is not None:
            for path in self._paths:
                _remove(_hidden(path, "partial"))
            _remove(self._lock_path)
            with contextlib.suppress(OSError):  # what a full disk did not take
                self._lock.close()
        for folder in reversed(self._made_folders):
            with contextlib.suppress(OSError):
                os.rmdir(folder)


def _hidden(path: str, ending: str) -> str:
    folder, name = os.path.split(path)
    return os.path.join(folder, f".{name}.{ending}")


def _remove(path: str) -> None:
    with contextlib.suppress(FileNotFoundError):
        os.remove(path)


def _remove_mixture(paths: Sequence[str], obsolete: Sequence[str]) -> None:
    """Removes what a commit has left that did not end: one whose last path is missing."""
    if not os.path.lexists(paths[-1]):
        for path in (*paths, *obsolete):
            _remove(path)


def _make_folders(folder: str, made: list[str]) -> None:
    """Makes a folder and its parents; appends those that were missing to `made`, outer first."""
    missing = []
    while not os.path.lexists(folder):
        missing.append(folder)
        folder = os.path.dirname(folder)
    for path in reversed(missing):
        os.mkdir(path)
        made.append(path)
        folder = path
    if not os.path.isdir(folder):
        raise NotADirectoryError(errno.ENOTDIR, "is not a folder", folder)
    if not os.access(folder, os.W_OK | os.X_OK):
        raise PermissionError(errno.EACCES, "no permission to write into this folder", folder)


def _take_lock(path: str) -> IO[str]:
    """Locks `path` for this process and removes what a killed run has left behind."""
    while True:
        lock = open(path, "a+", encoding="utf-8")  # noqa: SIM115 - held for the whole run
        try:
            with naming(path):
                fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            lock.close()
            reason = "another run is writing this output"
            raise BlockingIOError(errno.EAGAIN, reason, path) from None
        if os.path.exists(path) and os.path.samestat(os.fstat(lock.fileno()), os.stat(path)):
            break
        lock.close()  # its owner removed it between our open and our lock
    lock.seek(0)
    _clean_up(lock.read().splitlines())
    lock.truncate(0)
    return lock


def _clean_up(left: Sequence[str]) -> None:
    """Removes the files of a killed run: `left` is what it noted in its lock."""
    notes: dict[str, Any] = {}
    for line in left:
        with contextlib.suppress(json.JSONDecodeError):  # killed while it noted what comes next
            notes |= json.loads(line)
    if not notes:
        return
    logging.info("removing what an earlier, killed run has left of %s", notes["paths"][0])
    shutil.rmtree(notes["work_dir"], ignore_errors=True)
    for path in notes["paths"]:
        _remove(_hidden(path, "partial"))
    if "obsolete" in notes:  # it was giving the files their names
        _remove_mixture(notes["paths"], notes["obsolete"])
