"""Trace documents: from a token store to the steps of a run that read them, and back.

A document is found by its id, or by the row of its file, in the list beside its store; the steps by
arithmetic, see `recipes.finding`.
"""

import bisect
import dataclasses
from collections.abc import Iterator, Sequence
from typing import Annotated, Any, NamedTuple

import numpy as np

from bert_data.inspection.content import CellTable, Medium, StyledText
from bert_data.recipes.finding import Exposure, find_tokens, refuse_electra
from bert_data.recipes.recipe import Recipe
from bert_data.recipes.recipe_run import Run
from bert_data.recipes.sequences.opened_stores import Opened
from bert_data.settings import Within, check_settings
from bert_data.tokens.origins import DocumentOrigin, Provenance
from bert_data.tokens.store import TokenStore, open_store
from bert_data.tokens.store_files import expand_stores, read_notes
from bert_data.tokens.verifying import open_origins

_UNKNOWN = DocumentOrigin(*(None,) * len(DocumentOrigin._fields))
_MOST_STEPS = 20  # that are shown of a document


@dataclasses.dataclass(frozen=True, kw_only=True)
class TraceConfig:
    """What to trace.

    Attributes:
      input_file: token stores, by prefix (PREFIX@N for N partitions, or patterns), separated by
        commas; by default all of the recipe's.
      document: the id of a document; all documents with it are traced.
      row: a document by its place: FILE:ROW, rows from 1, with the file as the store names it
        (without the folders that all its files share).
      recipe: also find the steps of this training run, in YAML, that read the document.
      step: with `recipe`: the other way, the documents of this batch, from 0 over all stages.
    """

    input_file: str | None = None
    document: str | None = None
    row: str | None = None
    recipe: str | None = None
    step: Annotated[int, Within(0, 1e18)] | None = None

    def __post_init__(self) -> None:
        check_settings(self)
        given = [n for n in ("document", "row", "step") if getattr(self, n) is not None]
        if len(given) != 1:
            raise ValueError(f"set one of `document`, `row` and `step`; {len(given)} are set")
        if self.recipe is None and self.step is not None:
            raise ValueError("`step` needs `recipe`, whose batch it names")
        if self.recipe is None and self.input_file is None:
            raise ValueError(
                "set `input_file` (token stores) or `recipe`, whose stores are searched"
            )
        if self.step is not None and self.input_file is not None:
            raise ValueError("`step` names a batch of the `recipe`, without `input_file`")
        file, _, number = (self.row or "a:1").rpartition(":")
        if not (file and number.isdecimal()):
            raise ValueError(f"row is {self.row!r}; it must be FILE:ROW, such as web.jsonl:17")


class OpenedStore(NamedTuple):
    """A store; `origins` is None if it does not say where its documents came from."""

    prefix: str
    store: TokenStore
    origins: Provenance | None

    @classmethod
    def open(cls, prefix: str) -> "OpenedStore":
        """Open a store and the list beside it."""
        store = open_store(prefix, with_ids=False)
        return cls(prefix, store, open_origins(prefix, store, read_notes(prefix)))

    def origins_of(self, documents: Sequence[int]) -> dict[int, DocumentOrigin]:
        """Return where documents came from."""
        if self.origins is None:
            return dict.fromkeys(documents, _UNKNOWN)
        return self.origins.origins(documents)

    def tokens_of(self, document: int) -> range:
        """Return the tokens of a document."""
        first, stop = self.store.documents[document : document + 2].tolist()
        begin, end = (self._token(sequence) for sequence in (first, stop))
        return range(begin, end)

    def _token(self, sequence: int) -> int:
        if sequence == self.store.lengths.size:
            return int(self.store.ids.size)
        return int(self.store.offsets[sequence]) // self.store.ids.itemsize

    def documents_of(self, tokens: range) -> Iterator[tuple[int, range]]:
        """Yield the documents that have some tokens, and which of them each has."""
        while tokens:
            at = tokens.start * self.store.ids.itemsize
            sequence = int(np.searchsorted(self.store.offsets, at, side="right")) - 1
            document = int(np.searchsorted(self.store.documents, sequence, side="right")) - 1
            own = range(tokens.start, min(tokens.stop, self.tokens_of(document).stop))
            yield document, own
            tokens = range(own.stop, tokens.stop)


