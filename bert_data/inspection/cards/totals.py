"""Totals of documents by a text, such as their domain, in bounded memory.

    add           ("a.org", 1, 70), ("b.org", 1, 9), ("a.org", 2, 5)
    by_name()     ("a.org", 3, 75), ("b.org", 1, 9)
    by_volume()   the largest first; of equal ones, by name

What does not fit into memory is sorted on disk, in files that are merged.
"""

import heapq
import itertools
import json
import operator
import os
from collections.abc import Callable, Iterable, Iterator
from typing import Any, NamedTuple

from bert_data.storage import open_input, open_scratch

MAX_NAMES = 1 << 19
"""In memory: up to 150 MB of names of 20 letters."""


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
        """Begin without any; files on disk begin with `prefix`."""
        self._prefix, self._max_names = prefix, max_names
        self._held: dict[str, tuple[int, int]] = {}
        self._files: list[str] = []
        self._num_files = 0
        self.num_documents = self.volume = 0

    def add(self, totals: Iterable[Total]) -> None:
        """Add documents."""
        held = self._held
        for name, num_documents, volume in totals:
            before = held.get(name, (0, 0))
            held[name] = before[0] + num_documents, before[1] + volume
            self.num_documents += num_documents
            self.volume += volume
        if len(held) >= self._max_names:
            self._files.append(self._write(self._sorted()))
            held.clear()

    def _sorted(self) -> list[Total]:
        return [Total(name, *counts) for name, counts in sorted(self._held.items())]

    def by_name(self) -> Iterator[Total]:
        """Yield the total of each name."""
        parts = [*map(_read, self._files), iter(self._sorted())]
        merged = heapq.merge(*parts)
        for name, group in itertools.groupby(merged, operator.itemgetter(0)):
            _, counts, volumes = zip(*group, strict=True)
            yield Total(name, sum(counts), sum(volumes))

    def by_volume(self) -> Iterator[Total]:
        """Yield the total of each name, the largest first."""
        return self._in_order(self.by_name(), lambda total: (-total.volume, total.name))

    def _in_order(self, totals: Iterator[Total], key: Callable[[Total], Any]) -> Iterator[Total]:
        parts: list[Iterator[Total]] = []
        while held := sorted(itertools.islice(totals, self._max_names), key=key):
            is_all = not parts and len(held) < self._max_names
            parts.append(iter(held) if is_all else _read(self._write(held)))
        return heapq.merge(*parts, key=key)

    def _write(self, totals: Iterable[Total]) -> str:
        path = f"{self._prefix}-{self._num_files}"
        self._num_files += 1
        with open_scratch(path) as file:
            file.writelines(json.dumps(total).encode() + b"\n" for total in totals)
        return os.path.abspath(path)


def _read(path: str) -> Iterator[Total]:
    with open_input(path) as file:
        for line in file:
            yield Total(*json.loads(line))
