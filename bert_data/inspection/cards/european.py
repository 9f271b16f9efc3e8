"""Figures for the European Commission's template of the public summary of training content.

Article 53(1)(d) of Regulation (EU) 2024/1689 asks providers of general-purpose models for it. The
headings are those of the template of 24 July 2025; what files do not say is left to the provider.
"""

import itertools
import math
from collections.abc import Iterator, Mapping
from typing import NamedTuple

import bert_data
from bert_data.inspection.cards.about import About
from bert_data.inspection.cards.card_config import ALL_SOURCES, DOMAINS_FILE, SourceKinds
from bert_data.inspection.cards.facts import Facts
from bert_data.inspection.cards.hugging_face import (
    dates_sentence,
    domains_sentence,
    totals_table,
)
from bert_data.inspection.cards.origin_counts import Origins, Total
from bert_data.markdown import MADE_BY, UNKNOWN, cell, table
from bert_data.progress import size

MOST_IN_TEXT = 1000
"""Domains that the text lists; more of them are in a file."""

_MOST_SOURCES = 50
_NO_TOTAL = Total("", 0, 0)
_SHARE, _SHARE_OF_SMALL, _MOST_OF_SMALL = 10, 5, 1000  # percent, and domains
_RANGES = (
    (10**9, "Less than 1 billion tokens"),
    (10**13, "1 billion to 10 trillion tokens"),
    (math.inf, "More than 10 trillion tokens"),
)
_SECTIONS = {
    "public_sources": "2.1. Publicly available datasets",
    "licensed_sources": (
        "2.2.1. Datasets commercially licensed by rightsholders or their representatives"
    ),
    "private_sources": "2.2.2. Private datasets obtained from other third parties",
    "crawled_sources": "2.3. Data crawled and scraped from online sources",
    "user_sources": "2.4. User data",
    "synthetic_sources": "2.5. Synthetic data",
    None: "2.6. Other sources of data",
}

_PRIVATE = "2.2. Private non-publicly available datasets obtained from third parties"
_RESERVATIONS = (
    "3.1. Respect of reservation of rights from text and data mining exception or limitation"
)


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
    yield f"Version of the summary: {UNKNOWN}. Last update: {UNKNOWN}.\n"
    yield "## 1. General information\n"
    for title, rows in _general(about, facts).items():
        yield f"### {title}\n"
        yield table(["", "value"], rows, is_text=[1])
    yield "## 2. List of data sources\n"
    by_kind = _by_kind(origins, kinds)
    for kind, title in _SECTIONS.items():
        if kind == "licensed_sources":
            yield f"### {_PRIVATE}\n"
        yield f"{'####' if title.startswith('2.2.') else '###'} {title}\n"
        totals = by_kind.get(kind, [])
        if origins is not None and totals:
            yield totals_table("source", totals, origins.volume, facts.unit)
        elif kind is None:
            yield "None: the kind of each source is stated above.\n" if by_kind else _unknown()
        else:
            yield _unknown() if None in by_kind or not by_kind else "None.\n"
        if kind == "crawled_sources":
            yield from _crawled(origins, facts.unit, most)
    yield "## 3. Data processing aspects\n"
    yield from _processing(facts)
    yield f"{MADE_BY} ({bert_data.__version__}) -->\n"


def _unknown() -> str:
    return f"{UNKNOWN.capitalize()}: no setting says which sources are of this kind.\n"


def _general(about: About, facts: Facts) -> Mapping[str, list[tuple[str, str]]]:
    """Return the rows of each section."""
    origins, tokens = facts.origins, facts.num_tokens
    provider = ", ".join(filter(None, (about.creator, about.contact)))
    sizes = [
        ("Tokens", UNKNOWN if tokens is None else f"{tokens:,}"),
        (
            "Documents" if origins else f"{facts.item}s".capitalize(),
            UNKNOWN if facts.num_items is None else f"{facts.num_items:,}",
        ),
        ("Files", size(facts.num_bytes)),
    ]
    characteristics = [
        ("Modality", "Text; no image, audio or video"),
        (
            "Training data size",
            UNKNOWN if tokens is None else next(name for most, name in _RANGES if tokens < most),
        ),
        *sizes,
        ("Types of content", about.description),
        (
            "Latest date of data acquisition/collection",
            f"{UNKNOWN}; the latest date of a document is {origins.dates[1]}"
            if origins is not None and origins.dates
            else UNKNOWN,
        ),
        ("Linguistic characteristics", ", ".join(about.languages) or UNKNOWN),
        ("Version of the data", about.data_version or UNKNOWN),
        ("Licence of the data as a whole", about.license or UNKNOWN),
        ("Licences of documents", _licences(origins)),
    ]
    return {
        "1.1. Provider identification": [
            ("Provider name and contact details", provider or UNKNOWN),
            ("Authorised representative name and contact details", UNKNOWN),
        ],
        "1.2. Model identification": [
            ("Versioned model name(s)", UNKNOWN),
            ("Model dependencies", UNKNOWN),
            ("Date of placement of the model on the Union market", UNKNOWN),
        ],
        "1.3. Modalities, overall training data size and other characteristics": characteristics,
    }


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
    yield f"Crawler name(s)/identifier(s), purposes and behaviour: {UNKNOWN}.\n"
    if origins is None:
        yield f"Period of data collection: {UNKNOWN}.\n"
        yield f"Most relevant domain names crawled: {UNKNOWN}.\n"
        return
    yield f"Period of data collection: {dates_sentence(origins)}\n"
    yield f"Most relevant domain names crawled: {domains_sentence(origins, unit)}\n"
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
    yield f"### {_RESERVATIONS}\n"
    yield f"Signatory to the Code of Practice: {UNKNOWN}. Measures: {UNKNOWN}.\n"
    yield "### 3.2. Removal of illegal content\n"
    if not facts.steps:
        yield f"General description of measures taken: {UNKNOWN}.\n"
        return
    yield "Measures taken: the provider says which of the steps below are such measures.\n"
    yield "### 3.3. Other information (optional)\n"
    yield table(
        ["step of curation", "documents left", "documents rejected"],
        [
            (step["label"], f"{step['num_documents']:,}", f"{step['num_rejected']:,}")
            for step in facts.steps
        ],
    )
