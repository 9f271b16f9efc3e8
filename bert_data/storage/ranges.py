"""Ranges of remote files, and a local file without a name for what was read of them.

files = RemoteFiles(["s3://b/a", "s3://b/c"], [9_000_000, 8_000_000])
files.read(1, 4096, 100)       bytes 4096 to 4195 of s3://b/c, in one request

UnnamedFile().write(data, 0)   vanishes when it is closed, or with the process
"""

import collections
import errno
import os
import threading
import weakref
from collections.abc import Sequence

from bert_data.errors import CorruptDataError
from bert_data.storage.paths import is_remote
from bert_data.storage.remote_file import RemoteFile

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
