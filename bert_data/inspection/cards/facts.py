"""Gather what is known of data: files, counts, columns, and where documents came from."""

import dataclasses
import os
from collections.abc import Mapping, Sequence
from typing import Any, TypedDict

import numpy as np
from numpy.typing import NDArray

from bert_data.errors import CorruptDataError
from bert_data.inspection.cards.origin_counts import OriginCounter, Origins, read_date
from bert_data.inspection.sources.items import Source
from bert_data.inspection.sources.shard_items import ShardSource, parquet_of
from bert_data.inspection.sources.stores import StoreDocumentSource
from bert_data.inspection.sources.texts import TextSource
from bert_data.progress import progress
from bert_data.storage import FormatHeader, escape, exists, file_size, glob, read_json
from bert_data.text.documents import TextConfig
from bert_data.text.formats import find_format, read_documents
from bert_data.tokens.places import places_of_documents
from bert_data.tokens.provenance import COLUMNS, GROUP_ROWS, text_array
from bert_data.tokens.store import TokenStore, open_store
from bert_data.tokens.store_files import read_notes, store_paths
from bert_data.tokens.verifying import open_origins

TOKENS, BYTES = "tokens", "bytes of text"
"""Units of volume."""
JSONL, PARQUET, LINES, BINARY = (
    "application/jsonlines",
    "application/x-parquet",
    "text/plain",
    "application/octet-stream",
)
"""Media types, as Croissant has them."""

DATE = "date as text"
"""The type of a column of texts, each of which is a date."""

_CURATION = "bert_data curation"
_TYPES = {str: "string", bool: "bool", int: "int64", float: "double"}


@dataclasses.dataclass(frozen=True, kw_only=True)
class DataFile:
    """A file of the data."""

    path: str
    num_bytes: int
    sha256: str | None = None


@dataclasses.dataclass(frozen=True, kw_only=True)
class Facts:
    """Known facts about data.

    Attributes:
      kind: what it is, such as "documents of text".
      item: what `num_items` counts: "document", "record" or "sample".
      num_items: None: not known.
      table_paths: files whose rows have `columns`, of one media type; (): rows cannot be read.
      columns: names, and types as Arrow prints them.
      counts: further figures, by name.
      settings: what made it.
      unit: of volumes.
      origins: None: nothing says where documents came from.
      steps: of curation: name, documents and bytes of text after it, and documents it rejected by
        each rule.
      num_tokens: None: not known.
    """

    kind: str
    item: str
    num_items: int | None
    files: Sequence[DataFile]
    media_type: str
    table_paths: Sequence[str]
    columns: Mapping[str, str]
    counts: Mapping[str, int]
    settings: Mapping[str, Any]
    unit: str
    origins: Origins | None
    steps: Sequence["StepFacts"] = ()
    num_tokens: int | None = None
    vocabulary: tuple[int, str] | None = None

    @property
    def num_bytes(self) -> int:
        """Bytes of all files."""
        return sum(file.num_bytes for file in self.files)


class StepFacts(TypedDict):
    """A step of curation, in its summary."""

    label: str
    num_documents: int
    num_bytes: int
    num_tokens: int
    num_rejected: int
    rejected: dict[str, int]


class _CuratedFile(TypedDict):
    name: str
    sha256: str


class _CurationFacts(TypedDict):
    files: list[_CuratedFile]
    counts: list[StepFacts]


def gather(
    source: Source, text: TextConfig, fields: Mapping[str, str], counter: OriginCounter
) -> Facts:
    """Read data, and return what is known of it.

    Args:
      fields: names of the documents' fields by what they are: "url", "language" and so on.
    """
    if isinstance(source, StoreDocumentSource):
        return _of_stores(source, counter)
    if isinstance(source, TextSource):
        return _of_texts(source.paths, text, fields, counter)
    if isinstance(source, ShardSource):
        return _of_shards(source)
    raise ValueError(
        f"{source.names[0]} holds {source.description.kind}; a card describes documents, token"
        " stores or records"
    )


