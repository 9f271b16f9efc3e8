"""Open a text file by its ending: plain, `.gz`, `.zst`, `.bz2` or `.xz`, and `.tgz` and the like.

A truncated compressed file is an error, never a shorter text; the error follows everything that
could be decompressed. A file of no bytes is empty.
"""

import bz2
import collections
import contextlib
import gzip
import io
import lzma
import os
import re
import sys
import zlib
from collections.abc import Callable, Iterator
from typing import IO, Any, cast

import zstandard

from bert_data.errors import CorruptDataError
from bert_data.progress import size
from bert_data.storage import COMPRESSIONS, allowed_memory, naming, open_input
from bert_data.text.file_kinds import HEAD_BYTES, binary_kind

COMPRESSED_ENDINGS = tuple(COMPRESSIONS)
"""Endings of compressed files."""

COMPRESSED_TAR = re.compile(r"\.(?:tar\.|t)(gz|zst|bz2|xz)\Z", re.IGNORECASE)
"""The ending of a compressed tar archive."""


class StreamError(Exception):
    """A stream of bzip2 or xz is damaged; their own decompressors raise errors of the system."""


class UnreadableStreamError(StreamError):
    """A stream is sound, as far as it is known, but cannot be read; the message says why."""


DAMAGE = (gzip.BadGzipFile, zlib.error, EOFError, zstandard.ZstdError, StreamError)
"""Errors of the stream of a damaged file where its intact part ends."""

_MAGIC = {
    ".gz": (b"\x1f\x8b",),
    ".zst": (b"\x28\xb5\x2f\xfd", *(bytes([0x50 + i]) + b"\x2a\x4d\x18" for i in range(16))),
    ".bz2": (b"BZh",),
    ".xz": (b"\xfd7zXZ\0",),
}


@contextlib.contextmanager
def open_bytes(
    path: str, start: int = 0, end: int | None = None
) -> Iterator[tuple[IO[bytes], IO[bytes]]]:
    """Open a file for reading, decompressed.

    Of standard input and other pipes, the first bytes say how it is compressed.

    Args:
      start: where to begin in the file as it is stored; in a compressed file of several streams,
        the start of one.
      end: where to end, exclusive; the end of a stream. None: with the file.

    Yields:
      The text, and the file itself, whose `tell()` says how much of it has been read.
    """
    ending = _compression_of(path)
    with naming(path), open_input(path, buffering=-1 if ending else 0) as file:
        try:
            if ending is None and (path.startswith("/dev/") or not file.seekable()):
                file = io.BufferedReader(cast(io.RawIOBase, file))
                ending = _compression_in(file.peek(HEAD_BYTES))
            if start:
                file.seek(start)
            part = file if end is None else cast(IO[bytes], FirstBytes(file, end - start))
            if ending is None:
                yield part, file
            else:
                yield cast(IO[bytes], StreamsFile(part, ending, start)), file
        except DAMAGE as error:
            offset = file.tell() if file.seekable() else 0
            assert ending is not None
            reason = _other_kind(path, ending, file) or describe_damage(error)
            raise CorruptDataError(path, offset, reason) from error


def describe_damage(error: Exception) -> str:
    """Return what to say of an error of `DAMAGE`."""
    is_sound = isinstance(error, UnreadableStreamError)
    return str(error) if is_sound else f"the compressed data is damaged ({error})"


def _compression_of(path: str) -> str | None:
    if archive := COMPRESSED_TAR.search(path):
        return f".{archive[1].lower()}"
    return next((ending for ending in COMPRESSED_ENDINGS if path.endswith(ending)), None)


def _compression_in(head: bytes) -> str | None:
    fitting = (ending for ending in _MAGIC if head.startswith(_MAGIC[ending]))
    return next(fitting, None) if binary_kind(head) else None


def _other_kind(path: str, ending: str, file: IO[bytes]) -> str:
    """Return what a file with the ending of a compressed one is, if it is not compressed so."""
    if not file.seekable():
        return ""
    file.seek(0)
    head = file.read(HEAD_BYTES)
    if not head or head.startswith(_MAGIC[ending]):
        return ""
    kind = binary_kind(head).partition(";")[0] or "text that is not compressed"
    return f"its name ends with {os.path.splitext(path)[1]}, but it is {kind}"


def read_up_to(stream: Any, num_bytes: int, part_bytes: int = 64 << 10) -> bytes:
    """Return the next bytes of a stream, however few it gives at a time; fewer only at its end."""
    parts: list[bytes] = []
    while num_bytes and (part := stream.read(min(num_bytes, part_bytes))):
        parts.append(part)
        num_bytes -= len(part)
    return b"".join(parts)


class FirstBytes:
    """Reads the next bytes of a file, up to a number of them."""

    def __init__(self, file: IO[bytes], num_bytes: int) -> None:
        self._file = file
        self._left = num_bytes

    def read(self, num_bytes: int = sys.maxsize) -> bytes:
        """Return the next bytes: `num_bytes`, or fewer at the end."""
        data = self._file.read(min(num_bytes, self._left))
        self._left -= len(data)
        return data


