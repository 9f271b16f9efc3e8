r"""The records of a WARC file, and those that follow a damaged one.

    WARC/1.0 ... Content-Length: 9 ...   ->  Record(headers, content, 9 bytes)

In most files each record is a member of gzip, or a frame of zstandard. Where one is damaged, or its
Content-Length is wrong, reading goes on with the next member that begins with a record.
"""

import contextlib
import dataclasses
import io
import re
from collections import deque
from collections.abc import Iterator
from typing import IO, TYPE_CHECKING, Any

from bert_data.errors import CorruptDataError
from bert_data.packages import load_package
from bert_data.storage import naming, open_input
from bert_data.text.compression import DAMAGE, StreamsFile, describe_damage, open_bytes
from bert_data.text.file_kinds import HEAD_BYTES, binary_kind

if TYPE_CHECKING:
    from fastwarc.warc import WarcRecord

PLAIN = "text/plain"
"""The type of the content of texts."""

_MAGIC = b"WARC/"
# How a member or a frame begins, and the bytes that show whether it begins with a record: zstandard
# gives nothing of a block of up to 128 KB before it is whole.
_MEMBERS = {
    ".gz": (re.compile(rb"\x1f\x8b\x08[\0-\x1f]"), 4 << 10),
    ".zst": (re.compile(rb"\x28\xb5\x2f\xfd"), 132 << 10),
}
_FIRST_LINE_BYTES = 64
_SEARCH_BYTES = 1 << 20


@dataclasses.dataclass(frozen=True)
class Record:
    """A record: its headers, its content if it is needed, and the content's size."""

    headers: dict[str, str]
    content: bytes | None
    num_bytes: int


class RecordsOfFile:
    """The records of a file; of `.gz` and `.zst`, the members after a damaged one, too."""

    def __init__(self, path: str, most: int, *, goes_on: bool) -> None:
        """Take the bytes of the largest content to hold, and whether to go on after damage."""
        self._path, self._most = path, most
        self._goes_on = goes_on and path.endswith((*_MEMBERS,))
        self._position = 0

    def position(self) -> int:
        """Return how far the file has been read; of a pipe, which has no positions, 0."""
        return self._position

    def __iter__(self) -> Iterator[Record | CorruptDataError]:
        """Yield records, and an error in the place of those that damage took."""
        start: int | None = 0
        while start is not None:
            with open_bytes(self._path, start) as (stream, file):
                counted = _Counted(stream)
                try:
                    for record in _read_records(self._path, counted, self._most):
                        self._position = file.tell() if file.seekable() else 0
                        yield record
                    self._position = file.tell() if file.seekable() else 0
                    return
                except (CorruptDataError, *DAMAGE) as error:
                    damaged = counted.member_of(error)
                    if damaged is None or not self._goes_on:
                        raise
                    start = _find_member(self._path, damaged + 1)
                    if start is None:
                        raise
                    reason = (
                        error.reason
                        if isinstance(error, CorruptDataError)
                        else describe_damage(error)
                    )
            yield CorruptDataError(self._path, damaged, f"{reason}; skipped to byte {start:,}")


def _find_member(path: str, position: int) -> int | None:
    """Return where the first member with a record at or after a place in a file begins."""
    ending = next(each for each in _MEMBERS if path.endswith(each))
    beginning, num_head_bytes = _MEMBERS[ending]
    with naming(path), open_input(path) as file:
        if not file.seekable():
            return None
        file.seek(position)
        data = b""
        while more := file.read(_SEARCH_BYTES):
            position -= len(data)
            data += more
            for match in beginning.finditer(data):
                if len(data) - match.start() < num_head_bytes and len(more) == _SEARCH_BYTES:
                    break
                head = io.BytesIO(data[match.start() : match.start() + num_head_bytes])
                with contextlib.suppress(*DAMAGE):
                    if StreamsFile(head, ending).read(len(_MAGIC)) == _MAGIC:
                        return position + match.start()
            position += len(data)
            data = data[-num_head_bytes:]
    return None


