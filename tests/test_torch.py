"""Recipes in PyTorch: the same batches for any workers, ranks and restarts."""

import dataclasses
import itertools
import multiprocessing
import pickle
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from bert_data.recipes.recipe import RECIPE_BATCHINGS, Recipe, Stage
from bert_data.recipes.run_batches import iterate_recipe_arrays
from tests.recipes.stores import recipe_of

WHY = "PyTorch is not installed; bert_data does not bring it along"
torch = pytest.importorskip("torch", reason=WHY)

from bert_data.torch import RecipeDataset, for_transformers  # noqa: E402

# A machine with fewer cores than workers is as good for a test.
pytestmark = [
    pytest.mark.filterwarnings("ignore:This DataLoader will create:UserWarning"),
    pytest.mark.filterwarnings("ignore:This process .* is multi-threaded:DeprecationWarning"),
]


def small_recipe(folder: Path, *later: Stage, **first: Any) -> Recipe:
    stage = {"max_seq_length": 48, "batch_size": 4, "pool_batches": 8, "steps": 11}
    return recipe_of(folder, Stage(**{**stage, **first}), *later)


def arrays(recipe: Recipe, **of_host: int) -> list[dict[str, np.ndarray]]:
    return [
        {k: v.copy() for k, v in batch.items()}
        for batch in iterate_recipe_arrays(recipe, **of_host)
    ]


def assert_same(given: Any, wanted: list[dict[str, np.ndarray]]) -> None:
    batches = list(given)
    assert len(batches) == len(wanted)
    for batch, other in zip(batches, wanted, strict=True):
        assert batch.keys() == other.keys()
        for name, values in other.items():
            assert batch[name].numpy().dtype == values.dtype
            np.testing.assert_array_equal(batch[name].numpy(), values, err_msg=name)


@pytest.mark.parametrize("batching", RECIPE_BATCHINGS)
def test_batches_are_those_of_iterate_arrays(tmp_path: Path, batching: str) -> None:
    recipe = small_recipe(tmp_path, batching=batching)
    assert_same(RecipeDataset(recipe), arrays(recipe))


@pytest.mark.process
@pytest.mark.slow
@pytest.mark.parametrize("num_workers", [1, 2, 3])
def test_workers_do_not_change_the_order(tmp_path: Path, num_workers: int) -> None:
    packed = Stage(steps=5, batching="packed")
    recipe = small_recipe(tmp_path, packed)
    recipe = dataclasses.replace(recipe, skip=((3, 4), (4, 5), (12, 12)))
    wanted = arrays(recipe)
    assert len(wanted) > 8
    assert_same(RecipeDataset(recipe).loader(num_workers=num_workers), wanted)
    plain = torch.utils.data.DataLoader(
        RecipeDataset(recipe), batch_size=None, num_workers=num_workers
    )
    assert_same(plain, wanted)


def test_ranks_read_their_rows(tmp_path: Path) -> None:
    recipe = small_recipe(tmp_path)
    for host in range(3):
        dataset = RecipeDataset(recipe, num_hosts=3, host_index=host)
        assert_same(dataset, arrays(recipe, num_hosts=3, host_index=host))


def test_ranks_are_those_of_torch_distributed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    recipe = small_recipe(tmp_path)
    for name, value in (("is_initialized", True), ("get_world_size", 2), ("get_rank", 1)):
        monkeypatch.setattr(torch.distributed, name, lambda value=value: value)
    assert_same(RecipeDataset(recipe), arrays(recipe, num_hosts=2, host_index=1))


def read_as_rank(
    recipe: Recipe, folder: Path, rank: int, num_ranks: int, num_workers: int, until: int | None
) -> None:
    """What a rank does: it reads, and all exchange what they read and would save."""
    warnings.simplefilter("ignore")  # pin_memory has no use here
    state, out = folder / "state", folder / f"{num_ranks}.pt"
    distributed = torch.distributed
    distributed.init_process_group(
        "gloo", init_method=f"file://{folder}/group-{num_ranks}", rank=rank, world_size=num_ranks
    )
    loader = RecipeDataset(recipe).loader(num_workers=num_workers, pin_memory=True)
    if state.exists():
        loader.load_state_dict(torch.load(state))
    joined = []
    for number, batch in enumerate(loader, 1):
        ids = batch["input_ids"]
        parts = [torch.empty_like(ids) for _ in range(num_ranks)]
        distributed.all_gather(parts, ids)
        joined.append(torch.cat(parts))
        if number == until:
            states: list[Any] = [None] * num_ranks
            distributed.all_gather_object(states, loader.state_dict())
            assert all(each == states[0] for each in states)
            break
    if rank == 0:
        torch.save(joined, out)
        torch.save(loader.state_dict(), state)
    distributed.barrier()
    distributed.destroy_process_group()


