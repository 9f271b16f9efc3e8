"""One gzip file of chunks that are compressed in parallel.

    header | deflate(chunk 0), up to a whole byte | deflate(chunk 1) | ... | last block | crc, size

Each chunk is a run of whole deflate blocks (RFC 1951, 3.2.4: a flush ends with an empty stored
block), so the chunks form one stream that any gzip reader reads. The bytes depend only on where the
data is cut into chunks, not on how many threads compress them.
"""

import struct
import zlib
from collections.abc import Callable

_HEADER = b"\x1f\x8b\x08" + b"\0" * 6 + b"\xff"  # deflate, no name, no time, unknown system
_LAST_BLOCK = b"\x03\x00"  # final, fixed codes, empty
_LEVEL = 6  # gzip's own default


def deflate_chunk(data: memoryview) -> bytes:
    """Compress a chunk so that others can follow it."""
    compressor = zlib.compressobj(_LEVEL, zlib.DEFLATED, -zlib.MAX_WBITS)
    return compressor.compress(data) + compressor.flush(zlib.Z_SYNC_FLUSH)


class GzipStream:
    """Puts the frame of a gzip file around chunks."""

    def __init__(self, write: Callable[[bytes], object]) -> None:
        """Begin the file.

        Args:
          write: takes the bytes of the file, in order.
        """
        self._write = write
        self._crc = 0
        self._size = 0
        write(_HEADER)

    def add(self, data: memoryview, deflated: bytes) -> None:
        """Add a chunk: its bytes, and those bytes as compressed by `deflate_chunk`."""
        self._crc = zlib.crc32(data, self._crc)
        self._size += len(data)
        self._write(deflated)

    def finish(self) -> None:
        """End the stream."""
        self._write(_LAST_BLOCK + struct.pack("<II", self._crc, self._size & 0xFFFFFFFF))
