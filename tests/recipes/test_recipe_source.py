"""Batches of recipes for tf.data: those of `iterate_arrays`, for any replicas, from any batch."""

import dataclasses
import itertools
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
import tensorflow as tf
from hypothesis import given
from hypothesis import strategies as st

import bert_data
from bert_data.reader.planning.epoch import Parts
from bert_data.reader.tensors import dataset_of
from bert_data.recipes.recipe import Ramp, Recipe, Stage, StageMasking
from bert_data.recipes.recipe_run import START, Place, Run
from bert_data.recipes.recipe_source import (
    RecipeReaderConfig,
    RecipeSource,
    advance,
    count_batches,
    objective_of_stages,
)
from bert_data.training import AdamWeightDecay, pretraining_model
from tests.recipes.stores import many_documents, recipe_of
from tests.rows import mostly_slow
from tests.training.tiny import tiny_config

RATES = StageMasking(rate=Ramp(start=0.3, end=0.1))
POOLS = Stage(steps=9, max_seq_length=32, batch_size=6, pool_batches=4, masking=RATES)
PACKED = Stage(steps=5, max_seq_length=48, batch_size=3, batching="packed")
PACKED_EPOCH = Stage(epochs={"b": 1}, max_seq_length=48, batch_size=3, batching="packed")
PAIRS = Stage(
    steps=6, max_seq_length=24, batch_size=5, batching="plain", objective="nsp", mixture={"b": 1}
)
SKIP = ((2, 3), (8, 9))
FEW = {"a": many_documents(1, 9), "b": many_documents(2, 9)}


def arrays_of(recipe: Recipe, **hosts: int) -> list[dict[str, np.ndarray]]:
    return [
        {name: values.copy() for name, values in batch.items()}
        for batch in bert_data.iterate_arrays(recipe, **hosts)
    ]


def datasets(recipe: Recipe, **options: object) -> list[dict[str, np.ndarray]]:
    return list(bert_data.read_batches(recipe, **options).as_numpy_iterator())


def assert_same(batches: list, expected: list) -> None:
    assert len(batches) == len(expected) > 0
    for batch, arrays in zip(batches, expected, strict=True):
        for name, values in arrays.items():
            np.testing.assert_array_equal(batch[name], values, name)
            assert batch[name].dtype == values.dtype


@mostly_slow("stages", [(POOLS,), (PAIRS,), (PACKED,), (POOLS, PACKED, PAIRS)])
def test_batches_are_those_of_arrays(tmp_path: Path, stages: tuple[Stage, ...]) -> None:
    recipe = recipe_of(tmp_path, *stages, skip=SKIP)
    batches, expected = datasets(recipe), arrays_of(recipe)
    assert_same(batches, expected)
    if len(stages) == 1:
        assert {*batches[0]} == {*expected[0]}
    assert_same(datasets(recipe, start_batch=3), arrays_of(recipe, start_batch=3))


def test_features_are_those_of_all_stages(tmp_path: Path) -> None:
    """What a stage does not have says nothing: weights are 0, and a row is one sequence."""
    batches = datasets(recipe_of(tmp_path, POOLS, PACKED, PAIRS))
    assert len({tuple(batch) for batch in batches}) == 1
    for batch in batches[:9]:
        np.testing.assert_array_equal(batch["instance_ids"], batch["input_mask"])
        places = np.arange(batch["input_ids"].shape[1]) * batch["input_mask"]
        np.testing.assert_array_equal(batch["position_ids"], places)
        assert not batch["next_sentence_weights"].any()
    for batch in batches[-6:]:
        assert batch["next_sentence_weights"].all()
        assert not batch["next_sentence_positions"].any()


