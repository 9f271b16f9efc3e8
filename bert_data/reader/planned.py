"""Read planned batches of NumPy arrays from addressable shards.

    plan -> rows of a group of batches -> gather their records -> decode -> BatchGroup
             7 3 | 0 9 | 4 8 ...           (a thread works ahead)

The plan determines what goes into batch k, so reading starts at any batch at once.
"""

import dataclasses
from collections.abc import Iterator, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from bert_data.reader.config import ENDLESS, ReadBefore, ReaderConfig, batches_of_run
from bert_data.reader.examples.block import Gathered
from bert_data.reader.examples.decode import Rows
from bert_data.reader.files.record_source import Damage, RecordSource
from bert_data.reader.files.remote_records import records_of_shards
from bert_data.reader.files.shards import Shard
from bert_data.reader.layout import PACKED, PLANNED, BatchGroup, StaticShape, is_packed
from bert_data.reader.planning import EpochPlan, Plan, PlanConfig, make_plan
from bert_data.reader.planning.epoch import Parts, PlannedRows, most_of_rows, planned_rows
from bert_data.reader.planning.plan import ContinuedPlan, PlannedBefore, continue_plan
from bert_data.reader.planning.plan_config import BUCKETS, PLAIN
from bert_data.reader.planning.plan_config import PACKED as PACKED_ROWS
from bert_data.reader.shard_batches import GROUP_WORDS, ShardBatches
from bert_data.settings import settings_of
from bert_data.work.executor import work_ahead

_GROUPS_AHEAD = 2


class _PlannedGroup(NamedTuple):
    """A group of batches.

    Attributes:
      of_all: int64[batches, 2], the most predictions and instances of a row in all parts; None if
        there is one part.
      is_last: whether it is the epoch's last group.
    """

    rows: PlannedRows
    of_all: NDArray[np.int64] | None
    damage: Damage
    is_last: bool


