"""Figures for the European Commission's template of the public summary of training content.

Article 53(1)(d) of Regulation (EU) 2024/1689 asks providers of general-purpose models for it. The
sections are those of the template of 24 July 2025; what files do not say is left to the provider.
"""

import itertools
import math
from collections.abc import Iterator, Mapping
from typing import NamedTuple

import bert_data
from bert_data.inspection.cards.about import About
from bert_data.inspection.cards.config import ALL_SOURCES, DOMAINS_FILE, SourceKinds
from bert_data.inspection.cards.facts import Facts
from bert_data.inspection.cards.hugging_face import (
    dates_sentence,
    domains_sentence,
    totals_table,
)
from bert_data.inspection.cards.origins import Origins
from bert_data.inspection.cards.totals import Total
from bert_data.markdown import MADE_BY, UNKNOWN, cell, table
from bert_data.progress import size

MOST_IN_TEXT = 1000
"""Domains that the text lists; more of them are in a file."""

_MOST_SOURCES = 50
_NO_TOTAL = Total("", 0, 0)
_SHARE, _SHARE_OF_SMALL, _MOST_OF_SMALL = 10, 5, 1000  # percent, and domains
_RANGES = (
    (10**9, "less than 1 billion tokens"),
    (10**13, "1 billion to 10 trillion tokens"),
    (math.inf, "more than 10 trillion tokens"),
)
_SECTIONS = {
    "public_sources": "2.1 Publicly available datasets",
    "licensed_sources": "2.2.1 Datasets commercially licensed by rightsholders",
    "private_sources": "2.2.2 Private datasets obtained from other third parties",
    "crawled_sources": "2.3 Data crawled and scraped from online sources",
    "user_sources": "2.4 User data",
    "synthetic_sources": "2.5 Synthetic data",
    None: "2.6 Other sources of data",
}


class TopDomains(NamedTuple):
    """The domains to list: so many, by so many percent of all, in words."""

    number: int
    rule: str


def num_top_domains(origins: Origins | None, *, small_company: bool) -> TopDomains:
    """Return how many domains the template asks for."""
    domains = None if origins is None else origins.domains
    num_domains = 0 if domains is None else domains.num_names
    if small_company:
        most = min(_MOST_OF_SMALL, math.ceil(num_domains * _SHARE_OF_SMALL / 100))
        return TopDomains(most, f"{_SHARE_OF_SMALL}% of all, at most {_MOST_OF_SMALL:,}")
    return TopDomains(math.ceil(num_domains * _SHARE / 100), f"{_SHARE}% of all")


def describe_for_europe(about: About, facts: Facts, kinds: SourceKinds, most: TopDomains) -> str:
    """Return the text of training_content.md."""
    return "\n".join(_text(about, facts, kinds, most))


def _text(about: About, facts: Facts, kinds: SourceKinds, most: TopDomains) -> Iterator[str]:
    origins = facts.origins
    yield f"# Public summary of training content: {cell(about.name)}\n"
    yield (
        "Figures of the data for the European Commission's template (Article 53(1)(d) of"
        " Regulation (EU) 2024/1689). They describe the data, not a model that was trained on it;"
        f' "{UNKNOWN}" is for the provider to fill in.\n'
    )
    yield "## 1. General information\n"
    yield table(["", "value"], _general(about, facts), is_text=[1])
    yield "## 2. Sources\n"
    by_kind = _by_kind(origins, kinds)
    for kind, title in _SECTIONS.items():
        yield f"### {title}\n"
        totals = by_kind.get(kind, [])
        if origins is not None and totals:
            yield totals_table("source", totals, origins.volume, facts.unit)
        elif kind is None:
            yield "None: the kind of each source is stated above.\n" if by_kind else _unknown()
        else:
            yield _unknown() if None in by_kind or not by_kind else "None.\n"
        if kind == "crawled_sources":
            yield from _crawled(origins, facts.unit, most)
    yield "## 3. Processing\n"
    yield from _processing(facts)
    yield f"{MADE_BY} ({bert_data.__version__}) -->\n"


def _unknown() -> str:
    return f"{UNKNOWN.capitalize()}: no setting says which sources are of this kind.\n"


