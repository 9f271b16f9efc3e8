"""Archives: the files in tar and zip, one after the other, and one file of 7-Zip's as it is read.

a.tar.gz  ->  Member("a/README", 17, read), Member("a/main.py", 230, read), ...
a.stackexchange.com.7z, "posts.xml"  ->  feed(b"<?xml ..."), feed(b"<row ..."), ...

A member is read up to the bytes that are asked for, whatever it would decompress to. py7zr
decompresses what precedes the file in its group, too, and holds a block at a time.
"""

import contextlib
import dataclasses
import functools
import os
import posixpath
import struct
import sys
import tarfile
import zipfile
from collections.abc import Callable, Iterator
from typing import IO, Any, cast

from bert_data.errors import CorruptDataError
from bert_data.packages import load_package
from bert_data.storage import naming, open_input
from bert_data.text.compression import (
    COMPRESSED_TAR,
    DAMAGE,
    FirstBytes,
    StreamsFile,
    open_bytes,
    read_up_to,
)

_BLOCK_BYTES = 512  # of tar, whose end is two blocks of zeros
MAX_HEADER_BYTES = 1 << 20
"""More headers of one member of tar, of its name, notes (pax) and holes (sparse), are damage."""

MEMBER_PART_BYTES = 4 << 10  # zipfile decompresses at once what it reads of LZMA: at most 28 MB
_HEADER = struct.Struct("<26xHH")  # of a member of a zip archive: lengths of its name and the rest


@dataclasses.dataclass(frozen=True)
class Member:
    """A file in an archive.

    Attributes:
      read: returns its first bytes, up to a number; only until the next member is asked for.
    """

    name: str
    num_bytes: int
    read: Callable[[int], bytes]


def is_archive(path: str) -> bool:
    """Return whether the name of a file is an archive's."""
    return path.lower().endswith((".tar", ".zip")) or COMPRESSED_TAR.search(path) is not None


def read_members(path: str) -> Iterator[Member]:
    """Yield the files of an archive, in its order; links and folders are left out."""
    return _read_zip(path) if path.lower().endswith(".zip") else _read_tar(path)


def read_zipped(archive: zipfile.ZipFile, name: str | zipfile.ZipInfo, num_bytes: int) -> bytes:
    """Return the first bytes of a member of a zip archive, without decompressing many more."""
    info = archive.getinfo(name) if isinstance(name, str) else name
    with archive.open(info) as member:
        if info.compress_type != zipfile.ZIP_BZIP2:
            return read_up_to(member, num_bytes, MEMBER_PART_BYTES)
    # zipfile decompresses without a bound, and some 40 bytes of bzip2 are 45 MB.
    assert archive.fp is not None
    archive.fp.seek(info.header_offset)
    archive.fp.seek(sum(_HEADER.unpack(archive.fp.read(_HEADER.size))), os.SEEK_CUR)
    compressed = cast(IO[bytes], FirstBytes(archive.fp, info.compress_size))
    return StreamsFile(compressed, ".bz2").read(num_bytes)


class _Remembering:
    """A stream that keeps the last bytes read, and bounds what headers read, held in memory."""

    def __init__(self, stream: IO[bytes]) -> None:
        self._stream = stream
        self.num_bytes = 0
        self.last = b""
        self._most_bytes = MAX_HEADER_BYTES

    @contextlib.contextmanager
    def bounding(self, start: int) -> Iterator[None]:
        """Bound what is read while a member's headers are, which begin at a place."""
        self._most_bytes = start + MAX_HEADER_BYTES
        yield
        self._most_bytes = sys.maxsize

    def read(self, size: int) -> bytes:
        if self.num_bytes > self._most_bytes:
            raise tarfile.ReadError(f"headers of more than {MAX_HEADER_BYTES:,} bytes")
        data = self._stream.read(size)
        self.num_bytes += len(data)
        self.last = (self.last + data[-_BLOCK_BYTES:])[-_BLOCK_BYTES:]
        return data


class _CheckedInfo(tarfile.TarInfo):
    """A header, whose damage is an error: tarfile takes a damaged one for the archive's end."""

    @classmethod
    def frombuf(cls, buf: bytes | bytearray, encoding: str, errors: str) -> "_CheckedInfo":
        try:
            return super().frombuf(buf, encoding, errors)
        except tarfile.HeaderError as error:
            if len(buf) == _BLOCK_BYTES and any(buf):
                raise tarfile.ReadError(str(error)) from error
            raise