def _of_stores(source: StoreDocumentSource, counter: OriginCounter) -> Facts:
    counts = {"documents": 0, "sequences": 0, "tokens": 0}
    all_notes = [read_notes(prefix) for prefix in source.names]
    with progress("read where documents came from", total=source.count(), unit="document") as done:
        for prefix, notes in zip(source.names, all_notes, strict=True):
            store = open_store(prefix, with_ids=False)
            for name, number in (
                ("documents", store.num_documents),
                ("sequences", int(store.lengths.size)),
                ("tokens", int(store.ids.size)),
            ):
                counts[name] += number
            origins = open_origins(prefix, store, notes)
            if origins is None:
                counter.add_silent(store.num_documents, int(store.ids.size))
                continue
            for start in range(0, store.num_documents, GROUP_ROWS):
                stop = min(start + GROUP_ROWS, store.num_documents)
                volumes = _tokens_of(store, start, stop)
                at = 0
                for batch in origins.batches(start, stop):
                    columns = dict(zip(batch.schema.names, batch.columns, strict=True))
                    counter.add(columns, volumes[at : at + batch.num_rows])
                    at += batch.num_rows
                done(stop - start)
    known = [notes for notes in all_notes if notes is not None]
    if len(known) == len(all_notes):
        for name in ("num_sentences", "num_unknown", "num_bytes"):
            total = sum(notes.counts.get(name, 0) for notes in known)
            counts[_WORDS_OF_COUNTS[name]] = total
    paths = [path for prefix in source.names for path in store_paths(prefix) if exists(path)]
    tables = [path for path in paths if path.endswith(".provenance")]
    described = source.description
    return Facts(
        kind=described.kind,
        item="document",
        num_items=counts.pop("documents"),
        files=_files(paths),
        media_type=PARQUET,
        table_paths=tables,
        columns={name: "int64" if name == "row" else "string" for name in COLUMNS},
        counts=counts,
        settings={k: v for k, v in _flat(described.settings).items() if ".num_" not in k},
        unit=TOKENS,
        origins=counter.result(),
        num_tokens=counts["tokens"],
        vocabulary=_vocabulary(described.vocab_size, described.vocab_sha256),
    )


_WORDS_OF_COUNTS = {
    "num_sentences": "sentences",
    "num_unknown": "tokens [UNK]",
    "num_bytes": BYTES,
}


