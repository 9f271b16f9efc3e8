"""Local copies of remote files that must be mapped, in a folder of bounded size.

    hold("s3://bucket/web.bin")   ->  /tmp/bert_data-copies-0/users/n7-1c9e21-89.../0-web.bin
    release(that path)

    /tmp/bert_data-copies-0/files/3f2a...         a copy, named after URI, size and time of change
                           /users/n7-1c9e21-89.../    a process's links to the copies that it uses

Processes share the copies. The folder is that of the environment's BERT_DATA_COPIES, where copies
stay for the next run, or one among the temporary files, which the last process removes. It holds
up to BERT_DATA_COPIES_GB, 100 by default: to make room, the least recently used copies that no
process uses are removed. What a killed process used is unused, as its lock is gone.
"""

import atexit
import contextlib
import errno
import fcntl
import hashlib
import itertools
import os
import shutil
import threading
from collections.abc import Iterator
from typing import IO

from absl import logging

from bert_data.storage.attempts import retried
from bert_data.storage.failures import naming
from bert_data.storage.file_systems import resolve
from bert_data.storage.hidden import new_token
from bert_data.storage.statuses import Status, read_status

PLACE, GIGABYTES = "BERT_DATA_COPIES", "BERT_DATA_COPIES_GB"
_DEFAULT_GB = 100.0
_COPY_BYTES = 8 << 20
_LOGGED_BYTES = 64 << 20


def hold(uri: str) -> str:
    """Return the path of a copy of a remote file, which stays there until `release`.

    Raises:
      OSError: the file cannot be read, or there is no room for its copy.
      ValueError: it is larger than the copies may be, or their size is not a number.
    """
    status = read_status(uri)
    if status is None:
        with naming(uri):
            raise FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT))
    return _user().hold(uri, status)


def release(path: str) -> None:
    """Say that a copy is not used any more."""
    with contextlib.suppress(FileNotFoundError):
        os.remove(path)


def _max_bytes() -> int:
    text = os.environ.get(GIGABYTES) or str(_DEFAULT_GB)
    try:
        size = float(text)
    except ValueError:
        size = 0.0
    if not 0 < size < 1e9:
        raise ValueError(f"{GIGABYTES} is {text!r}; it must be a number of gigabytes > 0")
    return int(size * 1e9)


class _User:
    """A process with its links."""

    def __init__(self, place: str, *, is_kept: bool) -> None:
        self.place, self._is_kept = place, is_kept
        self._files, self._users = os.path.join(place, "files"), os.path.join(place, "users")
        self._numbers = itertools.count()
        with self._locked():
            self._own = os.path.join(self._users, new_token())
            os.mkdir(self._own, 0o700)
            self._lock = os.open(self._own, os.O_RDONLY | os.O_DIRECTORY)
            fcntl.flock(self._lock, fcntl.LOCK_EX)

    def hold(self, uri: str, status: Status) -> str:
        key = f"{uri} {status.num_bytes} {status.modified_ns}"
        shared = os.path.join(self._files, hashlib.sha256(key.encode()).hexdigest()[:32])
        name = os.path.basename(uri.partition("?")[0])[-100:]
        own = os.path.join(self._own, f"{next(self._numbers)}-{name}")
        while True:
            try:
                os.link(shared, own)
                os.utime(shared)
                return own
            except FileNotFoundError:
                self._copy(uri, status, shared)

    def _copy(self, uri: str, status: Status, shared: str) -> None:
        """Copy the file, unless another process does so or has done so meanwhile."""
        partial = f"{shared}.partial"
        with self._locked():
            file = open(partial, "ab")  # noqa: SIM115 (closed below)
        with file:
            fcntl.flock(file, fcntl.LOCK_EX)
            if os.path.exists(shared) or not os.path.exists(partial):
                return
            try:
                with self._locked():
                    self._make_room(uri, status.num_bytes)
                    file.truncate(status.num_bytes)  # counts as used from now on
                if status.num_bytes >= _LOGGED_BYTES:
                    gigabytes = status.num_bytes / 1e9
                    logging.info("copying %s, %.1f GB, to %s", uri, gigabytes, self.place)
                _download(uri, status, partial)
                os.rename(partial, shared)
            except BaseException:
                release(partial)
                raise

    def _make_room(self, uri: str, num_bytes: int) -> None:
        """Remove copies until there is room for another one."""
        limit = _max_bytes()
        self._remove_dead_users()
        sizes = {
            status.st_ino: status.st_size
            for folder in (self._files, *self._all_users())
            for status in map(os.stat, _paths(folder))
        }
        total = sum(sizes.values())
        unused = [path for path in _paths(self._files) if os.stat(path).st_nlink == 1]
        for path in sorted(unused, key=lambda path: os.stat(path).st_mtime_ns):
            if total + num_bytes <= limit:
                return
            if path.endswith(".partial") and not _is_unlocked(path):
                continue
            total -= os.stat(path).st_size
            os.remove(path)
        if total + num_bytes > limit:
            raise ValueError(
                f"{uri} must be copied to {self.place}: its {num_bytes / 1e9:.3g} GB and the"
                f" {total / 1e9:.3g} GB in use there are more than {GIGABYTES}, {limit / 1e9:.3g}"
            )

    def close(self) -> None:
        """Remove what this process used, and what nobody uses if nothing is to be kept."""
        with contextlib.suppress(OSError), self._locked():
            shutil.rmtree(self._own, ignore_errors=True)
            os.close(self._lock)
            self._remove_dead_users()
            if not self._is_kept and not self._all_users():
                shutil.rmtree(self.place, ignore_errors=True)

    def _all_users(self) -> list[str]:
        return _paths(self._users)

    def _remove_dead_users(self) -> None:
        for folder in self._all_users():
            if _is_unlocked(folder):
                shutil.rmtree(folder, ignore_errors=True)

    @contextlib.contextmanager
    def _locked(self) -> Iterator[None]:
        """Hold the lock of the whole folder, which is made if it is not there."""
        lock = _open_lock(self.place, self._files, self._users)
        try:
            yield
        finally:
            lock.close()


