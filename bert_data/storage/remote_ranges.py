"""Ranges of remote files, one after the other in a local file.

    files, begins, ends = [0, 3], [4096, 0], [8192, 100]
    hold_ranges(RemoteFiles(...), ByteRanges(files, begins, ends))     4200 bytes, at 0 and 4096

The local file is one of `local_copies`, so processes that need the same ranges share it.
"""

import hashlib
import os
import threading
import weakref
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, NamedTuple

from bert_data.storage import local_copies
from bert_data.storage.local_copies import Content, Held
from bert_data.storage.paths import temporary_folder
from bert_data.storage.remote_files import RemoteFile, RemoteFiles

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

ALIGNED = 8  # bytes: ranges begin at multiples in the local file
UNIT_BYTES = 2 << 20  # of a request, which may end after the range that reaches it
NUM_REQUESTS = 32  # at a time


class ByteRanges(NamedTuple):
    """Ranges of files.

    Attributes:
      files, begins, ends: int64[ranges], the number of the file, and bytes of it.
    """

    files: "NDArray[np.int64]"
    begins: "NDArray[np.int64]"
    ends: "NDArray[np.int64]"

    @property
    def places(self) -> "NDArray[np.int64]":
        """int64[ranges + 1], where each range begins in the local file, and the size of that."""
        import numpy as np

        sizes = -(-(self.ends - self.begins) // ALIGNED) * ALIGNED
        return np.append(0, np.cumsum(sizes))


def hold_copy(uri: str, begin: int = 0, end: int | None = None) -> Held:
    """Return a copy of a remote file, or of its bytes from `begin` to `end`, exclusive."""
    import numpy as np

    with RemoteFile(uri) as file:
        size = file.size()
        files = RemoteFiles([uri], [size], [file.version()])
    bounds = (np.array([each], np.int64) for each in (0, begin, size if end is None else end))
    return hold_ranges(files, ByteRanges(*bounds))


def hold_ranges(files: RemoteFiles, ranges: ByteRanges, *, most_gap: int = 0) -> Held:
    """Return a local file of ranges.

    Args:
      ranges: at least one.
      most_gap: bytes between two ranges up to which one request asks for both.

    Raises:
      CorruptDataError: a file is not the one that was opened.
      NoRoomError: the copies would take more room than they may.
    """
    from concurrent.futures import ThreadPoolExecutor  # here, as it would delay the start

    import numpy as np

    numbers = np.unique(ranges.files).tolist()
    uris = [files.uri(number) for number in numbers]
    with ThreadPoolExecutor(NUM_REQUESTS) as pool:
        digest = hashlib.sha256(repr(list(pool.map(files.identify, numbers))).encode())
    for column in ranges:
        digest.update(column.astype("<i8").tobytes())
    sizes = np.take(files.sizes, ranges.files)
    is_whole = not ranges.begins.any() and np.array_equal(ranges.ends, sizes)
    return local_copies.hold(
        Content(
            digest.hexdigest()[:32],
            uris[0] if is_whole and len(uris) == 1 else f"parts of {uris[0]}",
            int(ranges.places[-1] if len(sizes) > 1 else ranges.ends[0] - ranges.begins[0]),
            lambda path: _fetch(files, ranges, most_gap, path),
            is_part=not is_whole,
        )
    )


class _Request(NamedTuple):
    """Bytes of a file, and those of them that are kept.

    Attributes:
      place: where they begin in the local file.
      kept: the begin and size of each part, from `begin` on.
    """

    file: int
    begin: int
    end: int
    place: int
    kept: Sequence[tuple[int, int]]


def _requests(ranges: ByteRanges, most_gap: int) -> Iterator[_Request]:
    """Yield requests for one long range in parts, or for ranges with little between them."""
    import numpy as np

    files, begins, ends = ranges
    gaps = begins[1:] - ends[:-1]
    is_new = (files[1:] != files[:-1]) | (gaps < 0) | (gaps > most_gap)
    is_new |= begins[1:] // UNIT_BYTES != begins[:-1] // UNIT_BYTES
    firsts = np.flatnonzero(np.append(True, is_new)).tolist()
    places = ranges.places
    for first, stop in zip(firsts, [*firsts[1:], len(files)], strict=True):
        file, begin, place = int(files[first]), int(begins[first]), int(places[first])
        if stop > first + 1:
            own = slice(first, stop)
            starts, sizes = (begins[own] - begin).tolist(), (ends[own] - begins[own]).tolist()
            kept = list(zip(starts, sizes, strict=True))
            yield _Request(file, begin, int(ends[stop - 1]), place, kept)
            continue
        for start in range(begin, int(ends[first]), UNIT_BYTES):
            end = min(start + UNIT_BYTES, int(ends[first]))
            yield _Request(file, start, end, place + start - begin, ())


def _read(files: RemoteFiles, request: _Request) -> bytes:
    data = files.read(request.file, request.begin, request.end - request.begin)
    if not request.kept:
        return data
    parts = (data[start : start + size] for start, size in request.kept)
    return b"".join(each.ljust(-(-len(each) // ALIGNED) * ALIGNED, b"\0") for each in parts)


def _fetch(files: RemoteFiles, ranges: ByteRanges, most_gap: int, path: str) -> None:
    """Write ranges to a file; the requests are at most so large, and ask for whole ranges."""
    from concurrent.futures import ThreadPoolExecutor  # here, as it would delay the start

    descriptor = os.open(path, os.O_WRONLY | os.O_CLOEXEC)
    has_failed = threading.Event()

    def copy(request: _Request) -> None:
        if has_failed.is_set():
            return
        try:
            data, place = memoryview(_read(files, request)), request.place
            with local_copies.kept_in(os.path.dirname(path)):
                while data:
                    count = os.pwrite(descriptor, data, place)
                    data, place = data[count:], place + count
        except BaseException:
            has_failed.set()
            raise

    try:
        with ThreadPoolExecutor(NUM_REQUESTS, "bert_data-ranges") as pool:
            for _ in pool.map(copy, _requests(ranges, most_gap)):  # raises the first error
                pass
            for _ in pool.map(files.check, set(ranges.files.tolist())):  # all are of one state
                pass
    finally:
        os.close(descriptor)


class CopiedFolder:
    """Copies of remote files, side by side under their own names, which go with this object."""

    def __init__(self, uris: Sequence[str]) -> None:
        self.path = temporary_folder(self)
        for uri in uris:
            copy = hold_copy(uri)
            weakref.finalize(self, os.close, copy.descriptor)
            os.symlink(copy.path, os.path.join(self.path, os.path.basename(uri)))