class _Counted:
    """A stream that knows its position, as fastwarc requires.

    Attributes:
      head: what was read first.
      members: of those that begin with a record, where each begins in the text and in the file.
    """

    def __init__(self, stream: IO[bytes]) -> None:
        self._stream: Any = stream
        self._starts = stream.starts if isinstance(stream, StreamsFile) else deque()
        self._position = 0
        self._ahead = b""
        self.head = b""
        self.members: list[tuple[int, int]] = []

    def has_bare_ends(self) -> bool:
        """Whether the first line ends without CR, as those of ClueWeb09 do."""
        self._ahead = self._stream.read(_FIRST_LINE_BYTES)
        return re.match(rb"WARC/[^\r\n]*\n", self._ahead) is not None

    def read(self, size: int = -1) -> bytes:
        data, self._ahead = self._ahead or self._stream.read(size), b""
        self.head = self.head or data[:HEAD_BYTES]
        before, self._position = self._position, self._position + len(data)
        while self._starts and self._starts[0][0] < self._position:
            place, start = self._starts.popleft()
            if _MAGIC.startswith(data[place - before :][: len(_MAGIC)]):
                self.members.append((place, start))
        return data

    def tell(self) -> int:
        return self._position

    def member_of(self, error: Exception) -> int | None:
        """Return where the member of a record begins in the file, or a damaged one; None: none."""
        if isinstance(error, CorruptDataError):
            return max((file for text, file in self.members if text <= error.offset), default=None)
        return getattr(self._stream, "stream_start", None)

    def check_length(self, path: str, offset: int, record: Record) -> None:
        """Refuse a record that was read beyond the beginning of another one."""
        first = max((i for i, (text, _) in enumerate(self.members) if text <= offset), default=0)
        del self.members[:first]
        end = offset + record.num_bytes + sum(map(len, record.headers.values()))
        if any(offset < text < end for text, _ in self.members):
            raise CorruptDataError(path, offset, "a WARC record has a wrong Content-Length")


def _read_records(path: str, stream: _Counted, most: int) -> Iterator[Record]:
    """Yield the records of a stream, with the content of pages and texts.

    A record is yielded when the next one begins where it ends: else its length is wrong.
    """
    warc = load_package("fastwarc.warc", f"{path}: WARC")
    offset = 0
    last: Record | None = None
    records = warc.ArchiveIterator(
        stream,
        parse_http=False,
        stream_detect=False,
        fsspec_args=False,
        quirks_mode=stream.has_bare_ends(),
    )
    while True:
        try:
            record = next(records, None)
        except DAMAGE:
            if last is not None:
                yield last
            raise
        except OSError as error:
            if error.errno is not None:  # of the file itself
                raise
            kind = "" if stream.head.startswith(_MAGIC) else binary_kind(stream.head)
            if kind:
                raise CorruptDataError(path, 0, f"not WARC: it is {kind}") from error
            raise CorruptDataError(path, offset, f"not WARC from here on ({error})") from error
        if last is not None:
            yield last
        if record is None:
            return
        offset = record.stream_pos
        last = _read(path, offset, record, most)
        stream.check_length(path, offset, last)


def _read(path: str, offset: int, record: "WarcRecord", most: int) -> Record:
    """Read a record's whole content, to notice if it ends too early."""
    headers = {name.lower(): value for name, value in record.headers.items()}
    content_length = headers.get("content-length", "").strip()
    of_lengths = {text for name, text in record.headers.items() if name.lower() == "content-length"}
    if len(of_lengths) > 1:
        raise CorruptDataError(path, offset, "a WARC record has two lines of Content-Length")
    if not (content_length.isascii() and content_length.isdigit()):
        raise CorruptDataError(path, offset, "a WARC record has no Content-Length")
    num_bytes = int(content_length)
    if num_bytes > most or not is_page_or_text(headers):
        num_read = record.consume() if num_bytes else 0
        content = None
    else:
        content = record.reader.read()
        num_read = len(content)
    if num_read != num_bytes:
        raise CorruptDataError(
            path, offset, f"the file ends within a WARC record ({num_read} of {num_bytes} bytes)"
        )
    return Record(headers, content, num_bytes)


def is_page_or_text(headers: dict[str, str]) -> bool:
    """Whether a record may be a document, by its headers."""
    kind = headers.get("warc-type", "").strip().lower()
    if kind == "response":
        return headers.get("content-type", "").strip().lower().startswith("application/http")
    return kind == "conversion" and headers.get("content-type", "").lower().startswith(PLAIN)
