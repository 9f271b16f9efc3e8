"""Trace batches and records to the documents that they hold; see `traced_documents`."""

import bisect
import itertools
import os
from collections.abc import Sequence

import numpy as np
from absl import logging

from bert_data.inspection.configs import SourceConfig, TraceConfig
from bert_data.inspection.sources.instances import InstanceSource
from bert_data.inspection.sources.opening import expand_records, open_source
from bert_data.inspection.sources.recipe_batches import find_step
from bert_data.inspection.tracing.recipe_sets import open_recipe_set
from bert_data.inspection.tracing.text_search import Phrase
from bert_data.inspection.tracing.traced_documents import OpenedStore, TracedTokens, no_document_of
from bert_data.recipes.finding import find_sequence, stretches
from bert_data.recipes.recipe import Recipe
from bert_data.recipes.recipe_run import Run
from bert_data.recipes.stage_run import Planned, StageRun
from bert_data.schema.fields import INPUT_IDS, SEGMENT_IDS
from bert_data.tokens.store_files import expand_stores

_MOST_HOLDERS = 100  # documents that are listed of a segment


def trace_step(config: TraceConfig) -> list[TracedTokens]:
    """Find the documents of a batch."""
    assert config.recipe is not None and config.step is not None
    run, place = find_step(config.recipe, config.step)
    window, planned, _ = next(run.planned(place))
    plan = planned.plan
    first, last = plan.batch_splits[place.in_window : place.in_window + 2].tolist()
    splits = np.arange(last + 1) if plan.row_splits is None else plan.row_splits
    rows = np.repeat(np.arange(last - first), np.diff(splits[first : last + 1])).tolist()
    places = range(int(splits[first]), int(splits[last]))
    return _tokens_of(run.stages[window.stage], planned, rows, places)


def trace_record(config: TraceConfig) -> list[TracedTokens]:
    """Find the documents of a record; `row` is its number in the set, or in its shard."""
    assert config.input_file is not None and config.record is not None
    if config.stores is not None:
        return _search(config.input_file, config.record, expand_stores(config.stores.split(",")))
    assert config.recipe is not None
    run = Run(Recipe.from_file(config.recipe))
    records = open_recipe_set(config.input_file, run, config.recipe)
    sequence = records.sequence_of(config.record)
    planned, place = find_sequence(run, records.stage, sequence)
    *_, number = records.place_of(sequence)
    return _tokens_of(run.stages[records.stage], planned, [number], range(place, place + 1))


def _search(names: str, record: str, prefixes: Sequence[str]) -> list[TracedTokens]:
    """Search stores for the segments of a record, which lie in one piece in the reference's."""
    shard, _, number = record.rpartition(":")
    paths = expand_records(names)
    own = [path for path in paths if os.path.basename(path) == os.path.basename(shard)]
    if not number.isdecimal() or (shard and not own):
        raise ValueError(
            f"record is {record!r}; it must be a number, or SHARD:N, such as"
            f" {os.path.basename(paths[0])}:17"
        )
    source = open_source(SourceConfig(input_file=",".join(own) if shard else names))
    if not isinstance(source, InstanceSource):
        raise ValueError(
            f"{paths[0]} holds no records of masked words; their segments are searched"
        )
    item = next(source.read([int(number)]), None)
    if item is None:
        raise ValueError(f"record is {record!r}; {shard or names} has no such record")
    ids, is_b = source.ids_of(item)[INPUT_IDS.name], item.fields[SEGMENT_IDS.name] == 1
    segments = [("A", ids[~is_b][1:-1]), ("B", ids[is_b][:-1])]  # without [CLS] and [SEP]
    found: list[TracedTokens] = []
    for prefix in prefixes:
        store = OpenedStore.open(prefix, with_ids=True)
        for segment, tokens in segments:
            held = (list(store.documents_of(at)) for at in Phrase((tokens,)).find(store.store.ids))
            holders = dict.fromkeys(own[0][0] for own in held if len(own) == 1)
            numbers = list(itertools.islice(holders, _MOST_HOLDERS))
            if len(holders) > len(numbers):
                sentence = "%s: %s documents hold segment %s; the first %d are shown"
                logging.warning(sentence, prefix, f"{len(holders):,}", segment, len(numbers))
            found += (
                TracedTokens(int(number), segment, prefix, document, tokens.size, origin)
                for document, origin in store.origins_of(numbers).items()
            )
    if not found:
        raise ValueError(
            f"record is {record!r}; {no_document_of(prefixes)} has the text of its segments"
        )
    return sorted(found, key=lambda each: each.segment)


def _tokens_of(
    stage: StageRun, planned: Planned, rows: Sequence[int], places: range
) -> list[TracedTokens]:
    """Return the documents of planned sequences, each of which is in a row."""
    records = planned.plan.records[places.start : places.stop]
    stores: dict[str, OpenedStore] = {}
    found: list[tuple[int, int, str, str, int, int]] = []
    for number, source in enumerate(stage.sources):
        here, opened = np.flatnonzero(planned.of_source[records] == number), source.opened
        columns = stretches(source, planned.drawn.take(records[here]))
        for sequence, begin, length, is_b, column in zip(
            *map(np.ndarray.tolist, columns), strict=True
        ):
            tokens = range(begin, begin + length)
            while tokens:
                part = bisect.bisect_right(opened.splits, tokens.start) - 1
                start, stop = opened.splits[part : part + 2].tolist()
                prefix = opened.prefixes[part]
                if prefix not in stores:
                    stores[prefix] = OpenedStore.open(prefix)
                own = range(tokens.start - start, min(tokens.stop, stop) - start)
                at, of_part = int(here[sequence]), column + tokens.start - begin
                for document, some in stores[prefix].documents_of(own):
                    found.append((at, of_part, "AB"[is_b], prefix, document, len(some)))
                    of_part += len(some)
                tokens = range(min(tokens.stop, stop), tokens.stop)
    origins = {
        prefix: store.origins_of([number for *_, name, number, _ in found if name == prefix])
        for prefix, store in stores.items()
    }
    return [
        TracedTokens(rows[at], segment, prefix, document, size, origins[prefix][document])
        for at, _, segment, prefix, document, size in sorted(found)
    ]
