"""Reading: streams, memory maps, and arrays as .npy or bare values.

open_input("a.txt")                                 a file, of pyarrow's for a URI
map_file("store.bin").data                          uint8[bytes], read from disk on access
save_array("a.npy", int64[3])  load_array("a.npy")  int64[3], read-only
"""

import contextlib
import dataclasses
import errno
import io
import math
import mmap
import os
import stat
import types
from collections.abc import Callable, Iterator, Sequence
from typing import IO, TYPE_CHECKING, Any, TypeVar, cast

from bert_data.errors import CorruptDataError
from bert_data.storage.descriptors import with_descriptors
from bert_data.storage.file_systems import naming
from bert_data.storage.paths import Path, is_remote, local_path, open_scratch
from bert_data.storage.remote_files import RemoteFile

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import DTypeLike, NDArray

_REMOTE_BUFFER_BYTES = 1 << 20
_NUM_REQUESTS = 16  # at a time
_PORTION_BYTES = 1 << 20
_READ = os.O_RDONLY | os.O_CLOEXEC

Item = TypeVar("Item")
Result = TypeVar("Result")


def open_input(path: Path, *, buffering: int = -1) -> IO[bytes]:
    """Open a file with random access; without a buffer each remote read is a request."""
    if not is_remote(path):
        return open_scratch(path, "rb", buffering=buffering)
    file = RemoteFile(os.fspath(path))
    return cast(
        IO[bytes], file if buffering == 0 else io.BufferedReader(file, _REMOTE_BUFFER_BYTES)
    )


def read_bytes(path: Path) -> bytes:
    """Read a whole file."""
    with naming(path), open_input(path) as file:
        return file.read()


def read_portions(path: Path, begin: int = 0, end: int | None = None) -> Iterator[bytes]:
    """Yield the bytes of a file, the end exclusive, in portions of bounded size."""
    with naming(path), open_input(path, buffering=0) as file:
        file.seek(begin)
        size = _PORTION_BYTES
        while data := file.read(size if end is None else min(end - file.tell(), size)):
            yield data


def fill_array(path: Path, start: int, out: "NDArray[Any]") -> None:
    """Fill an array, contiguous and writeable, with a file's bytes from a place on.

    Raises:
      CorruptDataError: it ends before the array is full.
    """
    view = out.reshape(-1).view("u1").data
    with naming(path), _open_range(path) as read_into:
        done = 0
        while done < len(view):
            num_bytes = read_into(view[done:], start + done)
            if not num_bytes:
                reason = f"ends; {len(view) - done:,} more bytes were written"
                raise CorruptDataError(path, start + done, reason)
            done += num_bytes


@contextlib.contextmanager
def _open_range(path: Path) -> Iterator[Callable[[Any, int], int]]:
    if is_remote(path):
        with RemoteFile(os.fspath(path)) as file:

            def read_into(buffer: Any, offset: int) -> int:
                file.seek(offset)
                return file.readinto(buffer)

            yield read_into
        return
    descriptor = os.open(path, _READ)
    try:
        yield lambda buffer, offset: os.preadv(descriptor, [buffer], offset)
    finally:
        os.close(descriptor)


def read_many(
    read: Callable[[Item], Result], items: Sequence[Item], paths: Sequence[Path]
) -> list[Result]:
    """Call a function with each item, several at a time if it reads remote files."""
    if len(items) <= 1 or not any(map(is_remote, paths)):
        return list(map(read, items))
    from concurrent.futures import ThreadPoolExecutor  # here, as it would delay the start

    with ThreadPoolExecutor(min(_NUM_REQUESTS, len(items))) as pool:
        return list(pool.map(read, items))


@dataclasses.dataclass(frozen=True, kw_only=True)
class MappedFile:
    """A file as uint8[bytes], read-only, mapped as long as `data` or a view of it exists."""

    path: Path
    data: "NDArray[np.uint8]"
    _map: mmap.mmap | None = None

    def __reduce__(self) -> tuple[Any, ...]:
        return map_file, (self.path,)

    def check_size(self) -> None:
        """Raise CorruptDataError for a truncated file, whose access ends the process."""
        if self._map is not None and (size := self._map.size()) < self.data.size:
            reason = f"has been truncated to {size:,} bytes while it is read"
            raise CorruptDataError(self.path, size, reason)

    def advise(self, advice: int) -> None:
        """Advise the system how the pages will be read, by one of mmap's MADV_ constants."""
        if self._map is not None:
            self._map.madvise(advice)


