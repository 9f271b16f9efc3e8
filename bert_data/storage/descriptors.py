"""Random access to many local files: by descriptors, or by maps from which only the system copies.

    files = OpenFiles(paths)
    with files.some([0, 7, 3]) as descriptors:    {0: 12, 7: 15}: ask again for number 3
        os.pread(descriptors[7], num_bytes, offset)

    address = FileMaps().add(descriptor, num_bytes)     2 ** 47 - 8192; the descriptor may be closed
    memory = FileInMemory(1 << 20)
    pwritev(memory.descriptor, [(address + 4096, 900), ...])    ->  memory.memory[:900], ...

All `OpenFiles` of a process share its descriptors: the least recently used are closed first, and
those of a deleted object at once. A system call that copies from maps takes many ranges of as many
files, where `pread` takes one. If a file has become shorter, both return fewer bytes, while access
to a memory map by the process would end it.
"""

import collections
import contextlib
import ctypes
import errno
import itertools
import mmap
import os
import resource
import threading
import weakref
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import TypeVar

_SHARE = 2  # use 1 / 2 of the descriptors that a process may have
_MOST = 4096
_LAST_STANDARD = 2  # of the descriptors that every process has

_Key = tuple[int, int]
Opened = TypeVar("Opened")


class Pool:
    """The open descriptors, by owner and number, the least recently used first.

    Attributes:
      limit: returns how many it may have.
    """

    def __init__(self, limit: Callable[[], int]) -> None:
        self.limit = limit
        self._lock = threading.Lock()
        self._open: collections.OrderedDict[_Key, int] = collections.OrderedDict()
        self._users: collections.Counter[_Key] = collections.Counter()
        self._gone: collections.deque[int] = collections.deque()

    def take(self, paths: dict[_Key, str]) -> dict[_Key, int]:
        """Open as many files as possible, at least one; those that are open already first."""
        limit = self.limit()
        with self._locked():
            taken = {key: self._open[key] for key in paths if key in self._open}
            for key in taken:
                self._open.move_to_end(key)
            self._users.update(taken.keys())
            try:
                for key in [key for key in paths if key not in taken]:
                    if len(self._open) >= limit and not self._close_one() and taken:
                        break
                    descriptor = self._open_file(paths[key])
                    if descriptor is None and taken:
                        break
                    if descriptor is None:
                        raise OSError(errno.EMFILE, os.strerror(errno.EMFILE), paths[key])
                    self._open[key] = taken[key] = descriptor
                    self._users[key] += 1
            except BaseException:
                self._users.subtract(taken.keys())
                raise
            return taken

    def _open_file(self, path: str) -> int | None:
        while True:
            try:
                return os.open(path, os.O_RDONLY | os.O_CLOEXEC)
            except OSError as error:
                if error.errno not in (errno.EMFILE, errno.ENFILE):
                    raise
                if not self._close_one():
                    return None

    def _close_one(self) -> bool:
        """Close the least recently used descriptor not in use; return whether there was one."""
        for key, descriptor in self._open.items():
            if not self._users[key]:
                del self._open[key]
                os.close(descriptor)
                return True
        return False

    def release(self, keys: Sequence[_Key]) -> None:
        """Say that files that were taken are not used any more."""
        with self._locked():
            for key in keys:
                self._users[key] -= 1
                if not self._users[key]:
                    del self._users[key]

    def close(self, owner: int) -> None:
        """Close the descriptors of a deleted object.

        The garbage collector may call this on a thread that holds the lock; then that thread closes
        the files when it releases the lock.
        """
        self._gone.append(owner)
        self._close_gone()

    def _close_gone(self) -> None:
        while self._gone and self._lock.acquire(blocking=False):
            try:
                while self._gone:
                    owner = self._gone.popleft()
                    for key in [key for key in self._open if key[0] == owner]:
                        os.close(self._open.pop(key))
            finally:
                self._lock.release()

    @contextlib.contextmanager
    def _locked(self) -> Iterator[None]:
        with self._lock:
            yield
        self._close_gone()

    def forget(self) -> None:
        """Close a forked child's copies of the descriptors, as their users are in the parent."""
        self._lock = threading.Lock()
        self._users.clear()
        while self._open:
            os.close(self._open.popitem()[1])


