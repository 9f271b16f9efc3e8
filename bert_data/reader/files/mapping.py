"""Files as arrays: memory-mapped, so that the system's page cache is the only copy.

map_file("data/train-00000")  ->  uint8[98432], read from disk as it is looked at
"""

import mmap
import os
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

_MEMORY_SHARE = 2  # files that are read in random order may fill one half of the memory


def map_file(path: str, advice: int | None = None) -> NDArray[np.uint8]:
    """The bytes of a file, uint8[bytes], read-only; mapped as long as the array or a view lives.

    Args:
      path: a local file.
      advice: one of mmap's MADV_ constants, about the order of reading.
    """
    with open(path, "rb") as file:
        if not os.fstat(file.fileno()).st_size:
            return np.empty(0, np.uint8)
        mapped = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
    if advice is not None:
        mapped.madvise(advice)
    return np.frombuffer(mapped, np.uint8)


def map_files(paths: Sequence[str], *, in_order: bool) -> list[NDArray[np.uint8]]:
    """Maps files and tells the system in which order they will be read.

    Where the order is random, files that fit into half of the memory are fetched at once, by large
    reads; of larger ones a page comes when it is looked at, and nothing else with it.

    Args:
      paths: local files.
      in_order: whether they are read from begin to end.
    """
    num_bytes = sum(os.stat(path).st_size for path in paths)
    memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    if in_order:
        advice = mmap.MADV_SEQUENTIAL
    elif num_bytes <= memory // _MEMORY_SHARE:
        advice = mmap.MADV_WILLNEED
    else:
        advice = mmap.MADV_RANDOM
    return [map_file(path, advice) for path in paths]
