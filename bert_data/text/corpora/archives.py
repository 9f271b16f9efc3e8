"""Archives: the files in `.tar` (also compressed) and `.zip`, one after the other.

a.tar.gz  ->  Member("a/README", 17, read), Member("a/main.py", 230, read), ...
"""

import dataclasses
import tarfile
import zipfile
import zlib
from collections.abc import Callable, Iterator
from typing import IO, Any, cast

from bert_data.errors import CorruptDataError
from bert_data.storage import naming, open_input
from bert_data.text.compression import open_bytes

_ARCHIVES = (".tar", ".tar.gz", ".tgz", ".tar.bz2", ".tar.xz", ".tar.zst", ".zip")
_BLOCK_BYTES = 512  # of tar, whose end is two blocks of zeros


@dataclasses.dataclass(frozen=True)
class Member:
    """A file in an archive.

    Attributes:
      name: its path in the archive.
      num_bytes: its size.
      read: returns its first bytes, up to a number; only until the next member is asked for.
    """

    name: str
    num_bytes: int
    read: Callable[[int], bytes]


def is_archive(path: str) -> bool:
    """Whether the name of a file is an archive's."""
    return path.lower().endswith(_ARCHIVES)


def read_members(path: str) -> Iterator[Member]:
    """Yield the files of an archive, in its order; links and folders are left out.

    Raises:
      CorruptDataError: it is damaged, ends too early, or is no archive.
    """
    return _read_zip(path) if path.lower().endswith(".zip") else _read_tar(path)


class _Remembering:
    """A stream that keeps the last bytes read."""

    def __init__(self, stream: IO[bytes]) -> None:
        self._stream = stream
        self.num_bytes = 0
        self.last = b""

    def read(self, size: int) -> bytes:
        data = self._stream.read(size)
        self.num_bytes += len(data)
        self.last = (self.last + data[-_BLOCK_BYTES:])[-_BLOCK_BYTES:]
        return data


def _read_tar(path: str) -> Iterator[Member]:
    with open_bytes(path) as (text, _):
        stream = _Remembering(text)
        try:
            with tarfile.open(fileobj=cast(Any, stream), mode="r|") as archive:
                for info in archive:
                    if info.isfile():
                        file = archive.extractfile(info)
                        assert file is not None
                        yield Member(info.name, info.size, _reader(path, info.offset_data, file))
        except tarfile.TarError as error:
            reason = f"not a tar archive, or damaged ({error})"
            raise CorruptDataError(path, stream.num_bytes, reason) from error
        while stream.read(1 << 20):
            pass
        if stream.last.strip(b"\0"):
            reason = "the archive is cut off: the mark of its end is missing"
            raise CorruptDataError(path, stream.num_bytes, reason)


def _reader(path: str, position: int, file: IO[bytes]) -> Callable[[int], bytes]:
    """Return a member's `read`, whose errors are those of damage."""

    def read(num_bytes: int) -> bytes:
        try:
            return file.read(num_bytes)
        except (tarfile.TarError, zipfile.BadZipFile, zlib.error, EOFError) as error:
            reason = f"a file in the archive is damaged ({error})"
            raise CorruptDataError(path, position, reason) from error

    return read


def _read_zip(path: str) -> Iterator[Member]:
    with naming(path), open_input(path) as file:
        try:
            with zipfile.ZipFile(file) as archive:
                for info in archive.infolist():
                    if not info.filename.endswith("/"):  # a folder
                        with archive.open(info) as member:
                            read = _reader(path, info.header_offset, member)
                            yield Member(info.filename, info.file_size, read)
        except (zipfile.BadZipFile, zlib.error, EOFError, NotImplementedError) as error:
            raise CorruptDataError(
                path, file.tell(), f"not a zip archive, or damaged ({error})"
            ) from error
        except RuntimeError as error:  # a password
            raise CorruptDataError(path, file.tell(), f"unreadable ({error})") from error
