"""Hosts that are killed while they read a recipe; others read on, and nothing is lost."""

import random
from pathlib import Path

import pytest

from bert_data.recipes.recipe_run import Place, Run, save_place
from tests.recipes.kills import (
    ARRAYS,
    PLACED,
    Hosts,
    Report,
    compare,
    random_recipe,
    read,
    run_to_its_end,
)


@pytest.mark.process
@pytest.mark.slow
def test_a_run_through_kills_is_the_one_of_the_definition(tmp_path: Path) -> None:
    drawn, report = random.Random(3), Report()
    recipe = random_recipe(tmp_path / "stores", drawn, 4)
    run_to_its_end(recipe, drawn, (ARRAYS, PLACED), report, tmp_path)
    assert report.kills > 2


def test_what_is_lost_or_repeated_would_be_seen(tmp_path: Path) -> None:
    recipe = random_recipe(tmp_path, random.Random(3), 3)
    whole = list(read(recipe, save_place(Run(recipe), Place()), Hosts(1, ARRAYS, 0, 0), 0))
    compare(recipe, whole)
    rows = whole[7].rows
    for other in (
        [*whole[:7], *whole[8:]],
        [*whole[:7], *whole[6:]],
        [*whole[:7], whole[7]._replace(rows=rows[1:]), *whole[8:]],
        [*whole[:7], whole[7]._replace(rows=[*rows[1:], rows[0]]), *whole[8:]],
    ):
        with pytest.raises(AssertionError):
            compare(recipe, other)
