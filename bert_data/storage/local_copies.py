"""Local copies of remote files, and of parts of them, in a folder of bounded size.

    hold(Content("3f2a...", "s3://bucket/web.bin", 9_000_000, write))     a descriptor of the file

    /tmp/bert_data-copies-0/files/3f2a...         a copy, named after URI, size and version
                           /files/77b0....part    some ranges of files, see `remote_ranges`
                           /users                 locked by all processes that use the folder
                           /lock                  locked while the folder changes
                           /CACHEDIR.TAG          says that the folder is of this module

Processes share the files, and who needs one that another process is making waits for it. A file is
in use as long as a process has its descriptor, or a map of it: they have a lock, which goes with
the process, too. The folder is bert_data-copies in that of the environment's BERT_DATA_COPIES,
where copies stay for the next run, or one among the temporary files, which the last process
removes. It holds up to BERT_DATA_COPIES_GB, 100 by default: to make room, the least recently used
files that no process uses are removed; unused parts beyond some MB go anyway. Only a folder with
the tag is used, no link is followed, and nothing is removed but files of this user whose names are
such as this module gives.
"""

import atexit
import contextlib
import errno
import fcntl
import os
import re
import stat
import threading
from collections.abc import Callable, Iterator
from typing import IO, NamedTuple

from absl import logging

from bert_data.storage.descriptors import with_descriptors

PLACE, GIGABYTES = "BERT_DATA_COPIES", "BERT_DATA_COPIES_GB"
_DEFAULT_GB = 100.0
_LOGGED_BYTES = 64 << 20
_UNUSED_BYTES = 256 << 20  # of parts that stay for other processes, which are not as far yet
_FOLDER, _LOCK, _USERS, _TAG = "bert_data-copies", "lock", "users", "CACHEDIR.TAG"
_TAG_TEXT = b"""Signature: 8a477f597d28d172789f06886806bc55
# Copies of remote files, which bert_data makes and removes. See https://bford.info/cachedir/
"""
_PART, _PARTIAL = ".part", ".partial"
_SAFE = os.O_NOFOLLOW | os.O_CLOEXEC
_NAME = re.compile(r"[0-9a-f]{32}(\.part)?(\.partial)?")


class NoRoomError(ValueError):
    """Copies would take more room than they may."""


class Content(NamedTuple):
    """The bytes of a local file.

    Attributes:
      name: 32 hexadecimal digits of all that the bytes depend on.
      what: that errors name.
      write: writes them to the file of a path, which has this size.
      is_part: whether it is not worth keeping for later runs.
    """

    name: str
    what: str
    num_bytes: int
    write: Callable[[str], None]
    is_part: bool = False


class Held(NamedTuple):
    """A file that stays there until its descriptor and its maps are closed."""

    path: str
    descriptor: int


def hold(content: Content) -> Held:
    """Return the file, after making it if it is not there."""
    return _folder().hold(content)


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


def copies_bytes() -> int:
    """Return how many bytes copies may have."""
    text = os.environ.get(GIGABYTES) or str(_DEFAULT_GB)
    try:
        size = float(text)
    except ValueError:
        size = 0.0
    if not 0 < size < 1e9:
        raise ValueError(f"{GIGABYTES} is {text!r}; it must be a number of gigabytes > 0")
    return int(size * 1e9)


