"""Steps that read some tokens: against all batches of a run, and in places that far runs have."""

import itertools
from collections import defaultdict

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from bert_data.recipes.finding import find_permuted, find_tokens
from bert_data.recipes.recipe import BATCHINGS, Recipe, Stage
from bert_data.recipes.recipe_run import Run
from bert_data.recipes.run_batches import iterate_placed
from bert_data.recipes.stage_masking import Ramp
from tests.recipes.oracle import permuted
from tests.recipes.stores import FIRST_ID, many_documents, write_sentences, write_vocabulary
from tests.rows import mostly_slow

NUM_IDS = 20_000


def batches_with(recipe: Recipe, first_id: int) -> dict[int, list[tuple[int, int, int, str]]]:
    """Step, row, column and segment of each token from an id on, by its number from there."""
    found = defaultdict(list)
    for place, batch in iterate_placed(Run(recipe)):
        ids = batch["input_ids"].copy()
        rows, slots = np.nonzero(batch["masked_lm_weights"])
        ids[rows, batch["masked_lm_positions"][rows, slots]] = batch["masked_lm_ids"][rows, slots]
        for row, column in np.argwhere(ids >= first_id).tolist():
            segment = "AB"[batch["segment_ids"][row, column]]
            found[int(ids[row, column]) - first_id].append((place.batch, row, column, segment))
    return found


@pytest.fixture
def two_stores(tmp_path):
    """A function that gives a recipe of stages; ids of the second store come last, each once."""
    write_sentences(tmp_path / "a", many_documents(1), 5000)
    write_sentences(tmp_path / "b", many_documents(2, 25), NUM_IDS)
    ids = np.memmap(tmp_path / "b.bin", "<u2", "r+")
    ids += 10_000
    ids.flush()

    def make(*stages: Stage) -> tuple[Recipe, int]:
        recipe = Recipe(
            vocab_file=write_vocabulary(tmp_path, NUM_IDS),
            stores={name: str(tmp_path / name) for name in "ab"},
            stages=stages,
            seed=7,
            shuffle_block=8,
            shuffle_window=32,
        )
        return recipe, ids.size

    return make


def check(recipe: Recipe, num_tokens: int) -> int:
    """Compare what is found of some stretches of tokens with all batches."""
    expected, run = batches_with(recipe, FIRST_ID + 10_000), Run(recipe)
    ranges = [range(n, min(n + 17, num_tokens)) for n in range(0, num_tokens, 29)]
    for wanted in (ranges[:1], ranges[5:6], ranges):
        found = [
            (token, (each.step, each.row, column, each.segment))
            for each in find_tokens(run, "b", wanted)
            for token, column in zip(each.tokens, each.columns, strict=True)
        ]
        tokens = itertools.chain(*wanted)
        assert sorted(found) == sorted((t, place) for t in tokens for place in expected[t])
    return sum(map(len, expected.values()))


@mostly_slow("objective", ["nsp", "sop", "none", "electra", "tokens"])
@mostly_slow("batching", [each for each in BATCHINGS if each != "flat"])
def test_all_that_batches_hold(two_stores, batching, objective):
    own = {"objective": objective, "batching": batching, "max_seq_length": 32, "batch_size": 4}
    first = Stage(epochs={"b": 1.5}, **own)
    if batching in ("plain", "pools"):
        ramp = Ramp(start=64, end=256, over=4000)
        first = Stage(epochs={"b": 1.5}, **{**own, "batch_size": None}, batch_tokens=ramp)
    second = Stage(steps=40, mixture={"a": 0.7, "b": 0.3}, **own)
    last = Stage(tokens=1000, batching="plain", objective="tokens", max_seq_length=16)
    recipe, num_tokens = two_stores(first, second, last)
    assert check(recipe, num_tokens) > num_tokens


@given(size=st.integers(1, 2**40), key=st.integers(0, 2**64 - 1), data=st.data())
def test_the_permutation_is_inverted(size, key, data):
    number = data.draw(st.integers(0, size - 1))
    assert find_permuted(permuted(number, size, key), size, key) == number
