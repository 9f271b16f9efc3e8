"""Reading: streams, ranges, memory maps, sizes, listings.

open_input("a.txt")         a plain file        open_input("s3://b/a.txt")    a file of pyarrow's
map_file("store.bin").data  uint8[bytes], read-only, read from disk on access
"""

import dataclasses
import errno
import io
import mmap
import os
import stat
from typing import IO, TYPE_CHECKING, Any, cast

from bert_data.errors import CorruptDataError
from bert_data.storage.paths import Path, is_remote, naming, resolve

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

_REMOTE_BUFFER_BYTES = 1 << 20


@dataclasses.dataclass(frozen=True, kw_only=True)
class Status:
    """What distinguishes a file from others, and from itself before a change.

    Attributes:
      num_bytes: size.
      modified_ns: time of the last change, ns since 1970.
      inode: its number; 0 for a remote file.
      is_folder, is_file: its type; a pipe or a device is neither.
    """

    num_bytes: int
    modified_ns: int
    inode: int = 0
    is_folder: bool = False
    is_file: bool = True


def read_status(path: Path) -> Status | None:
    """Return the status of a path, following links; None if nothing exists there.

    Raises:
      OSError: it cannot be determined.
    """
    if is_remote(path):
        return _remote_status(path)
    try:
        status = os.stat(path)
    except (FileNotFoundError, NotADirectoryError, ValueError):  # ValueError: a name with a NUL
        return None
    return Status(
        num_bytes=status.st_size,
        modified_ns=status.st_mtime_ns,
        inode=status.st_ino,
        is_folder=stat.S_ISDIR(status.st_mode),
        is_file=stat.S_ISREG(status.st_mode),
    )


def _remote_status(path: Path) -> Status | None:
    from pyarrow import fs

    with naming(path):
        system, key = resolve(path)
        info = system.get_file_info(key)
    if info.type == fs.FileType.NotFound:
        return None
    return Status(
        num_bytes=info.size or 0,
        modified_ns=info.mtime_ns or 0,
        is_folder=info.type == fs.FileType.Directory,
        is_file=info.type == fs.FileType.File,
    )


def exists(path: Path) -> bool:
    """Whether a path exists."""
    return read_status(path) is not None


def is_file(path: Path) -> bool:
    """Whether a path is a regular file: not a folder, pipe or device."""
    status = read_status(path)
    return status is not None and status.is_file


def is_folder(path: Path) -> bool:
    """Whether a path is a folder."""
    status = read_status(path)
    return status is not None and status.is_folder


def file_size(path: Path) -> int:
    """Return the size of a file in bytes.

    Raises:
      FileNotFoundError: the file does not exist.
    """
    return _status(path).num_bytes


def _status(path: Path) -> Status:
    status = read_status(path)
    if status is None:
        raise FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT), path)
    return status


def modified_ns(path: Path) -> int:
    """Return when a file was last changed, in ns since 1970.

    Raises:
      FileNotFoundError: the file does not exist.
    """
    return _status(path).modified_ns


def folder_size(path: Path) -> int:
    """Return the size in bytes of all files in a local folder and its subfolders."""
    walk = os.walk(path)
    return sum(
        os.path.getsize(os.path.join(place, name)) for place, _, names in walk for name in names
    )


def list_folder(path: Path) -> list[str]:
    """Return the names in a folder, sorted.

    Raises:
      OSError: it does not exist, or cannot be read.
    """
    if not is_remote(path):
        return sorted(os.listdir(path or "."))
    from pyarrow import fs

    with naming(path):
        system, key = resolve(path)
        infos = system.get_file_info(fs.FileSelector(key))
    return sorted(each.base_name for each in infos)


def open_input(path: Path, *, buffering: int = -1) -> IO[bytes]:
    """Open a file for reading, with random access.

    Args:
      path: local, or a URI.
      buffering: as for `open`; without a buffer each read of a remote file is a request.

    Raises:
      OSError: it cannot be read.
    """
    if not is_remote(path):
        return cast(IO[bytes], open(path, "rb", buffering=buffering))
    with naming(path):
        system, key = resolve(path)
        file = cast(Any, system.open_input_file(key))
        return file if buffering == 0 else io.BufferedReader(file, _REMOTE_BUFFER_BYTES)


def read_bytes(path: Path) -> bytes:
    """Read a whole file.

    Raises:
      OSError: it cannot be read.
    """
    with naming(path), open_input(path) as file:
        return file.read()


@dataclasses.dataclass(frozen=True, kw_only=True)
class MappedFile:
    """A local file as an array, mapped as long as `data` or a view of it exists.

    Attributes:
      path: of the file.
      data: uint8[bytes], read-only.
    """

    path: Path
    data: "NDArray[np.uint8]"
    _map: mmap.mmap | None = None

    def __reduce__(self) -> tuple[Any, ...]:
        return map_file, (self.path,)

    def check_size(self) -> None:
        """Check that the file is still as long as the map, beyond which access ends the process.

        Raises:
          CorruptDataError: it has been truncated.
        """
        if self._map is not None and (size := self._map.size()) < self.data.size:
            reason = f"has been truncated to {size:,} bytes while it is read"
            raise CorruptDataError(self.path, size, reason)

    def advise(self, advice: int) -> None:
        """Advise the system how the pages will be read, by one of mmap's MADV_ constants."""
        if self._map is not None:
            self._map.madvise(advice)


def map_file(path: Path) -> MappedFile:
    """Map a local file.

    Raises:
      OSError: it cannot be read.
      ValueError: it is remote.
    """
    if is_remote(path):
        raise ValueError(f"{path!r} is remote; only local files can be mapped, so copy it first")
    import numpy as np

    with open(path, "rb") as file:
        if not os.fstat(file.fileno()).st_size:
            return MappedFile(path=path, data=np.empty(0, np.uint8))
        mapped = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
    return MappedFile(path=path, data=np.frombuffer(mapped, np.uint8), _map=mapped)