class _Folder:
    def __init__(self, place: str, *, is_kept: bool) -> None:
        self.place, self._is_kept = place, is_kept
        self._files = os.path.join(place, "files")
        with self._locked():
            users = os.path.join(place, _USERS)
            self._users = os.open(users, os.O_RDWR | os.O_CREAT | _SAFE, 0o600)
            fcntl.flock(self._users, fcntl.LOCK_SH)

    def hold(self, content: Content) -> Held:
        path = os.path.join(self._files, content.name + _PART * content.is_part)
        while True:
            try:
                descriptor = with_descriptors(lambda: os.open(path, os.O_RDONLY | _SAFE))
            except FileNotFoundError:
                self._make(content, path)
                continue
            fcntl.flock(descriptor, fcntl.LOCK_SH)
            with contextlib.suppress(FileNotFoundError):  # removed before it was locked
                os.utime(path)
                return Held(path, descriptor)
            os.close(descriptor)

    def _make(self, content: Content, path: str) -> None:
        """Write a file, unless another process does so or has done so meanwhile."""
        partial = path + _PARTIAL
        with self._locked():
            file = open(partial, "ab", opener=_open_no_link)  # noqa: SIM115 (closed below)
        with file:
            try:
                fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:  # shared, as this is the lock of the finished file, too
                fcntl.flock(file, fcntl.LOCK_SH)
                return
            if os.path.exists(path) or not os.path.exists(partial):
                return
            try:
                with self._locked(), kept_in(self.place):
                    self._make_room(content)
                    file.truncate(content.num_bytes)  # counts as used from now on
                if content.num_bytes >= _LOGGED_BYTES:
                    gigabytes = content.num_bytes / 1e9
                    logging.info("copying %s, %.1f GB, to %s", content.what, gigabytes, self.place)
                content.write(partial)
                os.rename(partial, path)
            except BaseException:
                with contextlib.suppress(FileNotFoundError):
                    os.remove(partial)
                raise

    def _make_room(self, content: Content) -> None:
        limit, num_bytes = copies_bytes(), content.num_bytes
        files = self._own_files()
        total = sum(status.st_size for status in files.values())
        parts = 0
        for path in sorted(files, key=lambda path: -files[path].st_mtime_ns):
            parts += files[path].st_size * path.endswith(_PART)
            if path.endswith(_PART) and parts > _UNUSED_BYTES and _remove_unused(path):
                total -= files.pop(path).st_size
        for path in sorted(files, key=lambda path: files[path].st_mtime_ns):
            if total + num_bytes > limit and _remove_unused(path):
                total -= files[path].st_size
        if total + num_bytes > limit:
            whose = "their" if content.is_part else "its"
            raise NoRoomError(
                f"{content.what} must be copied to {self.place}: {whose} {num_bytes / 1e9:.3g} GB"
                f" and the {total / 1e9:.3g} GB in use there are more than {GIGABYTES},"
                f" {limit / 1e9:.3g}"
            )

    def _own_files(self) -> dict[str, os.stat_result]:
        """Return the statuses of this user's files that have such names, by their paths."""
        statuses = {}
        for name in filter(_NAME.fullmatch, os.listdir(self._files)):
            path = os.path.join(self._files, name)
            with contextlib.suppress(FileNotFoundError):  # it has just got its final name
                if _is_own(status := os.lstat(path), stat.S_IFREG):
                    statuses[path] = status
        return statuses

    def close(self) -> None:
        """Remove what nobody uses if nothing is to be kept, and this process is the last one."""
        with contextlib.suppress(OSError), self._locked():
            fcntl.flock(self._users, fcntl.LOCK_UN)  # also that of forked children
            os.close(self._users)
            if self._is_kept or not _is_unlocked(users := os.path.join(self.place, _USERS)):
                return
            for path in self._own_files():
                os.remove(path)
            os.rmdir(self._files)
            for path in (users, os.path.join(self.place, _TAG), os.path.join(self.place, _LOCK)):
                os.remove(path)
            os.rmdir(self.place)

    @contextlib.contextmanager
    def _locked(self) -> Iterator[None]:
        """Hold the lock of the whole folder, which is made if it is not there."""
        lock = _open_lock(self.place, self._files)
        try:
            yield
        finally:
            lock.close()


def _remove_unused(path: str) -> bool:
    """Remove a file unless a process uses it, or has just given it its final name."""
    with contextlib.suppress(FileNotFoundError):
        if _is_unlocked(path):
            os.remove(path)
            return True
    return False


def _open_lock(place: str, files: str) -> IO[bytes]:
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
                _make_own(files)
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


def _is_unlocked(path: str) -> bool:
    descriptor = os.open(path, os.O_RDONLY | os.O_NOFOLLOW)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        return True
    except BlockingIOError:
        return False
    finally:
        os.close(descriptor)


_folders: dict[tuple[int, str], _Folder] = {}
_folders_lock = threading.Lock()


def _folder() -> _Folder:
    place = os.environ.get(PLACE) or ""
    import tempfile  # not at the top: it adds 10 ms to each start, and few runs need it

    default = os.path.join(tempfile.gettempdir(), f"{_FOLDER}-{os.geteuid()}")
    folder = os.path.abspath(os.path.join(place, _FOLDER) if place else default)
    with _folders_lock:
        key = (os.getpid(), folder)
        if key not in _folders:
            _folders[key] = _Folder(folder, is_kept=bool(place))
            atexit.register(close)
        return _folders[key]


def close() -> None:
    """Leave the folders, which this process does at its end."""
    for key in [key for key in _folders if key[0] == os.getpid()]:  # not a forked child's parent's
        _folders.pop(key).close()
