"""Remote files: as raw streams, by ranges, and reads that are tried again.

RemoteFile("s3://b/a").read_at(100, 4096)      bytes 4096 to 4195, in one request

files = RemoteFiles(["s3://b/a", "s3://b/c"], [9_000_000, 8_000_000])
files.read(1, 4096, 100)                       bytes 4096 to 4195 of s3://b/c
UnnamedFile().write(data, 0)                   keeps them; vanishes when it is closed

retried(file.read_at, 10, 0)                   with AWS_MAX_ATTEMPTS=3, up to 3 times

The position is kept here, and each read asks for a range: pyarrow's own position in a file of
Google's store asks for all that follows, even if only a few bytes are read, or none. The libraries
of the file systems send failing requests again. Only for reads that are shorter than the text of an
error does S3's lose the error's kind, and with it the knowledge that it may pass.
"""

import collections
import errno
import io
import os
import re
import threading
import time
import weakref
from collections.abc import Callable, Sequence
from typing import Any, TypeVar

from bert_data.errors import CorruptDataError
from bert_data.storage.failures import naming
from bert_data.storage.file_systems import resolve
from bert_data.storage.paths import is_remote

LOST_REASON = "Failed to flush response stream"
_MAX_ATTEMPTS = 6  # for some 25 s in all, if each fails at once
_FIRST_SECONDS, _MOST_SECONDS = 0.1, 10.0

Result = TypeVar("Result")


def max_attempts() -> int:
    """Return how often a request to S3 is sent before its error is raised.

    Raises:
      ValueError: AWS_MAX_ATTEMPTS is not a number from 1 on.
    """
    value = os.environ.get("AWS_MAX_ATTEMPTS") or str(_MAX_ATTEMPTS)
    if not re.fullmatch("[1-9][0-9]{0,3}", value):
        raise ValueError(f"AWS_MAX_ATTEMPTS is {value!r}; it must be a number from 1 to 9999")
    return int(value)


def retried(read: Callable[..., Result], *args: Any) -> Result:
    """Return what a read returns, after further attempts if the reason of its error was lost.

    Raises:
      OSError: of the last attempt, or of another kind.
    """
    seconds = _FIRST_SECONDS
    for _ in range(max_attempts() - 1):
        try:
            return read(*args)
        except OSError as error:
            if LOST_REASON not in str(error):
                raise
        time.sleep(seconds)
        seconds = min(2 * seconds, _MOST_SECONDS)
    return read(*args)


class RemoteFile(io.RawIOBase):
    """A remote file, open for reading; each read is one request, and its errors name the URI."""

    _file: Any = None  # not there if it could not be opened; it is closed nevertheless

    def __init__(self, uri: str) -> None:
        """Open the file.

        Raises:
          OSError: it cannot be read.
        """
        self._uri, self._position = uri, 0
        with naming(uri):
            system, key = resolve(uri)
            self._file = system.open_input_file(key)

    def readable(self) -> bool:
        """Return True."""
        return True

    def seekable(self) -> bool:
        """Return True."""
        return True

    def size(self) -> int:
        """Return the number of bytes when it was opened."""
        return int(self._file.size())

    def version(self) -> tuple[object, ...]:
        """Return what tells the file, as it was when it was opened, from what may replace it."""
        with naming(self._uri):
            described = self._file.metadata()  # with a digest, from object stores
            if not described:
                system, key = resolve(self._uri)
                described = system.get_file_info(key).mtime_ns
        return self.size(), repr(described)

    def tell(self) -> int:
        """Return the position."""
        return self._position

    def seek(self, offset: int, whence: int = io.SEEK_SET) -> int:
        """Move the position, and return it."""
        start = {io.SEEK_SET: 0, io.SEEK_CUR: self._position, io.SEEK_END: self.size()}[whence]
        if start + offset < 0:
            raise ValueError(f"a position of {start + offset} is before the file")
        self._position = start + offset
        return self._position

    def readinto(self, buffer: Any) -> int:
        """Read what follows the position, in one request."""
        view = memoryview(buffer).cast("B")
        size = min(len(view), self.size() - self._position)
        if size <= 0:
            return 0
        data = self.read_at(size, self._position)
        view[: len(data)] = data
        self._position += len(data)
        return len(data)

    def read_at(self, size: int, offset: int) -> bytes:
        """Return a range, or less at the end of the file; threads may do so at the same time."""
        with naming(self._uri):
            return bytes(retried(self._file.read_at, size, offset))

    def close(self) -> None:
        """Close the file."""
        if not self.closed and self._file is not None:
            self._file.close()
        super().close()


