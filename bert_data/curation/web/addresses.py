"""Hosts and URLs in a normal form, for comparison with lists.

parse_url("HTTP://User@WWW.Foo.Example.co.uk:80/a//b/?q=1#top")
    ->  Address(host="www.foo.example.co.uk", path="/a/b", query="q=1")
registered_domain("www.foo.example.co.uk")  ->  "example.co.uk"       by the public suffix list
parent_hosts("www.foo.example.co.uk")       ->  the host, foo.example.co.uk, example.co.uk
"""

import functools
import ipaddress
import re
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple
from urllib.parse import unquote

import numpy as np
from numpy.typing import NDArray

from bert_data.packages import load_package
from bert_data.storage import save_array
from bert_data.text.lines import read_numbered_lines

MAX_URL_CHARACTERS = 2_048
_MAX_PATH_PARTS = 32

_SCHEME = re.compile(r"[a-z][a-z0-9+.-]{0,30}://", re.IGNORECASE)
_SLASHES = re.compile(r"/{2,}")
_PORT = re.compile(r":\d{0,5}\Z")


class Address(NamedTuple):
    """A URL in its normal form.

    Attributes:
      host: in lower case, as ASCII (IDNA); "" if there is none.
      path: with a leading and without a trailing slash; "" is the top.
      query: the part after the question mark.
    """

    host: str
    path: str
    query: str


def parse_url(url: str) -> Address:
    """Split a URL into its parts; of a very long one, only the first 2,048 characters."""
    url = url.strip()[:MAX_URL_CHARACTERS]
    scheme = _SCHEME.match(url)
    rest = url[scheme.end() :] if scheme else url.removeprefix("//")
    rest = rest.partition("#")[0]
    place, mark, query = rest.partition("?")
    host, _, path = place.partition("/")
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
    extracted = _extractor()(host)
    if extracted.suffix:
        return extracted.top_domain_under_public_suffix
    parts = host.split(".")
    return ".".join(parts[-2:]) if len(parts) > 1 else ""


def is_public_suffix(host: str) -> bool:
    """Whether anyone can register names below a host, such as "com" or "co.uk"."""
    return not is_ip_address(host) and not registered_domain(host)


def has_known_suffix(host: str) -> bool:
    """Whether a host lies below a suffix of the list, so that it could be registered."""
    parts = _extractor()(host)
    return bool(parts.suffix and parts.domain)


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


@functools.cache
def _extractor() -> Any:
    tldextract = load_package("tldextract", "the public suffix list")
    return tldextract.TLDExtract(suffix_list_urls=(), cache_dir=None)


def read_domains(files: Sequence[str]) -> Iterator[str]:
    """Return the domains of lists with one entry per line; "#" begins a comment.

    Raises:
      ValueError: a line is not a domain, or is one below which anyone can register a name, or a
        file has no entry; with file and line.
    """
    for place, line in _read_entries(files):
        host = normal_host(line.removeprefix("*."))
        if "/" in host or any(map(str.isspace, host)) or not host:
            raise ValueError(f"{place}: {line!r} is not a domain")
        if is_public_suffix(host):
            raise ValueError(
                f"{place}: {line!r} is a public suffix, below which anyone can register a name; it"
                " would cover all of them"
            )
        yield host


def read_addresses(files: Sequence[str]) -> Iterator[str]:
    """Return the URLs of lists with one entry per line; each also covers the paths below it.

    Raises:
      ValueError: a line is not a URL, or a file has no entry; with file and line.
    """
    for place, line in _read_entries(files):
        address = parse_url(line)
        if "." not in address.host or any(map(str.isspace, address.host)):
            raise ValueError(f"{place}: {line!r} is not the URL of a page")
        yield next(parent_addresses(address))


def _read_entries(files: Sequence[str]) -> Iterator[tuple[str, str]]:
    """Yield (file:line, text) of each line that is neither blank nor a comment."""
    for path in files:
        is_empty = True
        for number, data in read_numbered_lines(path):
            line = data.decode(errors="replace").removeprefix("\ufeff")
            # A "#" within a URL begins its fragment.
            line = "" if line.startswith("#") else line.partition(" #")[0].strip()
            if line:
                is_empty = False
                yield f"{path}:{number}", line
        if is_empty:
            raise ValueError(f"{path}: the list has no entry")


def write_hashes(path: Path, entries: Iterable[str]) -> None:
    """Write the hashes of entries: uint64, increasing, without repetition."""
    save_array(path, np.unique(np.fromiter(map(_hash, entries), np.uint64)))


def find_entry(hashes: NDArray[np.uint64], candidates: Iterable[str]) -> str | None:
    """Return the first candidate that is in a list, or None."""
    for candidate in candidates:
        hashed = np.uint64(_hash(candidate))
        place = int(np.searchsorted(hashes, hashed))
        if place < len(hashes) and hashes[place] == hashed:
            return candidate
    return None


def _hash(text: str) -> int:
    xxhash = load_package("xxhash", "the step url_filter")
    return xxhash.xxh3_64_intdigest(text.encode(errors="surrogatepass"))
