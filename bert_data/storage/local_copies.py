"""Local copies of remote files that must be mapped, in a folder of bounded size.

    hold("s3://bucket/web.bin")   ->  /tmp/bert_data-copies-0/users/n7-1c9e21-89.../0-web.bin
    release(that path)

    /tmp/bert_data-copies-0/files/3f2a...         a copy, named after URI, size and time of change
                           /files/77b0....part    some ranges of files, see `remote_ranges`
                           /users/n7-1c9e21-89.../    a process's links to the copies that it uses
                           /CACHEDIR.TAG          says that the folder is of this module

Processes share the copies. The folder is bert_data-copies in that of the environment's
BERT_DATA_COPIES, where copies stay for the next run, or one among the temporary files, which the
last process removes. It holds up to BERT_DATA_COPIES_GB, 100 by default: to make room, the least
recently used copies that no process uses are removed; of unused parts, only the last few stay. What
a killed process used is unused, as its lock is gone. Only a folder with the tag is used, no link is
followed, and nothing is removed but files and folders of this user whose names are such as this
module gives.
"""

import atexit
import contextlib
import errno
import fcntl
import functools
import hashlib
import itertools
import os
import re
import stat
import threading
import weakref
from collections.abc import Callable, Iterator, Sequence
from typing import IO, NamedTuple

from absl import logging

from bert_data.storage.file_systems import naming, resolve
from bert_data.storage.paths import is_token, new_token, temporary_folder
from bert_data.storage.remote_files import retried
from bert_data.storage.statuses import read_status

PLACE, GIGABYTES = "BERT_DATA_COPIES", "BERT_DATA_COPIES_GB"
_DEFAULT_GB = 100.0
_COPY_BYTES = 8 << 20
_LOGGED_BYTES = 64 << 20
_UNUSED_PARTS = 16  # that stay, for other processes, which are not as far yet
_FOLDER, _LOCK, _TAG = "bert_data-copies", "lock", "CACHEDIR.TAG"
_TAG_TEXT = b"""Signature: 8a477f597d28d172789f06886806bc55
# Copies of remote files, which bert_data makes and removes. See https://bford.info/cachedir/
"""
_PART, _PARTIAL = ".part", ".partial"
_COPY = re.compile(r"[0-9a-f]{32}(\.part)?(\.partial)?")
_HELD = re.compile(r"[0-9]+-.*", re.DOTALL)


class NoRoomError(ValueError):
    """Copies would take more room than they may."""


class Content(NamedTuple):
    """The bytes of a local file.

    Attributes:
      uri: that errors name.
      key: all that the bytes depend on.
      write: writes them to the file of a path, which has this size.
      ending: of the file's name.
    """

    uri: str
    key: str
    num_bytes: int
    write: Callable[[str], None]
    ending: str = ""


def hold(uri: str) -> str:
    """Return the path of a copy of a remote file, which stays there until `release`."""
    status = read_status(uri)
    if status is None:
        with naming(uri):
            raise FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT))
    key = f"{uri} {status.num_bytes} {status.modified_ns}"
    write = functools.partial(_download, uri, status.num_bytes)
    return _user().hold(Content(uri, key, status.num_bytes, write))


def hold_part(uri: str, key: str, num_bytes: int, write: Callable[[str], None]) -> str:
    """Return the path of a file of other bytes, which stays there until `release`.

    For the arguments see `Content`.
    """
    return _user().hold(Content(uri, key, num_bytes, write, _PART))


def release(path: str) -> None:
    """Say that a copy is not used any more."""
    with contextlib.suppress(FileNotFoundError):
        os.remove(path)


@contextlib.contextmanager
def kept_in(place: str) -> Iterator[None]:
    """Name a folder of copies in errors of a full disk."""
    try:
        yield
    except OSError as error:
        if error.filename is not None:
            raise
        reason = f"cannot keep copies here ({PLACE} names another folder): {error.strerror}"
        raise OSError(error.errno, reason, place) from None


def max_bytes() -> int:
    """Return how many bytes copies may have."""
    text = os.environ.get(GIGABYTES) or str(_DEFAULT_GB)
    try:
        size = float(text)
    except ValueError:
        size = 0.0
    if not 0 < size < 1e9:
        raise ValueError(f"{GIGABYTES} is {text!r}; it must be a number of gigabytes > 0")
    return int(size * 1e9)


