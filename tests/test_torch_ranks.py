"""Training on ranks that share batches: each has a loss, and all have the same weights."""

import math
import multiprocessing
import warnings
from pathlib import Path
from typing import Any

import pytest

from bert_data.recipes.recipe import Recipe, Stage
from tests.recipes.stores import many_documents, recipe_of

WHY = "torch and transformers are not installed; bert_data does not bring them along"
torch = pytest.importorskip("torch", reason=WHY)
transformers = pytest.importorskip("transformers", reason=WHY)

from bert_data.torch import RecipeDataset  # noqa: E402


def train_as_rank(recipe: Recipe, folder: Path, rank: int, num_ranks: int) -> None:
    """Train a small BERT, and save its losses and weights."""
    warnings.simplefilter("ignore")
    torch.set_num_threads(1)
    distributed = torch.distributed
    distributed.init_process_group(
        "gloo", init_method=f"file://{folder}/group-{num_ranks}", rank=rank, world_size=num_ranks
    )
    torch.manual_seed(1)
    config = transformers.BertConfig(
        vocab_size=1000, hidden_size=16, intermediate_size=32, num_hidden_layers=1,
        num_attention_heads=2, max_position_embeddings=48,
    )  # fmt: skip
    model = torch.nn.parallel.DistributedDataParallel(transformers.BertForMaskedLM(config))
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    losses = []
    for batch in RecipeDataset(recipe, form="transformers").loader():
        loss = model(**batch).loss
        loss.backward()
        optimizer.step()
        optimizer.zero_grad()
        losses.append(loss.item())
    weights = torch.cat([each.detach().flatten() for each in model.parameters()])
    torch.save((losses, weights), folder / f"{num_ranks}-{rank}.pt")
    distributed.barrier()
    distributed.destroy_process_group()


@pytest.mark.process
@pytest.mark.slow
@pytest.mark.parametrize("num_ranks", [2, 3, 8])
def test_each_rank_has_a_loss(tmp_path: Path, num_ranks: int) -> None:
    """The last batch of the first stage has one row, others as many as the most ranks or more."""
    documents = {"a": many_documents(1, 30)}
    first = Stage(steps=2, max_seq_length=48, batch_size=9)
    short = Stage(tokens=1, batching="plain")
    packed = Stage(epochs=0.4, batching="packed")
    recipe = recipe_of(tmp_path, first, short, packed, documents=documents)
    processes = multiprocessing.get_context("fork")
    ranks: list[Any] = [
        processes.Process(target=train_as_rank, args=(recipe, tmp_path, rank, num_ranks))
        for rank in range(num_ranks)
    ]
    for each in ranks:
        each.start()
    for each in ranks:
        each.join()
    assert [each.exitcode for each in ranks] == [0] * num_ranks
    found = [torch.load(tmp_path / f"{num_ranks}-{rank}.pt") for rank in range(num_ranks)]
    assert len(found[0][0]) > 4
    for losses, weights in found:
        assert all(math.isfinite(loss) for loss in losses)
        assert torch.equal(weights, found[0][1])
        assert weights.isfinite().all()
