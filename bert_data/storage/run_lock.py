"""The lock of a run, which tells the next run what to remove if this one is killed.

    .a.lock  {"inode": 7, "token": "n7-1c9e21-89abcdef01234567", "work_parent": ".", "paths": ["a"]}
             {"commit": {"a": [[8, 50, 1700000000]], "b": [[9, 60, 1700000000]]}}

The first line is written before anything is made, the second before files get their final names.
Every hidden name of the run has the token. A file under its final name is removed only if its
inode, size and modification time are the noted ones, so a file that another run has put there since
is never removed. Nothing of another host's run is removed: locks may not reach across hosts, so
that run may be alive. Nor is anything removed on a file system without locks. Paths inside the
lock's folder are relative to it, so that the notes stay true if the folder is moved. Of a remote
set, whose lock is local, the objects are noted before they are uploaded. The notes are ignored if
the lock was copied (its inode differs from the noted one), belongs to another user, or holds
something else.
"""

import contextlib
import errno
import fcntl
import json
import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import IO, Any

from absl import logging

from bert_data.storage.changing import remove, remove_unfinished_uploads
from bert_data.storage.file_systems import naming, naming_folder
from bert_data.storage.paths import (
    is_of_this_host,
    is_remote,
    is_token,
    new_token,
    own_work_folder,
    partial_path,
    replaced_path,
    work_folder,
)
from bert_data.storage.statuses import exists, is_folder

_NO_LOCKS = (errno.ENOSYS, errno.EOPNOTSUPP, errno.ENOLCK)

Identity = list[int]  # inode, size in bytes, time of last change in ns: renaming keeps them


class RunLock:
    """A lock that this process holds until `release`, and the notes in it."""

    def __init__(self, path: str) -> None:
        """Take the lock and remove what a killed run left.

        Raises:
          BlockingIOError: another run holds it.
        """
        self._path = path
        self._folder = os.path.dirname(os.path.abspath(path))
        with naming_folder(self._folder):
            self._file, is_locked = _open_locked(path)
        self._inode = os.fstat(self._file.fileno()).st_ino
        try:
            if is_locked:  # else the run whose notes it has may be alive
                self._clean_up()
            self._file.truncate(0)
        except BaseException:  # the notes stay for the next run
            self._file.close()
            raise

    def note_start(self, token: str, paths: Iterable[str], work_parent: str) -> None:
        """Note what will be made: partial files of `paths`, and a work folder."""
        relative = [self._relative(path) for path in paths]
        where = self._relative(work_parent)
        self._write({"inode": self._inode, "token": token, "work_parent": where, "paths": relative})

    def note_commit(self, states: Mapping[str, Sequence[Identity]]) -> None:
        """Note what `remove_mixture` needs."""
        self._write({"commit": {self._relative(path): which for path, which in states.items()}})

    def note_uploads(self, uris: Sequence[str], *, is_vouched: bool) -> None:
        """Note the objects that a remote set will consist of; what vouches for the set is last."""
        self._write({"uploads": list(uris), "is_vouched": is_vouched})

    def release(self) -> None:
        """Remove the lock, and with it the notes."""
        remove(self._path)
        with contextlib.suppress(OSError):  # not written because the disk is full
            self._file.close()

    def _write(self, note: Mapping[str, Any]) -> None:
        with naming(self._path):
            self._file.write(json.dumps(note) + "\n")
            self._file.flush()

    def _relative(self, path: str) -> str:
        path = os.path.abspath(path)
        inside = os.path.commonpath([path, self._folder]) == self._folder
        return os.path.relpath(path, self._folder) if inside else path

    def _clean_up(self) -> None:
        """Remove the files of the killed run whose notes are in the lock, if they are valid."""
        self._file.seek(0)
        notes: dict[str, Any] = {}
        for line in self._file.read().splitlines():
            # ValueError: the run was killed while it wrote the line.
            with contextlib.suppress(ValueError, RecursionError):
                note = json.loads(line)
                notes |= note if isinstance(note, dict) else {}
        is_own = os.fstat(self._file.fileno()).st_uid == os.geteuid()
        if not (is_own and notes.get("inode") == self._inode and _is_start(notes)):
            return
        paths, token = [os.path.join(self._folder, path) for path in notes["paths"]], notes["token"]
        parent = os.path.join(self._folder, notes["work_parent"])
        if not is_of_this_host(token):  # a lock may not reach across hosts, so it may be alive
            logging.warning(
                "%s: keeping unfinished files of run %s of another host", paths[0], token
            )
            return
        logging.info("removing what an earlier run, which was killed, left of %s", paths[0])
        remove(work_folder(parent, token))
        uploads: Any = notes.get("uploads")
        if _are_names(uploads):
            for folder in {os.path.dirname(uri) for uri in uploads}:
                remove_unfinished_uploads(folder, {os.path.basename(uri) for uri in uploads})
            if notes.get("is_vouched") is True and not exists(uploads[-1]):  # else it is complete
                for uri in uploads[:-1]:
                    remove(uri)
        states = notes.get("commit")
        if states is not None and _is_commit(states):
            remove_mixture(
                {os.path.join(self._folder, path): which for path, which in states.items()}, token
            )
        for path in paths:
            remove(partial_path(path, token))
            remove(replaced_path(path, token))


