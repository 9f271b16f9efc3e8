"""What a recipe reads, foretold: equal to what its batches hold, and about that if it is long."""

import dataclasses
import io

import numpy as np
import pytest

from bert_data.inspection.recipe_plan import plan_recipe, show_recipe_plan
from bert_data.inspection.terminal import Terminal
from bert_data.recipes.recipe import RECIPE_BATCHINGS, Recipe
from bert_data.recipes.run_batches import iterate_recipe_arrays
from tests.recipes.stores import write_recipe
from tests.rows import mostly_slow

STAGES = """\
  - epochs: {{wiki: 2}}
    batch_size: 8
    max_seq_length: 64
    batching: {batching}
    pool_batches: 4
    objective: {objective}
    masking: {{rate: {{from: 0.3, to: 0.1}}}}
    mixture: {{wiki: 0.6, books: 0.4}}
  - tokens: 1e4
    batch_tokens: 512
    mixture: {{wiki: 0, books: 1}}
"""


def planned(path, max_sequences=1 << 21):
    return plan_recipe(Recipe.from_file(path), max_sequences)


@mostly_slow("batching", RECIPE_BATCHINGS)
@mostly_slow("objective", ["none", "nsp", "tokens"])
def test_a_plan_is_what_the_batches_are(tmp_path, batching, objective):
    path = write_recipe(tmp_path, STAGES.format(batching=batching, objective=objective))
    plan = planned(path)
    batches = list(iterate_recipe_arrays(Recipe.from_file(path)))
    first, second = plan.stages
    assert first.is_counted and second.is_counted
    assert first.num_batches + second.num_batches == len(batches)
    for stage, own in (
        (first, batches[: first.num_batches]),
        (second, batches[-second.num_batches :]),
    ):
        masks = [batch["input_mask"] for batch in own]
        assert stage.rows[0] == len(masks[0])
        assert stage.num_tokens == sum(int(mask.sum()) for mask in masks)
        assert stage.num_positions == sum(mask.size for mask in masks)
        num_predictions = sum(int(batch["masked_lm_weights"].sum()) for batch in own)
        assert stage.num_predictions == num_predictions
        if objective == "nsp":
            labels = [b["next_sentence_labels"][b["next_sentence_weights"] > 0] for b in own]
            assert stage.share_of_ones == np.concatenate(labels).mean()
    assert first.stores[0].epochs == pytest.approx(2, abs=0.01)
    assert [store.share for store in first.stores] == pytest.approx([0.6, 0.4])
    assert [store.name for store in second.stores] == ["books"]
    assert plan.epochs["books"] == first.stores[1].epochs + second.stores[0].epochs
    assert first.rates == pytest.approx((0.3, 0.1)) and second.rates == pytest.approx((0.1, 0.1))


def test_packed_pairs_are_advised_against(tmp_path):
    path = write_recipe(tmp_path, STAGES.format(batching="packed", objective="nsp"))
    plan = planned(path)
    advice = [each for each in plan.warnings if "cannot be cut to fill rows" in each]
    assert [each[:8] for each in advice] == ["stage 1:", "stage 2:"]
    assert all("% of what it reads is padding" in each for each in advice)
    write_recipe(tmp_path, STAGES.format(batching="pools", objective="nsp"))
    assert not any("cannot be cut" in each for each in planned(path).warnings)


@pytest.mark.parametrize(("batching", "max_sequences"), [("pools", 500), ("packed", 9000)])
def test_some_windows_stand_for_many(tmp_path, batching, max_sequences):
    stages = STAGES.format(batching=batching, objective="none")
    stages = stages.replace("batch_size: 8", "batch_tokens: {from: 128, to: 512, over: 1e4}")
    path = str(write_recipe(tmp_path, stages, num_documents=2000))
    counted = planned(path).stages[0]
    judged = planned(path, max_sequences).stages[0]
    assert counted.is_counted and not judged.is_counted
    assert judged.num_sequences == counted.num_sequences
    for name in ("num_tokens", "num_positions", "num_predictions", "num_batches"):
        assert getattr(judged, name) == pytest.approx(getattr(counted, name), rel=0.05), name
    if batching == "pools":
        assert judged.num_batches == counted.num_batches


