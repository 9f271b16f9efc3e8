"""Hosts that stop anywhere; others read on, in other ways, and nothing is lost or repeated.

In the end the batches, put together, are those of one process that reads the last recipe without a
pause, and their sequences those of the definition: of packed rows of single segments, which cut
some, their tokens, and of those that end by steps nothing. Reading leaves nothing behind, so a host
that stops reading is as good as one that is killed.
"""

import dataclasses
import itertools
import json
import random
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pytest

from bert_data.recipes.recipe import Ramp, Recipe, Stage, StageMasking
from bert_data.recipes.recipe_run import Place, Run, load_place, save_place
from bert_data.recipes.recipe_source import advance
from bert_data.recipes.run_batches import iterate_placed, iterate_recipe_arrays
from tests.recipes.defined import Row, defined_rows, rows_of
from tests.recipes.stores import many_documents, recipe_of

DOCUMENTS = {"a": many_documents(1, 90), "b": many_documents(2, 40)}
WAYS = ("arrays", "placed")
FIRST = Stage(
    epochs={"a": 0.5}, max_seq_length=32, batch_size=5, pool_batches=4, mixture={"a": 2, "b": 1},
    masking=StageMasking(rate=0.3),
)  # fmt: skip
STAGES = (
    Stage(epochs={"b": 0.3}, batching="plain", objective="none", max_seq_length=32),
    Stage(tokens=1, batching="packed", objective="none", max_seq_length=48),
    Stage(steps=17, batching="packed", objective="none", max_seq_length=40),
    Stage(tokens=1, batching="packed", objective="sop", masking=StageMasking(rule="spans")),
    Stage(tokens=1, batching="flat", objective="none", masking=StageMasking(rule="tokens")),
    Stage(tokens=1, batching="plain", objective="tokens", max_seq_length=24),
    Stage(tokens=1, batching="buckets", objective="nsp", num_buckets=3),
    Stage(tokens=1, batching="pools", objective="none", masking=StageMasking(whole_words=True)),
    Stage(tokens=1, batching="plain", objective="sop", masking=StageMasking(rule="ngrams")),
)


class Batch(NamedTuple):
    """A batch that all hosts have read; its place, where the way to read tells it."""

    number: int
    place: Place | None
    rows: list[Row]


def read(recipe: Recipe, begin: Place, way: str, **hosts: int) -> Iterator[Batch]:
    """Yield what a host reads."""
    if way == "placed":
        for place, batch in iterate_placed(Run(recipe), begin, **hosts):
            yield Batch(place.batch, place, rows_of(batch))
        return
    for count, batch in enumerate(iterate_recipe_arrays(recipe, **hosts, start_batch=begin.batch)):
        yield Batch(advance(recipe, begin.batch, count), None, rows_of(batch))


def read_together(recipe: Recipe, begin: Place, way: str, num_hosts: int, most: int) -> list[Batch]:
    """Return the next batches, at most so many, of which each host reads its rows."""
    hosts = [
        itertools.islice(read(recipe, begin, way, num_hosts=num_hosts, host_index=host), most)
        for host in range(num_hosts)
    ]
    joined = []
    for first, *others in zip(*hosts, strict=True):
        assert all(each[:2] == first[:2] for each in others)
        rows = [row for each in (first, *others) for row in each.rows]
        joined.append(first._replace(rows=rows))
    return joined


def ends_of_stages(run: Run, joined: list[Batch]) -> dict[int, int]:
    """Return behind how many batches a stage ends, and the number of the next one."""
    stages = [run.stage_of(each.place.window).number for each in joined if each.place]
    pairs = enumerate(itertools.pairwise(stages), 1)
    return {count: later for count, (here, later) in pairs if here != later}