class _GzipMember:
    """A member of a gzip file, with the interface of `bz2.BZ2Decompressor`."""

    def __init__(self) -> None:
        self._stream = zlib.decompressobj(31)

    def decompress(self, data: bytes, max_length: int) -> bytes:
        return self._stream.decompress(self._stream.unconsumed_tail + data, max_length)

    @property
    def needs_input(self) -> bool:
        return not self._stream.unconsumed_tail

    @property
    def eof(self) -> bool:
        return self._stream.eof

    @property
    def unused_data(self) -> bytes:
        return self._stream.unused_data


class _ZstdStream:
    """A frame of a zstandard file, with that interface."""

    def __init__(self) -> None:
        decompressor = zstandard.ZstdDecompressor(max_window_size=_max_window_bytes())
        self._stream = decompressor.decompressobj()
        self._header = b""
        self.needs_input = True

    def decompress(self, data: bytes, max_length: int) -> bytes:
        """Decompress all of the data, which must be short: nothing bounds the result."""
        self._header += data[: _FRAME_HEADER_BYTES - len(self._header)]
        if self._header.startswith(_WARC_DICTIONARY):
            raise UnreadableStreamError(_NEEDS_DICTIONARY)
        try:
            return self._stream.decompress(data)
        except zstandard.ZstdError as error:
            raise _unreadable_frame(self._header) or error from None

    @property
    def eof(self) -> bool:
        return self._stream.eof

    @property
    def unused_data(self) -> bytes:
        return self._stream.unused_data


def _unreadable_frame(header: bytes) -> UnreadableStreamError | None:
    """Return why a frame cannot be read, if its header says so."""
    try:
        frame = zstandard.get_frame_parameters(header)
    except zstandard.ZstdError:
        return None
    if frame.dict_id:
        return UnreadableStreamError(_NEEDS_DICTIONARY)
    if frame.window_size <= _max_window_bytes():
        return None
    return UnreadableStreamError(
        f"its zstandard frames need {size(frame.window_size)} of memory for their windows, and"
        f" {size(_max_window_bytes())} are allowed: half of what this process may have, and at most"
        f" {size(_MOST_WINDOW_BYTES)}; compress the text anew"
    )


def _max_window_bytes() -> int:
    return min(_MOST_WINDOW_BYTES, allowed_memory() // 2)


class StreamsFile:
    """Reads the streams (members, frames) of a compressed file, one after the other.

    The libraries' own readers accept a truncated file as whole, or lose what precedes damage.

    Attributes:
      stream_start: where the last stream that was begun begins in the file.
      starts: where the last streams begin in the text and in the file; a reader may take them out.
    """

    def __init__(self, file: IO[bytes], ending: str, start: int = 0) -> None:
        self._file = file
        self._new_stream, self._input_bytes = _STREAMS[ending]
        self._padding = b"\0" if ending in (".gz", ".xz") else b""  # that may follow a stream
        self._stream: Any = None
        self._compressed = b""
        self._text = bytearray()
        self._damage: Exception | None = None
        self._has_begun = False
        self.stream_start = self._position = start
        self._num_decompressed = 0
        self.starts = collections.deque[tuple[int, int]]([], _MOST_STARTS)

    def read(self, num_bytes: int) -> bytes:
        """Return the next bytes: `num_bytes`, or fewer at the end or before damage, then DAMAGE."""
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
        """Decompress some more bytes of the file; return whether there may be more."""
        data = b""
        if self._stream is None or self._stream.needs_input:
            data = self._compressed or self._file.read(self._input_bytes)
            self._position += len(data) - len(self._compressed)
            self._compressed = b""
            if not data:
                if self._stream is not None:
                    raise EOFError("it ends before the end of its stream")
                return False
        if self._stream is None:
            if self._padding and self._has_begun:
                data = data.lstrip(self._padding)
            if not data:
                return True
            self.stream_start = self._position - len(data)
            self.starts.append((self._num_decompressed, self.stream_start))
            self._stream, self._has_begun = self._new_stream(), True
        try:
            text = self._stream.decompress(data, _OUTPUT_BYTES)
        except (OSError, lzma.LZMAError) as error:
            raise StreamError(error) from error
        self._text += text
        self._num_decompressed += len(text)
        if self._stream.eof:
            self._compressed, self._stream = self._stream.unused_data, None
        return True


# By ending: a decompressor of a stream, and the compressed bytes that it is given at a time.
_STREAMS: dict[str, tuple[Callable[[], Any], int]] = {
    ".gz": (_GzipMember, 32 << 10),
    ".zst": (_ZstdStream, 2 << 10),
    ".bz2": (bz2.BZ2Decompressor, 8 << 10),
    ".xz": (lambda: lzma.LZMADecompressor(lzma.FORMAT_XZ), 8 << 10),
}
_OUTPUT_BYTES = 256 << 10
_MOST_STARTS = 1 << 12
_FRAME_HEADER_BYTES = 18  # at most
_MOST_WINDOW_BYTES = 1 << 31  # the largest window of the library: `zstd --long=31`
_WARC_DICTIONARY = b"\x5d\x2a\x4d\x18"  # a frame with the dictionary of those that follow
_NEEDS_DICTIONARY = (
    "its zstandard frames need a dictionary, as ArchiveTeam's .warc.zst do; decompress it with that"
    " dictionary first (zstd -D DICTIONARY -d)"
)
