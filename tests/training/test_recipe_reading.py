"""Training by a recipe: through all stages, and from a checkpoint as if it had never stopped."""

import dataclasses
import json
from pathlib import Path

import numpy as np
import pytest
import tensorflow as tf

from bert_data.recipes.recipe import Ramp, Recipe, Stage, StageMasking
from bert_data.recipes.recipe_run import Run
from bert_data.recipes.run_batches import iterate_recipe_arrays
from bert_data.training.checkpoints import Checkpoint, last_whole_checkpoint
from bert_data.training.evaluation import load_pretrained
from bert_data.training.loop import train
from bert_data.training.reader_configs import check_stages
from bert_data.training.recipe_reading import PLACE, RecipeReading
from bert_data.training.steps import TrainingReport
from bert_data.training.training_config import TrainingConfig
from tests.recipes.stores import many_documents, recipe_of, write_sentences
from tests.training.tiny import check_equal_weights, tiny_config

BERT = tiny_config(num_hidden_layers=1, vocab_size=1000, max_position_embeddings=32)
STAGES = (
    Stage(
        steps=5, max_seq_length=24, pool_batches=2,
        batch_tokens=Ramp(start=6 * 24, end=7 * 24, over=1e6),  # so that each pool is a window
        masking=StageMasking(rate=Ramp(start=0.4, end=0.2)),
    ),
    Stage(steps=6, max_seq_length=32, batch_size=3, batching="packed"),
    Stage(steps=5, batching="plain", mixture={"b": 1}, masking=StageMasking(rate=0.1)),
)  # fmt: skip


def run(
    folder: Path | str, recipe: Recipe, *, stop_at: int | None = None, **changes: object
) -> list[float]:
    """Train by a recipe, as the command does; return the losses."""
    reading, losses = RecipeReading(Run(recipe)), []
    settings = {"num_accumulation_steps": 1, **changes}
    last_step = reading.last_step(last_whole_checkpoint(str(folder)), **settings)

    def observe(report: TrainingReport) -> None:
        losses.extend(map(float, report.losses))
        if report.step == stop_at:
            raise KeyboardInterrupt

    config = TrainingConfig(
        output_dir=str(folder), num_train_steps=last_step, batch_size=1, num_warmup_steps=1,
        learning_rate=1e-2, save_checkpoints_steps=1, keep_checkpoints=99, log_every_steps=1,
        num_schedule_steps=100, next_sentence="none",
        num_accumulation_steps=settings["num_accumulation_steps"],
    )  # fmt: skip
    try:
        train(config, BERT, reading.make_batches, place=reading, observers=[observe])
    except KeyboardInterrupt:
        assert stop_at is not None
    return losses


@pytest.fixture(scope="module")
def straight(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Recipe, list[float]]:
    """A run through all stages without a pause, which skips some batches."""
    folder = tmp_path_factory.mktemp("straight")
    recipe = recipe_of(folder, *STAGES, skip=((1, 1), (7, 8)))
    return folder, recipe, run(folder / "out", recipe)


@pytest.mark.slow
def test_each_stage_is_read_to_its_end(straight) -> None:
    folder, recipe, losses = straight
    assert len(losses) == len(list(iterate_recipe_arrays(recipe)))
    saved = json.loads(bytes(Checkpoint(str(folder / "out")).read(PLACE)))
    assert saved["batch"] == saved["end"] == len(losses) + 3


@pytest.mark.slow
def test_it_goes_on_as_if_it_had_never_stopped(straight, tmp_path: Path) -> None:
    """The checkpoint of a step is written after its report: one is done again."""
    folder, recipe, losses = straight
    assert run(tmp_path / "out", recipe, stop_at=4) == losses[:4]
    assert run(tmp_path / "out", recipe) == losses[3:]
    check_equal_weights(*(load_pretrained(str(each / "out")) for each in (folder, tmp_path)))


def places(folder: Path, recipe: Recipe) -> list[tuple[int, RecipeReading]]:
    """Readings that are restored from the checkpoints of each step."""
    found = []
    for step in range(1, 9):
        reading = RecipeReading(Run(recipe))
        reading.restore(Checkpoint(str(folder / "out" / f"model.ckpt-{step}")))
        found.append((step, reading))
    return found