def with_other_batches(recipe: Recipe, first: int, drawn: random.Random) -> Recipe:
    """Return a recipe whose batches have another size from a stage on."""
    stages = list(recipe.stages)
    for number in range(first, len(stages)):
        size: dict[str, Any] = {"batch_size": drawn.randint(1, 9), "batch_tokens": None}
        if drawn.random() < 0.3 and stages[number].tokens is not None:
            width = stages[number].max_seq_length
            ramp = Ramp(start=width, end=drawn.randint(1, 7) * width)
            size = {"batch_size": None, "batch_tokens": ramp}
        stages[number] = dataclasses.replace(stages[number], **size)
    return dataclasses.replace(recipe, stages=tuple(stages))


def random_recipe(folder: Path, drawn: random.Random) -> Recipe:
    """A recipe of some of the stages."""
    stages = [
        dataclasses.replace(stage, tokens=stage.tokens and drawn.choice((500, 1500, 4000)))
        for stage in (FIRST, *drawn.sample(STAGES, 4))
    ]
    first = drawn.randint(0, 90)
    recipe = recipe_of(
        folder, *stages, documents=DOCUMENTS, seed=drawn.getrandbits(40),
        skip=((first, first + 3), (40, 40)),
    )  # fmt: skip
    return with_other_batches(recipe, 1, drawn)


def compare(recipe: Recipe, found: list[Batch]) -> None:
    """Compare batches with those of one process, and these with the definition."""
    whole = [(place.batch, rows_of(batch)) for place, batch in iterate_placed(Run(recipe))]
    assert [batch.number for batch in found] == [number for number, _ in whole]
    for batch, (number, expected) in zip(found, whole, strict=True):
        assert Counter(batch.rows) == Counter(expected), f"batch {number} differs"
    run = Run(dataclasses.replace(recipe, skip=()))
    of_stage: list[list[Row]] = [[] for _ in run.stages]
    for place, arrays in iterate_placed(run):
        of_stage[run.stage_of(place.window).number] += rows_of(arrays)
    defined = defined_rows(run, DOCUMENTS)
    for stage, rows, expected in zip(recipe.stages, of_stage, defined, strict=True):
        if stage.batching == "plain":
            assert rows == expected
        elif stage.batching in ("packed", "flat") and stage.asked.num_segments == 1:
            # A few sequences are cut into pieces, which are masked anew. Where steps end the stage,
            # its last window has as many sequences as they take.
            assert stage.steps or tokens_of(rows) == tokens_of(expected)
        else:
            assert Counter(rows) == Counter(expected)


def tokens_of(rows: list[Row]) -> Counter[int]:
    """Count the tokens of sequences, as they were before they were masked."""
    counts = Counter[int]()
    for ids, _, positions, labels, _ in rows:
        tokens = np.array(ids)
        tokens[list(positions)] = labels
        counts.update(tokens.tolist())
    return Counter({token: count for token, count in counts.items() if token > 4})


@pytest.mark.slow
@pytest.mark.parametrize("seed", [3, 4])
def test_a_run_with_many_restarts_is_that_of_the_definition(tmp_path: Path, seed: int) -> None:
    drawn = random.Random(seed)
    recipe, found, num_changed, begin = random_recipe(tmp_path, drawn), list[Batch](), 0, Place()
    while joined := read_together(
        recipe, begin, drawn.choice(WAYS), drawn.randint(1, 5), drawn.randint(1, 40)
    ):
        run = Run(recipe)
        count = drawn.randint(1, len(joined))  # what was saved may be older than what was read
        ends = ends_of_stages(run, joined)
        if ends:
            count, stage = drawn.choice(list(ends.items()))
            recipe = with_other_batches(recipe, stage, drawn)
            num_changed += 1
        number, place, _ = joined[count - 1]
        after = place and place._replace(batch=number + 1, in_window=place.in_window + 1)
        saved = json.loads(json.dumps(save_place(run, after or run.place(number + 1))))
        begin = load_place(Run(recipe), saved)
        found += joined[:count]
    compare(recipe, found)
    assert len(found) > 50
    assert num_changed
