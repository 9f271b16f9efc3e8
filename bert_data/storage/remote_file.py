"""A remote file as a raw stream: one request a read, and errors that name the URI.

RemoteFile("s3://b/a").read_at(100, 4096)      bytes 4096 to 4195
"""

import io
from typing import Any, cast

from bert_data.storage.attempts import retried
from bert_data.storage.failures import naming
from bert_data.storage.file_systems import resolve


class RemoteFile(io.RawIOBase):
    """A remote file, open for reading; each read is one request, and its errors name the URI."""

    def __init__(self, uri: str) -> None:
        """Open the file.

        Raises:
          OSError: it cannot be read.
        """
        self._uri = uri
        with naming(uri):
            system, key = resolve(uri)
            self._file = cast(Any, system.open_input_file(key))

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
        return int(self._file.tell())

    def seek(self, offset: int, whence: int = io.SEEK_SET) -> int:
        """Move the position, and return it."""
        return int(self._file.seek(offset, whence))

    def readinto(self, buffer: Any) -> int:
        """Read what follows the position, in one request."""
        with naming(self._uri):
            return int(retried(self._file.readinto, buffer))

    def read_at(self, size: int, offset: int) -> bytes:
        """Return a range, or less at the end of the file; threads may do so at the same time."""
        with naming(self._uri):
            return bytes(retried(self._file.read_at, size, offset))

    def close(self) -> None:
        """Close the file."""
        if not self.closed:
            self._file.close()
        super().close()
