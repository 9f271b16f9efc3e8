"""Numbers by data set, or by data set and bucket, as users write them.

{"web": {"head": 3}, "wiki": 2}, ["web/head:3", "wiki:2"]  ->  {"web/head": 3, "wiki": 2}
find_entry(those, "web", "head")  ->  "web/head"      "*/head" is the head of every data set
"""

from collections.abc import Collection, Iterable, Mapping
from typing import Any

from bert_data.curation.parameters import items_of

EVERY = "*"
_SEPARATOR = "/"


def numbers_by_name(field: str, entries: Any) -> dict[str, Any]:
    """Return {"a": 1} for ("a:1",), for {"a:1": None}, as YAML reads "a:1", and for itself.

    A mapping in a mapping has the numbers of a data set's buckets; "*" is all its other ones.

    Raises:
      ValueError: the value has another form.
    """
    if not isinstance(entries, Mapping | tuple | list | str):
        raise ValueError(f"{field} is {entries!r:.60}; NAME: NUMBER is needed")
    numbers: dict[str, Any] = {}
    for name, value in _pairs(entries):
        if isinstance(name, str):
            name = name.removesuffix(f"{_SEPARATOR}{EVERY}")
        if not isinstance(name, str) or name in numbers:
            raise ValueError(f"{field} has {name!r:.60}; each data set's name is needed once")
        numbers[name] = value
    return numbers


def _pairs(entries: Any) -> Iterable[tuple[Any, Any]]:
    for name, value in items_of(entries, of_numbers=True):
        if isinstance(value, Mapping):
            buckets = items_of(value, of_numbers=True)
            yield from ((cell_name(name, bucket), each) for bucket, each in buckets)
        else:
            yield name, value


def cell_name(source: str, bucket: Any) -> str:
    """Return the name of a data set's bucket, or of the data set if the bucket is None."""
    return source if bucket is None else f"{source}{_SEPARATOR}{bucket}"


def split_name(name: str) -> tuple[str, str | None]:
    """Return the data set and the bucket (None: of all its documents) that a name means."""
    source, separator, bucket = name.partition(_SEPARATOR)
    return source, bucket if separator else None


def find_entry(entries: Collection[str], source: str, bucket: str | None) -> str | None:
    """Return the entry that holds for a bucket: the first of web/head, */head, web; or None."""
    names = [source]
    if bucket is not None:
        names = [cell_name(source, bucket), cell_name(EVERY, bucket), source]
    return next((name for name in names if name in entries), None)


def idle_entries(entries: Iterable[str], cells: Iterable[str]) -> list[str]:
    """Return the entries that name a data set, or a bucket, of which there is no cell."""
    known = set(map(split_name, cells))
    known |= {(EVERY, bucket) for _, bucket in known} | {(source, None) for source, _ in known}
    return [name for name in entries if split_name(name) not in known]


def bucketed_sources(entries: Iterable[str]) -> frozenset[str]:
    """Return the data sets of which entries name a bucket; with `EVERY`, it is all."""
    return frozenset(source for source, bucket in map(split_name, entries) if bucket is not None)


def check_sources(field: str, entries: Iterable[str], sources: Collection[str]) -> None:
    """Refuse entries of unknown data sets.

    Raises:
      ValueError: with the entry and the known names.
    """
    for name in sorted(entries):
        source, bucket = split_name(name)
        if source not in sources and not (source == EVERY and bucket is not None):
            known = ", ".join(sources)
            raise ValueError(f"{field} names {source!r:.60}; the data sets are {known}")


def check_buckets(field: str, entries: Iterable[str], cells: Collection[str]) -> None:
    """Refuse entries of buckets that no document of any data set is in.

    Raises:
      ValueError: with the entry and the known buckets.
    """
    known = {bucket for _, bucket in map(split_name, cells) if bucket is not None}
    for name in sorted(entries):
        bucket = split_name(name)[1]
        if bucket is not None and bucket not in known:
            shown = ", ".join(sorted(known)[:20]) or "none"
            raise ValueError(f"{field} names the bucket {bucket!r:.60}; the buckets are {shown}")
