"""A file being written, whose bytes are counted and summed.

file = SummedFile(raw, zlib.crc32)
file.write(b"abc"); file.num_bytes, file.checksum  ->  3, 0x352441c2
"""

from collections.abc import Callable
from typing import IO, Any


class SummedFile:
    """Counts and sums the bytes that are written; pyarrow treats it as a Python file.

    Attributes:
      file: that they are written to; whoever opened it closes it.
    """

    closed = False  # for Arrow, which asks

    def __init__(self, file: IO[bytes], extend_checksum: Callable[[Any, int], int]) -> None:
        self.file = file
        self.num_bytes = self.checksum = 0
        self._extend_checksum = extend_checksum
        self._is_given_up = False

    def write(self, data: Any) -> int:
        """Write bytes, or the memory of an object; return how many."""
        view = memoryview(data)
        if not self._is_given_up:
            self.num_bytes += view.nbytes
            self.checksum = self._extend_checksum(view, self.checksum)
            self.file.write(view)
        return view.nbytes

    def tell(self) -> int:
        """Return the number of bytes written."""
        return self.num_bytes

    def flush(self) -> None:
        """Do nothing, as Arrow does not know when the file is done."""

    def give_up(self) -> None:
        """Drop whatever is written from now on."""
        self._is_given_up = True
