"""Arrays that are made and dropped constantly, without new memory from the system each time.

    array = new_bytes(2_000_000)  ->  uint8[2000000], not initialised, aligned to a page
    del array                     ->  its memory waits for the next one of about that size
    array, descriptor = new_file(2_000_000)      the same, as a file that the system can write to

Memory that is new to a process is mapped page by page at the first touch, which takes longer than
everything the reader does with it. The memory of an array is reused when neither the array nor a
view of it is left, including those that TensorFlow holds. A forked process starts with none to
reuse.
"""

import collections
import mmap
import os
import weakref
from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from bert_data.storage.maps import FileInMemory

_SMALL_BYTES = 1 << 16  # below, NumPy's own allocation is as good
_MAX_KEPT_BYTES = 64 << 20
_FILE_BYTES = 4 << 20  # files of one size are few, and take only the memory that is written


class _PrivateMemory:
    """Memory of no file."""

    descriptor = -1

    def __init__(self, size: int) -> None:
        self.memory = mmap.mmap(-1, size, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)


_Block = _PrivateMemory | FileInMemory


class _FreeBlocks:
    """Memory that no array uses, by its size, which is a power of two."""

    def __init__(self, kind: Callable[[int], _Block]) -> None:
        self._kind = kind
        self._blocks: dict[int, list[_Block]] = collections.defaultdict(list)
        self._num_bytes = 0
        # A reference must outlive its array for its callback to be called.
        self._references: dict[int, weakref.ref] = {}

    def take(self, num_bytes: int) -> tuple[NDArray[np.uint8], int]:
        """Return an array, and the descriptor of its file, if it is one."""
        size, process = 1 << (num_bytes - 1).bit_length(), os.getpid()
        try:
            block = self._blocks[size].pop()
            self._num_bytes -= size
        except IndexError:
            block = self._kind(size)
        # Views of `whole` refer to it and not to the block, so it lives as long as any of them.
        whole = np.frombuffer(block.memory, np.uint8)

        def give_back(_: weakref.ref) -> None:
            del self._references[id(block)]
            if self._num_bytes + size <= _MAX_KEPT_BYTES and process == os.getpid():
                self._num_bytes += size
                self._blocks[size].append(block)

        self._references[id(block)] = weakref.ref(whole, give_back)
        return whole[:num_bytes], block.descriptor

    def forget(self) -> None:
        """Release the memory that no array uses."""
        self._blocks.clear()
        self._num_bytes = 0


_kept, _kept_files = _FreeBlocks(_PrivateMemory), _FreeBlocks(FileInMemory)
os.register_at_fork(after_in_child=_kept.forget)
os.register_at_fork(after_in_child=_kept_files.forget)


def new_bytes(num_bytes: int) -> NDArray[np.uint8]:
    """Return uint8[num_bytes], not initialised; large ones are aligned to a page."""
    if num_bytes < _SMALL_BYTES:
        return np.empty(num_bytes, np.uint8)
    return _kept.take(num_bytes)[0]


def new_file(num_bytes: int) -> tuple[NDArray[np.uint8], int]:
    """Return uint8[num_bytes], not initialised, and the descriptor of a file with this content.

    What the system writes to the file appears in the array.
    """
    whole, descriptor = _kept_files.take(max(num_bytes, _FILE_BYTES))
    return whole[:num_bytes], descriptor
