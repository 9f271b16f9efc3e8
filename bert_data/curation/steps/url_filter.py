"""Reject documents by their URL: lists of domains and URLs, and words within URLs.

parse_url("HTTP://User@WWW.Foo.Example.co.uk:80/a//b/?q=1#top")
->  Address(host="www.foo.example.co.uk", path="/a/b", query="q=1")
registered_domain("www.foo.example.co.uk")  ->  "example.co.uk"     by the public suffix list
parent_hosts("www.foo.example.co.uk")       ->  the host, foo.example.co.uk, example.co.uk
"""

import contextlib
import functools
import ipaddress
import os
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path
from typing import NamedTuple
from urllib.parse import unquote

import numpy as np
import xxhash
from numpy.typing import NDArray

from bert_data.curation.document import Document, Measured, Verdict, measure
from bert_data.curation.parameters import ReadField
from bert_data.curation.quality.languages import read_lists
from bert_data.curation.quality.phrases import read_entries
from bert_data.curation.step import DocumentStep, register
from bert_data.curation.web.personal_addresses import suffix_extractor
from bert_data.errors import named_in_errors
from bert_data.storage import JSONL, kinds_of, load_array, save_array
from bert_data.text.corpora.mediawiki import REFERENCES
from bert_data.text.jsonl import load_row
from bert_data.text.lines import read_numbered_lines
from bert_data.work.sorting import distinct

MAX_URL_CHARACTERS = 2_048
_MAX_PATH_PARTS = 32

# As browsers read it, http needs no slashes, and may have backslashes.
_SCHEME = re.compile(r"https?:[/\\]*|[a-z][a-z0-9+.-]{0,30}://", re.IGNORECASE)
_SLASHES = re.compile(r"/{2,}")
_PORT = re.compile(r":\d{0,5}\Z")
_WORD = re.compile(r"[^\W_]+")

Lists = Mapping[str, NDArray[np.uint64]]
"""Hashes of the entries, by the parameter that names the files."""


class Address(NamedTuple):
    """A URL in its normal form."""

    host: str  # in lower case, as ASCII (IDNA); "" if there is none
    path: str  # with a leading and without a trailing slash; "" is the top
    query: str  # after the question mark


