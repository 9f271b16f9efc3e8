"""Records that recipes made: which sequence each is, against what the records hold."""

import json

import numpy as np
import pytest

from bert_data.inspection.tracing.recipe_sets import open_recipe_set
from bert_data.recipes.finding import find_sequence, find_tokens, planned_windows, stretches
from bert_data.recipes.recipe import BATCHINGS
from bert_data.recipes.recipe_run import Run
from tests.recipes.stores import recipe_of
from tests.recipes.test_recipe_records import read, write
from tests.recipes.test_run_batches import stage


def texts_of(paths) -> list[list[int]]:
    """The tokens of each record, without special ones, and without masks."""
    found = []
    for batch in read(paths, batch_size=1):
        ids, slots = batch["input_ids"][0].copy(), batch["masked_lm_weights"][0] > 0
        ids[batch["masked_lm_positions"][0][slots]] = batch["masked_lm_ids"][0][slots]
        ids = ids[batch["input_mask"][0] > 0]
        found.append(ids[~np.isin(ids, SPECIAL)].tolist())
    return found


SPECIAL = range(5)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("batching", "objective"),
    [*((batching, "none") for batching in BATCHINGS), ("pools", "nsp"), ("packed", "tokens")],
)
def test_each_record_is_the_sequence_that_it_holds(tmp_path, batching, objective):
    own = stage(batching=batching, objective=objective, batch_size=5)
    recipe = recipe_of(tmp_path, own, own, skip=((1, 2), (9, 9), (12, 12)))
    write(recipe, tmp_path, output_file=f"{tmp_path}/x-{{stage}}@3")
    run = Run(recipe)
    for number in (0, 1):
        records = open_recipe_set(f"{tmp_path}/x-{number + 1}@3", run, "r.yaml")
        sources = run.stages[number].sources
        tokens = [np.concatenate([s.ids for s in each.opened.stores]) for each in sources]
        texts = texts_of([str(tmp_path / name) for name in records.shards])
        assert len(texts) == records.splits[-1] > 0
        holders: dict[tuple[int, int], set[int]] = {}
        windows = list(planned_windows(run, run.stages[number]))
        for record, text in enumerate(texts):
            sequence = records.sequence_of(str(record))
            shard, place, again = records.place_of(sequence)
            assert again == record and records.sequence_of(f"{shard}:{place}") == sequence
            planned, _, first = next(each for each in reversed(windows) if each[2] <= sequence)
            at = sequence - first
            assert record % 100 or find_sequence(run, number, sequence)[1] == at
            which = planned.plan.records[at : at + 1]
            source = int(planned.of_source[which[0]])
            found = stretches(sources[source], planned.drawn.take(which))
            ranges = [
                range(begin, begin + length)
                for begin, length in zip(found.begins.tolist(), found.lengths.tolist(), strict=True)
            ]
            held = [token for each in ranges for token in each]
            assert tokens[source][held].tolist() == text
            for token in held:
                holders.setdefault((source, token), set()).add(record)
        for source, each in enumerate(sources):
            wanted = [range(n, n + 3) for n in range(0, each.opened.num_tokens - 3, 40)]
            shown = {
                (source, token, records.place_of(exposure.sequence)[2])
                for exposure in find_tokens(run, each.opened.name, wanted)
                if exposure.stage == number
                for token in exposure.tokens
            }
            assert shown == {
                (source, token, record)
                for own in wanted
                for token in own
                for record in holders.get((source, token), ())
            }


def test_sets_of_other_recipes(tmp_path):
    recipe = recipe_of(tmp_path, stage(batching="plain"))
    write(recipe, tmp_path)
    records = open_recipe_set(f"{tmp_path}/x@3", Run(recipe), "r.yaml")
    for record, sentence in (
        ("y:1", "it must be a number, or SHARD:N, such as x-00000-of-00003:17"),
        ("-1", "it must be a number"),
        (f"{records.splits[-1]}", "has records 0 to"),
        (f"x-00002-of-00003:{records.splits[1]}", "x-00002-of-00003 has records 0 to"),
    ):
        with pytest.raises(ValueError, match=sentence):
            records.sequence_of(record)
    other = recipe_of(tmp_path, stage(batching="plain"), seed=3)
    with pytest.raises(ValueError, match=r"was made by another recipe than r\.yaml"):
        open_recipe_set(f"{tmp_path}/x@3", Run(other), "r.yaml")
    manifest = tmp_path / "manifest.x.json"
    made = json.loads(manifest.read_text())
    for stage_number in (0, 2, "1", None):
        made["flags"]["recipe"]["stage"] = stage_number
        manifest.write_text(json.dumps(made))
        with pytest.raises(ValueError, match=r"was made by another recipe than r\.yaml"):
            open_recipe_set(f"{tmp_path}/x@3", Run(recipe), "r.yaml")
