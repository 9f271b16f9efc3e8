"""Count where documents came from: sources, licences, languages, registered domains, dates.

source  license    url                 date         volume
web     CC-BY-4.0  https://a.org/1     2024-05-01   70
web     null       http://b.a.org/2    2024-07      9

sources web: 2 documents, 79   licences CC-BY-4.0: 1, 70   domains a.org: 2, 79
dates   from 2024-05-01 to 2024-07
"""

import dataclasses
import functools
import heapq
import itertools
import os
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence, Set
from typing import TYPE_CHECKING, Any, NamedTuple

import msgspec
import numpy as np
from numpy.typing import NDArray

from bert_data.storage import open_input, open_scratch
from bert_data.tokens.provenance import integer_array

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

    def _write(self, rows: Iterable[_Row]) -> "_SortedRun":
        path = f"{self._prefix}-{self._num_files}"
        self._num_files += 1
        encode = msgspec.json.Encoder().encode
        with open_scratch(path) as file:
            file.writelines(encode(row) + b"\n" for row in rows)
        return _SortedRun(path)


class _SortedRun:
    """Rows on disk."""

    def __init__(self, path: str) -> None:
        self._path = path

    def __iter__(self) -> Iterator[Any]:
        decode = msgspec.json.Decoder().decode
        with open_input(self._path) as file:
            for line in file:
                yield tuple(decode(line))


if TYPE_CHECKING:
    import pyarrow

NAMED = ("source", "license", "language")
"""Fields whose values are counted."""

_HOST = r"(?s)^\s*(?:[A-Za-z][A-Za-z0-9+.-]{0,30}://|//)?([^/?#]*).*$"
_DATE = re.compile(r"(\d{4})(?:-(\d\d)(?:-(\d\d)(?:[T ].*)?)?)?|(\d{4})(\d\d)(\d\d)(?:\d{6}|T.*)?")
_DATE_LETTERS = 14
_MOST_SHOWN = 50


@dataclasses.dataclass(frozen=True, kw_only=True)
class ValueCounts:
    """Values of a field.

    Attributes:
      num_documents, volume: of the documents that have one.
      num_names: different values.
      largest: those of the most volume.
    """

    num_documents: int
    volume: int
    num_names: int
    largest: Sequence[Total]

    @classmethod
    def of(cls, totals: Totals) -> "ValueCounts":
        """Return what totals hold."""
        largest = [*itertools.islice(totals.by_volume(), _MOST_SHOWN)]
        return cls(
            num_documents=totals.num_documents,
            volume=totals.volume,
            num_names=totals.num_names,
            largest=largest,
        )


@dataclasses.dataclass(frozen=True, kw_only=True)
class Origins:
    """Origins of documents.

    Attributes:
      num_documents, volume: of all documents.
      num_silent: documents of stores that keep no list.
      named: by the names in `NAMED`.
      domains: registered domains; None: nothing has a URL.
      num_urls: documents with a URL, of those counted for domains.
      totals: of all sources and domains.
      dates: the first and the last; None: no date is known.
      num_dates, num_odd_dates: documents with a date, and with one that is not understood.
      crawled: sources that domains and dates are of; (): of all documents.
    """

    num_documents: int
    volume: int
    num_silent: int
    named: Mapping[str, ValueCounts]
    domains: ValueCounts | None
    num_urls: int
    totals: Mapping[str, Totals]
    dates: tuple[str, str] | None
    num_dates: int
    num_odd_dates: int
    crawled: Sequence[str]


