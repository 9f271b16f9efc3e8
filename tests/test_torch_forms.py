"""Batches of recipes as models of PyTorch take them."""

from pathlib import Path

import numpy as np
import pytest

from bert_data.recipes.recipe import RECIPE_BATCHINGS, Stage, StageMasking
from bert_data.torch import RecipeDataset, block_diagonal_mask, for_modernbert, for_transformers
from tests.recipes.stores import ids_of, recipe_of
from tests.test_torch import arrays, small_recipe, torch

NOT_PREDICTED = -100


def labels_by_hand(batch: dict[str, np.ndarray]) -> np.ndarray:
    labels = np.full(batch["input_ids"].shape, NOT_PREDICTED)
    for row, weights in enumerate(batch["masked_lm_weights"]):
        for k in np.flatnonzero(weights):
            labels[row, batch["masked_lm_positions"][row, k]] = batch["masked_lm_ids"][row, k]
    return labels


@pytest.mark.parametrize("objective", ["nsp", "sop", "none", "tokens"])
def test_rows_of_one_sequence_for_transformers(tmp_path: Path, objective: str) -> None:
    recipe = small_recipe(tmp_path, objective=objective, masking=StageMasking(rate=0.4))
    batches = list(RecipeDataset(recipe, form="transformers", num_hosts=3, host_index=1))
    wanted = arrays(recipe, num_hosts=3, host_index=1)
    assert len(batches) == len(wanted)
    for given, batch in zip(batches, wanted, strict=True):
        rows, width = batch["input_ids"].shape
        np.testing.assert_array_equal(given["input_ids"], batch["input_ids"])
        mask = batch["input_mask"].copy()
        mask[:, 0] = 1
        np.testing.assert_array_equal(given["attention_mask"], mask)
        np.testing.assert_array_equal(given["token_type_ids"], batch["segment_ids"])
        np.testing.assert_array_equal(given["position_ids"], [range(width)] * rows)
        np.testing.assert_array_equal(given["labels"], labels_by_hand(batch))
        names = {"input_ids", "attention_mask", "token_type_ids", "position_ids", "labels"}
        if objective in ("nsp", "sop"):
            names.add("next_sentence_label")
            labels, is_there = batch["next_sentence_labels"], batch["next_sentence_weights"] > 0
            wanted_labels = np.where(is_there, labels, NOT_PREDICTED)[:, 0]
            np.testing.assert_array_equal(given["next_sentence_label"], wanted_labels)
        assert given.keys() == names
        assert all(each.dtype == torch.int64 for each in given.values())


def test_packed_rows_for_transformers(tmp_path: Path) -> None:
    recipe = small_recipe(tmp_path, batching="packed")
    wanted = arrays(recipe)
    assert max(batch["instance_ids"].max() for batch in wanted) > 1
    dataset = RecipeDataset(recipe, form="transformers")
    windowed = RecipeDataset(recipe, form="transformers", window=5)
    for given, other, batch in zip(dataset, windowed, wanted, strict=True):
        numbers = batch["instance_ids"]
        same = numbers[:, None, :, None] == numbers[:, None, None, :]
        np.testing.assert_array_equal(given["attention_mask"], same)
        near = np.abs(np.subtract.outer(range(48), range(48))) <= 5
        for name, mask in (("full_attention", same), ("sliding_attention", same & near)):
            np.testing.assert_array_equal(other["attention_mask"][name], mask)
        np.testing.assert_array_equal(given["position_ids"], batch["position_ids"])
        np.testing.assert_array_equal(given["labels"], labels_by_hand(batch))


def test_flat_rows_are_what_the_models_collators_give(tmp_path: Path) -> None:
    recipe = small_recipe(tmp_path, batching="flat")
    transformers = RecipeDataset(recipe, form="transformers", attention="flash")
    modernbert = RecipeDataset(recipe, form="modernbert")
    for batch, given, other in zip(arrays(recipe), transformers, modernbert, strict=True):
        splits = batch["cu_seqlens"]
        lengths = np.diff(splits)
        assert splits[-1] == batch["input_ids"].size
        np.testing.assert_array_equal(other["cu_seqlens"], splits)
        assert other["cu_seqlens"].dtype == torch.int32
        assert other["max_seqlen"] == lengths.max() == given["max_length_q"]
        np.testing.assert_array_equal(given["cu_seq_lens_q"], splits)
        assert given["cu_seq_lens_k"] is given["cu_seq_lens_q"]
        positions = np.concatenate([np.arange(length) for length in lengths])
        for name, values in (
            ("position_ids", positions),
            ("input_ids", batch["input_ids"][0]),
            ("labels", labels_by_hand(batch)[0]),
        ):
            np.testing.assert_array_equal(other[name], values)
            np.testing.assert_array_equal(given[name], values[np.newaxis])
            assert given[name].dtype == torch.int64


