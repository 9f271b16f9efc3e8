"""Reject documents by their URL: lists of domains and URLs, and words within URLs."""

import dataclasses
import functools
import os
import re
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from bert_data.curation.document import Document
from bert_data.curation.step import DocumentStep, register
from bert_data.curation.verdict import Measured, Verdict, measure
from bert_data.curation.web.addresses import (
    Address,
    find_entry,
    parent_addresses,
    parent_hosts,
    parse_url,
    read_addresses,
    read_domains,
    write_hashes,
)
from bert_data.storage import list_folder, load_array

_WORD = re.compile(r"[^\W_]+")
_LISTED = "not listed"

Lists = Mapping[str, NDArray[np.uint64]]


@register
@dataclasses.dataclass(frozen=True, kw_only=True)
class UrlFilter(DocumentStep):
    """Rejects documents by their URL; documents without one stay.

    The method is RefinedWeb's (Penedo et al. 2023, "The RefinedWeb dataset for Falcon LLM", G.1):
    blocklists; strict words, matched against all letters and digits of the URL, so that "b-a.d" is
    found, too; hard words, of which one whole word is enough; soft words, of which it takes two.
    The paper does not publish its word lists; the defaults are the examples that it names.

    A domain in a list covers its subdomains, but public suffixes ("co.uk") are not allowed. A URL
    in a list covers the paths below it. A list is a file with one entry per line (plain, .gz or
    .zst).

    Attributes:
      blocked_domain_files: lists of domains to reject.
      blocked_url_files: lists of URLs to reject, compared without scheme and "www.".
      allowed_domain_files: lists of domains to keep whatever else matches.
      strict_words: reject a URL that contains one, also within words and across their boundaries.
      hard_words: reject a URL that contains one as a whole word.
      soft_words: counted where they are whole words.
      max_soft_words: largest number of soft words in a URL.
      url_field: name of the field that holds the URL.
    """

    name = "url_filter"
    accepts_markup = True
    blocked_domain_files: tuple[str, ...] = ()
    blocked_url_files: tuple[str, ...] = ()
    allowed_domain_files: tuple[str, ...] = ()
    strict_words: tuple[str, ...] = ("xvideos", "groupsex")
    hard_words: tuple[str, ...] = ("porn", "xxx", "orgy")
    soft_words: tuple[str, ...] = ("sex", "webcam", "escort")
    max_soft_words: int = 1
    url_field: str = "url"

    example_fields: ClassVar[Mapping[str, Any]] = {"url": "http://a.example/free-porn/1"}
    step_examples = (("Any text.", None),)

    def __post_init__(self) -> None:
        super().__post_init__()
        if not self.url_field:
            raise ValueError("url_field is ''; name a field")
        for field in ("strict_words", "hard_words", "soft_words"):
            for word in getattr(self, field):
                if not _WORD.fullmatch(word):
                    raise ValueError(f"{field} has {word!r}; only letters and digits are allowed")

    def prepare(self, folder: Path) -> None:
        """Read the lists, and leave their hashes."""
        for field, read in (
            ("blocked_domain_files", read_domains),
            ("blocked_url_files", read_addresses),
            ("allowed_domain_files", read_domains),
        ):
            files = getattr(self, field)
            if files:
                write_hashes(folder / f"{field}.npy", read(files))

    def open(self, folder: str) -> Callable[[Document], Verdict]:
        """Map the hashes of the lists."""
        names = [name for name in list_folder(folder) if name.endswith("_files.npy")]
        lists = {
            name.removesuffix(".npy"): load_array(os.path.join(folder, name)) for name in names
        }
        return functools.partial(self.judge_by, lists)

    def judge_by(self, lists: Lists, document: Document) -> Verdict:
        """Judge a document by lists, keyed by the name of the parameter, and by words."""
        url = document.fields.get(self.url_field)
        if not isinstance(url, str) or not url.strip():
            return Verdict(document)
        address, seen = parse_url(url), {"urls": 1}
        if "allowed_domain_files" in lists and find_entry(
            lists["allowed_domain_files"], parent_hosts(address.host)
        ):
            return Verdict(document, counted=seen | {"allowed_domain_files": 1})
        listed = _find_listed(lists, address)
        measured = [Measured(rule, what, _LISTED, failed=True) for rule, what in listed.items()]
        measured += self._measure_words(address)
        return Verdict(document, tuple(measured), counted=seen)

    def _measure_words(self, address: Address) -> list[Measured]:
        words = _WORD.findall(" ".join(address).lower())
        letters = "".join(words)
        strict = next((word for word in self.strict_words if word.lower() in letters), None)
        hard = next((word for word in words if word in self._lower("hard_words")), None)
        soft = self._lower("soft_words")
        measured = [
            Measured(rule, word, _LISTED, failed=True)
            for rule, word in (("strict_words", strict), ("hard_words", hard))
            if word is not None
        ]
        num_soft = sum(word in soft for word in words)
        return [*measured, measure("max_soft_words", num_soft, self.max_soft_words)]

    def _lower(self, field: str) -> frozenset[str]:
        return _lower(getattr(self, field))

    def describe_use(self, counted: dict[str, int]) -> str | None:
        """Say so if no document had a URL, or name the lists that matched none."""
        if not counted.get("urls"):
            return f"no document has a URL in its field {self.url_field!r}; all stay"
        files = ("blocked_domain_files", "blocked_url_files", "allowed_domain_files")
        unused = [field for field in files if getattr(self, field) and not counted.get(field)]
        return f"{', '.join(unused)} matched no document" if unused else None


def _find_listed(lists: Lists, address: Address) -> dict[str, str]:
    """Return the entries of blocklists that cover an address, by list."""
    listed = {}
    for rule, candidates in (
        ("blocked_domain_files", parent_hosts(address.host)),
        ("blocked_url_files", parent_addresses(address)),
    ):
        entry = find_entry(lists[rule], candidates) if rule in lists else None
        if entry is not None:
            listed[rule] = entry
    return listed


@functools.cache
def _lower(words: tuple[str, ...]) -> frozenset[str]:
    return frozenset(map(str.lower, words))