class OriginCounter:
    """Counts documents as they stream by."""

    def __init__(self, folder: str, crawled: Sequence[str] = ()) -> None:
        """Begin; `folder` is for what does not fit into memory."""
        names = (*NAMED, "domain")
        self._totals = {name: Totals(os.path.join(folder, name)) for name in names}
        self._crawled = tuple(crawled)
        self._num_documents = self._volume = self._num_silent = self._num_urls = 0
        self._num_dates = self._num_odd = 0
        self._first, self._last = "9999", ""

    def add_silent(self, num_documents: int, volume: int) -> None:
        """Add documents of which nothing is known."""
        self._num_documents += num_documents
        self._num_silent += num_documents
        self._volume += volume

    def add(self, columns: "Mapping[str, pyarrow.Array]", volumes: NDArray[np.int64]) -> None:
        """Add documents: columns of texts or nulls, and the volume of each document."""
        import pyarrow as pa
        from pyarrow import compute

        self._num_documents += volumes.size
        self._volume += int(volumes.sum())
        sizes = integer_array(volumes)
        for name in NAMED:
            if name in columns:
                self._totals[name].add(_group(columns[name], sizes))
        urls, dates = columns.get("url"), columns.get("date")
        if self._crawled:
            if "source" not in columns:
                return
            is_crawled = compute.is_in(columns["source"], pa.array(self._crawled, pa.string()))
            urls, dates, sizes = (
                each if each is None else each.filter(is_crawled) for each in (urls, dates, sizes)
            )
        if urls is not None:
            hosts = compute.replace_substring_regex(urls, _HOST, r"\1")
            totals = _group(hosts, sizes)
            self._num_urls += sum(total.num_documents for total in totals)
            domains = (total._replace(name=domain_of(total.name)) for total in totals)
            self._totals["domain"].add(total for total in domains if total.name)
        if dates is not None:
            heads = compute.utf8_slice_codeunits(dates, 0, _DATE_LETTERS)
            for text, num_documents, _ in _group(heads, sizes):
                self._add_date(text, num_documents)

    def _add_date(self, text: str, num_documents: int) -> None:
        self._num_dates += num_documents
        date = read_date(text)
        if date is None:
            self._num_odd += num_documents
        else:
            self._first, self._last = min(self._first, date), max(self._last, date)

    def result(self) -> Origins:
        """Return what was counted."""
        return Origins(
            num_documents=self._num_documents,
            volume=self._volume,
            num_silent=self._num_silent,
            named={name: ValueCounts.of(self._totals[name]) for name in NAMED},
            domains=ValueCounts.of(self._totals["domain"]) if self._num_urls else None,
            num_urls=self._num_urls,
            totals=self._totals,
            dates=(self._first, self._last) if self._last else None,
            num_dates=self._num_dates,
            num_odd_dates=self._num_odd,
            crawled=self._crawled,
        )


def _group(values: "pyarrow.Array", volumes: "pyarrow.Array") -> list[Total]:
    """Return the totals of values that are not null."""
    import pyarrow as pa

    counted = pa.table({"name": values, "volume": volumes}).filter(values.is_valid())
    grouped = counted.group_by("name", use_threads=False).aggregate(
        [("volume", "count"), ("volume", "sum")]
    )
    columns = (grouped.column(name).to_pylist() for name in ("name", "volume_count", "volume_sum"))
    return [Total(*row) for row in zip(*columns, strict=True)]


@functools.lru_cache(maxsize=1 << 16)
def domain_of(host: str) -> str:
    """Return the registered domain of a host, an IP address as it is; "": it has none."""
    from bert_data.curation.steps.url_filter import normal_host, registered_domain

    host = normal_host(host)
    before, dot, last = host.rpartition(".")
    name = before[before.rfind(".") + 1 :]
    if dot and name and last.isalpha() and not {last, f"{name}.{last}"} & _odd_endings():
        return f"{name}.{last}"
    return registered_domain(host)


@functools.cache
def _odd_endings() -> Set[str]:
    """Return endings of hosts, of one or two labels, whose domain may be more than two labels."""
    from bert_data.curation.web.personal_addresses import suffix_extractor

    rules = [rule.lstrip("!").split(".") for rule in suffix_extractor().tlds]
    return {
        rule[-1] if rule[0] == "*" and len(rule) == 2 else ".".join(rule[-2:])
        for rule in rules
        if len(rule) > 1
    }


def read_date(text: str) -> str | None:
    """Return a date as year, year and month, or all three with dashes; None: it is none.

    Both ISO 8601 and the timestamps of indexes of crawls, such as 20240501120000, are read.
    """
    match = _DATE.fullmatch(text.strip())
    if match is None:
        return None
    parts = [part for part in match.groups() if part is not None]
    year, month, day = (int(part) for part in (*parts, "1", "1")[:3])
    try:
        np.datetime64(f"{year:04d}-{month:02d}-{day:02d}")
    except ValueError:
        return None
    return "-".join(parts)
