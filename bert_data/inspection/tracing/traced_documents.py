"""Trace documents: from a token store to the steps of a run, and to the records, that hold them.

A document is found by its id, by the row of its file, in the list beside its store, or by its text;
the steps by arithmetic, see `recipes.finding`. `traced_batches` goes the other way.
"""

import bisect
import dataclasses
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol, TypeVar

import numpy as np
from absl import logging

from bert_data.errors import CorruptDataError
from bert_data.inspection.configs import TraceConfig
from bert_data.inspection.tracing.text_search import Phrase, phrase_in_stores
from bert_data.recipes.finding import Exposure, find_tokens
from bert_data.recipes.recipe import Recipe
from bert_data.recipes.recipe_run import Run
from bert_data.recipes.sequences.opened_stores import Opened
from bert_data.tokens.origins import DocumentOrigin, Provenance
from bert_data.tokens.store import TokenStore, open_store
from bert_data.tokens.store_files import are_store_names, expand_stores, read_notes
from bert_data.tokens.verifying import open_origins

if TYPE_CHECKING:
    from bert_data.inspection.tracing.recipe_sets import RecipeSet

_UNKNOWN = DocumentOrigin(*(None,) * len(DocumentOrigin._fields))


class OpenedStore(NamedTuple):
    """A store; `origins` is None if it does not say where its documents came from."""

    prefix: str
    store: TokenStore
    origins: Provenance | None

    @classmethod
    def open(cls, prefix: str, *, with_ids: bool = False) -> "OpenedStore":
        """Open a store and the list beside it."""
        store = open_store(prefix, with_ids=with_ids, all_bounds=False)
        return cls(prefix, store, open_origins(prefix, store, read_notes(prefix)))

    def origins_of(self, documents: Sequence[int]) -> dict[int, DocumentOrigin]:
        """Return where documents came from."""
        if self.origins is None:
            return dict.fromkeys(documents, _UNKNOWN)
        return self.origins.origins(documents)

    def find(self, config: TraceConfig) -> list[int]:
        """Return the documents with the ids, or at the row, that are sought."""
        if self.origins is None:
            raise ValueError(
                f"{self.prefix} does not say where its documents came from: it was made elsewhere,"
                " before bert_data kept that, or with `no_provenance`"
            )
        if config.row is None:
            return self.origins.find_ids(set(config.ids()))[0].tolist()
        file, _, row = config.row.rpartition(":")
        return self.origins.find_row(file, int(row))

    def tokens_of(self, document: int) -> range:
        """Return the tokens of a document, whose bounds are checked."""
        store = self.store
        first, stop = store.documents[document : document + 2].tolist()
        if 0 <= first <= stop <= store.lengths.size:
            tokens = range(store.first_token(document), store.first_token(document + 1))
            if 0 <= tokens.start <= tokens.stop <= store.ids.size:
                return tokens
        raise self._wrong(document)

    def _wrong(self, document: int) -> CorruptDataError:
        return CorruptDataError(
            f"{self.prefix}.idx", 0, f"the bounds of document {document:,} contradict others"
        )

    def documents_of(self, tokens: range) -> Iterator[tuple[int, range]]:
        """Yield the documents that have some tokens, and which of them each has."""
        while tokens:
            at = tokens.start * self.store.ids.itemsize
            sequence = int(np.searchsorted(self.store.offsets, at, side="right")) - 1
            document = int(np.searchsorted(self.store.documents, sequence, side="right")) - 1
            known = self.tokens_of(document)
            if tokens.start not in known:
                raise self._wrong(document)
            own = range(tokens.start, min(tokens.stop, known.stop))
            yield document, own
            tokens = range(own.stop, tokens.stop)


class Found(NamedTuple):
    """A document of a store, and its tokens there."""

    store: OpenedStore
    number: int
    origin: DocumentOrigin
    tokens: range

    def traced(self) -> "TracedDocument":
        """Return what is known of it by its store alone."""
        first, stop = self.store.store.documents[self.number : self.number + 2].tolist()
        return TracedDocument(
            prefix=self.store.prefix,
            number=self.number,
            origin=self.origin,
            sequences=(first, stop),
            tokens=(self.tokens.start, self.tokens.stop),
        )