def identity(path: str) -> Identity | None:
    """Return what distinguishes a file from others of its name at other times; None if missing."""
    try:
        status = os.lstat(path)
    except (FileNotFoundError, NotADirectoryError):
        return None
    return [status.st_ino, status.st_size, status.st_mtime_ns]


@contextlib.contextmanager
def commits_held(folders: Iterable[str]) -> Iterator[None]:
    """Wait until no other run commits files in these folders, and keep others from it meanwhile."""
    with contextlib.ExitStack() as stack:
        for folder in sorted({os.path.realpath(folder) for folder in folders}):
            try:
                descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
            except (FileNotFoundError, NotADirectoryError):
                continue  # then it has no files
            stack.callback(os.close, descriptor)
            _lock(descriptor, fcntl.LOCK_EX, folder)
        yield


def remove_mixture(states: Mapping[str, Sequence[Identity]], token: str) -> None:
    """Remove what an interrupted commit left; folders that it was replacing get their names back.

    Args:
      states: the files and folders that it renames, replaces or removes, each with the identities
        of the old and the new one. If the last path still has one of its two, the set is complete,
        old or new.
      token: of the run.
    """
    last = list(states)[-1]
    with commits_held(os.path.dirname(path) for path in states):
        if identity(last) in states[last]:
            return
        for path, which in states.items():
            if identity(path) in which and not os.path.isdir(path):
                remove(path)
            elif identity(path) in which and not os.path.lexists(partial_path(path, token)):
                os.rename(path, partial_path(path, token))  # one step; removing it takes many
            if not os.path.lexists(path):
                with contextlib.suppress(FileNotFoundError, NotADirectoryError):
                    os.rename(replaced_path(path, token), path)


def _is_start(notes: Mapping[str, Any]) -> bool:
    token, parent, paths = (notes.get(key) for key in ("token", "work_parent", "paths"))
    return is_token(token) and _are_names([parent]) and _are_names(paths)


def _is_commit(states: object) -> bool:
    return (
        isinstance(states, dict)
        and _are_names(list(states))
        and all(isinstance(which, list) for which in states.values())
    )


def _are_names(paths: object) -> bool:
    """Return whether a value is a non-empty list of valid names."""
    return (
        isinstance(paths, list)
        and bool(paths)
        and all(isinstance(path, str) and path and "\0" not in path for path in paths)
    )


def _open_locked(path: str) -> tuple[IO[str], bool]:
    """Open and lock a file, which is created if it does not exist; return whether it is locked."""
    while True:
        # errors: a lock that holds something else is taken over, not an error. No link: its target
        # is not ours.
        file = open(  # noqa: SIM115 - held for the whole run
            path, "a+", encoding="utf-8", errors="replace", opener=_open_no_link
        )
        try:
            is_locked = _lock(file.fileno(), fcntl.LOCK_EX | fcntl.LOCK_NB, path)
        except BlockingIOError:
            file.close()
            reason = "another run is writing this output"
            raise BlockingIOError(errno.EAGAIN, reason, path) from None
        if os.path.exists(path) and os.path.samestat(os.fstat(file.fileno()), os.stat(path)):
            if not is_locked:
                message = "%s: a file system without locks; two runs could write the same output"
                logging.log_first_n(logging.WARNING, message, 1, os.path.dirname(path))
            return file, is_locked
        file.close()  # its owner removed it after we opened it


def _lock(descriptor: int, how: int, path: str) -> bool:
    """Lock a file or folder; return False on a file system without locks, such as some Lustre."""
    try:
        with naming(path):
            fcntl.flock(descriptor, how)
    except OSError as error:
        if error.errno not in _NO_LOCKS:
            raise
        return False
    return True


def _open_no_link(path: str, flags: int) -> int:
    return os.open(path, flags | os.O_NOFOLLOW, 0o666)


def remove_left_overs(name: str) -> bool:
    """Remove what a killed run left of a set of files, unless another run is making the set.

    Return whether there was something of either.
    """
    path = own_work_folder(name, "lock")
    if os.path.lexists(path):
        with contextlib.suppress(OSError):  # held by another process, or not ours to remove
            RunLock(path).release()
            return True
    return False


@contextlib.contextmanager
def scratch_folder(output: str | None = None) -> Iterator[str]:
    """Make a folder on the disk of an output that a run will write, until the block ends.

    A killed run's folder is removed when the next run for the same output begins; while one runs,
    BlockingIOError is raised. The folder of a remote output, and of None, is a temporary one.
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
