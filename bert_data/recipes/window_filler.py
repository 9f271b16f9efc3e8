"""Fill the batches of a window of sequences: rows, shapes, and the tokens of their stores.

filler = make_filler(run, window, planned, None)
group = filler.fill(filler.rows(np.array([3, 4]), WHOLE))    batches 3 and 4 of the window
"""

import dataclasses
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from bert_data.reader.layout import PACKED as PACKED_FIELDS
from bert_data.reader.layout import (
    PLANNED,
    BatchGroup,
    BatchLayout,
    is_packed,
    layout_of,
    make_table,
    new_buffer,
)
from bert_data.reader.planning.epoch import EMPTY, Parts, most_of_rows
from bert_data.recipes.fill_kernels import (
    Form,
    RowSequences,
    StoreRanges,
    fill_batches,
    gather_tokens,
)
from bert_data.recipes.recipe import FLAT
from bert_data.recipes.recipe_run import Run
from bert_data.recipes.sequences.opened_stores import OpenStore
from bert_data.recipes.stage_run import Planned, StageRun, Window
from bert_data.records import fields
from bert_data.records.masking.config import masking_rule
from bert_data.records.masking.rule import MaskingRule


class HostRows(NamedTuple):
    """Rows of batches that one host reads; sequences are numbers in their window, or EMPTY."""

    sequences: NDArray[np.int64]
    row_splits: NDArray[np.int64]
    batch_splits: NDArray[np.int64]
    shapes: NDArray[np.int64]


class GroupForm(NamedTuple):
    """The layout of groups of batches in memory.

    Attributes:
      are_alone: whether each batch is a run of its own, see `make_table`.
    """

    layout: BatchLayout
    are_alone: bool


def form_of(stages: Sequence[StageRun]) -> GroupForm:
    """Return the form of the batches of stages, which have the features of any of them."""
    labels = (stage.stage.asked.label for stage in stages)
    label = next((label for label in labels if label is not None), None)
    kind = fields.masked_lm_records(fields.RAGGED, sentence_field=label)
    stored = tuple(f for f in kind.fields if f.axis is not fields.Axis.WORDS)
    kind = dataclasses.replace(kind, fields=stored)
    are_packed = any(stage.is_packed for stage in stages)
    layout = layout_of(kind, *(PACKED_FIELDS if are_packed else PLANNED))
    return GroupForm(layout, any(stage.shapes_differ for stage in stages))


