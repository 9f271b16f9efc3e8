"""Hugging Face's card of data: README.md, with YAML that the hub reads before the text."""

import re
from collections.abc import Iterable, Iterator
from typing import Any

import bert_data
from bert_data.inspection.cards.about import About
from bert_data.inspection.cards.facts import BYTES, PARQUET, TOKENS, Facts
from bert_data.inspection.cards.origin_counts import Origins, Total, ValueCounts
from bert_data.markdown import MADE_BY, UNKNOWN, cell, table, with_front_matter
from bert_data.progress import how_many, size

_IS_READ = re.compile(r"\.(parquet|(jsonl|ndjson|json)(\.gz|\.zst)?)\Z")
_PLAIN = re.compile(r"u?int(8|16|32|64)|bool|(large_)?string")
_DTYPES = {"halffloat": "float16", "float": "float32", "double": "float64"}
_POWERS = ("1K", "10K", "100K", "1M", "10M", "100M", "1B", "10B", "100B", "1T")
_OTHER_LICENSE = re.compile(r"[^a-z0-9.-]+")
_LICENSES = re.compile(
    r"apache-2\.0|mit|openrail|bsd(-[23]-clause)?|c-uda|cc|cc0-1\.0|cc-by(-sa)?-[34]\.0|cc-by-2\.[05]"
    r"|cc-by-nc-[234]\.0|cc-by-nd-4\.0|cc-by-nc-(nd|sa)-[34]\.0|cc-by-nc-sa-2\.0"
    r"|cdla-(sharing-1|permissive-[12])\.0|wtfpl|l?gpl(-3\.0)?|gpl-2\.0|lgpl-2\.1|agpl-3\.0"
    r"|etalab-2\.0|eupl-1\.[12]|isc|mpl-2\.0|mulanpsl-2\.0|odbl|odc-by|ofl-1\.1|pddl|unlicense"
    r"|zlib|gfdl"
)
"""The hub's names of licences; another one is `other`, with its name."""

_HUB_NAMES = {"odc-by-1.0": "odc-by", "odbl-1.0": "odbl", "pddl-1.0": "pddl", "gfdl-1.3": "gfdl"}


def describe_for_hub(about: About, facts: Facts) -> str:
    """Return the text of README.md."""
    data_files = _data_files(about, facts)
    values: dict[str, Any] = {
        **_license(about.license),
        "language": list(about.languages) or None,
        "pretty_name": about.name,
        "size_categories": None if facts.num_items is None else [size_category(facts.num_items)],
    }
    if data_files:
        splits = [{"split": "train", "path": data_files}]
        values["configs"] = [{"config_name": "default", "data_files": splits}]
        values["dataset_info"] = _dataset_info(facts)
    else:
        values["viewer"] = False  # the hub cannot show these files
    return with_front_matter(values, "\n".join(_text(about, facts)))


def size_category(num_items: int) -> str:
    """Return the hub's name of a size: 1K<n<10K."""
    for power, name in enumerate(_POWERS, start=3):
        if num_items < 10**power:
            return f"n<{name}" if power == 3 else f"{_POWERS[power - 4]}<n<{name}"
    return f"n>{_POWERS[-1]}"


def _license(name: str | None) -> dict[str, Any]:
    if name is None:
        return {"license": "unknown"}
    lower = name.lower()
    known = _HUB_NAMES.get(lower, lower)
    if _LICENSES.fullmatch(known):
        return {"license": known}
    if "://" in name:
        return {"license": "other", "license_name": "other", "license_link": name}
    return {"license": "other", "license_name": _OTHER_LICENSE.sub("-", lower).strip("-")}


def _data_files(about: About, facts: Facts) -> list[str]:
    """Return the files that the hub's library reads; []: it reads none of them."""
    paths = [file.path for file in facts.files]
    is_read = set(facts.table_paths) == set(paths) and all(map(_IS_READ.search, paths))
    return [about.names[path] for path in paths] if is_read else []


def _dataset_info(facts: Facts) -> dict[str, Any]:
    """Return sizes, and the features of Parquet files, whose schema says them."""
    info: dict[str, Any] = {"download_size": facts.num_bytes}
    if facts.media_type == PARQUET:
        features = [(name, _feature(kind)) for name, kind in facts.columns.items()]
        if all(feature is not None for _, feature in features):
            info = {"features": [{"name": name, **(f or {})} for name, f in features], **info}
    return info


def _feature(kind: str) -> dict[str, Any] | None:
    """Return the hub's type of a column, from Arrow's name of it; None: it is another one."""
    if kind.startswith("list<"):
        of_items = _feature(kind.partition(": ")[2].removesuffix(">").removesuffix(" not null"))
        return None if of_items is None else {"list": of_items.get("dtype", of_items)}
    return {"dtype": _DTYPES.get(kind, kind)} if kind in _DTYPES or _PLAIN.fullmatch(kind) else None


