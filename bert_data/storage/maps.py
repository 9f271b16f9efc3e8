"""Maps of many local files, from which only the system copies, and a file in memory for the copies.

    maps = FileMaps()
    address = maps.add(descriptor, num_bytes)     2 ** 47 - 8192; the descriptor may be closed
    memory = FileInMemory(1 << 20)
    pwritev(memory.descriptor, [(address + 4096, 900), ...])    ->  memory.memory[:900], ...

A system call that copies from maps takes many ranges of as many files, where `pread` takes one. If
a file has become shorter, the call copies less, while an access by the process would end it.
"""

import ctypes
import mmap
import os
import weakref

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
        """Map the beginning of a file, read-only; return the address, 0 for no bytes.

        Raises:
          OSError: the file cannot be mapped.
        """
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
      descriptor: of the file.
      memory: its content, also of what others write.
    """

    def __init__(self, size: int) -> None:
        """Create the file.

        Raises:
          OSError: there is no memory or no descriptor.
        """
        self.descriptor = os.memfd_create("bert_data")
        weakref.finalize(self, os.close, self.descriptor).atexit = False
        os.ftruncate(self.descriptor, size)
        self.memory = mmap.mmap(self.descriptor, size)


def _unmap_all(maps: list[tuple[int, int]]) -> None:
    for address, num_bytes in maps:
        _unmap(address, num_bytes)