class _Located(Protocol):
    @property
    def origin(self) -> DocumentOrigin:
        """Origin of the document."""


_Any = TypeVar("_Any", bound=_Located)


def only_nearest(found: list[_Any], config: TraceConfig) -> list[_Any]:
    """Leave out documents of other stores, or parts, that are farther before the row sought."""
    nearest = max((each.origin.row or 0 for each in found), default=0)
    is_row = config.row is not None
    return [each for each in found if not is_row or each.origin.row == nearest]


def found_documents(found: list[_Any], config: TraceConfig) -> list[_Any]:
    """Leave out documents as `only_nearest`; warn if the row sought is behind their first one."""
    found = only_nearest(found, config)
    if found and config.row is not None and not config.row.endswith(f":{found[0].origin.row}"):
        logging.warning(
            "no document begins in row %s; the last one before begins in row %s",
            config.row,
            found[0].origin.row,
        )
    return found


def no_document_of(prefixes: Sequence[str]) -> str:
    """Return the subject of the sentence that no document of stores has something."""
    if len(prefixes) == 1:
        return f"no document of {prefixes[0]}"
    return f"no document of the {len(prefixes):,} token stores {prefixes[0]} to {prefixes[-1]}"


class HoldingRecord(NamedTuple):
    """Tokens of a document in a record: of which shard, its number there, and in the set."""

    shard: str
    place: int
    record: int
    segment: str
    columns: range
    tokens: range


class TracedTokens(NamedTuple):
    """Tokens of a batch, or of a record, and the document that they are from."""

    row: int
    segment: str
    prefix: str
    document: int
    num_tokens: int
    origin: DocumentOrigin

    def as_json(self) -> dict[str, Any]:
        """Return it as JSON."""
        return {**self._asdict(), "origin": self.origin._asdict()}


@dataclasses.dataclass(frozen=True, kw_only=True)
class TracedDocument:
    """A document of a store.

    Attributes:
      number: in its store, from 0.
      sequences, tokens: of the store, from the first to before the last; a set's own text has no
        sequences, and its documents count their tokens from 0.
      exposures: by the names of the recipe's stores that read it; None: no recipe was given.
      records: of a set that hold it; None: no set was given.
    """

    prefix: str
    number: int
    origin: DocumentOrigin
    sequences: tuple[int, int] | None
    tokens: tuple[int, int]
    exposures: dict[str, list[Exposure]] | None = None
    records: list[HoldingRecord] | None = None

    def as_json(self) -> dict[str, Any]:
        """Return it as JSON."""
        own = {name: getattr(self, name) for name in ("prefix", "number", "sequences", "tokens")}
        told: dict[str, Any] = {**own, **self.origin._asdict()}
        if self.exposures is not None:
            told["read"] = [
                {
                    "store": name,
                    "step": each.step,
                    "stage": each.stage + 1,
                    "row": each.row,
                    "columns": [each.columns.start, each.columns.stop],
                    "segment": each.segment,
                    "tokens": [each.tokens.start, each.tokens.stop],
                }
                for name, found in self.exposures.items()
                for each in found
            ]
        if self.records is not None:
            told["records"] = [
                {k: [v.start, v.stop] if isinstance(v, range) else v for k, v in own.items()}
                for own in map(HoldingRecord._asdict, self.records)
            ]
        return told