def _text(about: About, facts: Facts) -> Iterator[str]:
    yield f"# {cell(about.name)}\n"
    yield f"{about.description}\n"
    yield table(["", "value"], _summary(about, facts), is_text=[1])
    yield from origin_sections(facts, about)
    if facts.steps:
        yield "## Curation\n"
        yield "Each step, and the documents that it rejected by each rule.\n"
        yield table(
            ["step", "documents", BYTES, "rejected", "rules"],
            [
                (
                    step["label"],
                    f"{step['num_documents']:,}",
                    f"{step['num_bytes']:,}",
                    f"{step['num_rejected']:,}",
                    ", ".join(f"{rule} {n:,}" for rule, n in _most(step["rejected"])) or "-",
                )
                for step in facts.steps
            ],
            is_text=[4],
        )
    if facts.columns and facts.table_paths:
        yield "## Columns\n"
        yield table(["column", "type"], facts.columns.items(), is_text=[1])
    if facts.settings:
        yield "## Settings\n"
        rows = [(name, str(value)) for name, value in facts.settings.items()]
        yield table(["setting", "value"], rows, is_text=[1])
    if about.citation:
        yield f"## Citation\n\n```\n{about.citation}\n```\n"
    yield f"{MADE_BY} ({bert_data.__version__}) -->\n"


def _most(rejected: dict[str, int]) -> list[tuple[str, int]]:
    return sorted(rejected.items(), key=lambda rule: (-rule[1], rule[0]))


def _summary(about: About, facts: Facts) -> Iterator[tuple[str, str]]:
    def known(value: object) -> str:
        return UNKNOWN if value is None else f"{value:,}" if isinstance(value, int) else f"{value}"

    yield f"{facts.item}s", known(facts.num_items)
    yield "tokens", known(facts.num_tokens)
    for name, count in facts.counts.items():
        if name not in ("tokens", "text: tokens"):
            yield name, known(count)
    yield "files", f"{how_many(len(facts.files), 'file')}, {size(facts.num_bytes)}"
    vocabulary = facts.vocabulary
    if facts.unit == TOKENS:
        yield (
            "vocabulary",
            f"{vocabulary[0]:,} tokens, SHA-256 {vocabulary[1]}" if vocabulary else UNKNOWN,
        )
    yield "languages", ", ".join(about.languages) or UNKNOWN
    for name in ("license", "creator", "contact", "url", "data_version", "published"):
        yield _WORDS.get(name, name), known(getattr(about, name))


_WORDS = {"license": "licence of the whole", "url": "page", "data_version": "version"}


def origin_sections(facts: Facts, about: About) -> Iterator[str]:
    """Yield the sections of where documents came from."""
    origins = facts.origins
    yield "## Where the documents came from\n"
    if origins is None or origins.num_silent == origins.num_documents:
        yield f"This is {UNKNOWN}: the {facts.kind} do not say it.\n"
        return
    if origins.num_silent:
        yield (
            f"Of {origins.num_silent:,} of {origins.num_documents:,} documents this is {UNKNOWN}.\n"
        )
    for field, title in _TITLES.items():
        named = origins.named[field]
        yield f"### {title}\n"
        yield _named_table(field, named, origins, facts.unit)
    yield "### Domains\n"
    yield _sentence(domains_sentence(origins, facts.unit))
    if origins.domains is not None and origins.domains.num_names:
        yield totals_table("domain", origins.domains.largest[:20], origins.volume, facts.unit)
    yield "### Dates\n"
    yield _sentence(dates_sentence(origins))


_TITLES = {"source": "Sources", "license": "Licences", "language": "Languages"}


def _named_table(field: str, named: ValueCounts, origins: Origins, unit: str) -> str:
    if not named.num_names:
        return f"{UNKNOWN.capitalize()}: no document has the field.\n"
    rows = [*named.largest]
    missing = origins.num_documents - named.num_documents
    if missing:
        rows.append(Total(UNKNOWN, missing, origins.volume - named.volume))
    text = totals_table(field, rows, origins.volume, unit)
    more = named.num_names - len(named.largest)
    return f"{text}\nand {more:,} more.\n" if more else text


def totals_table(what: str, totals: Iterable[Total], whole: int, unit: str) -> str:
    """Return a table of totals and their shares of the whole volume."""
    return table(
        [what, "documents", unit, "share"],
        [
            (name, f"{count:,}", f"{volume:,}", f"{100 * volume / max(1, whole):.1f}%")
            for name, count, volume in totals
        ],
    )


def _sentence(text: str) -> str:
    return f"{text[0].upper()}{text[1:]}\n"


def domains_sentence(origins: Origins, unit: str) -> str:
    """Return how many domains there are, and which documents they are of."""
    of = f" from {', '.join(map(cell, origins.crawled))}" if origins.crawled else ""
    if origins.domains is None:
        return f"{UNKNOWN}: no document{of} has a URL."
    odd = origins.num_urls - origins.domains.num_documents
    left = f"; the URLs of {odd:,} have no registered domain" if odd else ""
    return (
        f"{how_many(origins.domains.num_names, 'registered domain')} by the URLs of"
        f" {origins.num_urls:,} of {origins.num_documents:,} documents{of}; volume in"
        f" {unit}{left}."
    )


def dates_sentence(origins: Origins) -> str:
    """Return the first and the last date."""
    odd = origins.num_odd_dates
    left = f"; {odd:,} have a date that is not understood" if odd else ""
    if origins.dates is None:
        return f"{UNKNOWN}: no document has a date{left}."
    return (
        f"from {origins.dates[0]} to {origins.dates[1]}, by the dates of"
        f" {origins.num_dates - odd:,} of {origins.num_documents:,} documents{left}."
    )