def _read_tar(path: str) -> Iterator[Member]:
    with open_bytes(path) as (text, _):
        stream = _Remembering(text)
        try:
            with tarfile.open(
                fileobj=cast(Any, stream), mode="r|", tarinfo=_CheckedInfo
            ) as archive:
                while True:
                    with stream.bounding(archive.offset):
                        info = archive.next()
                    if info is None:
                        break
                    cast(Any, archive).members.clear()  # which it would keep
                    if info.isfile():
                        file = archive.extractfile(info)
                        assert file is not None
                        read = functools.partial(read_up_to, file, part_bytes=MEMBER_PART_BYTES)
                        yield Member(info.name, info.size, _reader(path, info.offset_data, read))
        except (tarfile.TarError, RecursionError) as error:
            reason = f"not a tar archive, or damaged ({error})"
            raise CorruptDataError(path, stream.num_bytes, reason) from error
        while stream.read(1 << 20):
            pass
        if stream.last.strip(b"\0"):
            reason = "the archive is cut off: the mark of its end is missing"
            raise CorruptDataError(path, stream.num_bytes, reason)


def _reader(path: str, position: int, read: Callable[[int], bytes]) -> Callable[[int], bytes]:
    """Return a member's `read`, whose errors are those of damage."""

    def read_or_raise(num_bytes: int) -> bytes:
        try:
            return read(num_bytes)
        except (tarfile.TarError, zipfile.BadZipFile, *DAMAGE) as error:
            reason = f"a file in the archive is damaged ({error})"
            raise CorruptDataError(path, position, reason) from error

    return read_or_raise


def _read_zip(path: str) -> Iterator[Member]:
    with naming(path), open_input(path) as file:
        try:
            with zipfile.ZipFile(file) as archive:
                for info in archive.infolist():
                    if not info.filename.endswith("/"):  # a folder
                        archive.open(info).close()  # an error if it is damaged or needs a password
                        first_bytes = functools.partial(read_zipped, archive, info)
                        read = _reader(path, info.header_offset, first_bytes)
                        yield Member(info.filename, info.file_size, read)
        except (zipfile.BadZipFile, *DAMAGE, NotImplementedError) as error:
            raise CorruptDataError(
                path, file.tell(), f"not a zip archive, or damaged ({error})"
            ) from error
        except RuntimeError as error:  # a password
            raise CorruptDataError(path, file.tell(), f"unreadable ({error})") from error


SEVENZIP_ENDING = ".7z"
SEVENZIP_EXTRA = "sevenzip"

_SEVENZIP_PART_BYTES = 1 << 16


def feed_member(path: str, name: str, feed: Callable[[bytes], None]) -> int:
    """Pass on a file of an archive; return the bytes of the archive that were read.

    Args:
      name: of the file, in lower case and without its folder.
      feed: receives the bytes, up to 64 KB at a time; its errors are passed on.
    """
    py7zr = load_package("py7zr", f"{path}: 7-Zip", extra=SEVENZIP_EXTRA)
    problem: list[Exception] = []

    class Fed(py7zr.Py7zIO):  # type: ignore[name-defined]
        """A file that is passed on as it is written."""

        def write(self, data: bytes | bytearray) -> int:
            for start in range(0, len(data), _SEVENZIP_PART_BYTES):
                try:
                    feed(bytes(data[start : start + _SEVENZIP_PART_BYTES]))
                except Exception as error:
                    problem.append(error)
                    raise
            return len(data)

        def read(self, size: int | None = None) -> bytes:
            return b""

        def seek(self, offset: int, whence: int = 0) -> int:
            return 0

        def flush(self) -> None:
            pass

        def size(self) -> int:
            return 0

    class Factory(py7zr.WriterFactory):  # type: ignore[name-defined]
        """Makes the file."""

        def create(self, filename: str) -> Any:
            return Fed()

    with naming(path), open_input(path) as file:
        try:
            with py7zr.SevenZipFile(file) as archive:
                archive.extract(targets=[_find(archive, path, name)], factory=Factory())
        except Exception as error:  # of damage, py7zr has errors of its own and many others
            if problem:
                raise problem[0] from None
            if isinstance(error, CorruptDataError):
                raise
            if isinstance(error, py7zr.PasswordRequired):
                reason = "the archive needs a password; unpack it first"
                raise CorruptDataError(path, file.tell(), reason) from None
            if isinstance(error, OSError) and error.errno is not None:  # bzip2's has no number
                raise
            reason = f"not a 7-Zip archive, or damaged ({type(error).__name__}: {error})"
            raise CorruptDataError(path, file.tell(), reason) from error
        return file.tell()


def _find(archive: Any, path: str, name: str) -> str:
    names = archive.getnames()
    for each in names:
        if posixpath.basename(each).lower() == name:
            return each
    held = ", ".join(names[:5]) or "nothing"
    raise CorruptDataError(path, 0, f"the archive has no {name}; it has {held}")
