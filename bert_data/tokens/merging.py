"""Merges token stores into one store of all their documents, in the order of the stores.

Ids are copied, offsets and bounds shifted. Merging the stores of a text's partitions gives the
store of the whole text, byte for byte.
"""

import dataclasses
import functools
import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

import numpy as np
from absl import logging
from numpy.typing import NDArray
from zlib_ng.zlib_ng import crc32

from bert_data.progress import progress
from bert_data.storage import OutputSet, real_path
from bert_data.tokens.provenance import (
    COLUMNS,
    Provenance,
    ProvenanceRule,
    ProvenanceWriter,
    write_provenance,
)
from bert_data.tokens.special_tokens import sum_counts
from bert_data.tokens.store import StoreShape, TokenStore, open_store
from bert_data.tokens.store_config import MEGATRON
from bert_data.tokens.store_files import (
    IS_EMPTY,
    StoreNotes,
    check_files,
    commit_store,
    noted_words,
    obsolete_files,
    read_notes,
    store_paths,
    without_mark,
)
from bert_data.tokens.store_writer import StoreWriter
from bert_data.tokens.verifying import check_sums, compare_sum, open_provenance


def merge_stores(
    prefixes: Sequence[str], output_prefix: str, *, overwrite: bool = False
) -> StoreNotes | None:
    """Merge stores in the order given; return the notes, or None if one of them has none."""
    stores = [open_store(prefix) for prefix in prefixes]  # a missing one is the first error
    if len(prefixes) < 2:
        raise ValueError(f"{len(prefixes)} token store cannot be merged; name two or more")
    places = [real_path(prefix) for prefix in prefixes]
    for number, place in enumerate(places):
        if place in places[:number]:
            raise ValueError(f"{prefixes[number]} appears twice among the stores to merge")
    if real_path(output_prefix) in places:
        raise ValueError(f"output_prefix {output_prefix!r} is one of the stores to merge")
    notes = [read_notes(prefix) for prefix in prefixes]
    _check_kinds(prefixes, stores, notes)
    known = [each for each in notes if each is not None]
    is_known = len(known) == len(notes)
    provenance = [open_provenance(*each) for each in zip(prefixes, stores, notes, strict=True)]
    fields = next((each.provenance for each in known if each.provenance), {})
    rule = ProvenanceRule(fields=fields) if is_known and fields else None
    with OutputSet(
        output_prefix,
        store_paths(output_prefix),
        reads=[path for prefix in prefixes for path in store_paths(prefix)],
        overwrite=overwrite,
        obsolete=functools.partial(
            obsolete_files, output_prefix, has_notes=is_known, has_provenance=bool(rule)
        ),
    ) as outputs:
        prefix = os.path.join(outputs.work_dir, "store")
        total = sum(store.ids.nbytes for store in stores)
        spans = [StoreSpan(prefix=source) for source in prefixes]
        with progress("merge", total=total, unit="B") as advance:
            writer = StoreWriter(prefix, stores[0].ids.dtype, StoreShape(empty_documents=MEGATRON))
            with write_provenance(writer, rule) as written:
                join_spans(spans, writer, stores=stores, advance=advance)
                if written is not None:
                    _join_provenance(prefixes, stores, provenance, written)
        merged = None
        if is_known:
            merged = dataclasses.replace(
                _merge_notes(known),
                files=writer.files,
                side_files={} if written is None else written.files,
                provenance={} if rule is None else rule.fields,
            )
        else:
            logging.warning("%s: has no notes, as one of the stores has none", output_prefix)
        commit_store(outputs, output_prefix, prefix, merged)
    return merged


def _join_provenance(
    prefixes: Sequence[str],
    stores: Sequence[TokenStore],
    provenance: Sequence[Provenance | None],
    written: ProvenanceWriter,
) -> None:
    for prefix, store, each in zip(prefixes, stores, provenance, strict=True):
        if each is None:
            logging.warning("%s does not say where its documents came from", prefix)
            written.add_rows(store.num_documents, {})
            continue
        for table in each.groups():
            columns = {name: table.column(name).chunk(0) for name in COLUMNS}
            written.add_rows(table.num_rows, columns)


def _check_kinds(
    prefixes: Sequence[str], stores: Sequence[TokenStore], notes: Sequence[StoreNotes | None]
) -> None:
    kinds = []
    for prefix, store, noted in zip(prefixes, stores, notes, strict=True):
        store.refuse_modes(prefix)
        if not store.ids.size:
            raise ValueError(f"{prefix}: the token store has no token")
        kind: dict[str, Any] = {"dtype": store.ids.dtype.name}
        if noted is not None:
            check_files(prefix, noted)
            check_sums(prefix, noted, ["idx"])
            kind |= {"vocabulary": noted.vocabulary.sha256[:12], "level": noted.settings["level"]}
            kind |= {"end of documents": noted.settings["eod_id"]}
            kind |= {"start of documents": noted.settings.get("bos_id")}
            kind |= {"words": noted_words([noted])}
        kinds.append(kind)
        for name, value in kind.items():
            if kinds[0].get(name, value) != value:
                raise ValueError(
                    f"{prefixes[0]} and {prefix} are token stores of different kinds: {name}"
                    f" {kinds[0][name]} and {value}"
                )


