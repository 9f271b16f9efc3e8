"""Trace documents to the records that `create` made of them, and records to their documents.

The files beside the shards say where each record begins in the text, see
`datasets.record_origins`.
"""

import collections
import itertools
import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import NamedTuple

import numpy as np
from absl import logging

from bert_data.datasets.manifest import origins_path
from bert_data.datasets.record_origins import ListedDocument, RecordOrigins, read_documents
from bert_data.errors import CorruptDataError
from bert_data.inspection.configs import SourceConfig, TraceConfig
from bert_data.inspection.sources.instances import InstanceSource
from bert_data.inspection.sources.opening import expand_records, open_source
from bert_data.inspection.tracing.recipe_sets import SetShards
from bert_data.inspection.tracing.text_search import phrase_of
from bert_data.inspection.tracing.traced_documents import (
    HoldingRecord,
    OpenedStore,
    TracedDocument,
    TracedTokens,
    found_documents,
    only_nearest,
)
from bert_data.schema.fields import INPUT_IDS
from bert_data.storage import exists
from bert_data.tokens.origins import DocumentOrigin
from bert_data.tokens.store_files import read_notes


class _Listed(NamedTuple):
    """A document of a set's text.

    Attributes:
      list_path: of the stream's list of documents.
      prefix, number: of the store that it is in, or of the list.
      tokens: of the store, or of the document.
      begin: the first of them in the text of the stream.
    """

    list_path: str
    prefix: str
    number: int
    origin: DocumentOrigin
    tokens: range
    begin: int


class _Text:
    """The documents of a stream of random numbers, by its list."""

    def __init__(self, path: str) -> None:
        self._path = path
        self._stores: dict[str, OpenedStore] = {}

    def _lines(self) -> Iterator[tuple[int, int, ListedDocument]]:
        return ((number, *line) for number, line in enumerate(read_documents(self._path)))

    def _listed(self, number: int, begin: int, line: ListedDocument) -> _Listed:
        origin = DocumentOrigin(*(getattr(line, name) for name in DocumentOrigin._fields))
        return _Listed(self._path, self._path, number, origin, range(line.tokens), begin)

    def _store(self, line: ListedDocument) -> OpenedStore:
        prefix = str(line.store)
        if prefix not in self._stores:
            beside = os.path.join(os.path.dirname(self._path), os.path.basename(prefix))
            place = next((p for p in (prefix, beside) if exists(f"{p}.idx")), None)
            if place is None:
                raise ValueError(
                    f"{prefix} is not there, nor is it beside {self._path}: the token store that"
                    " the records were made from"
                )
            notes = read_notes(place)
            if notes is not None and line.crc32 not in (None, notes.files["idx"].crc32):
                raise CorruptDataError(
                    f"{place}.idx", 0, f"of another store than that of {self._path}"
                )
            self._stores[prefix] = OpenedStore.open(place)
        return self._stores[prefix]

    def _stored(self, line: ListedDocument, begin: int, numbers: Sequence[int]) -> list[_Listed]:
        """Return documents of a store, whose line begins at a token of the text."""
        store = self._store(line)
        first = store.store.first_token(line.start)
        found = []
        for number, origin in store.origins_of(numbers).items():
            tokens = store.tokens_of(number)
            at = begin + tokens.start - first
            found.append(_Listed(self._path, store.prefix, number, origin, tokens, at))
        return found

    def find(self, config: TraceConfig) -> list[_Listed]:
        """Find the documents that are sought by id or row."""
        ids, found = set(config.ids()), list[_Listed]()
        file, _, row = (config.row or ":0").rpartition(":")
        numbers: dict[str, list[int]] = {}
        for number, begin, line in self._lines():
            if line.store is not None:
                if line.store not in numbers:
                    numbers[line.store] = self._store(line).find(config)
                own = [each for each in numbers[line.store] if line.start <= each < line.stop]
                found += self._stored(line, begin, own)
            elif line.id in ids:
                found.append(self._listed(number, begin, line))
            elif file and line.file == file and line.row is not None and line.row <= int(row):
                found = only_nearest([*found, self._listed(number, begin, line)], config)
        return found

    def documents_at(self, tokens: Iterable[int]) -> Iterator[tuple[int, _Listed]]:
        """Yield tokens of the text, ascending, and the document that has each."""
        pending = collections.deque(sorted(set(tokens)))
        for number, begin, line in self._lines():
            here = []
            while pending and pending[0] < begin + line.tokens:
                here.append(pending.popleft())
            if here and line.store is None:
                listed = self._listed(number, begin, line)
                yield from ((token, listed) for token in here)
            elif here:
                store = self._store(line)
                first = store.store.first_token(line.start) - begin
                holders = [
                    next(store.documents_of(range(t, t + 1)))[0]
                    for t in np.add(here, first).tolist()
                ]
                known = {e.number: e for e in self._stored(line, begin, sorted(set(holders)))}
                yield from zip(here, map(known.__getitem__, holders), strict=True)
            if not pending:
                return
        if pending:
            raise CorruptDataError(self._path, 0, "lists fewer tokens than the records have")


