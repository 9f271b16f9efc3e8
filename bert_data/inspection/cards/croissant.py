"""Croissant 1.1: data described as JSON-LD, with files and the columns of their rows."""

import json
import os
from collections.abc import Mapping
from typing import Any

import bert_data
from bert_data.inspection.cards.about import About
from bert_data.inspection.cards.facts import BINARY, DATE, Facts

VERSION = "http://mlcommons.org/croissant/1.1"
MAKER = "bert-data card"
REQUIRED = ("license", "url", "creator", "published")
"""Settings without which the description lacks what Croissant requires."""

_TERMS = (
    "annotation arrayShape citeAs column containedIn equivalentProperty excludes extract field"
    " fileObject fileProperty fileSet format includes isArray isLiveDataset jsonPath key md5"
    " parentField path readLines recordSet references regex repeated replace samplingRate"
    " sdVersion separator source subField transform unArchive value"
)
_CONTEXT = {
    "@language": "en",
    "@vocab": "https://schema.org/",
    "sc": "https://schema.org/",
    "cr": "http://mlcommons.org/croissant/",
    "rai": "http://mlcommons.org/croissant/RAI/",
    "dct": "http://purl.org/dc/terms/",
    "conformsTo": "dct:conformsTo",
    "data": {"@id": "cr:data", "@type": "@json"},
    "dataType": {"@id": "cr:dataType", "@type": "@vocab"},
    "description": {"@container": "@language"},
    "examples": {"@id": "cr:examples", "@type": "@json"},
    "name": {"@container": "@language"},
    **{term: f"cr:{term}" for term in _TERMS.split()},
}
_TYPES = {
    "string": "sc:Text",
    "large_string": "sc:Text",
    "bool": "sc:Boolean",
    "float": "cr:Float32",
    "double": "cr:Float64",
    "halffloat": "cr:Float16",
    **{
        f"{sign}int{bits}": f"cr:{sign.upper()}Int{bits}"
        for sign in ("", "u")
        for bits in (8, 16, 32, 64)
    },
    "date32[day]": "sc:Date",
    DATE: "sc:Date",
}
_FILES = "files"
_LIST = ("list<", "large_list<")


def describe_as_croissant(about: About, facts: Facts) -> str:
    """Return the text of croissant.json."""
    creator = {"@type": "sc:Organization", "name": about.creator} if about.creator else None
    values = {
        "@context": _CONTEXT,
        "@type": "sc:Dataset",
        "conformsTo": VERSION,
        "name": about.name,
        "description": about.description,
        "license": about.license_url,
        "url": about.url,
        "creator": creator,
        "datePublished": about.published,
        "version": about.data_version,
        "inLanguage": list(about.languages) or None,
        "citeAs": about.citation,
        "sdPublisher": {"@type": "sc:Organization", "name": f"{MAKER} ({bert_data.__version__})"},
        "distribution": _distribution(about, facts),
        "recordSet": _record_sets(about, facts) or None,
    }
    known = {name: value for name, value in values.items() if value is not None}
    return json.dumps(known, indent=1, ensure_ascii=False) + "\n"


def is_ours(text: str) -> bool:
    """Whether this command wrote a description."""
    return f'"name": "{MAKER} (' in text


def _distribution(about: About, facts: Facts) -> list[dict[str, Any]]:
    """Return a FileObject for each file with a checksum, and a FileSet of the others and tables."""
    objects: list[dict[str, Any]] = []
    tables = set(facts.table_paths)
    others = []
    for file in facts.files:
        name = about.names[file.path]
        media_type = facts.media_type if file.path in tables else BINARY
        if file.sha256 is None:
            if file.path not in tables:
                others.append(name)
            continue
        objects.append(
            {
                "@type": "cr:FileObject",
                "@id": name,
                "name": os.path.basename(file.path),
                "contentUrl": name,
                "contentSize": f"{file.num_bytes} B",
                "encodingFormat": media_type,
                "sha256": file.sha256,
            }
        )
    sets = []
    if tables and _single(facts) is None:
        names = [about.names[path] for path in facts.table_paths]
        sets.append(_file_set(_FILES, names, facts.media_type))
    if others:
        sets.append(_file_set("other-files" if sets else _FILES, others, BINARY))
    return objects + sets


def _file_set(name: str, includes: list[str], media_type: str) -> dict[str, Any]:
    return {
        "@type": "cr:FileSet",
        "@id": name,
        "name": name,
        "includes": [_escaped(each) for each in includes],
        "encodingFormat": media_type,
    }


def _escaped(name: str) -> str:
    return "".join(f"[{letter}]" if letter in "*?[" else letter for letter in name)


def _single(facts: Facts) -> str | None:
    """Return the only file, which has a checksum, of which rows are read."""
    sums = {file.path: file.sha256 for file in facts.files}
    paths = facts.table_paths
    return paths[0] if len(paths) == 1 and sums[paths[0]] is not None else None


def _record_sets(about: About, facts: Facts) -> list[dict[str, Any]]:
    single = _single(facts)
    if single is None:
        source: Mapping[str, Any] = {"fileSet": {"@id": _FILES}}
    else:
        source = {"fileObject": {"@id": about.names[single]}}
    name = f"{facts.item}s"
    fields = [
        {
            "@type": "cr:Field",
            "@id": f"{name}/{column}",
            "name": column,
            **described,
            "source": {**source, "extract": {"column": column}},
        }
        for column, kind in facts.columns.items()
        if (described := _data_type(kind)) is not None
    ]
    if not facts.table_paths or not fields:
        return []
    return [{"@type": "cr:RecordSet", "@id": name, "name": name, "field": fields}]


def _data_type(kind: str) -> dict[str, Any] | None:
    """Return the type of a field, from Arrow's name of it; None: Croissant has none."""
    if kind.startswith(_LIST):
        of_items = _data_type(kind.partition(": ")[2].removesuffix(">").removesuffix(" not null"))
        if of_items is None or "isArray" in of_items:
            return None
        return {**of_items, "isArray": True, "arrayShape": "-1"}
    return {"dataType": _TYPES[kind]} if kind in _TYPES else None
