"""One gzip file from chunks that are compressed side by side.

    header | deflate(chunk 0), up to a whole byte | deflate(chunk 1) | ... | last block | crc, size

Each chunk is a run of whole deflate blocks (RFC 1951, 3.2.4: a flush ends with an empty stored
block), so the chunks follow each other in one stream that any gzip reader reads. Where it is cut
depends on the chunks alone, so the bytes do not depend on how many threads compressed them.
"""

import struct
import zlib
from collections.abc import Callable

_HEADER = b"\x1f\x8b\x08" + b"\0" * 6 + b"\xff"  # deflate, no name, no time, unknown system
_LAST_BLOCK = b"\x03\x00"  # final, fixed codes, empty
_LEVEL = 6  # gzip's own default


def deflate_chunk(data: memoryview) -> bytes:
    """Compresses a chunk so that others can follow it."""
    compressor = zlib.compressobj(_LEVEL, zlib.DEFLATED, -zlib.MAX_WBITS)
    return compressor.compress(data) + compressor.flush(zlib.Z_SYNC_FLUSH)


class GzipStream:
    """Puts the frame of a gzip file around chunks."""

    def __init__(self, write: Callable[[bytes], object]) -> None:
        """Begins the file.

        Args:
          write: takes the bytes of the file, in order.
        """
        self._write = write
        self._crc = 0
        self._size = 0
        write(_HEADER)

    def add(self, data: memoryview, deflated: bytes) -> None:
        """Adds a chunk: its bytes, and what `deflate_chunk` made of them."""
        self._crc = zlib.crc32(data, self._crc)
        self._size += len(data)
        self._write(deflated)

    def finish(self) -> None:
        """Ends the stream."""
        self._write(_LAST_BLOCK + struct.pack("<II", self._crc, self._size & 0xFFFFFFFF))
