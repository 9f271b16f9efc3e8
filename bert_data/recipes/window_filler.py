"""Fill the batches of a window of sequences: rows, shapes, and the tokens of their stores.

filler = Filler(run, window, planned, ONE_HOST)
numbers = np.array([3, 4])    of batches in the window
group = filler.fill(numbers, filler.rows(numbers))
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
from bert_data.recipes.host_rows import HostRows, deal_rows
from bert_data.recipes.recipe import FLAT
from bert_data.recipes.recipe_run import Run
from bert_data.recipes.sequences.opened_stores import OpenStore
from bert_data.recipes.stage_run import Planned, StageRun, Window
from bert_data.records import fields
from bert_data.records.masking.making_rule import masking_rule
from bert_data.records.masking.rule import MaskingRule


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
        window: Window,
        planned: Planned,
        own: Parts,
        group_form: GroupForm | None = None,
        *,
        lends: bool = False,
    ) -> None:
        """Deal the rows, and find their tokens.

        Args:
          own: the parts of each batch that are read here; each becomes a batch.
          group_form: of all groups; None: that of the window's stage.
          lends: whether a part without rows has those of another one, and not an empty row.
        """
        self.run, self.window, self.planned = run, window, planned
        self.stage = stage = run.stages[window.stage]
        self._own, self._lends = own, lends
        self._is_flat = stage.stage.batching == FLAT
        self._dealt = deal_rows(planned.plan, planned.lengths, own.num_parts, divides=self._is_flat)
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
        return rule._replace(word_ids=self.run.random_words), same_until

    def rows(self, numbers: NDArray[np.int64]) -> HostRows:
        """Return the parts of batches of the window that are read here, each as a batch."""
        num_rows = None if self._is_flat else -(-self.window.rows // self._own.num_parts)
        return self._dealt.of_parts(numbers, self._own, num_rows, lends=self._lends)

    def shapes(self, numbers: NDArray[np.int64], rows: HostRows) -> NDArray[np.int64]:
        """Return int64[batches, 4], the shapes of the parts that `rows` returned."""
        plan, stage, num_here = self.planned.plan, self.stage.stage, self._own.num_here
        shapes = np.ones((numbers.size * num_here, 4), np.int64)
        if self._is_flat:
            lengths = np.where(rows.sequences == EMPTY, 0, self.planned.lengths[rows.sequences])
            begins = rows.row_splits[:-1]
            shapes[:, 1] = np.maximum(1, np.add.reduceat(lengths, begins))
            most = self.rule.most_predictions(lengths).astype(np.int64)
            shapes[:, 2] = np.maximum(1, np.add.reduceat(most, begins))
            shapes[:, 3] = np.diff(rows.row_splits)
            return shapes
        shapes[:, 0] = np.diff(rows.batch_splits)
        shapes[:, 1] = plan.widths[numbers].repeat(num_here)
        shapes[:, 2] = stage.most_predictions
        if plan.row_splits is not None:
            shapes[:, 2:] = self._packed_columns(numbers).repeat(num_here, axis=0)
        return shapes

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

    def fill(self, numbers: NDArray[np.int64], rows: HostRows) -> BatchGroup:
        """Return the batches of rows that `rows` returned."""
        self.stage.check_sizes()
        shapes = self.shapes(numbers, rows)
        table, num_words = make_table(shapes, self.layout, alone=self._are_alone)
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
        self, sequences: NDArray[np.integer]
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
        self, begins: NDArray[np.int64], lengths: NDArray[np.int32], of_source: NDArray[np.integer]
    ) -> StoreRanges:
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
        sequences: NDArray[np.integer],
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
            with store.opened.named():
                raise ValueError(
                    f"{store.prefix} has an id that is not below {vocabulary.size:,}, the size of"
                    f" {vocabulary.path}: it was made with another vocabulary"
                )