@pytest.mark.parametrize("max_sequences", [10**6, 200])
def test_packed_steps_are_those_asked_for(tmp_path, max_sequences):
    stages = "  - {steps: 300, batch_size: 4, max_seq_length: 64, batching: packed}\n"
    path = str(write_recipe(tmp_path, stages, num_documents=2000))
    (stage,) = planned(path, max_sequences).stages
    masks = [batch["input_mask"] for batch in iterate_recipe_arrays(Recipe.from_file(path))]
    assert stage.num_batches == len(masks) == 300
    num_tokens = sum(int(mask.sum()) for mask in masks)
    assert stage.num_tokens == pytest.approx(num_tokens, rel=0.01 if max_sequences == 200 else 0)
    assert stage.num_positions == pytest.approx(300 * 4 * 64, rel=0.01)


def shown(plan):
    file = io.StringIO()
    show_recipe_plan(Terminal(file), plan)
    return file.getvalue()


def test_what_is_shown(tmp_path):
    path = write_recipe(tmp_path, STAGES.format(batching="pools", objective="none"))
    plan = planned(path)
    lines = shown(plan).splitlines()
    assert lines[1].split()[:8] == ["1", "2", "epochs", "of", "wiki", "none", "64", "pools"]
    assert lines[1].endswith("30.0%-10.0%")
    assert lines[2].split()[:3] == ["2", "10,000", "tokens"]
    wiki = next(line for line in lines if line.startswith("wiki"))
    assert wiki.split() == ["wiki", "2.00", "(60.0%)", "-", "2.00"]
    batches = lines[lines.index("Batches") + 2].split()
    assert batches[:3] == [
        "1",
        f"{plan.stages[0].num_sequences:,}",
        f"{plan.stages[0].num_batches:,}",
    ]
    assert plan.as_json()["stages"][0]["padding"] == plan.stages[0].padding


def test_warnings(tmp_path):
    stages = "  - {epochs: {wiki: 5}, batch_size: 8, mixture: {wiki: 1}}\nskip: [[1, 2], [2, 3]]\n"
    plan = planned(write_recipe(tmp_path, stages))
    num_batches = plan.stages[0].num_batches
    assert plan.warnings == (
        f"skip leaves out 3 of the {num_batches} batches; all are counted here",
        "no stage reads books",
        "more than 4 epochs of wiki (5.0); more than that teach little",
    )
    assert plan.warnings[1] in shown(plan)


def test_few_labels_of_a_kind_are_told(tmp_path):
    stages = "  - {steps: 50, batch_size: 8, max_seq_length: 16, objective: nsp}\n"
    plan = planned(write_recipe(tmp_path, stages))
    assert plan.stages[0].share_of_ones > 0.6
    (warning,) = plan.warnings
    assert warning.startswith(f"stage 1: {100 * plan.stages[0].share_of_ones:.1f}% of the pairs ")
    stages = "  - {tokens: 1, batch_size: 8, max_seq_length: 64, objective: sop}\n"
    plan = planned(write_recipe(tmp_path, stages))
    assert plan.stages[0].share_of_ones < 0.4 and plan.warnings == ("no stage reads books",)


def test_of_many_stores_those_with_most_epochs_are_shown(tmp_path):
    stages = "  - {steps: 5, batch_size: 8}\n"
    plan = planned(write_recipe(tmp_path, stages))
    epochs = {f"store{number}": number / 100 for number in np.arange(1, 101)}
    lines = shown(dataclasses.replace(plan, epochs=epochs)).splitlines()
    assert [line.split()[0] for line in lines if line.startswith("store")][1:3] == [
        "store100",
        "store99",
    ]
    assert "and 80 more, 0.01 to 0.80 epochs each" in lines
