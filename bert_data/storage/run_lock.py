"""The lock of a run, which tells the next run what to undo and remove if this one is killed.

    .a.lock  {"inode": 7, "token": "n7-1c9e21-89abcdef01234567", "folders": ["."]}
             {"moves": [["a", ".bert_data-n7-.../old-0", false, [8, 50, 1700000000]],
                        [".bert_data-n7-.../output-0", "a", true, [9, 60, 1700000000]]]}

The first line is written before anything is made, the second before files get their final names.
Whatever the run makes is in a hidden folder in each of its folders, named after its token, until it
is moved. A killed run's moves are undone, unless the last one is done: then the set is complete.
Undone is only what has the inode, size and modification time that are noted, so a file that another
run has put there since stays. Nothing of another host's run is touched: locks may not reach across
hosts, so that run may be alive. Nor is anything on a file system without locks. Paths inside the
lock's folder are relative to it, so that the notes stay true if the folder is moved. Of a remote
set, whose lock is local, the objects are noted before they are uploaded. The notes are ignored if
the lock was copied (its inode differs from the noted one), belongs to another user, or holds
something else.
"""

import contextlib
import errno
import fcntl
import functools
import json
import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import IO, Any, NamedTuple

from absl import logging

from bert_data.storage.changing import remove, remove_unfinished_uploads
from bert_data.storage.file_systems import naming, naming_folder
from bert_data.storage.paths import (
    hidden_work_folder,
    is_of_this_host,
    is_remote,
    is_token,
    new_token,
    work_folder,
)
from bert_data.storage.statuses import exists, is_folder

_NO_LOCKS = (errno.ENOSYS, errno.EOPNOTSUPP, errno.ENOLCK)


class Move(NamedTuple):
    """A file or folder that gets another name.

    Attributes:
      is_new: whether it is of the new set; otherwise it makes room for that.
      identity: inode, size in bytes, time of last change in ns: renaming keeps them.
    """

    source: str
    target: str
    is_new: bool
    identity: list[int]


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

    def note_start(self, token: str, folders: Iterable[str]) -> None:
        """Note in which folders there will be a work folder."""
        relative = list(map(self._relative, folders))
        self._write({"inode": self._inode, "token": token, "folders": relative})

    def note_moves(self, moves: Sequence[Move]) -> None:
        """Note moves, in their order."""
        relative = [
            (self._relative(source), self._relative(target), is_new, which)
            for source, target, is_new, which in moves
        ]
        self._write({"moves": relative})

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

    def _read(self) -> dict[str, Any]:
        """Return the notes of a killed run; {} if the lock holds something else."""
        self._file.seek(0)
        notes: dict[str, Any] = {}
        for line in self._file.read().splitlines():
            # ValueError: the run was killed while it wrote the line.
            with contextlib.suppress(ValueError, RecursionError):
                note = json.loads(line)
                notes |= note if isinstance(note, dict) else {}
        is_own = os.fstat(self._file.fileno()).st_uid == os.geteuid()
        is_ours = is_own and notes.get("inode") == self._inode and is_token(notes.get("token"))
        return notes if is_ours else {}

    def _clean_up(self) -> None:
        notes = self._read()
        if not notes:
            return
        name, token = self._path.removesuffix(".lock"), notes["token"]
        if not is_of_this_host(token):  # a lock may not reach across hosts, so it may be alive
            logging.warning("%s: keeping unfinished files of run %s of another host", name, token)
            return
        logging.info("removing what an earlier run, which was killed, left of %s", name)
        uploads = notes.get("uploads", [])
        for folder in {os.path.dirname(uri) for uri in uploads}:
            remove_unfinished_uploads(folder, {os.path.basename(uri) for uri in uploads})
        if notes.get("is_vouched") and not exists(uploads[-1]):  # else it is complete
            for uri in uploads[:-1]:
                remove(uri)
        here = functools.partial(os.path.join, self._folder)
        moves = notes.get("moves", [])
        undo([Move(here(source), here(target), *more) for source, target, *more in moves])
        for folder in map(here, notes["folders"]):
            remove(work_folder(folder, token))


def identity(path: str) -> list[int] | None:
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


def undo(moves: Sequence[Move]) -> None:
    """Undo moves of which only the first ones were made; if all were, nothing is undone.

    What was moved away comes back, unless somebody has put something in the place of any of it.
    """
    if not moves or identity(moves[-1].target) == moves[-1].identity:
        return
    with commits_held(os.path.dirname(path) for move in moves for path in move[:2]):
        for move in reversed(moves):
            if move.is_new:
                _move_back(move)
        old = [move for move in reversed(moves) if not move.is_new]
        if all(identity(move.source) in (None, move.identity) for move in old):
            for move in old:
                _move_back(move)


def _move_back(move: Move) -> None:
    with contextlib.suppress(FileNotFoundError, NotADirectoryError):  # the hidden folder is gone
        if identity(move.target) == move.identity:
            os.rename(move.target, move.source)


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
    path = hidden_work_folder(name, "lock")
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
    lock, token = RunLock(hidden_work_folder(name, "documents.lock")), new_token()
    try:
        lock.note_start(token, [parent])
        folder = work_folder(parent, token)
        os.mkdir(folder, 0o700)
        yield folder
    finally:
        remove(work_folder(parent, token))
        lock.release()
