"""Random access to many local files: by descriptors, or by maps from which only the system copies.

    OpenFiles(paths).read_into(7, memory, offset)                   opened when it is first needed

    address = FileMaps().add(descriptor, num_bytes)     2 ** 47 - 8192; the descriptor may be closed
    memory = FileInMemory(1 << 20)
    pwritev(memory.descriptor, [(address + 4096, 900), ...])    ->  memory.memory[:900], ...

All `OpenFiles` of a process share its descriptors: the least recently used are closed first, those
of a deleted object at once, and none while a thread reads it. A system call that copies from maps
takes many ranges of as many files, where `pread` takes one. If a file has become shorter, both
return fewer bytes, while access to a memory map by the process would end it.
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
from collections.abc import Callable, Sequence
from typing import TypeVar

from bert_data.storage.file_systems import naming

_SHARE = 2  # use 1 / 2 of the descriptors that a process may have
_MOST = 4096

Opened = TypeVar("Opened")


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


class _Descriptor:
    """A descriptor of a file, which is closed when nobody refers to it."""

    def __init__(self, path: str) -> None:
        self.number = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
        weakref.finalize(self, os.close, self.number).atexit = False


_owners = itertools.count()
_opened: collections.OrderedDict[tuple[int, int], _Descriptor] = collections.OrderedDict()
_lock = threading.RLock()  # the garbage collector may call `_forget` on the thread that has it


def _forget(owner: int) -> None:
    """Close the files of a deleted object."""
    with _lock:
        for key in list(_opened):
            if key[0] == owner:
                _opened.pop(key, None)


def _close_oldest() -> None:
    with contextlib.suppress(KeyError):
        _opened.popitem(last=False)


def _begin_anew() -> None:
    """Close a forked child's copies; a thread that is only in the parent may have the lock."""
    global _lock
    _lock = threading.RLock()
    _opened.clear()


os.register_at_fork(after_in_child=_begin_anew)


class OpenFiles:
    """Local files, by their numbers."""

    def __init__(self, paths: Sequence[str]) -> None:
        self.paths = tuple(paths)
        self._owner = next(_owners)
        weakref.finalize(self, _forget, self._owner).atexit = False

    def read_into(self, number: int, buffer: memoryview, offset: int) -> int:
        """Fill memory from a place in a file on; return how many bytes the file had."""
        with naming(self.paths[number]):
            file = self._open(number)  # so that no other thread closes it
            return read_into(file.number, buffer, offset)

    def map(self, number: int, maps: "FileMaps", num_bytes: int) -> int:
        """Map the beginning of a file, see `FileMaps`; the system begins to read it."""
        file = self._open(number)
        if hasattr(os, "posix_fadvise"):
            os.posix_fadvise(file.number, 0, 0, os.POSIX_FADV_WILLNEED)
        return maps.add(file.number, num_bytes)

    def _open(self, number: int) -> _Descriptor:
        key, limit = (self._owner, number), _limit()
        with _lock:
            while key not in _opened:
                while len(_opened) >= limit:
                    _close_oldest()
                try:
                    _opened[key] = _Descriptor(self.paths[number])
                except OSError as error:
                    if error.errno not in (errno.EMFILE, errno.ENFILE) or not _opened:
                        raise
                    _close_oldest()
            _opened.move_to_end(key)
            return _opened[key]


def read_into(descriptor: int, buffer: memoryview, offset: int) -> int:
    """Fill memory from a place in a file on; return how many bytes the file had."""
    done = 0
    while done < len(buffer) and (count := os.preadv(descriptor, [buffer[done:]], offset + done)):
        done += count
    return done


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