def with_descriptors(open_one: Callable[[], Opened]) -> Opened:
    """Return what a function opens; if it may not, let the process open more files, once.

    A shell gives its programs few descriptors (`ulimit -n`), but allows them to ask for more.
    """
    try:
        return open_one()
    except OSError as error:
        if error.errno != errno.EMFILE:
            raise
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if soft != hard:
        with contextlib.suppress(OSError, ValueError):  # not allowed after all
            resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
    try:
        return open_one()
    except OSError as error:
        if error.errno != errno.EMFILE:
            raise
        limit, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
        reason = f"too many open files: this process may have {limit:,}; `ulimit -n` says how many"
        raise OSError(errno.EMFILE, reason) from None


def _limit() -> int:
    soft, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
    return _MOST if soft == resource.RLIM_INFINITY else max(1, min(_MOST, soft // _SHARE))


_pool = Pool(_limit)
_owners = itertools.count()
os.register_at_fork(after_in_child=_pool.forget)


class OpenFiles:
    """Local files, by their numbers."""

    def __init__(self, paths: Sequence[str], pool: Pool = _pool) -> None:
        self.paths, self._pool = tuple(paths), pool
        self._owner = next(_owners)
        weakref.finalize(self, pool.close, self._owner).atexit = False

    @contextlib.contextmanager
    def some(self, numbers: Sequence[int]) -> Iterator[dict[int, int]]:
        """Open some of the numbered files, at least one, and yield their descriptors by number.

        They are to be read by `os.pread` inside the context; call it again for the others.
        """
        taken = self._pool.take({(self._owner, number): self.paths[number] for number in numbers})
        try:
            yield {number: descriptor for (_, number), descriptor in taken.items()}
        finally:
            self._pool.release(list(taken))


_FAILED = ctypes.c_void_p(-1).value

_libc = ctypes.CDLL(None, use_errno=True)
_map = _libc.mmap
_map.restype = ctypes.c_void_p
_map.argtypes = [
    *(ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int),
    *(ctypes.c_int, ctypes.c_int, ctypes.c_long),
]
_unmap = _libc.munmap
_unmap.argtypes = [ctypes.c_void_p, ctypes.c_size_t]


class FileMaps:
    """Maps of files, which end with this object; Python's own would each keep a descriptor."""

    def __init__(self) -> None:
        self._maps: list[tuple[int, int]] = []
        weakref.finalize(self, _unmap_all, self._maps).atexit = False

    def add(self, descriptor: int, num_bytes: int) -> int:
        """Map the beginning of a file, read-only; return the address, 0 for no bytes."""
        if not num_bytes:
            return 0
        address = _map(None, num_bytes, mmap.PROT_READ, mmap.MAP_SHARED, descriptor, 0)
        if address == _FAILED:
            number = ctypes.get_errno()
            raise OSError(number, os.strerror(number))
        self._maps.append((address, num_bytes))
        return int(address)


class FileInMemory:
    """A file of the system's memory, which goes with this object.

    Attributes:
      memory: its content, also of what others write by the descriptor.
    """

    def __init__(self, size: int) -> None:
        self.descriptor = os.memfd_create("bert_data")
        weakref.finalize(self, os.close, self.descriptor).atexit = False
        os.ftruncate(self.descriptor, size)
        self.memory = mmap.mmap(self.descriptor, size)


def _unmap_all(maps: list[tuple[int, int]]) -> None:
    for address, num_bytes in maps:
        _unmap(address, num_bytes)


def open_descriptors() -> dict[int, os.stat_result]:
    """Return the open descriptors of this process with their files, but the standard ones."""
    files = {}
    for number in map(int, os.listdir("/proc/self/fd")):
        with contextlib.suppress(OSError):  # that of the folder itself
            files[number] = os.fstat(number)
    return {number: file for number, file in files.items() if number > _LAST_STANDARD}


def replace_descriptors(files: Mapping[int, os.stat_result]) -> None:
    """Let descriptors, if they are still of these files, be of nothing; owners may close them."""
    null = os.open(os.devnull, os.O_RDWR)
    for number, file in files.items():
        with contextlib.suppress(OSError):  # it was closed
            if os.path.samestat(os.fstat(number), file):
                os.dup2(null, number, inheritable=False)
    os.close(null)