def trace_documents(config: TraceConfig) -> list[TracedDocument]:
    """Find documents in stores, and the steps of a run, or the records, that hold them."""
    run = None if config.recipe is None else Run(Recipe.from_file(config.recipe))
    opened = {} if run is None else _opened(run)
    records, prefixes = None, []
    if config.input_file is not None and are_store_names(config.input_file.split(",")):
        prefixes = expand_stores(config.input_file.split(","))
    elif config.input_file is not None:
        assert run is not None
        from bert_data.inspection.tracing.recipe_sets import (
            open_recipe_set,  # with what reads records
        )

        records = open_recipe_set(config.input_file, run, str(config.recipe))
        opened = {each.opened.name: each.opened for each in run.stages[records.stage].sources}
    if not prefixes:
        prefixes = list(dict.fromkeys(p for each in opened.values() for p in each.prefixes))
    phrase = None
    if config.text is not None:
        vocabulary = config.vocab_file
        if vocabulary is None:
            assert run is not None
            vocabulary = run.recipe.vocab_file or run.recipe.tokenizer_file
        assert vocabulary is not None
        phrase = phrase_in_stores(config.text, vocabulary, prefixes)
    stores = [OpenedStore.open(prefix, with_ids=phrase is not None) for prefix in prefixes]
    found = find_documents(stores, config, phrase)
    exposures = None if run is None else _expose(run, opened, found)
    traced = [each.traced() for each in found]
    if exposures is None:
        return traced
    return [
        dataclasses.replace(
            each, exposures=own, records=None if records is None else _records(records, own)
        )
        for each, own in zip(traced, exposures, strict=True)
    ]


def _opened(run: Run) -> dict[str, Opened]:
    return {each.opened.name: each.opened for stage in run.stages for each in stage.sources}


def find_documents(
    stores: Sequence[OpenedStore], config: TraceConfig, phrase: Phrase | None = None
) -> list[Found]:
    """Find the documents, and say which of many are missing."""
    names, found = config.ids(), list[Found]()
    for store in stores:
        if phrase is not None:
            held = (list(store.documents_of(at)) for at in phrase.find(store.store.ids))
            numbers = list({own[0][0]: None for own in held if len(own) == 1})
        else:
            numbers = store.find(config)
        found += (
            Found(store, number, origin, store.tokens_of(number))
            for number, origin in store.origins_of(numbers).items()
        )
    found = found_documents(found, config)
    known = {each.origin.id for each in found}
    where = f"{no_document_of([store.prefix for store in stores])} has it"
    missing = [name for name in names if name not in known]
    if missing and found:
        others = f" and {len(missing) - 1:,} more" if missing[1:] else ""
        logging.warning("%s has %r%s; %s", config.documents, missing[0], others, where)
    if not found:
        raise ValueError(f"{config.sought} is {getattr(config, config.sought)!r}; {where}")
    return found


def _expose(
    run: Run, opened: Mapping[str, Opened], found: Sequence[Found]
) -> list[dict[str, list[Exposure]]]:
    """Return by the names of stores what a run reads of each document."""
    exposures: list[dict[str, list[Exposure]]] = [{} for _ in found]
    for name, each in opened.items():
        starts = dict(zip(each.prefixes, each.splits.tolist(), strict=False))
        own = sorted(
            (starts[document.store.prefix] + document.tokens.start, number)
            for number, document in enumerate(found)
            if document.store.prefix in starts and document.tokens
        )
        for number, document in enumerate(found):
            if document.store.prefix in starts:
                exposures[number][name] = []
        begins = [begin for begin, _ in own]
        wanted = [range(begin, begin + len(found[number].tokens)) for begin, number in own]
        for exposure in find_tokens(run, name, wanted) if wanted else ():
            number = own[bisect.bisect_right(begins, exposure.tokens.start) - 1][1]
            start = starts[found[number].store.prefix]
            tokens = range(exposure.tokens.start - start, exposure.tokens.stop - start)
            exposures[number][name].append(exposure._replace(tokens=tokens))
    return exposures


def _records(records: "RecipeSet", exposures: Mapping[str, list[Exposure]]) -> list[HoldingRecord]:
    """Return the records of a set that hold a document."""
    return [
        HoldingRecord(*records.place_of(each.sequence), each.segment, each.columns, each.tokens)
        for found in exposures.values()
        for each in found
        if each.stage == records.stage
    ]