class _User:
    def __init__(self, place: str, *, is_kept: bool) -> None:
        self.place, self._is_kept = place, is_kept
        self._files, self._users = os.path.join(place, "files"), os.path.join(place, "users")
        self._numbers = itertools.count()
        with self._locked():
            self._own = os.path.join(self._users, new_token())
            os.mkdir(self._own, 0o700)
            self._lock = os.open(self._own, os.O_RDONLY | os.O_DIRECTORY)
            fcntl.flock(self._lock, fcntl.LOCK_EX)

    def hold(self, content: Content) -> str:
        digest = hashlib.sha256(content.key.encode()).hexdigest()[:32]
        shared = os.path.join(self._files, digest + content.ending)
        name = os.path.basename(content.uri.partition("?")[0])[-100:]
        own = os.path.join(self._own, f"{next(self._numbers)}-{name}")
        while True:
            try:
                os.link(shared, own)
                os.utime(shared)
                return own
            except FileNotFoundError:
                if not os.path.isdir(self._own):  # somebody has removed it: no copy would do
                    raise
                self._copy(content, shared)

    def _copy(self, content: Content, shared: str) -> None:
        """Write the file, unless another process does so or has done so meanwhile."""
        partial = shared + _PARTIAL
        with self._locked():
            file = open(partial, "ab", opener=_open_no_link)  # noqa: SIM115 (closed below)
        with file:
            fcntl.flock(file, fcntl.LOCK_EX)
            if os.path.exists(shared) or not os.path.exists(partial):
                return
            try:
                with self._locked(), kept_in(self.place):
                    self._make_room(content)
                    file.truncate(content.num_bytes)  # counts as used from now on
                if content.num_bytes >= _LOGGED_BYTES and not content.ending:
                    gigabytes = content.num_bytes / 1e9
                    logging.info("copying %s, %.1f GB, to %s", content.uri, gigabytes, self.place)
                content.write(partial)
                os.rename(partial, shared)
            except BaseException:
                release(partial)
                raise

    def _make_room(self, content: Content) -> None:
        limit, num_bytes = max_bytes(), content.num_bytes
        self._remove_dead_users()
        copies = _own_files(self._files, _COPY)
        held = (_own_files(folder, _HELD).values() for folder in self._all_users())
        files = {status.st_ino: status for status in itertools.chain(copies.values(), *held)}
        total = sum(status.st_size for status in files.values())
        unused = [path for path, status in copies.items() if status.st_nlink == 1]
        unused.sort(key=lambda path: copies[path].st_mtime_ns)
        parts = [path for path in unused if path.endswith(_PART)]
        superfluous = set(parts[:-_UNUSED_PARTS])
        for path in unused:
            if total + num_bytes <= limit and path not in superfluous:
                continue
            with contextlib.suppress(FileNotFoundError):  # it has just got its final name
                if not path.endswith(_PARTIAL) or _is_unlocked(path):
                    size = os.lstat(path).st_size
                    os.remove(path)
                    total -= size
        if total + num_bytes > limit:
            what, whose = (
                (f"parts of {content.uri}", "their") if content.ending else (content.uri, "its")
            )
            raise NoRoomError(
                f"{what} must be copied to {self.place}: {whose} {num_bytes / 1e9:.3g} GB and the"
                f" {total / 1e9:.3g} GB in use there are more than {GIGABYTES}, {limit / 1e9:.3g}"
            )

    def close(self) -> None:
        """Remove what this process used, and what nobody uses if nothing is to be kept."""
        with contextlib.suppress(OSError), self._locked():
            _remove_files(self._own, _HELD)
            os.close(self._lock)
            self._remove_dead_users()
            if not self._is_kept and not self._all_users():
                self._remove_place()

    def _remove_place(self) -> None:
        _remove_files(self._files, _COPY)
        os.rmdir(self._users)
        if not os.path.exists(self._files):
            os.remove(os.path.join(self.place, _TAG))
            os.remove(os.path.join(self.place, _LOCK))
            os.rmdir(self.place)

    def _all_users(self) -> list[str]:
        names = [name for name in os.listdir(self._users) if is_token(name)]
        folders = (os.path.join(self._users, name) for name in names)
        return [folder for folder in folders if _is_own(os.lstat(folder), stat.S_IFDIR)]

    def _remove_dead_users(self) -> None:
        for folder in self._all_users():
            if _is_unlocked(folder):
                _remove_files(folder, _HELD)

    @contextlib.contextmanager
    def _locked(self) -> Iterator[None]:
        """Hold the lock of the whole folder, which is made if it is not there."""
        lock = _open_lock(self.place, self._files, self._users)
        try:
            yield
        finally:
            lock.close()


