"""What a run reads: streams, ranges, memory maps, sizes, listings.

open_input("a.txt")         a plain file        open_input("s3://b/a.txt")    one of pyarrow's
map_file("store.bin").data  uint8[bytes], read-only, from disk as it is looked at
"""

import dataclasses
import errno
import io
import mmap
import os
import stat
from typing import IO, TYPE_CHECKING, Any, cast

from bert_data.storage.paths import Path, is_remote, naming, resolve

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

_REMOTE_BUFFER_BYTES = 1 << 20


@dataclasses.dataclass(frozen=True, kw_only=True)
class Status:
    """What tells a file from others, and from itself before a change.

    Attributes:
      num_bytes: size.
      modified_ns: time of the last change, ns since 1970.
      inode: its number; 0 of a remote file.
      is_folder, is_file: what it is; a pipe or a device is neither.
    """

    num_bytes: int
    modified_ns: int
    inode: int = 0
    is_folder: bool = False
    is_file: bool = True


def read_status(path: Path) -> Status | None:
    """The status of what is there, of a link's target; None: there is nothing.

    Raises:
      OSError: it cannot be known.
    """
    if is_remote(path):
        return _remote_status(path)
    try:
        found = os.stat(path)
    except (FileNotFoundError, NotADirectoryError):
        return None
    return Status(
        num_bytes=found.st_size,
        modified_ns=found.st_mtime_ns,
        inode=found.st_ino,
        is_folder=stat.S_ISDIR(found.st_mode),
        is_file=stat.S_ISREG(found.st_mode),
    )


def _remote_status(path: Path) -> Status | None:
    from pyarrow import fs

    with naming(path):
        system, key = resolve(path)
        found = system.get_file_info(key)
    if found.type == fs.FileType.NotFound:
        return None
    return Status(
        num_bytes=found.size or 0,
        modified_ns=found.mtime_ns or 0,
        is_folder=found.type == fs.FileType.Directory,
        is_file=found.type == fs.FileType.File,
    )


def exists(path: Path) -> bool:
    """Whether there is a file or a folder."""
    return read_status(path) is not None


def is_file(path: Path) -> bool:
    """Whether there is a file, and no folder, pipe or device."""
    status = read_status(path)
    return status is not None and status.is_file


def is_folder(path: Path) -> bool:
    """Whether there is a folder."""
    status = read_status(path)
    return status is not None and status.is_folder


def file_size(path: Path) -> int:
    """The size of a file in bytes.

    Raises:
      FileNotFoundError: there is none.
    """
    return _status(path).num_bytes


def _status(path: Path) -> Status:
    status = read_status(path)
    if status is None:
        raise FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT), path)
    return status


def modified_ns(path: Path) -> int:
    """When a file was last changed, ns since 1970.

    Raises:
      FileNotFoundError: there is none.
    """
    return _status(path).modified_ns


def folder_size(path: Path) -> int:
    """The bytes of all files in a local folder and the folders in it."""
    walk = os.walk(path)
    return sum(
        os.path.getsize(os.path.join(place, name)) for place, _, names in walk for name in names
    )


def list_folder(path: Path) -> list[str]:
    """The names in a folder, sorted.

    Raises:
      OSError: there is none, or it cannot be read.
    """
    if not is_remote(path):
        return sorted(os.listdir(path or "."))
    from pyarrow import fs

    with naming(path):
        system, key = resolve(path)
        found = system.get_file_info(fs.FileSelector(key))
    return sorted(each.base_name for each in found)


def open_input(path: Path, *, buffering: int = -1) -> IO[bytes]:
    """Opens a file for reading, at any place in it.

    Args:
      path: local, or a URI.
      buffering: as `open` takes it; without a buffer a remote file gets a request for each read.

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
    """All of a file.

    Raises:
      OSError: it cannot be read.
    """
    with naming(path), open_input(path) as file:
        return file.read()


@dataclasses.dataclass(frozen=True, kw_only=True)
class MappedFile:
    """A local file as an array; mapped as long as `data` or a view of it lives.

    Attributes:
      data: uint8[bytes], read-only.
    """

    data: "NDArray[np.uint8]"
    _map: mmap.mmap | None = None

    def advise(self, advice: int) -> None:
        """Tells the system how the pages will be read: one of mmap's MADV_ constants."""
        if self._map is not None:
            self._map.madvise(advice)


def map_file(path: Path) -> MappedFile:
    """Maps a local file.

    Raises:
      OSError: it cannot be read.
      ValueError: it is remote.
    """
    if is_remote(path):
        raise ValueError(f"{path!r} is remote, and only a local file can be mapped; copy it first")
    import numpy as np

    with open(path, "rb") as file:
        if not os.fstat(file.fileno()).st_size:
            return MappedFile(data=np.empty(0, np.uint8))
        mapped = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
    return MappedFile(data=np.frombuffer(mapped, np.uint8), _map=mapped)