def _open_lock(place: str, *folders: str) -> IO[bytes]:
    path = os.path.join(place, "lock")
    while True:
        os.makedirs(place, 0o700, exist_ok=True)
        if os.stat(place).st_uid != os.geteuid():
            raise PermissionError(errno.EACCES, f"belongs to another user; set {PLACE}", place)
        with contextlib.suppress(FileNotFoundError):
            lock = open(path, "ab")  # noqa: SIM115 (the caller closes it)
            fcntl.flock(lock, fcntl.LOCK_EX)
            if os.path.exists(path):
                for folder in folders:
                    os.makedirs(folder, exist_ok=True)
                return lock
            lock.close()  # the last user has just removed the folder


def _paths(folder: str) -> list[str]:
    return [os.path.join(folder, name) for name in os.listdir(folder)]


def _is_unlocked(path: str) -> bool:
    descriptor = os.open(path, os.O_RDONLY)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        return True
    except BlockingIOError:
        return False
    finally:
        os.close(descriptor)


def _download(uri: str, status: Status, path: str) -> None:
    with naming(uri):
        system, key = resolve(uri)
        source = system.open_input_file(key)
        with source, open(path, "r+b") as file:
            for start in range(0, status.num_bytes, _COPY_BYTES):
                size = min(_COPY_BYTES, status.num_bytes - start)
                data = retried(source.read_at, size, start)
                try:
                    file.write(data)
                except OSError as error:  # not the remote file's
                    raise OSError(error.errno, error.strerror, uri) from error
            if file.tell() != status.num_bytes:
                raise OSError(errno.EIO, "has been changed while it was copied", uri)


_users: dict[tuple[int, str], _User] = {}
_users_lock = threading.Lock()


def _user() -> _User:
    place = os.environ.get(PLACE) or ""
    with _users_lock:
        key = (os.getpid(), place)
        if key not in _users:
            import tempfile  # not at the top: it adds 10 ms to each start, and few runs need it

            default = os.path.join(tempfile.gettempdir(), f"bert_data-copies-{os.geteuid()}")
            _users[key] = _User(os.path.abspath(place or default), is_kept=bool(place))
            atexit.register(_close, key)
        return _users[key]


def _close(key: tuple[int, str]) -> None:
    if key[0] == os.getpid() and key in _users:  # not in a forked child
        _users.pop(key).close()