def _tokens_of(store: TokenStore, start: int, stop: int) -> NDArray[np.int64]:
    """Return the tokens of documents `start` to `stop`."""
    bounds = store.documents[start : stop + 1]
    num_sequences, end = store.lengths.size, store.ids.size * store.ids.itemsize
    inside = np.minimum(bounds, max(num_sequences - 1, 0))
    offsets = store.offsets[inside] if num_sequences else np.zeros(bounds.size, np.int64)
    places = np.where(bounds < num_sequences, offsets, end)
    return (np.diff(places) // store.ids.itemsize).astype(np.int64)


def _of_texts(
    paths: Sequence[str], text: TextConfig, fields: Mapping[str, str], counter: OriginCounter
) -> Facts:
    files = _files(paths)
    total = sum(file.num_bytes for file in files)
    kinds: dict[str, set[type]] = {}
    dates_only = True
    with progress("read documents", total=total, unit="B") as done:
        for block in read_documents(paths, dataclasses.replace(text, keep_fields=True)):
            texts = (each.whole_text.encode(errors="replace") for each in block.documents)
            volumes = np.array([*map(len, texts)], np.int64)
            columns = places_of_documents(block, np.empty(0, np.int64), fields).columns
            counter.add({name: text_array(each) for name, each in columns.items()}, volumes)
            for document in block.documents:
                for name, value in (document.fields or {}).items():
                    kinds.setdefault(name, set()).add(type(value))
            dates = filter(None, columns.get("date", ()))
            dates_only = dates_only and all(read_date(date) is not None for date in dates)
            done(block.num_file_bytes)
    media_type, types = _columns_of_texts(paths, text, kinds)
    if dates_only and types.get(fields["date"]) == "string":
        types[fields["date"]] = DATE
    origins = counter.result()
    facts = Facts(
        kind="documents of text",
        item="document",
        num_items=origins.num_documents,
        files=files,
        media_type=media_type,
        table_paths=paths if types else (),
        columns=types,
        counts={BYTES: origins.volume},
        settings={},
        unit=BYTES,
        origins=origins,
    )
    summary = _find_summary(paths)
    return facts if summary is None else _with_summary(facts, summary)


def _with_summary(facts: Facts, summary: _CurationFacts) -> Facts:
    """Add what the summary of curation says of its files."""
    sums = {file["name"]: file["sha256"] for file in summary["files"]}
    files = [
        dataclasses.replace(file, sha256=sums[os.path.basename(file.path)]) for file in facts.files
    ]
    steps = summary["counts"]
    num_tokens = steps[-1]["num_tokens"] if len(files) == len(sums) else 0
    return dataclasses.replace(
        facts, kind="curated documents", files=files, steps=steps, num_tokens=num_tokens or None
    )


def _columns_of_texts(
    paths: Sequence[str], text: TextConfig, kinds: Mapping[str, set[type]]
) -> tuple[str, dict[str, str]]:
    """Return the media type of files, and the types of their columns; {}: they have none."""
    name = find_format(paths, text).name
    if name == "parquet":
        return PARQUET, _columns_of_parquet(paths[0])
    if name != "jsonl":
        return LINES if name == "lines" else BINARY, {}
    columns = {text.text_field: "string"}
    for field, types in kinds.items():
        of_values = types - {type(None)}
        if of_values == {int, float}:
            of_values = {float}
        if len(of_values) == 1:
            kind = of_values.pop()
            if kind in _TYPES:
                columns[field] = _TYPES[kind]
    return JSONL, columns


def _columns_of_parquet(path: str) -> dict[str, str]:
    with parquet_of(path) as file:
        return {field.name: str(field.type) for field in file.schema_arrow}


def _find_summary(paths: Sequence[str]) -> _CurationFacts | None:
    """Return the summary of the run of curation that wrote files, if there is one beside them."""
    names = {os.path.basename(path) for path in paths}
    for folder in dict.fromkeys(map(os.path.dirname, paths)):
        for path in glob(os.path.join(escape(folder), "curation.*.json")):
            try:
                if read_json(path, FormatHeader).format != _CURATION:
                    continue
                summary = read_json(path, _CurationFacts)
            except CorruptDataError:
                continue
            if names <= {file["name"] for file in summary["files"]}:
                return summary
    return None


def _of_shards(source: ShardSource) -> Facts:
    described, paths = source.description, source.paths
    settings = _flat(described.settings)
    counts = {}
    for key in [key for key in settings if ".num_" in key]:
        part, _, name = key.partition(".num_")
        if name != part:  # which `num_items` says
            words = "bytes" if name == "bytes" else name.replace("_", " ")
            counts[f"{part}: {words}"] = settings.pop(key)
    num_tokens = counts.get("text: tokens")
    is_parquet = settings.get("output_format") == "parquet" or paths[0].endswith(".parquet")
    return Facts(
        kind=described.kind,
        item=described.unit,
        num_items=source.count(),
        files=_files(paths),
        media_type=PARQUET if is_parquet else BINARY,
        table_paths=paths if is_parquet else (),
        columns=_columns_of_parquet(paths[0]) if is_parquet else {},
        counts=counts,
        settings=settings,
        unit=TOKENS,
        origins=None,
        num_tokens=num_tokens if isinstance(num_tokens, int) else None,
        vocabulary=_vocabulary(described.vocab_size, described.vocab_sha256),
    )


def _files(paths: Sequence[str]) -> list[DataFile]:
    return [DataFile(path=path, num_bytes=file_size(path)) for path in paths]


def _vocabulary(size: int | None, sha256: str | None) -> tuple[int, str] | None:
    return None if size is None or sha256 is None else (size, sha256)


def _flat(values: Mapping[str, Any], prefix: str = "") -> dict[str, Any]:
    flat: dict[str, Any] = {}
    for name, value in values.items():
        if isinstance(value, Mapping):
            flat |= _flat(value, f"{prefix}{name}.")
        else:
            flat[prefix + name] = value
    return flat