@register
class UrlFilter(DocumentStep):
    """Rejects documents by their URL; by default, documents without one stay.

    The method is RefinedWeb's (Penedo et al. 2023, "The RefinedWeb dataset for Falcon LLM", G.1):
    blocklists; strict words, matched against all letters and digits of the URL, so that "b-a.d" is
    found, too; hard words, of which one whole word is enough; and soft words, of which it takes
    two. The paper does not publish its word lists; the defaults are the examples that it gives.

    `blocked_domain_files` and `blocked_url_files` may be the files `domains` and `urls` of a
    category of UT1, the list of 4.6 million domains that the paper starts from.

    A domain in a list covers its subdomains, but public suffixes ("co.uk") are not allowed. A URL
    in a list covers the paths below it. A list is a file with one entry per line (plain, .gz or
    .zst).

    Attributes:
      blocked_domain_files: lists of domains to reject.
      blocked_url_files: lists of URLs to reject, compared without scheme and "www.".
      only_url_files: lists of URLs; pages that are not in them and documents without a URL are
        rejected. A .jsonl file gives the URLs in its rows' field `references`: those that the
        articles of a Wikipedia dump cite (`input_format=mediawiki`).
      quality_sources: reject sites that a corpus usually takes in a better form from elsewhere:
        Wikipedia, arXiv, Stack Exchange, Project Gutenberg, GitHub, Reddit and others (RefinedWeb's
        appendix G; the package's url_filter.toml lists them).
      allowed_domain_files: lists of domains to keep whatever else matches.
      strict_words: reject a URL that contains one, even within words or across their boundaries.
      hard_words: reject a URL that contains one as a whole word.
      soft_words: words that are counted where they are whole words.
      max_soft_words: largest number of soft words in a URL.
      url_field: name of the field that holds the URL.
    """

    name = "url_filter"
    accepts_markup = True
    blocked_domain_files: tuple[str, ...] = ()
    blocked_url_files: tuple[str, ...] = ()
    only_url_files: tuple[str, ...] = ()
    quality_sources: bool = False
    allowed_domain_files: tuple[str, ...] = ()
    strict_words: tuple[str, ...] = ("xvideos", "groupsex")
    hard_words: tuple[str, ...] = ("porn", "xxx", "orgy")
    soft_words: tuple[str, ...] = ("sex", "webcam", "escort")
    max_soft_words: int = 1
    url_field: ReadField = "url"

    example_fields = {"url": "http://a.example/free-porn/1"}
    step_examples = (("Any text.", None),)

    def __post_init__(self) -> None:
        super().__post_init__()
        for field in ("strict_words", "hard_words", "soft_words"):
            for word in getattr(self, field):
                if not _WORD.fullmatch(word):
                    raise ValueError(f"{field} has {word!r}; only letters and digits are allowed")

    def prepare(self, folder: Path) -> None:
        for field in _FILES:
            if files := getattr(self, field):
                entries = (entry for path in files for entry in _read_list(field, path))
                save_array(folder / f"{field}.npy", _hash_all(entries))

    def open(self, folder: str) -> Callable[[Document], Verdict]:
        names = [name for name in _FILES if getattr(self, name)]
        lists = {name: load_array(os.path.join(folder, f"{name}.npy")) for name in names}
        if self.quality_sources:
            lists[QUALITY_SOURCES] = _hash_all(read_quality_sources())
        return functools.partial(self.judge_by, lists)

    def judge_by(self, lists: Lists, document: Document) -> Verdict:
        url = document.fields.get(self.url_field)
        if not isinstance(url, str) or not url.strip():
            return Verdict(document, _not_listed("") if self.only_url_files else ())
        address, seen = parse_url(url), {"urls": 1}
        listed = {name: _covering_entry(hashes, address, name) for name, hashes in lists.items()}
        if listed.pop("allowed_domain_files", None) is not None:
            return Verdict(document, counted=seen | {"allowed_domain_files": 1})
        is_other = ONLY in listed and listed.pop(ONLY) is None
        others = _not_listed(next(parent_addresses(address))) if is_other else ()
        measured = [*_listed(listed), *others, *self._measure_words(address)]
        return Verdict(document, tuple(measured), counted=seen)

    def _measure_words(self, address: Address) -> list[Measured]:
        words = _WORD.findall(unquote(" ".join(address), errors="replace").lower())
        letters = "".join(words)
        strict = next((word for word in self.strict_words if word.lower() in letters), None)
        hard, soft = _lower(self.hard_words), _lower(self.soft_words)
        found = {"strict_words": strict, "hard_words": next(filter(hard.__contains__, words), None)}
        num_soft = sum(word in soft for word in words)
        return [*_listed(found), measure("max_soft_words", num_soft, self.max_soft_words)]

    def describe_use(self, counted: dict[str, int]) -> str | None:
        if not counted.get("urls"):
            return f"no document has a URL in its field {self.url_field!r}; all stay"
        files = (field for field in _FILES if field != ONLY)
        unused = [field for field in files if getattr(self, field) and not counted.get(field)]
        return f"{', '.join(unused)} matched no document" if unused else None


def _listed(found: Mapping[str, str | None]) -> list[Measured]:
    """Return the failed measures of what is listed, by rule; None passes."""
    listed = ((rule, what) for rule, what in found.items() if what is not None)
    return [Measured(rule, what, "not listed", failed=True) for rule, what in listed]


def _not_listed(page: str) -> tuple[Measured, ...]:
    return (Measured(ONLY, page, "listed", failed=True),)


@functools.cache
def _lower(words: tuple[str, ...]) -> frozenset[str]:
    return frozenset(map(str.lower, words))


def parse_url(url: str) -> Address:
    """Split a URL into its parts; of a very long one, only the first 2,048 characters."""
    url = url.strip()[:MAX_URL_CHARACTERS]
    scheme = _SCHEME.match(url)
    rest = url[scheme.end() :] if scheme else url.removeprefix("//")
    rest = rest.partition("#")[0]
    place, mark, query = rest.partition("?")
    host, _, path = place.replace("\\", "/").partition("/")
    path = _SLASHES.sub("/", f"/{path}").rstrip("/")
    return Address(normal_host(host), unquote(path, errors="replace"), query if mark else "")


def normal_host(host: str) -> str:
    """Return a host without user and port, in lower case, and in ASCII if IDNA allows it."""
    host = _PORT.sub("", host.rpartition("@")[2].strip()).strip(".").lower()
    if host.isascii():
        return host
    try:
        return host.encode("idna").decode("ascii")
    except UnicodeError:
        return host


def registered_domain(host: str) -> str:
    """Return the registered part of a host, or the host itself if it is an IP address.

    The result is "" for a bare public suffix. The public suffix list ships with tldextract; the
    network is never used. Following the list's own default rule, the last label of a host with an
    unknown suffix counts as its suffix.
    """
    if is_ip_address(host):
        return host
    extracted = suffix_extractor()(host)
    if extracted.suffix:
        return extracted.top_domain_under_public_suffix
    parts = host.split(".")
    return ".".join(parts[-2:]) if len(parts) > 1 else ""


