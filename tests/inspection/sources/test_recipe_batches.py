"""A batch of a recipe: its sequences are those that training reads, with their masks and stores."""

import numpy as np
import pytest

from bert_data.inspection.configs import BatchConfig
from bert_data.inspection.readable_ids import load_words
from bert_data.inspection.sources.recipe_batches import RecipeBatchSource
from bert_data.recipes.recipe import BATCHINGS, Recipe
from bert_data.recipes.run_batches import iterate_arrays
from tests.inspection.looking import look
from tests.recipes.stores import write_recipe
from tests.rows import mostly_slow

STAGES = """\
  - {{steps: 20, batch_size: 8, max_seq_length: 64, batching: plain, mixture: {{wiki: 1}}}}
  - {{steps: 9, batching: {batching}, objective: {objective}, mixture: {{wiki: 3, books: 1}}}}
"""


@mostly_slow("batching", BATCHINGS)
@mostly_slow("objective", ["none", "nsp", "tokens"])
def test_its_sequences_are_those_of_the_batch(tmp_path, batching, objective):
    path = write_recipe(tmp_path, STAGES.format(batching=batching, objective=objective))
    step = 22
    source = RecipeBatchSource(BatchConfig(recipe=str(path), step=step))
    batch = next(iterate_arrays(Recipe.from_file(path), start_batch=step))
    items = list(source.stream())
    assert [item.number for item in items] == list(range(len(items)))
    assert {item.fields["store"] for item in items} == {"wiki", "books"}
    rows = len(batch["input_ids"])
    for row in range(rows):
        own = [item.fields for item in items if item.place == row]
        mask = batch["input_mask"][row] > 0
        for name in ("input_ids", "segment_ids"):
            joined = np.concatenate([values[name] for values in own])
            np.testing.assert_array_equal(joined, batch[name][row][mask])
        firsts = np.cumsum([0, *(values["input_ids"].size for values in own)])
        places = [p + values["masked_lm_positions"] for p, values in zip(firsts, own, strict=False)]
        weights = batch["masked_lm_weights"][row] > 0
        np.testing.assert_array_equal(
            np.concatenate(places), batch["masked_lm_positions"][row][weights]
        )
        if objective == "nsp":
            labels = [values["next_sentence_labels"] for values in own]
            assert labels == batch["next_sentence_labels"][row][: len(own)].tolist()
    words = load_words(str(tmp_path / "vocab.txt"))
    originals = source.ids_of(items[0])["input_ids"]
    assert words.mask_id not in originals


def test_what_is_shown(tmp_path):
    path = write_recipe(tmp_path, STAGES.format(batching="packed", objective="sop"))
    source = RecipeBatchSource(BatchConfig(recipe=str(path), step=21))
    shown = look("", tmp_path / "vocab.txt", source=source, num_records=1)
    lines = [line.split() for line in shown.splitlines()[1:]]
    assert lines[0] == ["sequence", "0", "r.yaml:0"]
    assert lines[1][:3] == ["row", "0,", "from"] and lines[1][3] in ("wiki", "books")
    assert lines[2][:2] == ["A", "[CLS]"] and lines[3][0] == "B"
    assert lines[4][:2] == ["sentence", "order"]
    assert source.description.kind == "step 21, in stage 2,"
    assert source.description.settings["batching"] == "packed"


def test_a_step_that_is_not_there(tmp_path):
    path = write_recipe(tmp_path, "  - {steps: 20, batch_size: 8}\nskip: [[3, 4], [18, 30]]\n")
    with pytest.raises(ValueError, match=r"^step is 20; .*r.yaml has the 20 steps from 0 to 19$"):
        RecipeBatchSource(BatchConfig(recipe=str(path), step=20))
    for step in (3, 18):  # after the latter, none is left
        with pytest.raises(ValueError, match=rf"^step is {step}, which .*r.yaml skips$"):
            RecipeBatchSource(BatchConfig(recipe=str(path), step=step))
    assert RecipeBatchSource(BatchConfig(recipe=str(path), step=5)).description.kind.startswith(
        "step 5,"
    )