@dataclasses.dataclass(frozen=True, kw_only=True)
class TracedDocument:
    """A document of a store.

    Attributes:
      number: in its store, from 0.
      sequences, tokens: of the store, from the first to before the last.
      exposures: by the names of the recipe's stores that read it; None: no recipe was given.
    """

    prefix: str
    number: int
    origin: DocumentOrigin
    sequences: tuple[int, int]
    tokens: tuple[int, int]
    exposures: dict[str, list[Exposure]] | None

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
        return told


def trace_documents(config: TraceConfig) -> list[TracedDocument]:
    """Find documents in stores, and the steps of a run that read them."""
    run = None if config.recipe is None else Run(Recipe.from_file(config.recipe))
    opened = {} if run is None else _opened(run)
    if config.input_file is not None:
        prefixes = expand_stores(config.input_file.split(","))
    else:
        prefixes = list(dict.fromkeys(p for each in opened.values() for p in each.prefixes))
    stores = [OpenedStore.open(prefix) for prefix in prefixes]
    silent = [each.prefix for each in stores if each.origins is None]
    if silent:
        raise ValueError(
            f"{silent[0]} does not say where its documents came from: it was made elsewhere, before"
            " bert_data kept that, or with `no_provenance`"
        )
    traced = [
        _trace(each, number, origin, run, opened)
        for each in stores
        for number, origin in each.origins_of(_find(each, config)).items()
    ]
    if not traced:
        name = "document" if config.document is not None else "row"
        raise ValueError(
            f"{name} is {getattr(config, name)!r}; none of {len(stores):,} token stores has it,"
            f" {prefixes[0]} first"
        )
    return traced


def _opened(run: Run) -> dict[str, Opened]:
    return {each.opened.name: each.opened for stage in run.stages for each in stage.sources}


def _find(store: OpenedStore, config: TraceConfig) -> list[int]:
    assert store.origins is not None
    if config.document is not None:
        return store.origins.find_id(config.document)
    assert config.row is not None
    file, _, row = config.row.rpartition(":")
    return store.origins.find_row(file, int(row))


def _trace(
    store: OpenedStore,
    number: int,
    origin: DocumentOrigin,
    run: Run | None,
    opened: dict[str, Opened],
) -> TracedDocument:
    tokens = store.tokens_of(number)
    exposures: dict[str, list[Exposure]] = {}
    for name, each in opened.items():
        if run is not None and store.prefix in each.prefixes:
            start = int(each.splits[each.prefixes.index(store.prefix)])
            shifted = range(start + tokens.start, start + tokens.stop)
            exposures[name] = [
                found._replace(tokens=range(found.tokens.start - start, found.tokens.stop - start))
                for found in find_tokens(run, name, shifted)
            ]
    first, stop = store.store.documents[number : number + 2].tolist()
    return TracedDocument(
        prefix=store.prefix,
        number=number,
        origin=origin,
        sequences=(first, stop),
        tokens=(tokens.start, tokens.stop),
        exposures=None if run is None else exposures,
    )


class TracedTokens(NamedTuple):
    """Tokens of a batch, and the document that they are from."""

    row: int
    segment: str
    prefix: str
    document: int
    num_tokens: int
    origin: DocumentOrigin

    def as_json(self) -> dict[str, Any]:
        """Return it as JSON."""
        return {**self._asdict(), "origin": self.origin._asdict()}


