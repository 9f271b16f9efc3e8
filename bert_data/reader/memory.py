"""Arrays that are made and dropped constantly, without new memory from the system each time.

    array = new_bytes(2_000_000)  ->  uint8[2000000], not initialised, aligned to a page
    del array                     ->  its memory waits for the next one of about that size

Memory that is new to a process is mapped page by page at the first touch, which takes longer than
everything the reader does with it. The memory of an array is reused when neither the array nor a
view of it is left, including those that TensorFlow holds. A forked process starts with none to
reuse.
"""

import collections
import mmap
import os
import weakref

import numpy as np
from numpy.typing import NDArray

_SMALL_BYTES = 1 << 16  # below, NumPy's own allocation is as good
_MAX_KEPT_BYTES = 64 << 20


class _FreeBlocks:
    """Memory that no array uses, by its size, which is a power of two."""

    def __init__(self) -> None:
        self._blocks: dict[int, list[mmap.mmap]] = collections.defaultdict(list)
        self._num_bytes = 0
        # A reference must outlive its array for its callback to be called.
        self._references: dict[int, weakref.ref] = {}

    def take(self, num_bytes: int) -> NDArray[np.uint8]:
        size = 1 << (num_bytes - 1).bit_length()
        try:
            block = self._blocks[size].pop()
            self._num_bytes -= size
        except IndexError:
            block = mmap.mmap(-1, size, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)
        # Views of `whole` refer to it and not to the block, so it lives as long as any of them.
        whole = np.frombuffer(block, np.uint8)

        def give_back(_: weakref.ref) -> None:
            del self._references[id(block)]
            if self._num_bytes + size <= _MAX_KEPT_BYTES:
                self._num_bytes += size
                self._blocks[size].append(block)

        self._references[id(block)] = weakref.ref(whole, give_back)
        return whole[:num_bytes]

    def forget(self) -> None:
        """Release the memory that no array uses."""
        self._blocks.clear()
        self._num_bytes = 0


_kept = _FreeBlocks()
os.register_at_fork(after_in_child=_kept.forget)


def new_bytes(num_bytes: int) -> NDArray[np.uint8]:
    """Return uint8[num_bytes], not initialised; large ones are aligned to a page."""
    if num_bytes < _SMALL_BYTES:
        return np.empty(num_bytes, np.uint8)
    return _kept.take(num_bytes)