class Filler:
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
        self._find_ranges()

    def _find_ranges(self) -> None:
        drawn, fetched = self.planned.drawn, self.planned.fetched
        self._stores = [*self.stage.stores, *(fetched.arrays if fetched else ())]
        self._is_direct = len(self._stores) == 1
        of_source = self.planned.of_source
        self._a_ranges = self._ranges(drawn.a_begins, drawn.a_lengths, of_source)
        self._b_ranges = self._a_ranges
        if drawn.b_lengths.any():
            self._b_ranges = self._ranges(drawn.b_begins, drawn.b_lengths, of_source)

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

    def rows(self, numbers: NDArray[np.int64], own: Parts) -> HostRows:
        """Return some parts of batches of the window, each as a batch."""
        plan, num_parts = self.planned.plan, own.num_parts
        parts = own.first + np.arange(own.num_here)
        if self.stage.stage.batching == FLAT:
            return self._flat_rows(numbers, num_parts, parts)
        firsts = plan.batch_splits[numbers].astype(np.int64)
        counts = plan.batch_splits[numbers + 1] - firsts
        num_rows, rows_here = self.window.rows, -(-self.window.rows // num_parts)
        bounds = num_rows * np.stack((parts, parts + 1)) // num_parts
        begins, ends = firsts[:, np.newaxis] + np.minimum(
            bounds[:, np.newaxis], counts[:, np.newaxis]
        )
        table = begins.ravel()[:, np.newaxis] + np.arange(rows_here)
        rows = np.where(table < ends.ravel()[:, np.newaxis], table, EMPTY).ravel()
        shapes = np.ones((table.shape[0], 4), np.int64)
        shapes[:, 0], shapes[:, 1] = rows_here, plan.widths[numbers].repeat(parts.size)
        shapes[:, 2] = self.stage.stage.most_predictions
        batch_splits = np.arange(0, rows.size + 1, rows_here)
        if plan.row_splits is None:
            sequences = np.where(rows == EMPTY, EMPTY, plan.records[rows])
            return HostRows(sequences, np.arange(rows.size + 1), batch_splits, shapes)
        shapes[:, 2:] = self._packed_columns(numbers).repeat(parts.size, axis=0)
        sizes = np.where(rows == EMPTY, 1, plan.row_splits[rows + 1] - plan.row_splits[rows])
        row_splits = np.concatenate(([0], np.cumsum(sizes)))
        in_row = np.arange(row_splits[-1]) - row_splits[:-1].repeat(sizes)
        of_row = rows.repeat(sizes)
        records = plan.records[plan.row_splits[np.maximum(of_row, 0)] + in_row]
        return HostRows(np.where(of_row == EMPTY, EMPTY, records), row_splits, batch_splits, shapes)

    def _packed_columns(self, numbers: NDArray[np.int64]) -> NDArray[np.int64]:
        """Return int64[batches, 2], the columns of batches for predictions and instances."""
        plan, most_of_length = self.planned.plan, self.rule.num_to_predict
        runs = np.split(numbers, np.flatnonzero(np.diff(numbers) != 1) + 1)
        most = [
            most_of_rows(plan, run[0], run[-1] + 1, self.planned.lengths, most_of_length)
            for run in runs
        ]
        units = np.array((max(8, self.stage.stage.most_predictions // 8), 8))
        return -(-np.concatenate(most) // units) * units

    def _flat_rows(
        self, numbers: NDArray[np.int64], num_parts: int, parts: NDArray[np.int64]
    ) -> HostRows:
        """Return a row for each part of the sequences of a batch."""
        plan = self.planned.plan
        assert plan.row_splits is not None
        sequences, shapes = [], []
        for number in numbers.tolist():
            first, last = plan.row_splits[plan.batch_splits[number : number + 2]]
            for part in parts.tolist():
                begin, end = (first + (last - first) * (part + k) // num_parts for k in (0, 1))
                own = plan.records[begin:end].astype(np.int64)
                width, most = self.planned.lengths[own].sum(), self._most_predictions(own).sum()
                sequences.append(own if own.size else np.array([EMPTY]))
                shapes.append((1, max(1, width), max(1, most), max(1, own.size)))
        row_splits = np.cumsum([0, *(each.size for each in sequences)])
        batch_splits = np.arange(row_splits.size)
        return HostRows(np.concatenate(sequences), row_splits, batch_splits, np.array(shapes))

    def _most_predictions(self, sequences: NDArray[np.integer]) -> NDArray[np.int64]:
        lengths = self.planned.lengths[sequences]
        return self.rule.most_predictions(lengths).astype(np.int64)

    def fill(self, rows: HostRows) -> BatchGroup:
        """Return the batches of rows."""
        self.stage.check_sizes()
        table, num_words = make_table(rows.shapes, self.layout, alone=self._are_alone)
        words, planned, drawn = new_buffer(num_words), self.planned, self.planned.drawn
        sequences, stores = rows.sequences, self._stores
        if self._is_direct:
            tokens = stores[0].ids
            places = drawn.a_begins[sequences], drawn.b_begins[sequences]
        else:
            tokens, places = self.tokens(sequences)
        filled = RowSequences(
            sequences, drawn.a_lengths, drawn.b_lengths, drawn.labels, planned.keys, tokens,
            *places, rows.row_splits, rows.batch_splits,
        )  # fmt: skip
        longest = self.stage.stage.max_seq_length
        largest = fill_batches(filled, self.form, self.rule, table, longest, words)
        self.stage.check_sizes()
        if self._is_direct:
            self._check_ids(largest, stores[0])
        return BatchGroup(words, table)

    def tokens(
        self, sequences: NDArray[np.int64]
    ) -> tuple[NDArray[np.int32], tuple[NDArray[np.int64], NDArray[np.int64]]]:
        """Return the tokens of sequences, and where those of A and B of each begin."""
        drawn = self.planned.drawn
        a_lengths = np.where(sequences == EMPTY, 0, drawn.a_lengths[sequences])
        b_lengths = np.where(sequences == EMPTY, 0, drawn.b_lengths[sequences])
        splits = np.zeros(sequences.size + 1, np.int64)
        np.cumsum(a_lengths + b_lengths, out=splits[1:])
        tokens = np.empty(int(splits[-1]), np.int32)
        places = splits[:-1], splits[:-1] + a_lengths
        self._gather(self._a_ranges, sequences, places[0], tokens)
        if b_lengths.any():
            self._gather(self._b_ranges, sequences, places[1], tokens)
        return tokens, places

    def _ranges(
        self,
        begins: NDArray[np.int64],
        lengths: NDArray[np.int32],
        of_source: NDArray[np.integer],
    ) -> StoreRanges:
        """Find the stores that ranges of the sources are in."""
        starts = self.stage.store_starts
        if len(self._stores) == 1:
            return StoreRanges(np.zeros(begins.size, np.int32), begins, lengths)
        in_all = begins + self.stage.source_starts[of_source]
        stores = np.searchsorted(starts, in_all, side="right").astype(np.int32) - np.int32(1)
        places, fetched = in_all - starts[stores], self.planned.fetched
        if fetched is not None:
            fetched.locate(of_source, begins, lengths, starts.size, stores, places)
        return StoreRanges(stores, places, lengths)

    def _gather(
        self,
        ranges: StoreRanges,
        sequences: NDArray[np.int64],
        places: NDArray[np.int64],
        tokens: NDArray[np.int32],
    ) -> None:
        """Copy tokens from each store."""
        here = np.flatnonzero(sequences != EMPTY)
        stores = ranges.stores[sequences[here]]
        order = np.argsort(stores, kind="stable")
        here, stores = here[order], stores[order]
        for part in np.split(np.arange(here.size), np.flatnonzero(np.diff(stores)) + 1):
            if part.size:
                own = here[part[0] : part[-1] + 1]
                store = self._stores[stores[part[0]]]
                largest = gather_tokens(store.ids, ranges, sequences[own], places[own], tokens)
                self._check_ids(largest, store)

    def _check_ids(self, largest: int, store: OpenStore) -> None:
        vocabulary = self.run.vocabulary
        if largest >= vocabulary.id_limit:
            raise ValueError(
                f"{store.prefix} has an id that is not below {vocabulary.size:,}, the size of"
                f" {vocabulary.path}: it was made with another vocabulary"
            )


def make_filler(run: Run, window: Window, planned: Planned, form: GroupForm | None) -> Filler:
    """Return what fills the batches of a window, in a form or in that of its stage."""
    return Filler(run, run.stages[window.stage], window, planned, form)