_MAX_OPEN = 1024
_READS_BETWEEN_CHECKS = 64


class RemoteFiles:
    """Remote files of known sizes, by their numbers; threads may read them at the same time.

    Local files may be among them.
    """

    def __init__(self, paths: Sequence[str], sizes: Sequence[int]) -> None:
        self._uris = [
            path if is_remote(path) else f"file://{os.path.abspath(path)}" for path in paths
        ]
        self._sizes = tuple(sizes)
        self._versions: dict[int, tuple[object, ...]] = {}
        self._num_reads: collections.Counter[int] = collections.Counter()
        self._open: collections.OrderedDict[int, RemoteFile] = collections.OrderedDict()
        self._lock = threading.Lock()

    def read(self, number: int, offset: int, size: int) -> bytes:
        """Read a range of a file.

        If an object has become shorter since it was opened, pyarrow returns zeros in place of what
        is missing: who finds damage should `check`.

        Args:
          offset, size: of the range, in bytes.

        Raises:
          OSError: it cannot be read; the error names the URI.
          CorruptDataError: the file has changed since it was first opened.
        """
        try:
            data = self._file(number).read_at(size, offset)
        except OSError:
            self.check(number)
            raise
        if len(data) < size:
            self.check(number)
            reason = f"ends here, before the {size:,} bytes from byte {offset:,} on"
            raise CorruptDataError(self._uris[number], offset + len(data), reason)
        return data

    def check(self, number: int) -> RemoteFile:
        """Open a file again, and check that it is the one that was first opened.

        Raises:
          OSError: it is gone, or the store cannot tell.
          CorruptDataError: it has changed.
        """
        uri = self._uris[number]
        try:
            file = RemoteFile(uri)
        except FileNotFoundError:
            reason = "has been removed since it was opened"
            raise FileNotFoundError(errno.ENOENT, reason, uri) from None
        version = file.version()
        is_first = self._versions.setdefault(number, version) == version
        if file.size() != self._sizes[number] or not is_first:
            raise CorruptDataError(uri, 0, "has changed since it was opened")
        return file

    def _file(self, number: int) -> RemoteFile:
        with self._lock:
            file = self._open.get(number)
            is_due = self._num_reads[number] % _READS_BETWEEN_CHECKS == 0
            self._num_reads[number] += 1
        if file is None or is_due:
            file = self.check(number)
        with self._lock:
            self._open[number] = file
            self._open.move_to_end(number)
            if len(self._open) > _MAX_OPEN:
                self._open.popitem(last=False)  # closed when no thread reads it
        return file


class UnnamedFile:
    """A local file without a name, in the system's folder for temporary files.

    Attributes:
      descriptor: of the open file, for `os.pread`.
    """

    def __init__(self) -> None:
        import tempfile  # not at the top: it adds 10 ms to each start, and few runs need it

        self._folder = tempfile.gettempdir()
        self.descriptor, name = tempfile.mkstemp(prefix="bert_data-")
        os.remove(name)
        self._close = weakref.finalize(self, os.close, self.descriptor)

    def write(self, data: bytes, offset: int) -> None:
        """Write at an offset; threads may do so at the same time.

        Raises:
          OSError: it cannot be written; the error names the folder.
        """
        left = memoryview(data)
        try:
            while left:
                count = os.pwrite(self.descriptor, left, offset)
                left, offset = left[count:], offset + count
        except OSError as error:
            reason = (
                f"cannot keep parts of remote files here (TMPDIR names another): {error.strerror}"
            )
            raise OSError(error.errno, reason, self._folder) from None

    def close(self) -> None:
        """Remove the file."""
        self._close()