@pytest.mark.parametrize("batching", RECIPE_BATCHINGS)
def test_a_rank_without_a_row_is_given_padding_or_the_row_of_another(
    tmp_path: Path, batching: str
) -> None:
    """Padding has weight 0; a model's loss would be that of nothing, not a number."""
    recipe = recipe_of(
        tmp_path, Stage(steps=1, max_seq_length=48, batch_size=1, batching=batching),
        documents={"a": [[40]]},
    )  # fmt: skip
    for host in range(3):
        of_host = {"num_hosts": 3, "host_index": host}
        (padded,) = RecipeDataset(recipe, **of_host)
        assert padded["masked_lm_weights"].any() == padded["input_mask"].any() == (host == 0)
        attention = "flash" if batching == "flat" else None
        (given,) = RecipeDataset(recipe, form="transformers", attention=attention, **of_host)
        (of_first,) = RecipeDataset(recipe, num_hosts=3, host_index=0)
        np.testing.assert_array_equal(given["input_ids"], of_first["input_ids"])
        np.testing.assert_array_equal(given["labels"], labels_by_hand(of_first))


@pytest.mark.parametrize("batching", RECIPE_BATCHINGS)
def test_the_mean_of_no_labels_is_avoided(tmp_path: Path, batching: str) -> None:
    """Of a word of two pieces, where one token may be masked: it is shown, and not its [CLS]."""
    masking = StageMasking(whole_words=True)
    own = Stage(steps=1, max_seq_length=48, batch_size=1, batching=batching, masking=masking)
    recipe = recipe_of(tmp_path, own, documents={"a": [[2]]})
    (batch,) = RecipeDataset(recipe)
    assert not batch["masked_lm_weights"].any()
    labels = for_transformers(batch, attention="flash")["labels"]
    assert labels[0, 1] == batch["input_ids"][0, 1] == ids_of(recipe.stores["a"])[0]
    assert (labels != NOT_PREDICTED).sum() == 1


def test_the_label_of_a_single_token(tmp_path: Path) -> None:
    recipe = recipe_of(tmp_path, Stage(steps=1, max_seq_length=48, batch_size=2))
    (batch,) = RecipeDataset(recipe)
    batch["masked_lm_weights"][:] = 0
    batch["input_mask"][0, 1:] = 0
    labels = for_transformers(batch)["labels"]
    assert labels[0, 0] == batch["input_ids"][0, 0]
    assert (labels != NOT_PREDICTED).sum() == 1


def test_masks_of_flat_rows(tmp_path: Path) -> None:
    recipe = small_recipe(tmp_path, batching="flat")
    own = {"form": "transformers", "attention": "sdpa"}
    for batch, given in zip(arrays(recipe), RecipeDataset(recipe, **own), strict=True):
        numbers = np.arange(len(batch["cu_seqlens"]) - 1).repeat(np.diff(batch["cu_seqlens"]))
        np.testing.assert_array_equal(
            given["attention_mask"], (numbers[:, None] == numbers)[None, None]
        )
        assert given.keys() == {"input_ids", "labels", "position_ids", "attention_mask"}


@pytest.mark.parametrize("batching", ["packed", "flat"])
def test_pairs_side_by_side_have_labels_in_arrays_alone(tmp_path: Path, batching: str) -> None:
    recipe = small_recipe(tmp_path, batching=batching, objective="nsp")
    for batch in RecipeDataset(recipe):
        is_there = batch["next_sentence_weights"] > 0
        places = batch["next_sentence_positions"].long()
        assert (batch["input_ids"].gather(1, places)[is_there] == 2).all()  # [CLS]
        with pytest.raises(ValueError, match="models take one label of segments a row"):
            for_transformers(batch, attention="sdpa")
    forms = [{"form": "transformers", "attention": "sdpa"}]
    if batching == "flat":
        forms.append({"form": "modernbert"})
        with pytest.raises(ValueError, match="models take one label of segments a row"):
            for_modernbert(batch)
    for form in forms:
        with pytest.raises(ValueError, match=rf"stage 1 has `batching={batching}` and .*=nsp"):
            RecipeDataset(recipe, **form)


def test_padding_attends_to_padding() -> None:
    mask = block_diagonal_mask(torch.tensor([[1, 1, 2, 0], [0, 0, 0, 0]]))
    assert mask[0, 0].int().tolist() == [[1, 1, 0, 0], [1, 1, 0, 0], [0, 0, 1, 0], [0, 0, 0, 1]]
    assert mask[1].all()


def test_the_forms_are_functions_of_batches_on_any_device(tmp_path: Path) -> None:
    recipe = small_recipe(tmp_path, batching="flat")
    batch = next(iter(RecipeDataset(recipe)))
    assert for_transformers(batch, attention="flash").keys() >= {
        "cu_seq_lens_q",
        "max_length_q",
        "position_ids",
    }
    assert for_modernbert(batch)["input_ids"].ndim == 1
    with pytest.raises(ValueError, match="the form modernbert needs `batching=flat`"):
        for_modernbert({"input_ids": batch["input_ids"]})