def trace_step(config: TraceConfig) -> list[TracedTokens]:
    """Find the documents of a batch."""
    assert config.recipe is not None and config.step is not None
    run = Run(Recipe.from_file(config.recipe))
    place = run.place(config.step)
    if place.window == run.num_windows:
        raise ValueError(
            f"step is {config.step:,}; {config.recipe} has the {place.batch:,} steps from 0 to"
            f" {place.batch - 1:,}"
        )
    if any(first <= config.step <= last for first, last in run.recipe.skip):
        raise ValueError(f"step is {config.step:,}, which {config.recipe} skips")
    window, planned, _ = next(run.planned(place))
    refuse_electra(run.stages[window.stage])
    sources = run.stages[window.stage].sources
    plan, drawn = planned.plan, planned.drawn
    first, last = plan.batch_splits[place.in_window : place.in_window + 2].tolist()
    splits = np.arange(last + 1) if plan.row_splits is None else plan.row_splits
    stores: dict[str, OpenedStore] = {}
    found: list[tuple[int, str, str, int, int]] = []
    for row in range(first, last):
        for record in plan.records[splits[row] : splits[row + 1]].tolist():
            opened = sources[planned.of_source[record]].opened
            for segment, begins, lengths in (
                ("A", drawn.a_begins, drawn.a_lengths),
                ("B", drawn.b_begins, drawn.b_lengths),
            ):
                tokens = range(int(begins[record]), int(begins[record]) + int(lengths[record]))
                while tokens:
                    part = bisect.bisect_right(opened.splits, tokens.start) - 1
                    start, stop = opened.splits[part : part + 2].tolist()
                    prefix = opened.prefixes[part]
                    store = stores.setdefault(prefix, OpenedStore.open(prefix))
                    own = range(tokens.start - start, min(tokens.stop, stop) - start)
                    for document, some in store.documents_of(own):
                        found.append((row - first, segment, prefix, document, len(some)))
                    tokens = range(min(tokens.stop, stop), tokens.stop)
    origins = {
        prefix: store.origins_of([number for _, _, name, number, _ in found if name == prefix])
        for prefix, store in stores.items()
    }
    return [TracedTokens(*each, origins[each[2]][each[3]]) for each in found]


def show_documents(output: Medium, traced: Sequence[TracedDocument]) -> None:
    """Show documents and the steps that read them."""
    if len(traced) > 1:
        output.paragraph(StyledText(f"{len(traced):,} documents", "warning"))
    for each in traced:
        output.heading(f"document {each.number:,} of {each.prefix}")
        for name, value in each.origin._asdict().items():
            output.labelled(name, "not known" if value is None else f"{value}")
        first, stop = each.sequences
        output.labelled("sequences", f"{first:,} to {stop - 1:,}" if stop > first else "none")
        output.labelled("tokens", f"{each.tokens[1] - each.tokens[0]:,}, from {each.tokens[0]:,}")
        for name, found in (each.exposures or {}).items():
            _show_steps(output, name, found)
        if each.exposures == {}:
            output.paragraph("no stage reads this store")


def _show_steps(output: Medium, name: str, found: Sequence[Exposure]) -> None:
    steps = sorted({exposure.step for exposure in found})
    output.labelled("read as", f"{name}, at {len(steps):,} steps")
    rows = [
        (
            f"{each.step:,}",
            str(each.stage + 1),
            str(each.row),
            f"{each.columns.start}-{each.columns.stop - 1}" if each.columns else "-",
            each.segment,
            f"{each.tokens.start:,}-{each.tokens.stop - 1:,}",
        )
        for each in found[:_MOST_STEPS]
    ]
    if rows:
        head = ("step", "stage", "row", "columns", "segment", "tokens")
        output.table(CellTable(head=head, rows=rows, is_text=(3, 4, 5)))
    if len(found) > _MOST_STEPS:
        output.paragraph(f"and {len(found) - _MOST_STEPS:,} more, which the output as JSON has")


def show_step(output: Medium, found: Sequence[TracedTokens]) -> None:
    """Show the documents of a batch."""
    rows = [
        (
            str(each.row),
            each.segment,
            f"{each.num_tokens:,}",
            f"{each.prefix} {each.document:,}",
            each.origin.id or "-",
            f"{each.origin.file}:{each.origin.row}" if each.origin.file else "not known",
            each.origin.source or "-",
            each.origin.license or "-",
        )
        for each in found
    ]
    head = ("row", "segment", "tokens", "document", "id", "from", "source", "license")
    output.table(CellTable(head=head, rows=rows, is_text=(1, 3, 4, 5, 6, 7)))
