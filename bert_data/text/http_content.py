r"""The content of an HTTP response as it was archived: chunks joined, compression undone, bounded.

    Transfer-Encoding: chunked   "5\r\n<p>On\r\n3\r\ne.\n\r\n0\r\n\r\n"  ->  "<p>One.\n"
    Content-Encoding: gzip       "\x1f\x8b..."                           ->  "<p>One.\n"
    Content-Encoding: gzip       "<p>One.\n" (the crawler undid it)      ->  "<p>One.\n"

Many crawlers store the content without the coding that the headers still name, so content that
is plainly text is taken as it is.
"""

import functools
import io
import re
import zlib
from collections.abc import Callable, Iterable

import zstandard

from bert_data.packages import load_package
from bert_data.text.compression import read_up_to
from bert_data.text.documents import RowError
from bert_data.text.file_kinds import HEAD_BYTES, binary_kind

_CHUNK = re.compile(rb"[ \t]*([0-9A-Fa-f]{1,15})[ \t]*(?:;[^\n]*)?\r?\n")
_MOST_CODINGS = 5
_PART_BYTES = 64 << 10
_GZIP, _ZLIB, _RAW = 31, 15, -15


def decode_content(content: bytes, codings: Iterable[str], max_bytes: int) -> bytes:
    """Undo the codings of a response's content.

    Args:
      codings: values of its headers Content-Encoding, then Transfer-Encoding: names of codings
        with commas between them, in the order in which they were applied.

    Returns:
      The content; if it is longer than `max_bytes`, its first `max_bytes` + 1 bytes.
    """
    names = [name.strip().lower() for value in codings for name in value.split(",")]
    names = [name for name in names if name and name != "identity"]
    if len(names) > _MOST_CODINGS:
        raise RowError(f"unreadable HTTP response ({len(names)} codings, one in the other)")
    for name in reversed(names):
        decode = _DECODERS.get(name)
        try:
            if decode is None:
                raise ValueError(f"the coding {name[:20]!r} is unknown")
            content = decode(content, max_bytes + 1)
        except (ValueError, zlib.error, zstandard.ZstdError) as error:
            if not _is_text(content):
                raise RowError(f"unreadable HTTP response ({name}: {error})") from None
        if len(content) > max_bytes:
            break
    return content


def _is_text(content: bytes) -> bool:
    """Whether content begins like a page or is UTF-8, so that no coding was applied to it."""
    head = content[:HEAD_BYTES].lstrip(b"\xef\xbb\xbf \t\r\n")
    if binary_kind(head):
        return False
    if head.startswith(b"<"):
        return True
    try:
        content.decode()
    except UnicodeDecodeError:
        return False
    return _CHUNK.match(content) is None


def _join_chunks(content: bytes, _: int) -> bytes:
    """Join chunks (RFC 9112, 7.1); of content that was cut off, those that are there."""
    chunks: list[bytes] = []
    position = 0
    while match := _CHUNK.match(content, position):
        num_bytes = int(match[1], 16)
        if num_bytes == 0:
            break
        position = match.end() + num_bytes
        chunks.append(content[match.end() : position])
        position += 2 if content.startswith(b"\r\n", position) else 1
    else:
        if position < len(content):
            raise ValueError(f"no size of a chunk at byte {position:,}")
    return b"".join(chunks)


def _inflate(content: bytes, most: int, wbits: int) -> bytes:
    """Decompress the members of zlib's formats; what follows them is left out."""
    parts: list[bytes] = []
    while content and most:
        stream = zlib.decompressobj(wbits)
        try:
            parts.append(stream.decompress(content, most))
        except zlib.error:
            if parts:  # what follows the last member
                break
            raise
        most -= len(parts[-1])
        content = stream.unused_data if wbits == _GZIP else b""
    return b"".join(parts)


def _undeflate(content: bytes, most: int) -> bytes:
    """Decompress zlib's format, or, as old servers sent, its data alone."""
    try:
        return _inflate(content, most, _ZLIB)
    except zlib.error:
        return _inflate(content, most, _RAW)


def _unbrotli(content: bytes, most: int) -> bytes:
    brotli = load_package("brotli", "a page compressed by Brotli")
    stream = brotli.Decompressor()
    parts: list[bytes] = []
    try:
        while most and not stream.is_finished():
            data = content if stream.can_accept_more_data() else b""
            content = content[len(data) :]
            part = stream.process(data, output_buffer_limit=min(most, _PART_BYTES))[:most]
            if not part and not content and stream.can_accept_more_data():
                break  # it was cut off
            parts.append(part)
            most -= len(part)
    except brotli.error as error:
        raise ValueError(str(error)) from None
    return b"".join(parts)


def _unzstd(content: bytes, most: int) -> bytes:
    reader = zstandard.ZstdDecompressor().stream_reader(
        io.BytesIO(content), read_across_frames=True
    )
    return read_up_to(reader, most)


_DECODERS: dict[str, Callable[[bytes, int], bytes]] = {
    "chunked": _join_chunks,
    "gzip": functools.partial(_inflate, wbits=_GZIP),
    "x-gzip": functools.partial(_inflate, wbits=_GZIP),
    "deflate": _undeflate,
    "br": _unbrotli,
    "zstd": _unzstd,
}
