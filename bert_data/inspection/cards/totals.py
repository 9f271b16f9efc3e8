"""Totals of documents by a text, such as their domain, in bounded memory.

    add           ("a.org", 1, 70), ("b.org", 1, 9), ("a.org", 2, 5)
    by_name()     ("a.org", 3, 75), ("b.org", 1, 9)
    by_volume()   the largest first; of equal ones, by name

What does not fit into memory is sorted on disk, in files that are merged.
"""

import heapq
import itertools
from collections.abc import Iterable, Iterator
from typing import Any, NamedTuple

import msgspec

from bert_data.storage import open_input, open_scratch

MAX_NAMES = 1 << 19
"""In memory, besides the same number once more while they are sorted."""

_Row = tuple[Any, Any, int]


class Total(NamedTuple):
    """Documents with a name, and their volume: tokens, or bytes of text."""

    name: str
    num_documents: int
    volume: int


class Totals:
    """Totals of names, of which up to `max_names` are in memory.

    Attributes:
      num_documents, volume: of all names.
    """

    def __init__(self, prefix: str, max_names: int = MAX_NAMES) -> None:
        """Begin without any; local files, whose names begin with `prefix`, hold what is sorted."""
        self._prefix, self._max_names = prefix, max_names
        self._held: dict[str, tuple[int, int]] = {}
        self._parts: list[Iterable[_Row]] = []
        self._ranked: list[Iterable[_Row]] | None = None
        self._num_files = self._num_names = 0
        self.num_documents = self.volume = 0

    def add(self, totals: Iterable[Total]) -> None:
        """Add documents."""
        held, self._ranked = self._held, None
        for name, num_documents, volume in totals:
            before = held.get(name, (0, 0))
            held[name] = before[0] + num_documents, before[1] + volume
            self.num_documents += num_documents
            self.volume += volume
        if len(held) >= self._max_names:
            self._parts.append(self._write(self._sorted()))
            held.clear()

    def _sorted(self) -> list[_Row]:
        return [(name, *counts) for name, counts in sorted(self._held.items())]

    def by_name(self) -> Iterator[Total]:
        """Yield the total of each name."""
        rows = heapq.merge(*self._parts, self._sorted())
        first = next(rows, None)
        if first is None:
            return
        name, num_documents, volume = first
        for other, more_documents, more_volume in rows:
            if other == name:
                num_documents += more_documents
                volume += more_volume
            else:
                yield Total(name, num_documents, volume)
                name, num_documents, volume = other, more_documents, more_volume
        yield Total(name, num_documents, volume)

    def by_volume(self) -> Iterator[Total]:
        """Yield the total of each name, the largest first."""
        for volume, name, num_documents in heapq.merge(*self._rank()):
            yield Total(name, num_documents, -volume)

    @property
    def num_names(self) -> int:
        """Different names."""
        self._rank()
        return self._num_names

    def _rank(self) -> list[Iterable[_Row]]:
        """Return parts of the totals in order, by their volumes with a minus; made once."""
        if self._ranked is None:
            self._ranked, self._num_names = [], 0
            rows: Iterator[_Row] = ((-volume, name, n) for name, n, volume in self.by_name())
            while part := sorted(itertools.islice(rows, self._max_names)):
                self._num_names += len(part)
                is_all = not self._ranked and len(part) < self._max_names
                self._ranked.append(part if is_all else self._write(part))
        return self._ranked

    def _write(self, rows: Iterable[_Row]) -> "_File":
        path = f"{self._prefix}-{self._num_files}"
        self._num_files += 1
        encode = msgspec.json.Encoder().encode
        with open_scratch(path) as file:
            file.writelines(encode(row) + b"\n" for row in rows)
        return _File(path)


class _File:
    """Rows on disk."""

    def __init__(self, path: str) -> None:
        self._path = path

    def __iter__(self) -> Iterator[Any]:
        decode = msgspec.json.Decoder().decode
        with open_input(self._path) as file:
            for line in file:
                yield tuple(decode(line))
