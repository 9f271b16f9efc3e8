"""Batches of a recipe as NumPy arrays, for any number of hosts.

    run = Run(recipe)
    for place, batch in iterate_placed(run, start=Place(), num_hosts=2, host_index=0): ...

`recipe_source.RecipeSource` hands the same batches to tf.data.
"""

import dataclasses
from collections.abc import Iterable, Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from bert_data.objectives.masking import MaskingRule
from bert_data.objectives.masking_rules import masking_rule
from bert_data.reader.layout import PACKED as PACKED_FIELDS
from bert_data.reader.layout import (
    PLANNED,
    Arrays,
    BatchGroup,
    Layout,
    arrays_of,
    is_packed,
    layout_of,
    make_table,
    new_buffer,
)
from bert_data.reader.planning.epoch import EMPTY, Parts
from bert_data.reader.streamed import GROUP_WORDS
from bert_data.recipes.fill_kernels import Form, RowSequences, fill_batches, gather_tokens
from bert_data.recipes.recipe import FLAT, Recipe
from bert_data.recipes.recipe_run import START, Place, Run
from bert_data.recipes.spans import LAYOUT as SPAN_LAYOUT
from bert_data.recipes.spans import SpanRule, corrupt
from bert_data.recipes.stage_run import Planned, StageRun, Window
from bert_data.schema import fields
from bert_data.work.executor import work_ahead

WHOLE = Parts(1, 0, 1)
"""Of a batch that one host reads."""

_WINDOWS_AHEAD = 2
CU_SEQLENS = "cu_seqlens"
_OF_PAIRS = 3  # special tokens


class Placed(NamedTuple):
    """Batches side by side, and where each is in its run.

    Attributes:
      places: of the batches.
      row_splits, batch_splits: see `fill_batches`.
      lengths: int64[sequences] of the rows, special tokens included.
    """

    group: BatchGroup
    stage: StageRun
    places: list[Place]
    row_splits: NDArray[np.int64]
    batch_splits: NDArray[np.int64]
    lengths: NDArray[np.int64]


class _Rows(NamedTuple):
    """Rows of batches that one host reads; sequences are numbers in their window, or EMPTY."""

    sequences: NDArray[np.int64]
    row_splits: NDArray[np.int64]
    batch_splits: NDArray[np.int64]
    shapes: NDArray[np.int64]


class GroupForm(NamedTuple):
    """How groups of batches lie in memory.

    Attributes:
      are_alone: whether each batch is a run of its own, see `make_table`.
    """

    layout: Layout
    are_alone: bool


def form_of(stages: Sequence[StageRun]) -> GroupForm:
    """Return the form of the batches of stages, which have the features of any of them."""
    if all(stage.span_rule is not None for stage in stages):
        return GroupForm(SPAN_LAYOUT, False)
    labels = (stage.stage.asked.label for stage in stages)
    label = next((label for label in labels if label is not None), None)
    kind = fields.masked_lm_records(fields.RAGGED, sentence_field=label)
    stored = tuple(f for f in kind.fields if f.axis is not fields.Axis.WORDS)
    kind = dataclasses.replace(kind, fields=stored)
    are_packed = any(stage.is_packed for stage in stages)
    layout = layout_of(kind, *(PACKED_FIELDS if are_packed else PLANNED))
    return GroupForm(layout, any(stage.shapes_differ for stage in stages))


