"""Batches of a recipe as NumPy arrays, for any number of hosts.

    run = Run(recipe)
    for place, batch in iterate_placed(run, start=Place(), num_hosts=2, host_index=0): ...

`recipe_source.RecipeSource` hands the same batches to tf.data.
"""

import functools
from collections.abc import Iterator
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from bert_data.reader.layout import BatchArrays, BatchGroup, arrays_of
from bert_data.reader.planning.epoch import EMPTY, Parts
from bert_data.reader.saved_places import PlacedIterator
from bert_data.reader.shard_batches import GROUP_WORDS
from bert_data.recipes.recipe import FLAT, Recipe
from bert_data.recipes.recipe_run import START, Place, Run, load_place, save_place
from bert_data.recipes.stage_run import StageRun
from bert_data.recipes.window_filler import Filler, GroupForm, form_of
from bert_data.work.executor import work_ahead

ONE_HOST = Parts(1, 0, 1)
"""Of a batch that one host reads."""

_WINDOWS_AHEAD = 2
CU_SEQLENS = "cu_seqlens"


class Placed(NamedTuple):
    """Batches side by side, and where each is in its run.

    Attributes:
      places: of the batches.
      row_splits, batch_splits: see `RowSequences`.
      lengths: int64[sequences] of the rows, special tokens included.
    """

    group: BatchGroup
    stage: StageRun
    places: list[Place]
    row_splits: NDArray[np.int64]
    batch_splits: NDArray[np.int64]
    lengths: NDArray[np.int64]


def iterate_groups(
    run: Run,
    start: Place,
    own: Parts = ONE_HOST,
    *,
    form: GroupForm | None = None,
    first: int = 0,
    every: int = 1,
    lends: bool = False,
) -> Iterator[Placed]:
    """Yield batches from a place on, several at a time; a thread works ahead.

    Args:
      own: the parts of each batch that are read here; each becomes a batch.
      form: of all groups; None: that of each one's stage.
      first: batches, of those that the recipe does not skip, before the first one to read.
      every: from there on each `every`th is read.
      lends: of a batch with fewer rows than parts, a part without one has that of another part, and
        not an empty row.

    Raises:
      ValueError: the recipe skips all batches.
    """
    ordinal = -1 - first
    for window, planned, begin in work_ahead(run.fetched(start), _WINDOWS_AHEAD):
        first_batch = begin.batch - begin.in_window
        filler = Filler(run, window, planned, own, form, lends=lends)
        words = planned.plan.widths.astype(np.int64) * window.rows * len(filler.layout[0])
        ends, at, most = words.cumsum(), begin.in_window, every
        while at < words.size:
            limit = ends[at] - words[at] + GROUP_WORDS * every
            last = int(np.searchsorted(ends, limit, side="right"))
            end = max(at + 1, min(last, filler.use_rate_of(at), at + most))
            kept = []
            for number in range(at, end):
                if run.recipe.skips(first_batch + number):
                    continue
                ordinal += 1
                if ordinal >= 0 and ordinal % every == 0:
                    kept.append(number)
            if kept:
                numbers = np.array(kept)
                rows = filler.rows(numbers)
                group = filler.fill(numbers, rows)
                places = [
                    begin._replace(batch=first_batch + n, in_window=n)
                    for n in kept
                    for _ in range(own.num_here)
                ]
                yield Placed(
                    group, filler.stage, places, rows.row_splits, rows.batch_splits,
                    np.where(rows.sequences == EMPTY, 0, planned.lengths[rows.sequences]),
                )  # fmt: skip
            at, most = end, 2 * most
    if start == START and ordinal == -1 - first:
        raise ValueError("skip leaves out all batches of the recipe; leave it some")


def iterate_placed(
    run: Run,
    start: Place = START,
    *,
    num_hosts: int = 1,
    host_index: int = 0,
    first: int = 0,
    every: int = 1,
    lends: bool = False,
) -> Iterator[tuple[Place, BatchArrays]]:
    """Yield batches from a place on, each with its own place; see `iterate_groups`.

    Flat batches have `cu_seqlens`, int32[sequences + 1], where each sequence begins in the row.
    """
    own = Parts(num_hosts, host_index, 1)
    for placed in iterate_groups(run, start, own, first=first, every=every, lends=lends):
        layout = form_of([placed.stage]).layout
        batches = arrays_of(placed.group, layout)
        for number, (place, batch) in enumerate(zip(placed.places, batches, strict=True)):
            if placed.stage.stage.batching == FLAT:
                first, last = placed.batch_splits[number : number + 2]
                begin, end = placed.row_splits[first], placed.row_splits[last]
                ends = np.cumsum(placed.lengths[begin:end], dtype=np.int32)
                batch[CU_SEQLENS] = np.concatenate((np.zeros(1, np.int32), ends))
            yield place, batch


def iterate_recipe_arrays(
    recipe: Recipe, *, num_hosts: int = 1, host_index: int = 0, start_batch: int = 0
) -> PlacedIterator[Place]:
    """Iterate over the batches of a recipe, until its last stage ends.

    Args:
      num_hosts, host_index: this host reads its part of the rows of each batch; the batches of all
        hosts together are the same for any number of them.
      start_batch: the number of the first batch, counted over all stages.
    """
    run = Run(recipe)

    def begin(start: Place) -> Iterator[tuple[Place, BatchArrays]]:
        placed = iterate_placed(run, start, num_hosts=num_hosts, host_index=host_index)
        for place, batch in placed:
            yield place.after(), batch

    save, load = functools.partial(save_place, run), functools.partial(load_place, run)
    return PlacedIterator(run.start(start_batch), begin, save, load)