def is_ip_address(host: str) -> bool:
    """Whether a host is an IP address."""
    try:
        ipaddress.ip_address(host.strip("[]"))
    except ValueError:
        return False
    return True


def parent_hosts(host: str) -> Iterator[str]:
    """Yield a host and its parents, down to the registered domain."""
    yield host
    domain = registered_domain(host)
    if not domain:
        return
    while len(host) > len(domain):
        host = host.partition(".")[2]
        yield host


def parent_addresses(address: Address) -> Iterator[str]:
    """Yield the forms of a URL that a list may contain: with and without query, and its parents."""
    host = address.host.removeprefix("www.")
    if address.query:
        yield f"{host}{address.path}?{address.query}"
    parts = address.path.split("/")
    for num_parts in range(min(len(parts), _MAX_PATH_PARTS), 0, -1):
        yield host + "/".join(parts[:num_parts])


def _domain_of(line: str) -> str:
    host = normal_host(line.removeprefix("*."))
    if "/" in host or any(map(str.isspace, host)) or not host:
        raise ValueError(f"{line!r} is not a domain")
    if not registered_domain(host):
        raise ValueError(
            f"{line!r} is a public suffix, below which anyone can register a name; it would cover"
            " all of them"
        )
    return host


def _url_of(line: str) -> str:
    address = parse_url(line)
    if "." not in address.host or any(map(str.isspace, address.host)):
        raise ValueError(f"{line!r} is not the URL of a page")
    return next(parent_addresses(address))


def _page_alone(address: Address) -> Iterator[str]:
    yield next(parent_addresses(address))


def _parents_of_host(address: Address) -> Iterator[str]:
    return parent_hosts(address.host)


QUALITY_SOURCES, ONLY = "quality_sources", "only_url_files"

_LISTS = {
    "blocked_domain_files": (_domain_of, _parents_of_host),
    ONLY: (_url_of, _page_alone),
    QUALITY_SOURCES: (_domain_of, _parents_of_host),
    "blocked_url_files": (_url_of, parent_addresses),
    "allowed_domain_files": (_domain_of, _parents_of_host),
}
"""By parameter: the entry that a line is, and the entries that would cover a URL."""

_FILES = [name for name in _LISTS if name != QUALITY_SOURCES]
"""Of them, those that name files."""


def read_quality_sources() -> Iterator[str]:
    """Yield the domains of the package's list."""
    for domains in read_lists(__file__).values():
        yield from domains


def _read_list(field: str, path: str) -> Iterator[str]:
    if field == ONLY and JSONL in kinds_of(path):
        yield from _cited_by(path)
    else:
        yield from read_entries(path, functools.partial(_parse_entry, field))


def _cited_by(path: str) -> Iterator[str]:
    """Yield the URLs that the rows of a .jsonl file cite, without those that are of no page."""
    is_empty = True
    for number, line in read_numbered_lines(path):
        with named_in_errors(f"{path}:{number}"):
            urls = load_row(line.decode(errors="replace"), ()).get(REFERENCES) if line else None
            if not isinstance(urls, list | None):
                raise ValueError(f"{REFERENCES} is {urls!r:.60}; it must be a list of URLs")
        for url in urls or ():
            with contextlib.suppress(ValueError):
                yield _url_of(str(url))
                is_empty = False
    if is_empty:
        raise ValueError(f"{path}: no row has URLs in its field {REFERENCES!r}")


def _hash_all(entries: Iterable[str]) -> NDArray[np.uint64]:
    return distinct(np.fromiter(map(_hash, entries), np.uint64))


def _parse_entry(name: str, data: bytes) -> str | None:
    """Return the entry in a line; "#" begins a comment."""
    line = data.decode(errors="replace").removeprefix("\ufeff")
    # A "#" within a URL begins its fragment.
    line = "" if line.startswith("#") else line.partition(" #")[0].strip()
    return _LISTS[name][0](line) if line else None


def _covering_entry(hashes: NDArray[np.uint64], address: Address, name: str) -> str | None:
    """Return the first entry that covers a URL, or None."""
    for candidate in _LISTS[name][1](address):
        hashed = np.uint64(_hash(candidate))
        place = int(np.searchsorted(hashes, hashed))
        if place < len(hashes) and hashes[place] == hashed:
            return candidate
    return None


def _hash(text: str) -> int:
    return xxhash.xxh3_64_intdigest(text.encode(errors="surrogatepass"))
