"""Lists of domains and URLs, as sorted hashes on disk that all workers share.

    ads.txt      bad.example.com        write_hashes(path, {...})  ->  domains.npy: uint64 [2]
                 worse.example  # why   find_entry(hashes, parent_hosts("a.worse.example"))
                                          ->  "worse.example"

A list of five million domains takes 40 MB in this form, once for all workers. The probability that
another text has the hash of an entry is entries / 2 ** 64.
"""

from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from bert_data.curation.web.addresses import (
    is_public_suffix,
    normal_host,
    parent_addresses,
    parse_url,
)
from bert_data.packages import load_package
from bert_data.storage import save_array
from bert_data.text.lines import read_line_blocks


def read_domains(files: Sequence[str]) -> Iterator[str]:
    """Return the domains of lists with one entry per line; "#" begins a comment.

    Raises:
      ValueError: a line is not a domain, or is one below which anyone can register a name, or a
        file has no entry; with file and line.
      OSError, CorruptDataError: a file cannot be read.
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
      OSError, CorruptDataError: a file cannot be read.
    """
    for place, line in _read_entries(files):
        address = parse_url(line)
        if "." not in address.host or any(map(str.isspace, address.host)):
            raise ValueError(f"{place}: {line!r} is not the URL of a page")
        yield next(parent_addresses(address))


def _read_entries(files: Sequence[str]) -> Iterator[tuple[str, str]]:
    """Yield (file:line, text) of each line that is neither blank nor a comment."""
    for path in files:
        number, is_empty = 0, True
        for block in read_line_blocks([path]):
            for data in block.data.splitlines():
                number += 1
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
