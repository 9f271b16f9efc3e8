"""Outputs that appear whole: written under hidden names, renamed together at the end.

    .a.89abcdef01234567.partial  .b.89abcdef01234567.partial  .a.lock      while the run works,
    .bert_data-89abcdef01234567                                           and what spills to disk
    a  b                                                                  when it is done

A run that dies leaves hidden files and a lock that names them; the next run for the same set
removes them, and also what it had begun to give final names. Runs for other sets that share a file
with this one do not meet before the end: each has hidden names of its own, and they are renamed by
one run after the other.
"""

import contextlib
import errno
import os
import secrets
import shutil
from collections.abc import Callable, Iterator, Sequence
from typing import IO, Self

from bert_data.storage.names import refuse_doubles
from bert_data.storage.paths import naming
from bert_data.storage.run_lock import (
    Identity,
    RunLock,
    commits_held,
    hidden_path,
    identity,
    partial_path,
    remove,
    remove_mixture,
    work_folder,
)


def refuse_existing(paths: Sequence[str], *, overwrite: bool) -> None:
    """Raises an OSError where something is there that must not be replaced."""
    for path in paths:
        if os.path.isdir(path):
            raise IsADirectoryError(errno.EISDIR, "is a directory, not a file to write", path)
        if os.path.lexists(path) and not overwrite:
            reason = "exists already (--overwrite replaces it)"
            raise FileExistsError(errno.EEXIST, reason, path)
        if os.path.exists(path) and not os.path.isfile(path):
            raise FileExistsError(errno.EEXIST, "is a device or the like, not a file", path)


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
        self._lock_path = hidden_path(name, "lock")
        self._paths = tuple(paths)
        self._overwrite = overwrite
        self._work_parent = work_dir
        self._token = secrets.token_hex(8)
        self._lock: RunLock | None = None
        self._committing: dict[str, list[Identity]] = {}
        self._made_folders: list[str] = []
        self.work_dir = ""

    def __enter__(self) -> Self:
        refuse_doubles(self._paths)
        _refuse_hidden_names(self._paths)
        parent = os.path.abspath(self._work_parent or os.path.dirname(self._lock_path))
        folders = {os.path.dirname(os.path.abspath(path)) for path in self._paths}
        try:
            for folder in sorted({*folders, parent}):
                _make_folders(folder, self._made_folders)
            for path in self._paths:
                identity(self._partial(path))  # too long a name is told now, not after the work
            self._lock = RunLock(self._lock_path)
            refuse_existing(self._paths, overwrite=self._overwrite)
            self._lock.note_start(self._token, self._paths, parent)
            self.work_dir = work_folder(parent, self._token)
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

    def _partial(self, path: str) -> str:
        return partial_path(path, self._token)

    @contextlib.contextmanager
    def open(self, path: str) -> Iterator[IO[bytes]]:
        """Opens a file of the set for writing, under its hidden name."""
        with naming(path), open(self._partial(path), "wb") as file:
            yield file

    def take_in(self, path: str, made: str) -> None:
        """Takes a file that was made in `work_dir` as a file of the set, under its hidden name."""
        with naming(path):
            shutil.move(made, self._partial(path))

    def commit(
        self,
        paths: Sequence[str],
        vouchers: Sequence[str] = (),
        *,
        obsolete: Callable[[], Sequence[str]] = tuple,
    ) -> None:
        """Gives files of the set their final names.

        Args:
          paths: renamed first.
          vouchers: renamed last; each says of the others that they are whole, so those that exist
            from an earlier run are removed first: they must not vouch for a mixture.
          obsolete: finds files of earlier runs, in the same folders, that would be mistaken for
            part of this set or are untrue now; called when no other run can commit any more.

        Raises:
          FileExistsError: another program has made one of the files in the meantime, and
            `overwrite` is not set.
        """
        assert self._lock is not None
        final = (*paths, *vouchers)
        with commits_held(os.path.dirname(path) for path in final):
            refuse_existing(self._paths, overwrite=self._overwrite)
            for path in final:
                os.lstat(self._partial(path))  # one that was never written is told now
            earlier = obsolete()
            states = {path: _identities(path) for path in earlier}
            states |= {path: _identities(self._partial(path), path) for path in final}
            self._lock.note_commit(states)
            self._committing = states
            # The last one first: without it there is no whole set, and with it nothing is touched.
            for path in (*reversed(vouchers), *earlier):
                remove(path)
            for path in final:
                os.replace(self._partial(path), path)
            self._committing = {}  # from here on other runs may replace and remove these files
        self._made_folders.clear()

    def _remove_everything(self) -> None:
        """Removes what is not committed; the lock last, for it tells the next run what is left."""
        if self.work_dir:
            shutil.rmtree(self.work_dir, ignore_errors=True)
        if self._lock is not None:
            if self._committing:
                remove_mixture(self._committing)
            for path in self._paths:
                remove(self._partial(path))
            self._lock.release()
        for folder in reversed(self._made_folders):
            with contextlib.suppress(OSError):
                os.rmdir(folder)


def _refuse_hidden_names(paths: Sequence[str]) -> None:
    for path in paths:
        name = os.path.basename(path)
        if name.startswith(".") and name.endswith((".lock", ".partial")):
            raise ValueError(
                f"output {path!r} has a name that unfinished files have: .NAME.lock, .NAME.partial"
            )


def _identities(*paths: str) -> list[Identity]:
    """Of those files that exist."""
    return [found for found in map(identity, paths) if found is not None]


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
    if not os.access(folder, os.R_OK | os.W_OK | os.X_OK):
        raise PermissionError(errno.EACCES, "no permission to write into this folder", folder)
