"""Mix data sets, and buckets of their documents, into one corpus, in chosen shares.

observe      sizes of each bucket; for percentiles, score and size of each document
decide       percentiles ─▶ sizes of all buckets ─▶ epochs of each
judge_shard  a draw for each document, and the copies that it means
"""

import functools
import json
from array import array
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path

import numpy as np
from absl import logging

from bert_data.curation.document import Document, Measured, Verdict
from bert_data.curation.mixing.buckets import SCORE_ARRAY, Buckets, check_number, draw, find_bounds
from bert_data.curation.mixing.mixture import (
    EVERY_SOURCE,
    TOKENS,
    MixingStep,
    MixturePlan,
    bucketed_sources,
    cell_name,
    check_buckets,
    check_sources,
    count_document,
    describe_missed_epochs,
    describe_misses,
    idle_entries,
    read_counts,
    size_of,
    split_name,
    tabulate_mixture,
)
from bert_data.curation.step import Decisions, ShardDecisions, Table, register
from bert_data.work.array_files import ArrayFile, ArrayWriter
from bert_data.work.rounds import Own, Part, Rounds, Writers

_CELLS, _SIZES = "cells", "sizes"

Bounds = Mapping[str, Sequence[float]]


@register
class Mix(MixingStep):
    """Samples and repeats documents of data sets, or of buckets of them, by weight or by epochs.

    With `epochs`, a data set with 2 epochs passes twice, one with 0.3 passes about 30% of its
    documents, and one with 2.3 passes twice and about 30% of it once more; the others pass once.
    With `weights`, each data set gets its share of the result, measured in `unit`; every data set
    needs a weight.

    A bucket is a value of `bucket_field`, such as `perplexity_bucket`, or a range of scores between
    `bucket_bounds` or `bucket_percentiles`. The entry "web/head", or head in a mapping of web, is
    for this bucket, "*/head" for that of every data set, and "web" for all other buckets of web
    together. Only data sets with an entry for a bucket need the field, or all if there is no such
    entry.

    With `exponent`, the share of each bucket of each data set is proportional to its size raised to
    this power, times its weight (1 without an entry). Multilingual BERT uses 0.7 (Devlin 2018),
    XLM-R 0.3 (Conneau et al. 2020, arXiv:1911.02116), and UniMax 0 with a budget (Chung et al.
    2023, arXiv:2304.09151); a temperature T is the exponent 1/T. With an exponent of 1, a weight is
    how often a bucket's documents pass, relative to others.

    With a `budget`, the result has this size in `unit`. No bucket passes more often than
    `most_epochs`; the others fill the rest. Up to four epochs of the same text are nearly as good
    as new text (Muennighoff et al. 2023, arXiv:2305.16264).

    The draw for a document depends on the seed, the data set and the document's id, so the
    selection depends neither on the order of files nor on other documents. The measured value is
    the document's draw in [0, 1), compared with the epochs. The share of n drawn documents deviates
    by about 1/sqrt(n). A table compares wanted and reached documents, bytes and tokens (or words,
    without a vocabulary). A warning names shares (with `epochs`, epochs of buckets) that are off by
    more than a tenth, counting buckets with one weight together, and entries without documents.

    Attributes:
      weights: share of each data set or bucket, 1e-100 to 1e100, by its name; they need not add up
        to 1. As a list on the command line: [NAME:NUMBER,NAME/BUCKET:NUMBER].
      epochs: how often each data set or bucket passes, 0 to a million, by its name.
      exponent: exponent of sizes, 0 to 10; null: shares are the weights.
      unit: unit of shares and of the budget: "bytes" (in UTF-8), "words", "documents" or "tokens".
      budget: size of the result, with weights or an exponent; null: `most_epochs` decides.
      most_epochs: largest number of epochs of a bucket, > 0, up to a million, with weights or an
        exponent; without a budget, the scarcest bucket passes that often. null: 1 without a budget,
        4 with one.
      bucket_field: field with the bucket or score; null: there are no buckets.
      bucket_bounds: ascending scores that separate buckets; a score equal to a bound belongs to the
        upper bucket.
      bucket_percentiles: the same, in percent of the documents of each data set.
      bucket_names: names of the buckets of a score, the lowest first; by default 0, 1, 2 and so on.
      seed: seed of the draws; a second step of this kind needs another one.
    """

    name = "mix"
    accepts_markup = True
    is_meant_to_shorten = True
    draws_by_seed = True
    bucket_field: str | None = None
    bucket_bounds: tuple[float, ...] = ()
    bucket_percentiles: tuple[float, ...] = ()
    bucket_names: tuple[str, ...] = ()
    seed: int = 0

    def __post_init__(self) -> None:
        super().__post_init__()
        buckets = self._buckets
        if buckets is None and bucketed_sources(self.entries):
            raise ValueError(
                f"{self.entry_field} names buckets; bucket_field must say which field has them"
            )
        if buckets is not None and buckets.is_score:
            names = (cell_name("", name) for name in buckets.score_names)
            check_buckets(self.entry_field, self.entries, list(names))

    @functools.cached_property
    def _buckets(self) -> Buckets | None:
        if self.bucket_field is None:
            if self.bucket_bounds or self.bucket_percentiles or self.bucket_names:
                raise ValueError("bucket_field is missing: name the field with the score")
            return None
        return Buckets(
            field=self.bucket_field,
            bounds=self.bucket_bounds,
            percentiles=self.bucket_percentiles,
            names=self.bucket_names,
        )

    @property
    def needs_tokens(self) -> bool:
        return self.unit == TOKENS

    def check_data_sets(self, names: Sequence[str]) -> None:
        super().check_data_sets(names)
        names = list(filter(self.judges, names))
        check_sources(self.entry_field, self.entries, names)
        if self.weights and self.exponent is None:
            in_buckets = bucketed_sources(self.weights)
            for name in names:
                if name not in self.weights and not {name, EVERY_SOURCE} & in_buckets:
                    raise ValueError(f"weights has no entry for the data set {name}")

    def _buckets_of(self, source: str) -> Buckets | None:
        """Return how the documents of a data set are divided, if they are."""
        return self._buckets if {source, EVERY_SOURCE} & self._cut_sources else None

    @functools.cached_property
    def _cut_sources(self) -> frozenset[str]:
        return bucketed_sources(self.entries) or frozenset([EVERY_SOURCE])

    def _cell_of(self, document: Document, bounds: Bounds) -> str:
        """Return the name of a document's bucket, or of its data set."""
        buckets = self._buckets_of(document.source)
        if buckets is None:
            return document.source
        cuts = bounds[document.source] if self.bucket_percentiles else self.bucket_bounds
        return cell_name(document.source, buckets.name_of(document, cuts))

    def observe(self, folder: str, documents: Iterable[Document], path: Path) -> None:
        cells: Counter[str] = Counter()
        scores, sizes = array("d"), array("q")
        for document in documents:
            size = size_of(document, self.unit)
            buckets = self._buckets_of(document.source)
            if self.bucket_percentiles and buckets is not None:
                scores.append(buckets.score_of(document))
                sizes.append(size)
                continue
            cell = self._cell_of(document, {})
            cells.update({cell: size})
            if buckets is not None:
                check_number(document.source, buckets.field, len(cells))
        with ArrayWriter(path) as writer:
            writer.arrays[_CELLS] = np.frombuffer(json.dumps(cells).encode(), np.uint8)
            if self.bucket_percentiles:
                writer.arrays |= {SCORE_ARRAY: np.array(scores), _SIZES: np.array(sizes)}

    def decide(self, rounds: Rounds) -> Decisions:
        sources = list(dict.fromkeys(part.source for part in rounds.parts))
        self.check_data_sets(sources)
        bounds: dict[str, list[float]] = {}
        if self.bucket_percentiles:
            cut = [source for source in sources if self._buckets_of(source) is not None]
            bounds = find_bounds(rounds, cut, self.bucket_percentiles)
        rounds.over_parts("sizes", functools.partial(self._read_sizes, bounds), {})
        sizes = dict(rounds.counted)
        self._check_cells(sizes)
        epochs = self.plan(sources, sizes).epochs
        for cell, each in epochs.items():
            logging.info("%s: %s is used for %.4g epochs", self.name, cell, each)
        return Decisions(notes={"epochs": epochs, "bounds": bounds})

    def _read_sizes(
        self, bounds: Bounds, part: Part, own: Own, writers: Writers
    ) -> Mapping[str, int]:
        """Return the size of each bucket of a shard, by its name."""
        observed = ArrayFile(part.path)
        cells: Counter[str] = Counter(json.loads(observed[_CELLS].tobytes()))
        if self.bucket_percentiles and part.source in bounds:
            assert self._buckets is not None
            sizes = observed[_SIZES]
            places = np.searchsorted(bounds[part.source], observed[SCORE_ARRAY], side="right")
            for place, name in enumerate(self._buckets.score_names):
                if (is_in := places == place).any():
                    cells[cell_name(part.source, name)] += int(sizes[is_in].sum())
        return cells

    def _check_cells(self, cells: Mapping[str, int]) -> None:
        if self._buckets is None:
            return
        for source, number in Counter(split_name(cell)[0] for cell in cells).items():
            check_number(source, self._buckets.field, number)
        if not self._buckets.is_score:
            check_buckets(self.entry_field, self.entries, cells)

    def judge_shard(
        self, decided: ShardDecisions, documents: Iterable[Document]
    ) -> Iterator[Verdict]:
        epochs, bounds = decided.notes["epochs"], decided.notes["bounds"]
        for document in documents:
            cell = self._cell_of(document, bounds)
            rate = epochs[cell]
            value = draw(str(self.seed), document)
            num_copies = int(rate) + (value < rate - int(rate))
            measured = Measured("epochs", value, rate, failed=num_copies == 0)
            counted = count_document(document, cell, num_copies, self.unit)
            yield Verdict(document, (measured,), counted=counted, num_copies=num_copies)

    def tabulate(self, counted: Mapping[str, int]) -> Table | None:
        reached = read_counts(counted)
        sizes = reached.before.get(self.unit)
        return tabulate_mixture(reached, self.unit, self._plan(sizes)) if sizes else None

    def describe_use(self, counted: dict[str, int]) -> str | None:
        reached = read_counts(counted)
        sizes = reached.before.get(self.unit)
        if not sizes:
            return None
        plan = self._plan(sizes)
        if self.epochs:
            misses = describe_missed_epochs(reached, self.unit, plan)
        else:
            misses = describe_misses(reached, self.unit, plan, self.budget)
        if idle := ", ".join(idle_entries(self.entries, sizes)):
            idle = f"{self.entry_field} names {idle}, of which there are no documents"
        return "; ".join(filter(None, (idle, misses))) or None

    def _plan(self, sizes: Mapping[str, int]) -> MixturePlan:
        sources = list(dict.fromkeys(split_name(cell)[0] for cell in sizes))
        names = self._buckets.score_names if self._buckets is not None else ()

        def place(cell: str) -> tuple[int, int, str]:
            source, bucket = split_name(cell)
            return sources.index(source), names.index(bucket) if bucket in names else 0, cell

        return self.plan(sources, {cell: sizes[cell] for cell in sorted(sizes, key=place)})