def _open(names: str) -> tuple[SetShards, list[RecordOrigins]]:
    paths = expand_records(names)
    silent = next((path for path in paths if not exists(origins_path(path))), None)
    if silent is not None:
        raise ValueError(
            f"{silent} does not say which documents its records come from: it is no records, or was"
            " made by a recipe (name it with `recipe`), elsewhere, before bert_data kept that, or"
            " with `no_provenance`; `record` with `stores` finds the documents of a record by their"
            " text"
        )
    folders = set(map(os.path.dirname, paths))
    origins = [RecordOrigins(path, folders) for path in paths]
    splits = itertools.accumulate((each.num_records for each in origins), initial=0)
    return SetShards(names, list(map(os.path.basename, paths)), list(splits)), origins


def trace_to_records(config: TraceConfig) -> list[TracedDocument]:
    """Find documents in the text of a set, and the records that hold them."""
    assert config.input_file is not None
    shards, origins = _open(config.input_file)
    lists = dict.fromkeys(each.documents for each in origins)
    if config.text is not None:
        held = _tokens_with_text(config, origins)
        at = ((path, dict(_Text(path).documents_at(tokens))) for path, tokens in held.items())
        found = [each for _, own in at for each in dict.fromkeys(own.values())]
    else:
        found = [document for path in lists for document in _Text(path).find(config)]
    found = found_documents(found, config)
    missing = sorted(set(config.ids()) - {each.origin.id for each in found})
    if not found:
        raise ValueError(
            f"{config.sought} is {getattr(config, config.sought)!r}; the text of"
            f" {config.input_file} has no such document"
        )
    if missing:
        others = f" and {len(missing) - 1:,} more" if missing[1:] else ""
        logging.warning("%s is no document of the set's text%s", missing[0], others)
    records: list[list[HoldingRecord]] = [[] for _ in found]
    for path in lists:
        own = sorted((each.begin, n) for n, each in enumerate(found) if each.list_path == path)
        for shard, each in enumerate(origins):
            if own and each.documents == path:
                _add_records(records, found, own, each, shards, shard)
    return [
        TracedDocument(
            prefix=each.prefix,
            number=each.number,
            origin=each.origin,
            sequences=None,
            tokens=(each.tokens.start, each.tokens.stop),
            records=sorted(own, key=lambda each: (each.record, each.segment)),
        )
        for each, own in zip(found, records, strict=True)
    ]


def _tokens_with_text(
    config: TraceConfig, origins: Sequence[RecordOrigins]
) -> Mapping[str, list[int]]:
    """Return of each list of documents the tokens where a text begins that some record holds."""
    assert config.input_file is not None and config.text is not None
    source = open_source(SourceConfig(input_file=config.input_file))
    if not isinstance(source, InstanceSource) or config.vocab_file is None:
        raise ValueError(f"{config.input_file} holds no records of masked words; use `document`")
    told = source.description
    made = (config.input_file, told.vocab_sha256, told.do_lower_case)
    phrase = phrase_of(config.text, config.vocab_file, [made])
    of_path = dict(zip(expand_records(config.input_file), origins, strict=True))
    found: dict[str, list[int]] = {each.documents: [] for each in origins}
    for item in source.stream():
        for hit in phrase.find(source.ids_of(item)[INPUT_IDS.name]):
            own = of_path[item.path]
            begins, lengths = (
                each[:, 0].tolist() for each in own.segments(slice(item.place, item.place + 1))
            )
            for begin, size, before in zip(begins, lengths, (1, lengths[0] + 2), strict=True):
                if before <= hit.start and hit.stop <= before + size:
                    found[own.documents].append(begin + hit.start - before)
    return found


def _add_records(
    records: list[list[HoldingRecord]],
    found: Sequence[_Listed],
    own: Sequence[tuple[int, int]],
    origins: RecordOrigins,
    shards: SetShards,
    shard: int,
) -> None:
    """Add the records of a shard that hold some documents, sorted by where these begin."""
    starts = np.array([begin for begin, _ in own])
    stops = starts + [len(found[number].tokens) for _, number in own]
    all_begins, all_lengths = origins.segments(slice(None))
    for is_b, (begins, lengths) in enumerate(zip(all_begins, all_lengths, strict=True)):
        which = np.searchsorted(starts, begins, side="right") - 1
        places = np.flatnonzero((which >= 0) & (begins < stops[which]) & (lengths > 0))
        for place, begin, length, before, document in zip(
            places.tolist(),
            begins[places].tolist(),
            lengths[places].tolist(),
            (is_b * (all_lengths[0, places] + 1)).tolist(),
            which[places].tolist(),
            strict=True,
        ):
            number = own[document][1]
            at = found[number].tokens.start + begin - found[number].begin
            records[number].append(
                HoldingRecord(
                    shards.shards[shard],
                    place,
                    shards.splits[shard] + place,
                    "AB"[is_b],
                    range(1 + before, 1 + before + length),
                    range(at, at + length),
                )
            )


def trace_record(config: TraceConfig) -> list[TracedTokens]:
    """Find the documents of a record."""
    assert config.input_file is not None and config.record is not None
    shards, origins = _open(config.input_file)
    record = shards.number_of(config.record)
    shard, place = shards.place(record)
    own = origins[shard]
    begins, lengths = (each[:, 0].tolist() for each in own.segments(slice(place, place + 1)))
    segments = [range(begin, begin + size) for begin, size in zip(begins, lengths, strict=True)]
    begins_of = [each.start for each in segments if each]
    documents = dict(_Text(own.documents).documents_at(begins_of))
    return [
        TracedTokens(record, name, each.prefix, each.number, len(segment), each.origin)
        for name, segment in zip("AB", segments, strict=True)
        if segment and (each := documents.get(segment.start)) is not None
    ]
