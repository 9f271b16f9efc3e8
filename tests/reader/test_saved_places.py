"""Places of iterators: saved, loaded in another iterator, and refused where they do not fit."""

import json

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from bert_data.reader import ReaderConfig, iterate_arrays
from bert_data.reader.saved_places import open_state, sealed
from bert_data.recipes.recipe import Stage
from bert_data.recipes.run_batches import iterate_recipe_arrays
from bert_data.records.instances.instance_config import InstanceConfig
from bert_data.records.sets.creating import create_dataset
from bert_data.records.sets.dataset_config import DatasetConfig
from tests.recipes.stores import recipe_of


@pytest.fixture
def records(tmp_path, small_text, small_vocabulary) -> str:
    create_dataset(
        DatasetConfig(
            input_file=str(small_text),
            output_file=str(tmp_path / "train@2"),
            vocab_file=str(small_vocabulary),
            instances=InstanceConfig(max_seq_length=32, max_predictions_per_seq=5, dupe_factor=2),
        )
    )
    return str(tmp_path / "train@2")


def recipe(folder, **settings):
    stages = [
        Stage(epochs={"a": 1}, max_seq_length=32, batch_size=4, batching=batching)
        for batching in ("pools", "packed")
    ]
    return recipe_of(folder, *stages, **settings)


def of_records(files: str, **settings):
    return iterate_arrays(ReaderConfig(input_patterns=files, batch_size=4, **settings))


def digests(batches) -> list[int]:
    return [hash(tuple(sorted((k, v.tobytes()) for k, v in batch.items()))) for batch in batches]


@pytest.mark.parametrize("kind", ["pools", "packed", "stream", "recipe"])
def test_a_saved_place_is_gone_to(records, tmp_path, kind):
    def begin():
        if kind == "recipe":
            return iterate_recipe_arrays(recipe(tmp_path))
        return of_records(records, batching=kind)

    whole = digests(begin())
    for read in (0, 1, len(whole) // 2, len(whole) - 1, len(whole)):
        batches = begin()
        digests(next(batches) for _ in range(read))
        state = json.loads(json.dumps(batches.get_state()))
        assert state["batch"] == read
        other = begin()
        next(other)
        other.set_state(state)
        assert other.get_state() == state
        assert digests(other) == whole[read:]
        assert digests(other) == []


def test_states_of_others_are_refused(records, tmp_path):
    state = of_records(records, batching="pools", shuffle=True).get_state()
    with pytest.raises(ValueError, match="of other records, or of another order"):
        of_records(records, batching="pools", shuffle=True, seed=4).set_state(state)
    with pytest.raises(ValueError, match=r"the state is {.*; one from get_state has"):
        of_records(records).set_state(iterate_recipe_arrays(recipe(tmp_path)).get_state())
    changed = iterate_recipe_arrays(recipe(tmp_path, seed=9))
    batches = iterate_recipe_arrays(recipe(tmp_path))
    next(batches)
    with pytest.raises(ValueError, match="made with another recipe"):
        changed.set_state(batches.get_state())


@pytest.mark.parametrize("value", [10**9, 2**70, 1.5, True, -1, "1", None, np.int64(1)])
def test_states_that_were_changed_are_refused(records, tmp_path, value):
    for batches in (of_records(records), iterate_recipe_arrays(recipe(tmp_path))):
        state = batches.get_state()
        with pytest.raises(ValueError, match=r"changed after it was saved|batch of the state is"):
            batches.set_state({**state, "batch": value})
        for other in (None, [], {}, "state", {**state, "more": 1}):
            with pytest.raises(ValueError, match="the state is"):
                batches.set_state(other)
        assert batches.get_state() == state


@given(st.dictionaries(st.sampled_from("abc"), st.integers(0), min_size=1), st.integers(1))
def test_a_seal_fits_one_state(state, more):
    needed = dict.fromkeys(state, int)
    assert open_state(sealed(state), needed) == state
    for name in state:
        with pytest.raises(ValueError, match="changed after it was saved"):
            open_state({**sealed(state), name: state[name] + more}, needed)