def _general(about: About, facts: Facts) -> Iterator[tuple[str, str]]:
    origins = facts.origins
    tokens = facts.num_tokens
    yield "provider", about.creator or UNKNOWN
    yield "contact", about.contact or UNKNOWN
    yield "models, and their dates of placement on the market", UNKNOWN
    yield "data", about.description
    yield "version of the data", about.data_version or UNKNOWN
    yield "modalities", "text"
    yield (
        "size of the text",
        UNKNOWN if tokens is None else next(name for most, name in _RANGES if tokens < most),
    )
    yield "tokens", UNKNOWN if tokens is None else f"{tokens:,}"
    yield (
        "documents" if origins else f"{facts.item}s",
        (UNKNOWN if facts.num_items is None else f"{facts.num_items:,}"),
    )
    yield "files", size(facts.num_bytes)
    yield "images, audio, video", "none"
    yield "languages", ", ".join(about.languages) or UNKNOWN
    yield "licence of the data as a whole", about.license or UNKNOWN
    yield "licences of documents", _licences(origins)
    yield (
        "latest date of the documents",
        origins.dates[1] if origins is not None and origins.dates else UNKNOWN,
    )


def _licences(origins: Origins | None) -> str:
    if origins is None or not origins.named["license"].num_names:
        return UNKNOWN
    named = origins.named["license"]
    parts = [
        f"{name} {100 * volume / max(1, origins.volume):.1f}%" for name, _, volume in named.largest
    ]
    if named.num_names > len(named.largest):
        parts.append(f"{named.num_names - len(named.largest):,} more")
    if named.num_documents < origins.num_documents:
        share = 100 * (origins.volume - named.volume) / max(1, origins.volume)
        parts.append(f"{UNKNOWN} {share:.1f}%")
    return ", ".join(parts)


def _by_kind(origins: Origins | None, kinds: SourceKinds) -> Mapping[str | None, list[Total]]:
    """Return the totals of sources by the field of `SourceKinds` that names them, if one does."""
    found: dict[str | None, list[Total]] = {}
    if origins is None:
        return found
    unnamed = kinds.all_named() - {ALL_SOURCES}
    rests: dict[str | None, Total] = {}
    for total in origins.totals["source"].by_volume():
        unnamed.discard(total.name)
        kind = kinds.kind_of(total.name)
        rows = found.setdefault(kind, [])
        if len(rows) < _MOST_SOURCES:
            rows.append(total)
        else:
            _, count, volume = rests.get(kind, _NO_TOTAL)
            rests[kind] = Total("others", count + total.num_documents, volume + total.volume)
    if unnamed:
        raise ValueError(
            f"no document has the source {min(unnamed)!r}, whose kind is set; the largest are"
            f" {', '.join(total.name for total in origins.named['source'].largest[:5]) or 'none'}"
            " (`source_field` names their field)"
        )
    for kind, rest in rests.items():
        found[kind].append(rest)
    named = origins.named["source"]
    if named.num_documents < origins.num_documents:
        count, volume = named.num_documents, named.volume
        total = Total("without a source", origins.num_documents - count, origins.volume - volume)
        found.setdefault(kinds.kind_of(ALL_SOURCES), []).append(total)
    return found


def _crawled(origins: Origins | None, unit: str, most: TopDomains) -> Iterator[str]:
    yield f"Crawlers, their purposes and their behaviour: {UNKNOWN}.\n"
    if origins is None:
        yield f"Period of collection: {UNKNOWN}.\n"
        yield f"Domains: {UNKNOWN}.\n"
        return
    yield f"Period of collection: {dates_sentence(origins)}\n"
    yield f"Domains: {domains_sentence(origins, unit)}\n"
    if origins.domains is None or not origins.domains.num_names:
        return
    if most.number > MOST_IN_TEXT:
        yield (
            f"{DOMAINS_FILE} lists the {most.number:,} largest ({most.rule}); the first"
            f" {MOST_IN_TEXT:,}:\n"
        )
    else:
        yield f"The largest ({most.rule}):\n"
    totals = origins.totals["domain"].by_volume()
    shown = itertools.islice(totals, min(most.number, MOST_IN_TEXT))
    yield totals_table("domain", shown, origins.volume, unit)


def _processing(facts: Facts) -> Iterator[str]:
    yield f"Measures to respect reservations of rights: {UNKNOWN}.\n"
    if not facts.steps:
        yield f"Measures to remove illegal content: {UNKNOWN}.\n"
        return
    yield (
        "Measures to remove illegal content: the provider says which of these steps are such"
        " measures.\n"
    )
    yield table(
        ["step of curation", "documents left", "documents rejected"],
        [
            (step["label"], f"{step['num_documents']:,}", f"{step['num_rejected']:,}")
            for step in facts.steps
        ],
    )