class PlannedSource(ShardBatches):
    """The planned batches of a configuration."""

    def __init__(
        self,
        config: ReaderConfig,
        shards: Sequence[Shard],
        parts: Parts,
        before: Sequence[ReadBefore] = (),
    ) -> None:
        """Read the indexes and plan.

        Args:
          parts: of each batch, that are read here.
          before: see `make_source`.
        """
        added = PACKED if config.batching == PACKED_ROWS else PLANNED
        super().__init__(config, shards, *added)
        self._parts = parts
        self._records: RecordSource = records_of_shards(
            shards,
            in_order=not config.shuffle,
            skip_corrupt=config.skip_corrupt,
            remote_cache_bytes=config.remote_cache_bytes,
            keeps=True,
        )
        lengths = self._records.num_tokens
        self.check_longest(int(lengths.max(initial=0)), 0)
        longest = self.limits.max_seq_length
        of_plan = {name: getattr(config, name) for name in settings_of(PlanConfig)}
        of_plan |= {"num_hosts": parts.num_parts, "max_seq_length": longest}
        self.plan: Plan = make_plan(lengths, PlanConfig(**of_plan))
        self._continued = self._continue(before, lengths) if before else None
        of_all = batches_of_run(config.num_epochs, self.plan.num_batches, config.start_batch)
        self.num_batches = ENDLESS if of_all == ENDLESS else of_all * parts.num_here
        self.shapes_differ = config.batching != PLAIN
        self._most_predictions = self._bound_predictions(shards) if parts.num_parts > 1 else None

    def _continue(
        self, before: Sequence[ReadBefore], lengths: NDArray[np.unsignedinteger]
    ) -> ContinuedPlan:
        config = self.plan.config
        planned = [
            PlannedBefore(dataclasses.replace(config, **bound), num_batches)
            for bound, num_batches in before
        ]
        return continue_plan(lengths, config, planned)

    def _bound_predictions(self, shards: Sequence[Shard]) -> NDArray[np.int32]:
        """int32[longest record + 1], most predictions of a record of each length."""
        lengths = np.arange(int(self._records.num_tokens.max(initial=0)) + 1)
        most = self.limits.max_predictions_per_seq
        if most is None:
            limit = "max_predictions_per_seq is None"
            raise ValueError(
                f"{limit}; it must be given where several hosts or replicas share batches"
            )
        flags = [shard.manifest.flags if shard.manifest else {} for shard in shards]
        if all("masked_lm_prob" in each for each in flags):
            share = max(each["masked_lm_prob"] for each in flags)
            return np.minimum(most, np.maximum(1, np.rint(lengths * share))).astype(np.int32)
        return np.minimum(most, lengths).astype(np.int32)

    @property
    def static_shape(self) -> StaticShape:
        """Rows, width, predictions and instances if they are the same in all batches."""
        config, plan, widths = self.config, self.plan, self.plan.widths
        width = widths[0] if widths is not None and len(widths) == 1 else None
        rows = None
        if config.drop_remainder and (config.batch_size is not None or width is not None):
            whole = plan.config.rows_of_width(width or 1)
            rows = -(-whole // self._parts.num_parts)
        if not is_packed(self.layout):
            is_free = config.fits_longest_row and config.batching != BUCKETS
            return rows, width, None if is_free else self.limits.max_predictions_per_seq, 1
        most = (self._continued or plan).max_records_per_row
        instances = None if config.fits_longest_row else most
        return rows, width, None, instances

    def groups(self) -> Iterator[BatchGroup]:
        """Yield the decoded batches, several at a time: first one, then twice as many, and so on.

        A thread works ahead of the consumer.
        """
        return work_ahead(self._groups(), _GROUPS_AHEAD)

    def _groups(self) -> Iterator[BatchGroup]:
        for step, records in self._records.follow(self._steps(), lambda step: step.rows.records):
            yield self._decode_step(step, records.gather(step.rows.records, step.damage))
            if step.is_last:
                step.damage.tell()

    def _steps(self) -> Iterator["_PlannedGroup"]:
        """Yield groups of batches: first one, then twice as many, and so on."""
        config, most = self.config, 1
        epochs = self.plan.epochs(config.num_epochs, config.start_batch)
        if self._continued is not None:
            epochs = self._continued.epochs(config.start_batch)
        for _, epoch, start in epochs:
            damage, ends = Damage(skip=config.skip_corrupt), self._group_ends(epoch)
            while start < epoch.num_batches:
                end = min(start + most, int(ends[start]))
                rows = planned_rows(epoch, start, end, self._parts)
                of_all = self._most_of_rows(epoch, start, end)
                yield _PlannedGroup(rows, of_all, damage, end == epoch.num_batches)
                start, most = end, 2 * most

    def _group_ends(self, epoch: EpochPlan) -> NDArray[np.int64]:
        """The end of the group of about GROUP_WORDS that begins with each batch."""
        rows = -(-np.diff(epoch.batch_splits) // self._parts.num_parts) * self._parts.num_here
        words = (rows * epoch.widths * len(self.layout[0])).cumsum()
        first_words = np.concatenate(([0], words[:-1]))
        ends = np.searchsorted(words, first_words + GROUP_WORDS, side="right")
        return np.maximum(ends, np.arange(1, words.size + 1))

    def _most_of_rows(self, epoch: EpochPlan, start: int, end: int) -> NDArray[np.int64] | None:
        """Return the most predictions and instances of the rows of batches, over all parts.

        None if there is one part, whose own rows tell.
        """
        if self._most_predictions is None:
            return None
        lengths = self._records.num_tokens
        most = most_of_rows(epoch, start, end, lengths, self._most_predictions)
        return most.repeat(self._parts.num_here, axis=0)

    def _decode_step(self, step: "_PlannedGroup", records: Gathered) -> BatchGroup:
        rows = Rows(records.is_there, step.rows.row_splits, step.rows.batch_splits)
        shapes = self._shapes(step.rows, records.block.lengths, step.of_all)
        return self.decode([(records.block, rows)], shapes)

    def _shapes(
        self, rows: PlannedRows, lengths: NDArray[np.int32], of_all: NDArray[np.int64] | None
    ) -> NDArray[np.int64]:
        """int64[batches, 4], see `Shape`."""
        self.check_longest(0, int(lengths[:, 1].max()))
        if self._most_predictions is not None:
            over = lengths[:, 1] > self._most_predictions[lengths[:, 0]]
            if over.any():
                actual = f"a record of {self.names} holds {lengths[over, 1].max()} predictions"
                raise ValueError(f"{actual}; its manifest's masked_lm_prob allows fewer")
        first_rows = rows.batch_splits[:-1]
        shapes = np.ones((first_rows.size, 4), np.int64)
        shapes[:, 0] = np.diff(rows.batch_splits)
        shapes[:, 1] = rows.widths
        of_rows = np.add.reduceat(lengths[:, 1], rows.row_splits[:-1])
        most = np.maximum.reduceat(of_rows, first_rows) if of_all is None else of_all[:, 0]
        shapes[:, 2] = np.maximum(most, 1)
        _, _, predictions, instances = self.static_shape
        if predictions is not None:
            shapes[:, 2] = predictions
        if is_packed(self.layout):
            most = np.maximum.reduceat(np.diff(rows.row_splits), first_rows)
            shapes[:, 3] = most if of_all is None else of_all[:, 1]
            if instances is not None:
                shapes[:, 3] = instances
                unit = max(1, self.limits.max_predictions_per_seq or 1)
                shapes[:, 2] = -(-shapes[:, 2] // unit) * unit
        return shapes
