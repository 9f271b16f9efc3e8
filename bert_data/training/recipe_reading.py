"""The input of a run that trains by a recipe, and its place there, which checkpoints keep.

    reading = RecipeReading(Run(recipe))
    train(config, bert_config, reading.make_batches, place=reading)

    global_step/recipe_place   {"batch": 120000, "window": 1875, "in_window": 0, ...}

A run that continues, on any number of hosts, reads the batches that it would have read. The stages
of which batches were read must be the same then, and their stores; those to come may change.
"""

import bisect
import json
import sys
from typing import TYPE_CHECKING, Any

import numpy as np
from absl import logging

from bert_data.recipes.recipe_run import START, Place, Run, digest_of_stages, load_place, save_place
from bert_data.recipes.recipe_source import RecipeReaderConfig, RecipeSource, advance, count_batches
from bert_data.recipes.run_batches import ONE_HOST
from bert_data.training.checkpoints import Checkpoint
from bert_data.training.state import RECIPE, DataPlace

if TYPE_CHECKING:
    import tensorflow as tf

PLACE = "global_step/recipe_place"
_END, _OF_ALL = "end", "digest_of_all"


class RecipeReading(DataPlace):
    """The batches of a recipe for `train`, and the place in them."""

    def __init__(self, run: Run) -> None:
        self.run, self._start = run, START
        self._of_all = digest_of_stages(run, len(run.stages))
        super().__init__(json.dumps({RECIPE: self._of_all}))
        self._source: RecipeSource | None = None
        self._end: int | None = None

    def make_batches(
        self, start_batch: int, context: "tf.distribute.InputContext | None"
    ) -> "tf.data.Dataset":
        """Return a host's batches from any one on, see `MakeBatches`."""
        import tensorflow as tf

        from bert_data.reader.sources import parts_of
        from bert_data.reader.tensors import dataset_of

        own = ONE_HOST if context is None else parts_of(context)
        self._source = RecipeSource(self.run, self._place(start_batch), own)
        batches = dataset_of(self._source, RecipeReaderConfig())
        # A strategy would look for the end in every step; training ends with the last batch.
        endless = tf.data.experimental.assert_cardinality(tf.data.experimental.INFINITE_CARDINALITY)
        return batches.apply(endless)

    def _place(self, batch: int) -> Place:
        """Return the place of a batch that has been read, or is the next one."""
        begins = [self._start] if self._source is None else self._source.begins
        at = bisect.bisect_right(begins, batch, key=lambda place: place.batch)
        if at == 0:
            return self.run.place(batch)
        begin = begins[at - 1]
        return begin._replace(batch=batch, in_window=begin.in_window + batch - begin.batch)

    def next_batch(self, num_read: int) -> int:
        """Return the number of the next batch in the run, of which some may be skipped."""
        return advance(self.run.recipe, self.first_batch, num_read)

    def values(self, num_read: int) -> dict[str, Any]:
        """Return what a checkpoint keeps."""
        own: dict[str, int | str] = {}
        if self._end is not None:
            own = {_END: self._end, _OF_ALL: self._of_all}
        saved = save_place(self.run, self._place(self.next_batch(num_read)), own)
        return {**super().values(num_read), PLACE: np.array(json.dumps(saved), object)}

    def restore(self, checkpoint: Checkpoint) -> None:
        """Go to the place of a checkpoint.

        Raises:
          ValueError: stages that the checkpoint has read were changed.
        """
        if PLACE not in checkpoint:
            super().restore(checkpoint)
            return
        saved = json.loads(bytes(checkpoint.read(PLACE)))
        try:
            self._start = load_place(self.run, saved, {_END: int, _OF_ALL: str})
        except ValueError as error:
            raise ValueError(f"{checkpoint.prefix}: {error}") from None
        self._source, self.first_batch = None, self._start.batch
        if saved.get(_OF_ALL) == self._of_all:
            self._end = saved[_END]

    def last_step(
        self, continues: str | None, *, num_accumulation_steps: int = 1, most: int = sys.maxsize
    ) -> int:
        """Return the number of the step that reads the last batch, or `most` if it is lower.

        Args:
          continues: the checkpoint with whose steps the run goes on.
        """
        step = 0
        if continues is not None:
            checkpoint = Checkpoint(continues)
            self.restore(checkpoint)
            step = int(checkpoint.read("global_step"))
        left = max(0, most - step) * num_accumulation_steps
        num_batches = self._count(advance(self.run.recipe, self.first_batch, left))
        if num_batches < num_accumulation_steps and not step:
            raise ValueError(
                f"the recipe has {num_batches:,} batches, fewer than a step reads"
                f" (`num_accumulation_steps={num_accumulation_steps}`)"
            )
        return min(most, step + num_batches // num_accumulation_steps)

    def _count(self, limit: int) -> int:
        """Return the number of batches from the start to a limit, or to the end of the recipe."""
        if self._end is None:
            if any(stage.num_batches is None for stage in self.run.stages):
                logging.info("counting batches of packed rows, which takes a while for long stages")
            end = self.run.place(limit).batch
            self._end = end if end < limit else None
        else:
            end = min(limit, self._end)
        return count_batches(self.run.recipe, self._start.batch, end)