@pytest.mark.process
@pytest.mark.slow
@pytest.mark.parametrize("batching", ["pools", "packed"])
def test_ranks_of_a_group_read_one_run(tmp_path: Path, batching: str) -> None:
    """Two ranks, then three with other workers; gloo on loopback."""
    recipe = small_recipe(tmp_path, Stage(steps=4, batching="plain"), batching=batching)
    processes = multiprocessing.get_context("fork")
    read = []
    for num_ranks, num_workers, until in ((2, 2, 6), (3, 1, None)):
        ranks = [
            processes.Process(
                target=read_as_rank, args=(recipe, tmp_path, rank, num_ranks, num_workers, until)
            )
            for rank in range(num_ranks)
        ]
        for each in ranks:
            each.start()
        for each in ranks:
            each.join()
        assert [each.exitcode for each in ranks] == [0] * num_ranks
        read += torch.load(tmp_path / f"{num_ranks}.pt")
    wanted = [batch["input_ids"] for batch in arrays(recipe)]
    assert len(read) == len(wanted) > 6
    for ids, others in zip(read, wanted, strict=True):
        assert sorted(ids[ids.any(dim=1)].tolist()) == sorted(others[others.any(axis=1)].tolist())


def test_a_group_that_comes_later_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Or each rank would read all rows."""
    recipe = small_recipe(tmp_path)
    datasets = RecipeDataset(recipe), RecipeDataset(recipe, num_hosts=1, host_index=0)
    for name, value in (("is_initialized", True), ("get_world_size", 2), ("get_rank", 1)):
        monkeypatch.setattr(torch.distributed, name, lambda value=value: value)
    sentence = "made for rank 0 of 1, but torch.distributed has rank 1 of 2: make it after init"
    with pytest.raises(ValueError, match=sentence):
        next(iter(datasets[0]))
    assert_same(datasets[1], arrays(recipe))


@pytest.mark.process
@pytest.mark.slow
def test_workers_that_stay_take_no_other_place(tmp_path: Path) -> None:
    recipe = small_recipe(tmp_path)
    wanted = arrays(recipe)
    loader = RecipeDataset(recipe).loader(num_workers=1, persistent_workers=True)
    state = [loader.state_dict() for _ in loader][4]
    with pytest.raises(ValueError, match="load the state before the first iteration"):
        loader.load_state_dict(state)
    assert_same(loader, wanted)
    loader = RecipeDataset(recipe).loader(num_workers=1, persistent_workers=True)
    loader.load_state_dict(state)
    assert_same(loader, wanted[5:])


@pytest.mark.parametrize("batching", ["pools", "packed", "flat"])
def test_a_saved_place_is_where_the_next_batch_begins(tmp_path: Path, batching: str) -> None:
    recipe = small_recipe(tmp_path, Stage(steps=6, max_seq_length=24), batching=batching)
    wanted = arrays(recipe)
    dataset = RecipeDataset(recipe)
    states = [dataset.state_dict()]
    for _ in dataset:
        states.append(dataset.state_dict())
    for number, state in enumerate(states):
        again = RecipeDataset(recipe)
        again.load_state_dict(state)
        assert again.state_dict() == state
        assert_same(again, wanted[number:])
        assert_same(again, wanted)


@pytest.mark.process
@pytest.mark.slow
def test_a_loader_knows_the_place_whatever_its_workers_read(tmp_path: Path) -> None:
    recipe = small_recipe(tmp_path)
    wanted = arrays(recipe)
    loader = RecipeDataset(recipe).loader(num_workers=2, prefetch_factor=2)
    batches = iter(loader)
    for _ in range(5):
        next(batches)
    states = {5: loader.state_dict()}
    list(batches)
    states[len(wanted)] = loader.state_dict()
    for num_workers, (count, state) in itertools.product((0, 3), states.items()):
        again = RecipeDataset(recipe).loader(num_workers=num_workers)
        again.load_state_dict(state)
        assert_same(again, wanted[count:])
        assert_same(again, wanted)


@pytest.mark.process
@pytest.mark.slow
def test_the_place_of_a_plain_loaders_workers_is_refused(tmp_path: Path) -> None:
    dataset = RecipeDataset(small_recipe(tmp_path))
    next(iter(torch.utils.data.DataLoader(dataset, batch_size=None, num_workers=1)))
    with pytest.raises(ValueError, match=r"use the state_dict of dataset\.loader"):
        dataset.state_dict()


@pytest.mark.process
@pytest.mark.slow
@pytest.mark.filterwarnings("ignore:'set_vital' is deprecated")
def test_the_state_of_each_worker_continues_it(tmp_path: Path) -> None:
    """As torchdata's StatefulDataLoader saves and loads it, in the workers."""
    stateful = pytest.importorskip("torchdata.stateful_dataloader", reason="needs torchdata")
    recipe = small_recipe(tmp_path)
    wanted = arrays(recipe)
    for count in (1, 4, 5):  # after one, a worker has not begun
        loader = stateful.StatefulDataLoader(RecipeDataset(recipe), batch_size=None, num_workers=2)
        batches = iter(loader)
        for _ in range(count):
            next(batches)
        state = loader.state_dict()
        again = stateful.StatefulDataLoader(RecipeDataset(recipe), batch_size=None, num_workers=2)
        again.load_state_dict(state)
        assert_same(again, wanted[count:])


