"""A remote file as a raw stream: one request a read, and errors that name the URI.

RemoteFile("s3://b/a").read_at(100, 4096)      bytes 4096 to 4195

The position is kept here, and each read asks for a range: pyarrow's own position in a file of
Google's store asks for all that follows, even if only a few bytes are read, or none.
"""

import io
from typing import Any

from bert_data.storage.attempts import retried
from bert_data.storage.failures import naming
from bert_data.storage.file_systems import resolve


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