@pytest.mark.slow
def test_other_hosts_read_on_where_it_was(straight) -> None:
    folder, recipe, _ = straight
    expected = [batch["input_ids"].copy() for batch in iterate_recipe_arrays(recipe)]
    for step, reading in places(folder, recipe):
        hosts = [
            reading.make_batches(reading.first_batch, tf.distribute.InputContext(3, host, 3))
            for host in range(3)
        ]
        assert hosts[0].cardinality() == tf.data.INFINITE_CARDINALITY
        left = expected[step:]
        rows = zip(*(host.take(len(left)).as_numpy_iterator() for host in hosts), strict=True)
        for batch, parts in zip(left, rows, strict=True):
            ids = np.concatenate([part["input_ids"][part["input_mask"].any(1)] for part in parts])
            assert sorted(ids.tolist()) == sorted(batch[batch.any(1)].tolist())


@pytest.mark.slow
def test_stages_to_come_may_change_and_stages_read_may_not(straight, tmp_path: Path) -> None:
    folder, recipe, _ = straight
    first, second, last = recipe.stages
    shorter = dataclasses.replace(recipe, stages=(first, second))
    other = dataclasses.replace(recipe, stages=(first, dataclasses.replace(second, steps=2), last))
    for step, reading in places(folder, recipe):
        prefix = str(folder / "out" / f"model.ckpt-{step}")
        begun = 1 if step <= 4 else 2
        for changed, fits in ((other, begun == 1), (shorter, True)):
            reading = RecipeReading(Run(changed))
            if fits:
                expected = len(list(iterate_recipe_arrays(changed)))
                assert reading.last_step(prefix) == expected
                continue
            with pytest.raises(ValueError, match=rf"ckpt-{step}: .*another recipe: its first 2"):
                reading.last_step(prefix)
    again = dataclasses.replace(recipe, seed=8)
    with pytest.raises(ValueError, match=r"ckpt-1: .*another recipe: its first stage"):
        RecipeReading(Run(again)).last_step(str(folder / "out" / "model.ckpt-1"))
    write_sentences(tmp_path / "b", many_documents(3, 25))
    moved = dataclasses.replace(recipe, stores={**recipe.stores, "b": str(tmp_path / "b")})
    with pytest.raises(ValueError, match="or a store that they read"):
        RecipeReading(Run(moved)).last_step(str(folder / "out" / "model.ckpt-1"))


@pytest.mark.slow
def test_what_is_skipped_may_change(straight, tmp_path: Path) -> None:
    """From the next batch on: the batches that are read are the others, unmoved."""
    folder, recipe, _ = straight
    prefix = str(folder / "out" / "model.ckpt-3")  # which has read 0, 2 and 3
    reading = RecipeReading(Run(dataclasses.replace(recipe, skip=((0, 3), (5, 5)))))
    num_all = len(list(iterate_recipe_arrays(dataclasses.replace(recipe, skip=()))))
    assert reading.last_step(prefix) == 3 + num_all - 4 - 1
    assert [reading.next_batch(n) for n in range(4)] == [4, 6, 7, 8]


@pytest.mark.slow
def test_steps_of_several_batches(tmp_path: Path) -> None:
    recipe = recipe_of(tmp_path, *STAGES[:2])
    num_batches = len(list(iterate_recipe_arrays(recipe)))
    reading = RecipeReading(Run(recipe))
    assert reading.last_step(None, num_accumulation_steps=3) == num_batches // 3
    assert reading.last_step(None, num_accumulation_steps=3, most=2) == 2
    assert reading.last_step(None, most=100) == num_batches
    assert RecipeReading(Run(recipe)).last_step(None, most=7) == 7
    with pytest.raises(ValueError, match=r"has \d+ batches, fewer than a step reads .*=99"):
        reading.last_step(None, num_accumulation_steps=99)
    losses = run(tmp_path / "a", recipe, num_accumulation_steps=3)
    run(tmp_path / "b", recipe, num_accumulation_steps=3, stop_at=3)
    assert run(tmp_path / "b", recipe, num_accumulation_steps=3) == losses[2:]


@pytest.mark.parametrize(
    ("stage", "changes", "sentence"),
    [
        ({"max_seq_length": 33}, {}, "stage 2 of the recipe has max_seq_length 33, but the model"),
        ({"batching": "flat"}, {}, "stage 2 of the recipe has batching flat, batches of one row"),
        ({}, {"vocab_size": 999}, "vocab_size of the model is 999, but .*vocab.txt has 1,000"),
    ],
)
def test_models_that_cannot_read_a_stage(
    tmp_path: Path, stage: dict, changes: dict, sentence: str
) -> None:
    recipe = recipe_of(tmp_path, STAGES[0], dataclasses.replace(STAGES[1], **stage))
    with pytest.raises(ValueError, match=sentence):
        check_stages(Run(recipe), dataclasses.replace(BERT, **changes))
    check_stages(Run(recipe_of(tmp_path, *STAGES)), BERT)