def test_a_state_with_more_or_other_values_is_refused(tmp_path: Path) -> None:
    dataset = RecipeDataset(small_recipe(tmp_path))
    state = [dataset.state_dict() for _ in dataset][3]
    for more in ({"num_workers": 2, "ahead": 1}, {"num_workers": 2}, {"end": 3}, {"more": 1}):
        with pytest.raises(ValueError, match=r"the state was changed|the state is"):
            dataset.load_state_dict(state | more)


def test_the_place_of_another_recipe_is_refused(tmp_path: Path) -> None:
    recipe = small_recipe(tmp_path)
    dataset = RecipeDataset(recipe)
    state = [dataset.state_dict() for _ in dataset][3]
    with pytest.raises(ValueError, match="made with another recipe: its first stage"):
        RecipeDataset(dataclasses.replace(recipe, seed=8)).load_state_dict(state)


def test_a_dataset_can_be_pickled(tmp_path: Path) -> None:
    """As for workers that are not forked."""
    recipe = small_recipe(tmp_path)
    dataset = RecipeDataset(recipe)
    state = [dataset.state_dict() for _ in dataset][4]
    dataset.load_state_dict(state)
    assert_same(pickle.loads(pickle.dumps(dataset)), arrays(recipe)[5:])


def test_mistakes_are_said_at_once(tmp_path: Path) -> None:
    recipe = small_recipe(tmp_path, Stage(steps=2, batching="packed"), batching="flat")
    with pytest.raises(ValueError, match="form=modernbert needs `batching=flat`; stage 2 has"):
        RecipeDataset(recipe, form="modernbert")
    with pytest.raises(ValueError, match="stage 1 has `batching=flat`, so form=transformers needs"):
        RecipeDataset(recipe, form="transformers")
    with pytest.raises(ValueError, match="attention is 'eager'; it must be one of flash, sdpa"):
        RecipeDataset(recipe, form="transformers", attention="eager")
    with pytest.raises(ValueError, match="window are of form=transformers; form is arrays"):
        RecipeDataset(recipe, window=3)
    with pytest.raises(ValueError, match="attention is None; it must be one of flash, sdpa"):
        for_transformers(next(iter(RecipeDataset(recipe))))
    with pytest.raises(ValueError, match="keras"):
        RecipeDataset(recipe, form="keras")
    with pytest.raises(ValueError, match="host_index is 2; 0 to 1 is allowed"):
        RecipeDataset(recipe, num_hosts=2, host_index=2)
    with pytest.raises(ValueError, match="in_order is False; it must be True"):
        RecipeDataset(recipe).loader(in_order=False)
    with pytest.raises(ValueError, match="set both `num_hosts` and `host_index`"):
        RecipeDataset(recipe, num_hosts=2)
