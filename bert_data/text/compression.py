"""Open a text file by its ending: plain, `.gz` or `.zst`.

A truncated compressed file is an error, never a shorter text; the error follows everything that
could be decompressed.
"""

import contextlib
import gzip
import zlib
from collections.abc import Iterator
from typing import IO, cast

import zstandard

from bert_data.errors import CorruptDataError
from bert_data.storage import file_size, naming, open_input
from bert_data.text.file_kinds import HEAD_BYTES, binary_kind

COMPRESSIONS = (".gz", ".zst")
"""The endings of compressed files."""

DAMAGE = (gzip.BadGzipFile, zlib.error, EOFError, zstandard.ZstdError)
"""What the stream of a damaged file raises where its intact part ends."""

_MAGIC = {".gz": (b"\x1f\x8b",), ".zst": (b"\x28\xb5\x2f\xfd", b"\x50\x2a\x4d\x18")}

# Compressed bytes decompressed at a time: few, because they can expand enormously.
_ZSTD_INPUT_BYTES = 8 << 10


@contextlib.contextmanager
def open_bytes(path: str) -> Iterator[tuple[IO[bytes], IO[bytes]]]:
    """Open a file for reading, decompressed.

    Yields:
      The text, and the file itself, whose `tell()` says how much of it has been read.

    Raises:
      CorruptDataError: the compressed file is damaged or ends too early.
    """
    buffering = -1 if path.endswith(COMPRESSIONS) else 0
    with naming(path), open_input(path, buffering=buffering) as file:
        try:
            if path.endswith(COMPRESSIONS) and file_size(path) == 0:
                raise EOFError("the file is empty, without even a header")
            if path.endswith(".gz"):
                yield cast(IO[bytes], _GzipFile(file)), file
            elif path.endswith(".zst"):
                yield cast(IO[bytes], _ZstdFile(file)), file
            else:
                yield file, file
        except DAMAGE as error:
            offset = file.tell()
            reason = _other_kind(path, file) or f"the compressed data is damaged ({error})"
            raise CorruptDataError(path, offset, reason) from error


def _other_kind(path: str, file: IO[bytes]) -> str:
    """Return what a file with the ending of a compressed one is, if it is not compressed so."""
    if not file.seekable():
        return ""
    file.seek(0)
    head = file.read(HEAD_BYTES)
    ending = next(ending for ending in COMPRESSIONS if path.endswith(ending))
    if not head or head.startswith(_MAGIC[ending]):
        return ""
    kind = binary_kind(head).partition(";")[0] or "text that is not compressed"
    return f"its name ends with {ending}, but it is {kind}"


class _GzipFile:
    """Reads the members of a file; gzip's own reader discards what it has read before damage."""

    def __init__(self, file: IO[bytes]) -> None:
        self._file = gzip.GzipFile(fileobj=file)
        self._damage: Exception | None = None

    def read(self, num_bytes: int) -> bytes:
        """Return the next bytes: `num_bytes`, or fewer at the end or before damage.

        Raises:
          gzip.BadGzipFile, zlib.error, EOFError: only damage follows.
        """
        pieces: list[bytes] = []
        while num_bytes > 0 and self._damage is None:
            try:
                piece = self._file.read1(num_bytes)
            except DAMAGE as error:
                self._damage = error
                break
            if not piece:
                break
            pieces.append(piece)
            num_bytes -= len(piece)
        if not pieces and self._damage is not None:
            raise self._damage
        return b"".join(pieces)


class _ZstdFile:
    """Reads the frames of a file; zstandard's own reader accepts a truncated file as whole."""

    def __init__(self, file: IO[bytes]) -> None:
        self._file = file
        self._frame: zstandard.ZstdDecompressionObj | None = None
        self._compressed = b""
        self._text = bytearray()
        self._damage: Exception | None = None

    def read(self, num_bytes: int) -> bytes:
        """Return the next bytes: `num_bytes`, or fewer at the end or before damage.

        Raises:
          zstandard.ZstdError, EOFError: only damage follows.
        """
        try:
            while self._damage is None and len(self._text) < num_bytes and self._decompress_some():
                pass
        except DAMAGE as error:
            self._damage = error
        if not self._text and self._damage is not None:
            raise self._damage
        data = bytes(self._text[:num_bytes])
        del self._text[:num_bytes]
        return data

    def _decompress_some(self) -> bool:
        """Decompress some more bytes of the file; return whether there were any."""
        data = self._compressed or self._file.read(_ZSTD_INPUT_BYTES)
        if not data:
            if self._frame is not None:
                raise EOFError("it ends before its end-of-frame mark")
            return False
        if self._frame is None:
            self._frame = zstandard.ZstdDecompressor().decompressobj()
        self._text += self._frame.decompress(data)
        self._compressed = b""
        if self._frame.eof:
            self._compressed, self._frame = self._frame.unused_data, None
        return True
