"""Saved places: a changed past is refused, a changed future is taken."""

import dataclasses
from pathlib import Path

import pytest

from bert_data.recipes.recipe import RECIPE_VERSION, Recipe, Stage
from bert_data.recipes.recipe_run import Place, Run, load_place, save_place
from tests.recipes.stores import recipe_of, write_sentences


def three_stages(folder: Path) -> Recipe:
    first = Stage(max_seq_length=48, batch_size=4, pool_batches=8, steps=11)
    return recipe_of(folder, first, Stage(steps=6, max_seq_length=24), Stage(steps=2))


def places(run: Run) -> dict[str, Place]:
    """Some of three stages of one window each."""
    assert [stage.first_window for stage in run.stages] == [0, 1, 2]
    return {
        "beginning": Place(),
        "in first": Place(3, 0, 3),
        "behind first": Place(11, 0, 11),
        "in second": Place(12, 1, 1, 11),
        "end": Place(19, 2, 2, 17),
    }


def test_places_come_back(tmp_path: Path) -> None:
    run = Run(three_stages(tmp_path))
    for place in places(run).values():
        assert load_place(run, save_place(run, place)) == place


@pytest.mark.parametrize(
    ("changed", "allowed"),
    [
        (0, {"beginning"}),
        (1, {"beginning", "in first", "behind first"}),
        (2, {"beginning", "in first", "behind first", "in second"}),
    ],
)
def test_only_later_stages_may_change(tmp_path: Path, changed: int, allowed: set[str]) -> None:
    recipe = three_stages(tmp_path)
    stages = list(recipe.stages)
    stages[changed] = dataclasses.replace(stages[changed], max_predictions_per_seq=3)
    run, other = Run(recipe), Run(dataclasses.replace(recipe, stages=tuple(stages)))
    for name, place in places(run).items():
        saved = save_place(run, place)
        if name in allowed:
            assert load_place(other, saved) == place
            continue
        count = 1 if name in ("in first", "behind first") else 2 if name == "in second" else 3
        behind = "its first stage" if count == 1 else f"its first {count} stages"
        with pytest.raises(ValueError, match=f"another recipe: {behind}, or a store"):
            load_place(other, saved)


def test_a_number_may_be_written_in_another_way(tmp_path: Path) -> None:
    digests = {
        recipe_of(tmp_path, Stage(tokens=tokens, batch_size=4)).digest(1)
        for tokens in (1000, 1e3, 1001)
    }
    assert len(digests) == 2


def test_a_longer_store_is_another_one(tmp_path: Path) -> None:
    recipe = three_stages(tmp_path)
    saved = save_place(Run(recipe), Place(3, 0, 3))
    write_sentences(tmp_path / "b", [[3, 4]] * 90)
    with pytest.raises(ValueError, match="or a store that they read, differs"):
        load_place(Run(recipe), saved)


def test_a_store_of_the_same_size_is_another_one(tmp_path: Path) -> None:
    recipe = three_stages(tmp_path)
    sentences = [[3 + n % 5] * (1 + n % 7) for n in range(90)]
    write_sentences(tmp_path / "b", sentences)
    saved = save_place(Run(recipe), Place(3, 0, 3))
    write_sentences(tmp_path / "b", sentences)
    assert load_place(Run(recipe), saved) == Place(3, 0, 3)
    write_sentences(tmp_path / "b", sentences[::-1])
    with pytest.raises(ValueError, match="or a store that they read, differs"):
        load_place(Run(recipe), saved)


def test_another_version_of_the_order_is_refused(tmp_path: Path) -> None:
    run = Run(three_stages(tmp_path))
    saved = save_place(run, Place(1, 0, 1))
    assert saved["version"] == RECIPE_VERSION
    with pytest.raises(
        ValueError, match=rf"version {RECIPE_VERSION + 1} of .*; this release has {RECIPE_VERSION}"
    ):
        load_place(run, saved | {"version": RECIPE_VERSION + 1})


@pytest.mark.parametrize(
    "saved", [{"batch": 3}, {"batch": 1, "window": "x", "in_window": 0, "digest": "0"}, {}]
)
def test_what_is_no_place_is_refused(tmp_path: Path, saved: dict) -> None:
    run = Run(three_stages(tmp_path))
    with pytest.raises(
        ValueError,
        match="has batch, window, in_window, stage_begin, carried, digest, version, seal",
    ):
        load_place(run, saved)
    with pytest.raises(ValueError, match="batch of the state is -1; it must be an integer"):
        load_place(run, save_place(run, Place(1, 0, 1)) | {"batch": -1})


def test_what_a_reader_saves_with_a_place_is_sealed_like_it(tmp_path: Path) -> None:
    run, place, kinds = Run(three_stages(tmp_path)), Place(1, 0, 1), {"end": int, "digest_2": str}
    saved = save_place(run, place, {"end": 5, "digest_2": "ab"})
    assert load_place(run, saved, kinds) == load_place(run, save_place(run, place), kinds) == place
    for changed in ({"end": 6}, {"end": True}, {"end": 5.0}, {"digest_2": "b"}, {"more": 1}):
        with pytest.raises(ValueError, match=r"the state was changed|the state is|of the state is"):
            load_place(run, saved | changed, kinds)
    for others in (None, {}, {"end": int}):
        with pytest.raises(ValueError, match=r"the state is .*; one from get_state has"):
            load_place(run, saved, others)
    for left in ("end", "digest_2", "seal"):
        with pytest.raises(ValueError, match=r"the state is .*; one from get_state has"):
            load_place(run, {name: saved[name] for name in saved if name != left}, kinds)