def _merge_notes(notes: Sequence[StoreNotes]) -> StoreNotes:
    """Merge notes: settings that differ are null, and consecutive parts of an input become one."""
    settings = {
        name: value if all(each.settings.get(name) == value for each in notes) else None
        for name, value in notes[0].settings.items()
    }
    inputs: list[Mapping[str, Any]] = []
    for part in (part for each in notes for part in each.inputs):
        last = inputs[-1] if inputs else {}
        own = {"start": last.get("start"), "end": part.get("start")}
        follows = last.get("end") is not None and without_mark(last) == without_mark(part) | own
        if follows:
            noted = last if IS_EMPTY in part else without_mark(last)
            inputs[-1] = {**noted, "end": part.get("end")}
        else:
            inputs.append(part)
    counts = {
        name: sum(each.counts[name] for each in notes)
        for name in notes[0].counts
        if all(name in each.counts for each in notes)
    }
    without: dict[str, Any] = {}
    if settings.get("without_documents"):
        found = sorted({number for each in notes for number in each.without["found"]})
        num_documents = sum(each.without["num_documents"] for each in notes)
        without = {**notes[0].without, "num_found": len(found), "num_documents": num_documents}
        without["found"] = found
    ran = notes[0].tokenizer if all(n.tokenizer == notes[0].tokenizer for n in notes) else {}
    return dataclasses.replace(
        notes[0],
        settings=settings,
        inputs=inputs,
        counts=counts,
        special_tokens=sum_counts([each.special_tokens for each in notes]),
        tokenizer=ran,
        without=without,
    )


SEQUENCES, TOKENS = 1 << 18, 1 << 20  # at a time: what a processor's cache holds is written faster

Piece = tuple[NDArray[Any], NDArray[np.int32], NDArray[np.int64]]


@dataclasses.dataclass(frozen=True, kw_only=True)
class StoreSpan:
    """Documents `start` to `stop`, exclusive, of a token store; None: to its end."""

    prefix: str
    start: int = 0
    stop: int | None = None

    @property
    def is_whole(self) -> bool:
        """Whether it is all of the store."""
        return self.start == 0 and self.stop is None


def read_pieces(store: TokenStore, start: int = 0, stop: int | None = None) -> Iterator[Piece]:
    """Yield documents in parts of whole sequences, as arguments of `StoreWriter.add`."""
    size, bounds = store.ids.itemsize, store.documents[start : None if stop is None else stop + 1]
    at, end = int(bounds[0]), int(bounds[-1])
    documents, done = bounds[1:], 0
    while at < end:
        lengths = store.lengths[at : min(at + SEQUENCES, end)]
        fitting = np.searchsorted(np.cumsum(lengths, dtype=np.int64), TOKENS, side="right")
        lengths = lengths[: max(1, int(fitting))]
        last = at + lengths.size
        first = int(store.offsets[at]) // size
        ended = int(np.searchsorted(documents, last, side="right"))
        breaks = documents[done:ended] - at
        yield store.ids[first : first + int(lengths.sum(dtype=np.int64))], lengths, breaks
        at, done = last, ended


def join_spans(
    spans: Sequence[StoreSpan],
    target: str | StoreWriter,
    *,
    stores: Sequence[TokenStore] = (),
    advance: Callable[[int], object] = lambda num_bytes: None,
) -> None:
    """Write documents of stores of one kind to a new store; no span is empty."""
    if not stores:
        opened = {prefix: open_store(prefix) for prefix in {span.prefix for span in spans}}
        stores = [opened[span.prefix] for span in spans]
    if isinstance(target, str):
        target = StoreWriter(target, stores[0].ids.dtype, StoreShape(empty_documents=MEGATRON))
    with target as writer:
        for span, store in zip(spans, stores, strict=True):
            checksum = 0
            for ids, lengths, breaks in read_pieces(store, span.start, span.stop):
                checksum = crc32(ids.data, checksum)
                writer.add(ids, lengths, breaks)
                advance(ids.nbytes)
            notes = read_notes(span.prefix) if span.is_whole else None
            if notes is not None:
                compare_sum(f"{span.prefix}.bin", checksum, notes.files["bin"])
            store.release_memory(0)