class _Filler:
    """Fills the batches of a window."""

    def __init__(
        self,
        run: Run,
        stage: StageRun,
        window: Window,
        planned: Planned,
        group_form: GroupForm | None,
    ) -> None:
        self.run, self.stage, self.window, self.planned = run, stage, window, planned
        self.layout, self._are_alone = group_form or form_of([stage])
        self.rule, self._same_until = self._masking_rule(0)
        self.form = Form(
            stage.stage.num_special, stage.stage.asked.label is not None, is_packed(self.layout)
        )

    def use_rate_of(self, batch: int) -> int:
        """Mask with the rate of a batch of the window; return until which batch it stays."""
        if batch >= self._same_until:
            self.rule, self._same_until = self._masking_rule(batch)
        return self._same_until

    def _masking_rule(self, batch: int) -> tuple[MaskingRule, int]:
        stage = self.stage.stage
        num_batches = self.planned.plan.num_batches
        rate, same_until = self.stage.rate_of_batch(self.window, batch, num_batches)
        rule = masking_rule(
            dataclasses.replace(stage.masking.config, masked_lm_prob=rate),
            self.run.vocabulary,
            max_seq_length=stage.max_seq_length,
            max_predictions_per_seq=stage.most_predictions,
            shown=stage.masking.shown,
        )
        return rule, same_until

    def rows(self, numbers: Iterable[int], own: Parts) -> _Rows:
        """Return some parts of batches of the window, each as a batch."""
        parts = [
            self._rows_of_batch(number, own.num_parts, own.first + part)
            for number in numbers
            for part in range(own.num_here)
        ]
        sequences = np.concatenate([part for part, _, _ in parts])
        counts = np.concatenate([counts for _, counts, _ in parts])
        num_rows = [counts.size for _, counts, _ in parts]
        shapes = np.array([shape for _, _, shape in parts])
        return _Rows(
            sequences,
            np.concatenate(([0], np.cumsum(counts))),
            np.concatenate(([0], np.cumsum(num_rows))),
            shapes,
        )

    def _rows_of_batch(
        self, number: int, num_hosts: int, host_index: int
    ) -> tuple[NDArray[np.int64], NDArray[np.int64], tuple[int, int, int, int]]:
        """Return the sequences of a host's rows, how many each has, and the shape of the batch."""
        plan = self.planned.plan
        first, last = plan.batch_splits[number : number + 2].tolist()
        width = int(plan.widths[number])
        if plan.row_splits is None:
            splits = np.arange(first, last + 1)
        else:
            splits = plan.row_splits[first : last + 1]
        records = plan.records[splits[0] : splits[-1]].astype(np.int64)
        counts = np.diff(splits)
        if self.stage.stage.batching == FLAT:
            parts = (records.size * part // num_hosts for part in (host_index, host_index + 1))
            return self._flat_row(records[slice(*parts)])
        rows = self.window.rows
        first, last = (rows * part // num_hosts for part in (host_index, host_index + 1))
        rows_here = -(-rows // num_hosts)
        begin, end = min(first, counts.size), min(last, counts.size)
        at = splits - splits[0]
        own = records[at[begin] : at[end]]
        missing = rows_here - (end - begin)
        own = np.concatenate((own, np.full(missing, EMPTY)))
        own_counts = np.concatenate((counts[begin:end], np.ones(missing, np.int64)))
        if not self.stage.is_packed:
            return own, own_counts, (rows_here, width, self.stage.stage.most_predictions, 1)
        most = np.add.reduceat(self._most_predictions(self.planned.lengths[records]), at[:-1])
        unit = max(8, self.stage.stage.most_predictions // 8)
        predictions = -(-int(most.max()) // unit) * unit
        instances = -(-int(counts.max()) // 8) * 8
        return own, own_counts, (rows_here, width, predictions, instances)

    def _flat_row(
        self, own: NDArray[np.int64]
    ) -> tuple[NDArray[np.int64], NDArray[np.int64], tuple[int, int, int, int]]:
        if not own.size:
            return np.array([EMPTY]), np.ones(1, np.int64), (1, 1, 1, 1)
        lengths = self.planned.lengths[own]
        most = int(self._most_predictions(lengths).sum())
        return own, np.array([own.size]), (1, int(lengths.sum()), max(1, most), own.size)

    def _most_predictions(self, lengths: NDArray[np.int64]) -> NDArray[np.int64]:
        return self.rule.most_predictions(lengths).astype(np.int64)

    def fill(self, rows: _Rows) -> tuple[BatchGroup, NDArray[np.int64]]:
        """Return the batches of rows, and the lengths of their sequences."""
        is_there = rows.sequences != EMPTY
        picked = np.where(is_there, rows.sequences, 0)
        drawn = self.planned.drawn.take(picked)
        drawn.a_lengths[~is_there] = drawn.b_lengths[~is_there] = 0
        filled = RowSequences(
            drawn.a_lengths, drawn.b_lengths, drawn.labels, self.planned.keys[picked], is_there,
            rows.row_splits, rows.batch_splits,
        )  # fmt: skip
        table, num_words = make_table(rows.shapes, self.layout, alone=self._are_alone)
        words, of_source = new_buffer(num_words), self.planned.of_source[picked]

        def gather(a_places: NDArray[np.int64], b_places: NDArray[np.int64]) -> None:
            self._gather(of_source, drawn.a_begins, drawn.a_lengths, a_places, words)
            if self.form.num_special == _OF_PAIRS:
                self._gather(of_source, drawn.b_begins, drawn.b_lengths, b_places, words)

        fill_batches(filled, self.form, self.rule, table, words, gather)
        return BatchGroup(words, table), np.where(is_there, self.planned.lengths[picked], 0)

    def _gather(
        self,
        of_source: NDArray[np.int16],
        begins: NDArray[np.int64],
        lengths: NDArray[np.int32],
        places: NDArray[np.int64],
        words: NDArray[np.int32],
    ) -> None:
        """Copy tokens from the stores of each source."""
        for number in np.unique(of_source).tolist():
            opened = self.stage.sources[number].opened
            here = np.flatnonzero(of_source == number)
            parts = np.searchsorted(opened.splits, begins[here], side="right") - 1
            for part in np.unique(parts[lengths[here] > 0]).tolist():
                own = here[(parts == part) & (lengths[here] > 0)]
                largest = gather_tokens(
                    opened.stores[part].ids, begins[own] - opened.splits[part], lengths[own],
                    places[own], words,
                )  # fmt: skip
                if largest >= self.run.vocabulary.size:
                    vocabulary = self.run.vocabulary
                    raise ValueError(
                        f"{opened.prefixes[part]} has an id that is not below {vocabulary.size:,},"
                        f" the size of {vocabulary.path}: it was made with another vocabulary"
                    )


class _SpanFiller(_Filler):
    """Fills batches with inputs and targets, of which spans are taken."""

    def __init__(
        self, run: Run, stage: StageRun, window: Window, planned: Planned, rule: SpanRule
    ) -> None:
        self.run, self.stage, self.window, self.planned = run, stage, window, planned
        self.layout, self.span_rule = SPAN_LAYOUT, rule

    def use_rate_of(self, batch: int) -> int:
        """Return the end of the window: spans have one density in a stage."""
        return self.planned.plan.num_batches

    def _rows_of_batch(
        self, number: int, num_hosts: int, host_index: int
    ) -> tuple[NDArray[np.int64], NDArray[np.int64], tuple[int, int, int, int]]:
        own, counts, (rows, *_) = super()._rows_of_batch(number, num_hosts, host_index)
        return own, counts, (rows, self.span_rule.lengths.inputs, self.span_rule.lengths.targets, 0)

    def fill(self, rows: _Rows) -> tuple[BatchGroup, NDArray[np.int64]]:
        """Return the batches of rows, and the lengths of their sequences before."""
        is_there = rows.sequences != EMPTY
        picked = np.where(is_there, rows.sequences, 0)
        drawn = self.planned.drawn.take(picked)
        lengths = np.where(is_there, drawn.a_lengths, 0)
        splits = np.concatenate((np.zeros(1, np.int64), np.cumsum(lengths, dtype=np.int64)))
        tokens = np.empty(int(splits[-1]), np.int32)
        of_source = self.planned.of_source[picked]
        self._gather(of_source, drawn.a_begins, lengths, splits[:-1], tokens)
        table, num_words = make_table(rows.shapes, self.layout)
        words, keys = new_buffer(num_words), self.planned.keys[picked]
        corrupt(tokens, splits, keys, rows.batch_splits, self.span_rule, table, words)
        return BatchGroup(words, table), lengths.astype(np.int64)


def _make_filler(run: Run, window: Window, planned: Planned, form: GroupForm | None) -> _Filler:
    stage = run.stages[window.stage]
    if stage.span_rule is not None:
        return _SpanFiller(run, stage, window, planned, stage.span_rule)
    return _Filler(run, stage, window, planned, form)


def iterate_groups(
    run: Run,
    start: Place,
    own: Parts = WHOLE,
    *,
    form: GroupForm | None = None,
    first: int = 0,
    every: int = 1,
) -> Iterator[Placed]:
    """Yield batches from a place on, several at a time; a thread works ahead.

    Args:
      own: the parts of each batch that are read here; each becomes a batch.
      form: of all groups; None: that of each one's stage.
      first: batches, of those that the recipe does not skip, before the first one to read.
      every: from there on each `every`th is read.
    """
    skipped, ordinal = run.recipe.skip, -1 - first
    for window, planned, begin in work_ahead(run.planned(start), _WINDOWS_AHEAD):
        first_batch = begin.batch - begin.in_window
        filler = _make_filler(run, window, planned, form)
        words = planned.plan.widths.astype(np.int64) * window.rows * len(filler.layout[0])
        ends, at, most = words.cumsum(), begin.in_window, every
        while at < words.size:
            limit = ends[at] - words[at] + GROUP_WORDS * every
            last = int(np.searchsorted(ends, limit, side="right"))
            end = max(at + 1, min(last, filler.use_rate_of(at), at + most))
            kept = []
            for number in range(at, end):
                if any(low <= first_batch + number <= high for low, high in skipped):
                    continue
                ordinal += 1
                if ordinal >= 0 and ordinal % every == 0:
                    kept.append(number)
            if kept:
                rows = filler.rows(kept, own)
                group, lengths = filler.fill(rows)
                places = [
                    begin._replace(batch=first_batch + n, in_window=n)
                    for n in kept
                    for _ in range(own.num_here)
                ]
                yield Placed(
                    group, filler.stage, places, rows.row_splits, rows.batch_splits, lengths
                )
            at, most = end, 2 * most


def iterate_placed(
    run: Run,
    start: Place = START,
    *,
    num_hosts: int = 1,
    host_index: int = 0,
    first: int = 0,
    every: int = 1,
) -> Iterator[tuple[Place, Arrays]]:
    """Yield batches from a place on, each with its own place; see `iterate_groups`.

    Flat batches have `cu_seqlens`, int32[sequences + 1], where each sequence begins in the row.
    """
    own = Parts(num_hosts, host_index, 1)
    for placed in iterate_groups(run, start, own, first=first, every=every):
        layout = form_of([placed.stage]).layout
        batches = arrays_of(placed.group, layout)
        for number, (place, batch) in enumerate(zip(placed.places, batches, strict=True)):
            if placed.stage.stage.batching == FLAT:
                first, last = placed.batch_splits[number : number + 2]
                begin, end = placed.row_splits[first], placed.row_splits[last]
                ends = np.cumsum(placed.lengths[begin:end], dtype=np.int32)
                batch[CU_SEQLENS] = np.concatenate((np.zeros(1, np.int32), ends))
            yield place, batch


def iterate_arrays(
    recipe: Recipe, *, num_hosts: int = 1, host_index: int = 0, start_batch: int = 0
) -> Iterator[dict[str, Any]]:
    """Yield the batches of a recipe, until its last stage ends.

    Args:
      num_hosts, host_index: this host reads its part of the rows of each batch; the batches of all
        hosts together are the same for any number of them.
      start_batch: the number of the first batch, counted over all stages.
    """
    run = Run(recipe)
    for _, batch in iterate_placed(
        run, run.place(start_batch), num_hosts=num_hosts, host_index=host_index
    ):
        yield batch