@mostly_slow("batching", ["pools", "packed", "plain"])
def test_replicas_take_the_rows_of_a_batch(tmp_path: Path, batching: str) -> None:
    """Also where they do not divide them evenly; all get the same shapes."""
    stage = Stage(steps=6, max_seq_length=40, batch_size=5, batching=batching)
    recipe = recipe_of(tmp_path, stage, skip=((1, 1),))
    expected, parts = arrays_of(recipe), []
    for host, num_here in ((0, 1), (1, 2)):
        own = Parts(3, host, num_here)
        source = RecipeSource(Run(recipe), START, own)
        rows, *_ = source.static_shape
        assert rows == 2
        batches = list(dataset_of(source, RecipeReaderConfig()).as_numpy_iterator())
        parts.append([batches[i::num_here] for i in range(num_here)])
    for batch, *replicas in zip(expected, *itertools.chain(*parts), strict=True):
        assert len({part["input_ids"].shape for part in replicas}) == 1
        full = [part["input_mask"].any(axis=1) for part in replicas]
        names = ("input_ids", "masked_lm_ids", "masked_lm_positions")
        rows = np.concatenate(
            [
                np.concatenate([part[name][is_full] for name in names], axis=1)
                for part, is_full in zip(replicas, full, strict=True)
            ]
        )
        whole = np.concatenate([batch[name] for name in names], axis=1)
        assert sorted(rows.tolist()) == sorted(whole[batch["input_mask"].any(axis=1)].tolist())


def test_a_strategy_gives_each_replica_its_rows(tmp_path: Path) -> None:
    recipe = recipe_of(tmp_path, POOLS)
    context = tf.distribute.InputContext(2, 1, 2)
    batches = list(bert_data.read_batches(recipe, input_context=context).as_numpy_iterator())
    assert_same(batches, arrays_of(recipe, num_hosts=2, host_index=1))


def test_what_is_known_of_all_batches(tmp_path: Path) -> None:
    recipe = recipe_of(tmp_path, POOLS, PAIRS, skip=SKIP)
    assert bert_data.read_batches(recipe).cardinality() == 9 + 6 - 4
    assert bert_data.read_batches(recipe, start_batch=3).cardinality() == 9
    spec = bert_data.read_batches(recipe_of(tmp_path, PAIRS)).element_spec
    assert spec["input_ids"].shape == (5, 24) and spec["masked_lm_ids"].shape == (5, 4)
    packed = bert_data.read_batches(recipe_of(tmp_path, PAIRS, PACKED))
    assert packed.cardinality() == 6 + 5
    by_tokens = dataclasses.replace(PACKED, steps=None, tokens=1000)
    packed = bert_data.read_batches(recipe_of(tmp_path, PAIRS, by_tokens))
    assert packed.cardinality() == tf.data.UNKNOWN_CARDINALITY
    assert packed.element_spec["input_ids"].shape == (None, None)
    assert list(bert_data.read_batches(recipe, start_batch=15)) == []
    assert list(bert_data.iterate_arrays(recipe, start_batch=15)) == []
    for read in (bert_data.read_batches, bert_data.iterate_arrays):
        with pytest.raises(ValueError, match="start_batch is 16, but there are 15 batches"):
            list(read(recipe, start_batch=16))


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        ({"num_hosts": 2, "host_index": 2}, "host_index is 2; it must be below num_hosts, 2"),
        ({"form": "fit"}, "iterate_arrays.. has no option 'form'"),
        ({"batch_size": 3}, "iterate_arrays.. has no option 'batch_size'"),
        ({"shuffle": False}, "iterate_arrays.. has no option 'shuffle'"),
        ({"start_batch": -1}, "start_batch is -1; 0 to "),
    ],
)
def test_a_recipe_takes_few_options(tmp_path: Path, options: dict, sentence: str) -> None:
    with pytest.raises((ValueError, TypeError), match=sentence):
        bert_data.iterate_arrays(recipe_of(tmp_path, POOLS), **options)


