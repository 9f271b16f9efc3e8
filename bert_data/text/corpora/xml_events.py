"""XML as it is read: its elements in bounded memory, and those that follow damage.

b"<posts><row Id='1'/>", b"</posts>"  ->  <posts>, <row Id="1">, </row>, </posts>
b"<posts><row &/><row/></posts>"      ->  <posts>, RowError, <posts>, <row>, </row>, </posts>
"""

import re
from collections.abc import Iterator, Mapping
from typing import IO, Any, NamedTuple
from xml.parsers import expat

from bert_data.errors import CorruptDataError
from bert_data.text.documents import RowError

MAX_ELEMENT_BYTES = 1 << 28
"""The longest element: it is in memory as a whole."""

READ_BYTES = 256 << 10
"""Bytes of a file that are read at a time."""

_TEXT_BYTES = 64 << 10  # that Expat gathers
_AT_START_OF_TAG = expat.errors.codes[expat.errors.XML_ERROR_UNDEFINED_ENTITY]


class Element(NamedTuple):
    """The start or the end of an element.

    Attributes:
      name: without a prefix.
      text: what stands before its end, behind any other tag; None: this is its start.
    """

    name: str
    attributes: Mapping[str, str]
    text: str | None = None


class XmlEvents:
    """Parses a file whose parts it is given one after the other.

    While an element goes on, the parser gets as much at a time as it had of it: Expat before 2.6
    begins a long tag anew with every part.
    """

    def __init__(
        self, path: str, *, root: str, unit: str, kind: str, goes_on: bool, start: int = 0
    ) -> None:
        """Make a parser.

        Args:
          unit: the element of a row, with the next of which reading goes on after damage.
          kind: names files with that root: "a dump of MediaWiki".
          goes_on: whether it does; else damage is an error.
          start: where in the file it begins; within the root, if not with the file.
        """
        self._path, self._root, self._unit, self._kind = path, root, unit, kind
        self._goes_on, self._is_kind = goes_on, start > 0
        self._row = re.compile(rf"<(?:{unit}[\s/>]|/{root}[\s>])".encode())
        self._num_bytes = self._last_event = self._num_parsed = start
        self._pending: list[bytes] = []
        self._unread = b""  # the last bytes, of which nothing has been made yet
        self._damage: CorruptDataError | None = None  # behind which no row was found yet
        self._text: list[str] = []
        self._attributes: list[dict[str, str]] = []
        self._found: list[Element] = []
        self._parser: Any = None
        self._begin(start)

    def feed(self, data: bytes) -> Iterator[Element | RowError]:
        """Yield the elements up to the end of the data, and an error in place of a damaged row."""
        self._num_bytes += len(data)
        self._pending.append(data)
        if self._num_bytes - self._num_parsed >= self._num_parsed - self._last_event:
            yield from self._parse()
        if self._num_bytes - self._last_event > MAX_ELEMENT_BYTES:
            reason = f"an element of the XML has more than {MAX_ELEMENT_BYTES:,} bytes"
            raise CorruptDataError(self._path, self._last_event, reason)

    def close(self) -> Iterator[Element | RowError]:
        """Yield the last elements; raise CorruptDataError if the XML is not complete."""
        yield from self._parse()
        if self._damage is None:
            yield from self._parsed(b"", is_last=True)
        if self._damage is not None:
            raise self._damage

    def _begin(self, offset: int) -> None:
        """Begin a parser at a place in the file, within the root if it is not the file's start."""
        self._parser = expat.ParserCreate()
        self._parser.buffer_text, self._parser.buffer_size = True, _TEXT_BYTES
        self._parser.StartElementHandler = self._add_start
        self._parser.EndElementHandler = self._add_end
        self._parser.CharacterDataHandler = self._text.append
        root = f"<{self._root}>".encode() if self._is_kind else b""
        self._parser_start = offset - len(root)
        self._parser.Parse(root)

    def _parse(self) -> Iterator[Element | RowError]:
        data, self._pending, self._num_parsed = b"".join(self._pending), [], self._num_bytes
        self._unread += data
        if self._damage is None:
            yield from self._parsed(data)
        while self._damage is not None:
            if not (self._goes_on and self._is_kind):
                raise self._damage
            row = self._row.search(self._unread)
            if row is None:
                self._last_event = self._num_bytes
                self._unread = self._unread[-len(self._row.pattern) :]
                return
            reason = f"{self._damage.reason}; skipped to the next <{self._unit}>"
            yield RowError(f"at byte {self._damage.offset:,}: {reason}")
            self._damage = None
            self._unread = self._unread[row.start() :]
            self._begin(self._num_bytes - len(self._unread))
            yield from self._parsed(self._unread)

    def _parsed(self, data: bytes, *, is_last: bool = False) -> list[Element]:
        """Parse data; return the elements in it, up to damage."""
        try:
            self._parser.Parse(data, is_last)
            seen = self._parser.CurrentByteIndex
        except expat.ExpatError as error:
            seen = self._parser.ErrorByteIndex
            reason, offset = expat.ErrorString(error.code), self._parser_start + seen
            if self._is_kind:
                reason = f"the XML is damaged or cut off ({reason})"
            else:
                reason, offset = f"not {self._kind}: it is not XML ({reason})", 0
            self._damage = CorruptDataError(self._path, offset, reason)
            seen += error.code == _AT_START_OF_TAG
        left = self._num_bytes - self._parser_start - seen
        self._unread = self._unread[-left:] if left else b""
        found, self._found = self._found, []
        if found:
            self._last_event = self._num_bytes
        return found

    def _add_start(self, name: str, attributes: dict[str, str]) -> None:
        name = name.rpartition(":")[2]
        if not self._is_kind and name != self._root:
            reason = f"not {self._kind}: its first element is <{name}>"
            raise CorruptDataError(self._path, 0, reason)
        self._is_kind = True
        self._text.clear()
        self._attributes.append(attributes)
        self._found.append(Element(name, attributes))

    def _add_end(self, name: str) -> None:
        text = "".join(self._text)
        self._found.append(Element(name.rpartition(":")[2], self._attributes.pop(), text))
        self._text.clear()


def read_parts(text: IO[bytes]) -> Iterator[bytes]:
    """Yield a file in blocks."""
    while data := text.read(READ_BYTES):
        yield data