def _open_lock(place: str, *folders: str) -> IO[bytes]:
    """Return the lock of a folder of copies, after making the folder if it does not exist."""
    path, tag = os.path.join(place, _LOCK), os.path.join(place, _TAG)
    while True:
        _make_own(place)
        with contextlib.suppress(FileNotFoundError):
            is_new = _is_new(place, tag)
            lock = open(path, "ab", opener=_open_no_link)  # noqa: SIM115 (the caller closes it)
            fcntl.flock(lock, fcntl.LOCK_EX)
            if os.path.exists(path):
                if is_new and _is_new(place, tag):
                    with open(tag, "wb", opener=_open_no_link) as file:
                        file.write(_TAG_TEXT)
                for folder in folders:
                    _make_own(folder)
                return lock
            lock.close()  # the last user has just removed the folder


def _is_new(place: str, tag: str) -> bool:
    """Return whether a folder has no tag yet, as this module has just made it.

    Raises:
      PermissionError: it has none, as it is somebody's.
    """
    with contextlib.suppress(FileNotFoundError), open(tag, "rb", opener=_open_no_link) as file:
        if file.read() == _TAG_TEXT:
            return False
    if not {_LOCK, _TAG}.issuperset(os.listdir(place)):
        reason = f"was not made for copies of remote files; set {PLACE} to another folder"
        raise PermissionError(errno.EACCES, reason, place)
    return True


def _open_no_link(path: str, flags: int) -> int:
    return os.open(path, flags | os.O_NOFOLLOW, 0o600)


def _make_own(folder: str) -> None:
    """Make a folder, or check that it is one of this user, and not a link."""
    with contextlib.suppress(FileExistsError):
        os.makedirs(os.path.dirname(folder), exist_ok=True)
        os.mkdir(folder, 0o700)
    with contextlib.suppress(FileNotFoundError):  # the last user has just removed it
        if not _is_own(os.lstat(folder), stat.S_IFDIR):
            reason = f"is not a folder of this user; set {PLACE} to one"
            raise PermissionError(errno.EACCES, reason, folder)


def _is_own(status: os.stat_result, kind: int) -> bool:
    return stat.S_IFMT(status.st_mode) == kind and status.st_uid == os.geteuid()


def _own_files(folder: str, names: re.Pattern[str]) -> dict[str, os.stat_result]:
    """Return the statuses of this user's files in a folder whose names match, by their paths."""
    statuses = {}
    for name in filter(names.fullmatch, os.listdir(folder)):
        path = os.path.join(folder, name)
        with contextlib.suppress(FileNotFoundError):  # it is released without the lock
            if _is_own(status := os.lstat(path), stat.S_IFREG):
                statuses[path] = status
    return statuses


def _remove_files(folder: str, names: re.Pattern[str]) -> None:
    """Remove this user's files in a folder whose names match, and the folder if nothing is left."""
    for path in _own_files(folder, names):
        release(path)
    with contextlib.suppress(OSError):
        os.rmdir(folder)


def _is_unlocked(path: str) -> bool:
    descriptor = os.open(path, os.O_RDONLY | os.O_NOFOLLOW)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        return True
    except BlockingIOError:
        return False
    finally:
        os.close(descriptor)


def _download(uri: str, num_bytes: int, path: str) -> None:
    with naming(uri):
        system, key = resolve(uri)
        source = system.open_input_file(key)
        with source, open(path, "r+b") as file:
            for start in range(0, num_bytes, _COPY_BYTES):
                size = min(_COPY_BYTES, num_bytes - start)
                data = retried(source.read_at, size, start)
                with kept_in(os.path.dirname(path)):
                    file.write(data)
            if file.tell() != num_bytes:
                raise OSError(errno.EIO, "has been changed while it was copied", uri)


_users: dict[tuple[int, str], _User] = {}
_users_lock = threading.Lock()


def _user() -> _User:
    place = os.environ.get(PLACE) or ""
    import tempfile  # not at the top: it adds 10 ms to each start, and few runs need it

    default = os.path.join(tempfile.gettempdir(), f"{_FOLDER}-{os.geteuid()}")
    folder = os.path.abspath(os.path.join(place, _FOLDER) if place else default)
    with _users_lock:
        key = (os.getpid(), folder)
        if key not in _users:
            _users[key] = _User(folder, is_kept=bool(place))
            atexit.register(close)
        return _users[key]


def close() -> None:
    """Give back all copies of this process, which does so at its end."""
    for key in [key for key in _users if key[0] == os.getpid()]:  # not a forked child's parent's
        _users.pop(key).close()


class CopiedFolder:
    """Copies of remote files, side by side under their own names, which go with this object."""

    def __init__(self, uris: Sequence[str]) -> None:
        self.path = temporary_folder(self)
        for uri in uris:
            copy = hold(uri)
            weakref.finalize(self, release, copy)
            os.symlink(copy, os.path.join(self.path, os.path.basename(uri)))