def test_two_tasks_are_no_dataset(tmp_path: Path) -> None:
    stages = [Stage(steps=1, batch_size=2, objective=each) for each in ("none", "sop", "none")]
    recipe = recipe_of(tmp_path, *stages)
    assert objective_of_stages(recipe).name == "sop"
    recipe = recipe_of(tmp_path, *stages, Stage(steps=1, objective="nsp"))
    with pytest.raises(ValueError, match="objective=sop and objective=nsp; the batches of one"):
        bert_data.read_batches(recipe)
    assert len(arrays_of(recipe)) == 4


@given(
    skip=st.lists(st.tuples(st.integers(0, 30), st.integers(0, 9)), max_size=4),
    start=st.integers(0, 30),
    num_read=st.integers(0, 30),
)
def test_skipped_batches_are_not_counted(
    skip: list[tuple[int, int]], start: int, num_read: int
) -> None:
    ranges = tuple((first, first + more) for first, more in skip)
    recipe = Recipe(
        vocab_file="v", stores={"a": "a"}, stages=(Stage(steps=1, batch_size=1),), skip=ranges
    )
    read = [n for n in range(start, 200) if not any(a <= n <= b for a, b in ranges)]
    assert count_batches(recipe, start, 90) == sum(n < 90 for n in read)
    after = advance(recipe, start, num_read)
    assert [n for n in read if n < after] == read[:num_read]


def test_windows_are_where_they_begin(tmp_path: Path) -> None:
    growing = Ramp(start=6 * 32, end=7 * 32, over=1e6)  # so that each pool is a window
    pools = dataclasses.replace(POOLS, batch_size=None, batch_tokens=growing)
    run = Run(recipe_of(tmp_path, pools, PACKED, skip=((0, 3),)))
    source = RecipeSource(run, Place(5, 1, 1))
    for _ in source.groups():
        pass
    assert source.begins == [Place(5, 1, 1), *(run.place(batch) for batch in (8, 9))]


@pytest.mark.slow
@pytest.mark.parametrize("first", [dataclasses.replace(POOLS, steps=3), PACKED_EPOCH])
def test_keras_trains_through_all_stages(tmp_path: Path, first: Stage) -> None:
    """Without a warning, also where the number of batches is not known before."""
    pairs = dataclasses.replace(PAIRS, steps=2)
    recipe = recipe_of(tmp_path, first, pairs, documents=FEW, skip=((2, 2),))
    sizes = {"num_hidden_layers": 1, "vocab_size": 1000, "max_position_embeddings": 48}
    model = pretraining_model(tiny_config(**sizes), next_sentence="nsp")
    model.compile(AdamWeightDecay(0.01), run_eagerly=True)
    seen = []
    count = tf.keras.callbacks.LambdaCallback(on_train_batch_end=lambda n, logs: seen.append(n))
    batches = bert_data.read_batches(recipe, form="fit")
    assert (batches.cardinality() == tf.data.UNKNOWN_CARDINALITY) == (first == PACKED_EPOCH)
    model.fit(batches, verbose=0, callbacks=[count])
    assert len(seen) == len(arrays_of(recipe))
    with pytest.warns(UserWarning, match="ran out of data"):  # of steps that were asked for
        model.fit(batches, steps_per_epoch=len(seen) + 1, verbose=0)


@pytest.mark.process
def test_arrays_need_no_tensorflow(tmp_path: Path, checkout: Path) -> None:
    recipe_of(tmp_path, PAIRS)
    code = f"""
import sys
import bert_data
from bert_data.recipes.recipe import Recipe, Stage
stage = Stage(steps=2, batch_size=2, objective="nsp")
recipe = Recipe(vocab_file="{tmp_path}/vocab.txt", stores={{"a": "{tmp_path}/a"}}, stages=(stage,))
print(len(list(bert_data.iterate_arrays(recipe))), "tensorflow" in sys.modules)
"""
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=checkout, capture_output=True, text=True, check=True
    )
    assert done.stdout == "2 False\n"
