"""XML as it is read: the ends and starts of elements, in bounded memory.

b"<posts><row Id='1'/>", b"</posts>"  ->  ("start", <posts>), ("start", <row>), ("end", <row>), ...
"""

from collections.abc import Iterator
from typing import IO, cast
from xml.etree import ElementTree

from bert_data.errors import CorruptDataError

MAX_ELEMENT_BYTES = 1 << 28
"""The longest element: it is in memory as a whole."""

READ_BYTES = 256 << 10
"""Bytes of a file that are read at a time."""

Event = tuple[str, ElementTree.Element]


class XmlEvents:
    """Parses a file whose parts it is given one after the other.

    While an element goes on, the parser gets as much at a time as it had of it: Expat before 2.6
    begins a long tag anew with every part.
    """

    def __init__(self, path: str, *, root: str, kind: str, unit: str = "") -> None:
        """Make a parser.

        Args:
          kind: names files with that root: "a dump of MediaWiki".
          unit: the element with which reading can go on after damage, see `rest`.
        """
        self._path, self._unit = path, unit
        self._data, self._num_units = b"", 0  # what was parsed last, and units that begin in it
        self._root, self._kind = root, kind
        self._parser: ElementTree.XMLPullParser = ElementTree.XMLPullParser(["start", "end"])
        self._num_bytes = self._last_event = self._num_parsed = 0
        self._pending: list[bytes] = []
        self._is_kind = False

    def feed(self, data: bytes) -> Iterator[Event]:
        """Yield the events up to the end of the data."""
        self._num_bytes += len(data)
        self._pending.append(data)
        if self._num_bytes - self._num_parsed >= self._num_parsed - self._last_event:
            yield from self._parse()
        if self._num_bytes - self._last_event > MAX_ELEMENT_BYTES:
            reason = f"an element of the XML has more than {MAX_ELEMENT_BYTES:,} bytes"
            raise CorruptDataError(self._path, self._last_event, reason)

    def close(self) -> Iterator[Event]:
        """Yield the last events; raise CorruptDataError if the XML is not complete."""
        yield from self._parse()
        try:
            self._parser.close()
            yield from self._events()
        except ElementTree.ParseError as error:
            raise self._damage(error) from None

    def _parse(self) -> Iterator[Event]:
        data, self._pending, self._num_parsed = b"".join(self._pending), [], self._num_bytes
        self._data, self._num_units = self._data[-len(self._unit) - 1 :] + data, 0
        try:
            self._parser.feed(data)
            yield from self._events()
        except ElementTree.ParseError as error:
            raise self._damage(error) from None

    def _events(self) -> Iterator[Event]:
        for event, element in cast(Iterator[Event], self._parser.read_events()):
            if not self._is_kind and element_name(element) != self._root:
                reason = f"not {self._kind}: its first element is <{element_name(element)}>"
                raise CorruptDataError(self._path, 0, reason)
            self._is_kind, self._last_event = True, self._num_bytes
            self._num_units += event == "start" and element_name(element) == self._unit
            yield event, element

    def rest(self, parts: Iterator[bytes]) -> bytes | None:
        """Return what follows damage from the next unit on, reading more parts if need be."""
        tag = f"<{self._unit}>".encode()
        *_, behind = b"".join([self._data, *self._pending]).split(tag, self._num_units)
        while self._is_kind and (place := behind.find(tag)) < 0:
            more = next(parts, None)
            if more is None:
                return None
            behind = behind[1 - len(tag) :] + more
        return behind[place:] if self._is_kind else None

    def _damage(self, error: Exception) -> CorruptDataError:
        if not self._is_kind:
            return CorruptDataError(self._path, 0, f"not {self._kind}: it is not XML ({error})")
        reason = f"the XML is damaged or cut off ({error})"
        return CorruptDataError(self._path, self._num_bytes, reason)


def read_parts(text: IO[bytes]) -> Iterator[bytes]:
    """Yield a file in blocks."""
    while data := text.read(READ_BYTES):
        yield data


def element_name(element: ElementTree.Element) -> str:
    """Return the name of an element without its namespace."""
    return element.tag.rpartition("}")[2]