def map_file(path: Path) -> MappedFile:
    """Map a file; of a remote one a local copy, see `local_copies`."""
    local = local_path(path)
    if local is not None:
        with naming(path):
            return map_open(path, with_descriptors(lambda: os.open(local, _READ)))
    from bert_data.storage.remote_ranges import hold_copy  # here, as it is for remote files only

    return map_open(path, hold_copy(os.fspath(path)).descriptor)


def map_part(path: Path, begin: int, end: int) -> "NDArray[np.uint8]":
    """Map bytes of a file, the end exclusive; of a remote one a local copy of these bytes."""
    import numpy as np

    if not is_remote(path):
        return map_file(path).data[begin:end]
    if begin == end:
        return np.empty(0, np.uint8)
    from bert_data.storage.remote_ranges import hold_copy  # here, as it is for remote files only

    return map_open(path, hold_copy(os.fspath(path), begin, end).descriptor).data


def map_open(path: Path, descriptor: int) -> MappedFile:
    """Map an open file and close it; a lock that it has stays as long as the map."""
    import numpy as np

    try:
        with naming(path):
            status = os.fstat(descriptor)
            if stat.S_ISDIR(status.st_mode):
                raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR))
            if not status.st_size:
                return MappedFile(path=path, data=np.empty(0, np.uint8))
            mapped = with_descriptors(lambda: mmap.mmap(descriptor, 0, access=mmap.ACCESS_READ))
    finally:
        os.close(descriptor)
    return MappedFile(path=path, data=np.frombuffer(mapped, np.uint8), _map=mapped)


_HEADER_BYTES = 1 << 16


def save_array(target: Path | IO[bytes], array: "NDArray[Any]") -> None:
    """Write an array as .npy to a stream, or to a file in the run's own work folder."""
    import numpy as np

    if isinstance(target, str | os.PathLike):
        with open_scratch(target) as file:
            save_array(file, array)
        return
    # NumPy writes to files itself, and then does not know why that failed.
    stream: Any = types.SimpleNamespace(write=target.write)
    np.save(stream, array, allow_pickle=False)


def load_array(path: Path) -> "NDArray[Any]":
    """Map the array of a .npy file, read-only; of a remote one a local copy."""
    return _as_array(path, map_file(path).data)


def read_array(path: Path) -> "NDArray[Any]":
    """Read the array of a .npy file, local or remote, into memory."""
    import numpy as np

    return _as_array(path, np.frombuffer(read_bytes(path), np.uint8)).copy()


def _as_array(path: Path, data: "NDArray[np.uint8]") -> "NDArray[Any]":
    import numpy as np

    head = io.BytesIO(data[:_HEADER_BYTES].tobytes())
    try:
        if np.lib.format.read_magic(head) != (1, 0):
            raise ValueError("its version is not 1.0")
        shape, is_fortran, dtype = np.lib.format.read_array_header_1_0(head)
        end = head.tell() + math.prod(shape) * dtype.itemsize
        values = data[head.tell() : end].view(dtype)
        array = values.reshape(shape, order="F" if is_fortran else "C")
    except Exception as error:  # the header is parsed as Python, so damage raises almost anything
        reason = f"not a complete array ({' '.join(str(error).split())})"
        raise CorruptDataError(path, 0, reason) from error
    if end != len(data):
        raise CorruptDataError(path, 0, "longer than its array")
    return array


def read_values(source: Path | IO[bytes], dtype: "DTypeLike", count: int = -1) -> "NDArray[Any]":
    """Read bare values of a local file, or from where an open one is, into memory."""
    import numpy as np

    return np.fromfile(source, dtype, count)


def load_values(path: Path, dtype: "DTypeLike") -> "NDArray[Any]":
    """Map a local file of bare values, read-only; its size is a multiple of theirs."""
    return map_file(path).data.view(dtype)
