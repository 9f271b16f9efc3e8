"""The batches of a recipe as a source for tf.data, see `reader.tensors`.

    RecipeSource(Run(recipe))    the batches of `iterate_arrays(recipe)`, all with the same features

Where stages differ, batches have the features of all: those of packed rows where a stage packs
rows, and labels of segments, of weight 0, where another stage has them.
"""

import dataclasses
import sys
from collections.abc import Iterable, Iterator
from typing import Annotated

from bert_data.reader.config import FEATURE_NAMES, FORMS, UNKNOWN
from bert_data.reader.layout import BatchGroup, Bounds, StaticShape
from bert_data.reader.planning.epoch import Parts
from bert_data.reader.planning.plan_config import check_host
from bert_data.recipes.recipe import FLAT, PACKED, PLAIN, Ramp, Recipe
from bert_data.recipes.recipe_run import START, Place, Run
from bert_data.recipes.run_batches import ONE_HOST, iterate_groups
from bert_data.recipes.window_filler import form_of
from bert_data.records.objectives import OBJECTIVES, Objective
from bert_data.settings import OneOf, Within, check_settings


@dataclasses.dataclass(frozen=True, kw_only=True)
class RecipeHost:
    """Settings of `iterate_arrays` beside a recipe.

    Attributes:
      num_hosts, host_index: this host reads its part of the rows of each batch.
      start_batch: the number of the first batch, counted over all stages.
    """

    num_hosts: Annotated[int, Within(1)] = 1
    host_index: Annotated[int, Within(0)] = 0
    start_batch: Annotated[int, Within(0, sys.maxsize)] = 0

    def __post_init__(self) -> None:
        check_settings(self)
        check_host(self.host_index, self.num_hosts)


@dataclasses.dataclass(frozen=True, kw_only=True)
class RecipeReaderConfig(RecipeHost):
    """Settings of `read_batches` beside a recipe.

    Attributes:
      feature_names, form: as of `ReaderConfig`.
    """

    feature_names: Annotated[str, OneOf(FEATURE_NAMES)] = FEATURE_NAMES[0]
    form: Annotated[str, OneOf(FORMS)] = FORMS[0]


def objective_of_stages(recipe: Recipe) -> Objective:
    """Return the objective of a model that all stages train.

    Raises:
      ValueError: stages have different tasks for two segments.
    """
    asked = [stage.asked for stage in recipe.stages if stage.asked.task is not None]
    others = [each for each in asked if each is not asked[0]]
    if others:
        raise ValueError(
            f"stages have objective={asked[0].name} and objective={others[0].name}; the batches of"
            f" one dataset have one of them, and objective={OBJECTIVES['none'].name}"
        )
    return asked[0] if asked else OBJECTIVES["none"]


class RecipeSource:
    """The batches of a run, from a place on.

    Attributes:
      begins: places of the first batches of windows that were read, in order.
    """

    def __init__(self, run: Run, start: Place = START, own: Parts = ONE_HOST) -> None:
        """Check that the stages go together.

        Args:
          own: the parts of each batch that are read here; each becomes a batch.
        """
        self.run, self.start, self._own = run, start, own
        self.objective = objective_of_stages(run.recipe)
        self._form = form_of(run.stages)
        self.layout, self.shapes_differ = self._form
        self.begins = [start]

    @property
    def static_shape(self) -> StaticShape:
        """Rows, width, predictions and instances if they are the same in all stages."""
        stages, parts = [each.stage for each in self.run.stages], self._own.num_parts
        batchings = {stage.batching for stage in stages}
        rows = None
        if FLAT not in batchings and not any(isinstance(s.batch_tokens, Ramp) for s in stages):
            rows = _same(-(-stage.rows_at(0) // parts) for stage in stages)
        width = None
        if batchings <= {PLAIN, PACKED}:
            width = _same(stage.max_seq_length for stage in stages)
        if batchings & {PACKED, FLAT}:
            return rows, width, None, None
        return rows, width, _same(stage.most_predictions for stage in stages), 1

    @property
    def bounds(self) -> Bounds:
        """What no sequence exceeds."""
        longest = max(each.stage.max_seq_length or 0 for each in self.run.stages)
        return Bounds(longest, self.run.vocabulary.size)

    @property
    def num_batches(self) -> int:
        """Number of batches; UNKNOWN with packed rows of stages that do not end by steps."""
        first = self.run.stage_of(self.start.window).number
        if any(stage.num_batches is None for stage in self.run.stages[first:]):
            return UNKNOWN
        end = self.run.place(sys.maxsize).batch
        return self._own.num_here * count_batches(self.run.recipe, self.start.batch, end)

    def groups(self) -> Iterator[BatchGroup]:
        """Yield the batches, several at a time."""
        self.begins = [self.start]
        for placed in iterate_groups(self.run, self.start, self._own, form=self._form):
            first = placed.places[0]
            if first.window != self.begins[-1].window:
                self.begins.append(first._replace(batch=first.batch - first.in_window, in_window=0))
            yield placed.group


def _same(values: Iterable[int | None]) -> int | None:
    found = set(values)
    return found.pop() if len(found) == 1 else None


def count_batches(recipe: Recipe, start: int, end: int) -> int:
    """Return how many batches `start` to `end` are, without those that are skipped."""
    skipped = (max(0, min(last + 1, end) - max(first, start)) for first, last in recipe.skipped)
    return max(0, end - start) - sum(skipped)


def advance(recipe: Recipe, batch: int, num_read: int) -> int:
    """Return the number of the batch that comes after some that were read; skipped ones are not."""
    for first, last in recipe.skipped:
        if last < batch:
            continue
        before = max(0, first - batch)
        if num_read < before:
            break
        batch, num_read = last + 1, num_read - before
    return batch + num_read


def source_of(recipe: Recipe, config: RecipeReaderConfig, own: Parts) -> RecipeSource:
    """Return the source of a recipe's batches."""
    run = Run(recipe)
    return RecipeSource(run, run.start(config.start_batch), own)
