"""Ranges of remote files, one after the other in a local file, see `local_copies`.

    map_ranges(files, [ByteRange(0, 4096, 8192), ByteRange(3, 0, 100)])
      -> uint8[4200], places 0 and 4096

Processes that need the same ranges share the file: one of them fetches, the others wait.
"""

import functools
import hashlib
import itertools
import os
from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple

from bert_data.storage import local_copies
from bert_data.storage.reading_files import map_held
from bert_data.storage.remote_files import RemoteFiles

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

ALIGNED = 8  # bytes: ranges begin at multiples in the local file
_MOST_BYTES = 8 << 20  # of a request
_NUM_REQUESTS = 32  # at a time


class ByteRange(NamedTuple):
    """Bytes `begin` to `end` of a file, by its number."""

    file: int
    begin: int
    end: int

    @property
    def size(self) -> int:
        """Number of bytes."""
        return self.end - self.begin


def places_of(ranges: Sequence[ByteRange]) -> list[int]:
    """Return where each range begins in the local file, and the size of that."""
    sizes = (-(-each.size // ALIGNED) * ALIGNED for each in ranges)
    return list(itertools.accumulate(sizes, initial=0))


def map_ranges(files: RemoteFiles, ranges: Sequence[ByteRange]) -> "NDArray[np.uint8]":
    """Fetch ranges, unless they are there, and map the local file.

    Raises:
      CorruptDataError: a file is not the one that was opened.
      ValueError: the local copies have no room for them.
    """
    numbers = sorted({each.file for each in ranges})
    told = [files.identify(number) for number in numbers], [tuple(each) for each in ranges]
    uri, size = files.uri(ranges[0].file), places_of(ranges)[-1]
    key = hashlib.sha256(repr(told).encode()).hexdigest()
    write = functools.partial(_fetch, files, ranges)
    return map_held(uri, local_copies.hold_part(uri, key, size, write)).data


def _fetch(files: RemoteFiles, ranges: Sequence[ByteRange], path: str) -> None:
    from concurrent.futures import ThreadPoolExecutor  # here, as it would delay the start

    requests = [
        (each.file, start, min(start + _MOST_BYTES, each.end), place + start - each.begin)
        for each, place in zip(ranges, places_of(ranges), strict=False)
        for start in range(each.begin, each.end, _MOST_BYTES)
    ]
    descriptor = os.open(path, os.O_WRONLY | os.O_CLOEXEC)

    def copy(request: tuple[int, int, int, int]) -> None:
        number, start, end, place = request
        left = memoryview(files.read(number, start, end - start))
        with local_copies.kept_in(os.path.dirname(path)):
            while left:
                count = os.pwrite(descriptor, left, place)
                left, place = left[count:], place + count

    try:
        with ThreadPoolExecutor(min(_NUM_REQUESTS, len(requests)), "bert_data-ranges") as pool:
            for _ in pool.map(copy, requests):  # the first error ends the rest
                pass
            for _ in pool.map(files.check, {each.file for each in ranges}):  # all are of one state
                pass
    finally:
        os.close(descriptor)
