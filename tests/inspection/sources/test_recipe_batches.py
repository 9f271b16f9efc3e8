"""A batch of a recipe: its sequences are those that training reads, with their masks and stores."""

from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from pyarrow import parquet

from bert_data.inspection.configs import BatchConfig
from bert_data.inspection.readable_ids import load_words
from bert_data.inspection.sources.recipe_batches import RecipeBatchSource
from bert_data.recipes.recipe import RECIPE_BATCHINGS, Recipe
from bert_data.recipes.run_batches import iterate_recipe_arrays
from bert_data.tokens.provenance import COLUMNS, ENDING
from bert_data.tokens.store import open_store
from tests.inspection.looking import look
from tests.recipes.stores import FIRST_ID, write_recipe
from tests.rows import mostly_slow

STAGES = """\
  - {{steps: 20, batch_size: 8, max_seq_length: 64, batching: plain, mixture: {{wiki: 1}}}}
  - {{steps: 9, batching: {batching}, objective: {objective}, mixture: {{wiki: 3, books: 1}}}}
"""


@mostly_slow("batching", RECIPE_BATCHINGS)
@mostly_slow("objective", ["none", "nsp", "tokens"])
def test_its_sequences_are_those_of_the_batch(tmp_path, batching, objective):
    path = write_recipe(tmp_path, STAGES.format(batching=batching, objective=objective))
    step = 22
    source = RecipeBatchSource(BatchConfig(recipe=str(path), step=step))
    batch = next(iterate_recipe_arrays(Recipe.from_file(path), start_batch=step))
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


def write_provenance(prefix: Path) -> None:
    """Beside a store of `write_recipe`: ids, and URLs of every other document."""
    size = open_store(str(prefix)).num_documents
    columns = {name: [None] * size for name in COLUMNS}
    columns |= {"document": range(size), "id": [f"id-{n}" for n in range(size)]}
    columns["url"] = [f"https://{n}" if n % 2 else None for n in range(size)]
    kinds = {"document": pa.int64(), "row": pa.int64()}
    arrays = {name: pa.array(list(v), kinds.get(name, pa.string())) for name, v in columns.items()}
    parquet.write_table(pa.table(arrays), f"{prefix}.{ENDING}", row_group_size=7)


def holds(documents: list[dict[str, Any]], part: np.ndarray) -> bool:
    """Whether documents, one after the other, have some tokens in one piece."""
    tokens = [str(token) for each in documents for token in each["tokens"]]
    return f" {' '.join(map(str, part))} " in f" {' '.join(tokens)} "


@mostly_slow("objective", ["tokens", "nsp", "none"])
def test_the_documents_of_its_sequences(tmp_path, objective):
    path = write_recipe(tmp_path, STAGES.format(batching="plain", objective=objective))
    write_provenance(tmp_path / "wiki")
    stores = {str(tmp_path / name): open_store(str(tmp_path / name)) for name in ("wiki", "books")}
    source = RecipeBatchSource(BatchConfig(recipe=str(path), step=23))
    num_held = []
    for item in source.stream():
        held = item.fields["documents"]
        num_held.append(len(held))
        for each in held:
            prefix, number = each.pop("prefix"), each["document"]
            known = {"id": f"id-{number}"} | ({"url": f"https://{number}"} if number % 2 else {})
            assert each == {"document": number, **(known if prefix.endswith("wiki") else {})}
            store = stores[prefix]
            bounds = store.first_token(number), store.first_token(number + 1)
            each["tokens"] = store.ids[slice(*bounds)]
        ids = source.ids_of(item)["input_ids"]
        segments = item.fields["segment_ids"][ids >= FIRST_ID]
        for segment in set(segments.tolist()):
            part = ids[ids >= FIRST_ID][segments == segment]
            if objective == "tokens":
                assert holds(held, part)
                assert not holds(held[1:], part) and not holds(held[:-1], part)
            else:
                assert any(holds([each], part) for each in held)
    assert max(num_held) == {"tokens": 4, "nsp": 2, "none": 1}[objective]


def test_what_is_shown(tmp_path):
    path = write_recipe(tmp_path, STAGES.format(batching="packed", objective="sop"))
    for name in ("wiki", "books"):
        write_provenance(tmp_path / name)
    source = RecipeBatchSource(BatchConfig(recipe=str(path), step=21))
    shown = look("", tmp_path / "vocab.txt", source=source, num_records=1)
    lines = [line.split() for line in shown.splitlines()[1:]]
    assert lines[0] == ["sequence", "0", "r.yaml:0"]
    assert lines[1][:3] == ["row", "0,", "from"] and lines[1][3] in ("wiki", "books")
    number = lines[2][1]
    assert lines[2] == ["document", number, "of", f"{tmp_path}/{lines[1][3]}", f"id-{number}"] + (
        [f"https://{number}"] if int(number) % 2 else []
    )
    assert lines[3][:2] == ["A", "[CLS]"] and lines[4][0] == "B"
    assert lines[5][:2] == ["sentence", "order"]
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
