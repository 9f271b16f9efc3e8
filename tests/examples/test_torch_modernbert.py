"""The example with transformers: what the models see of a batch, and that they learn."""

import dataclasses
import itertools
from pathlib import Path
from typing import Any

import pytest

from bert_data.recipes.recipe import Stage
from tests.recipes.stores import recipe_of, write_sentences

WHY = "torch and transformers are not installed; bert_data does not bring them along"
torch = pytest.importorskip("torch", reason=WHY)
pytest.importorskip("transformers", reason=WHY)

from bert_data.tokens.tokenizer_file import read_vocabulary  # noqa: E402
from bert_data.torch import RecipeDataset  # noqa: E402
from examples import torch_modernbert as example  # noqa: E402

pytestmark = [
    pytest.mark.slow,
    pytest.mark.filterwarnings("ignore::DeprecationWarning"),
    pytest.mark.filterwarnings("ignore::FutureWarning"),
]


@pytest.fixture
def options(tmp_path: Path) -> Any:
    """The example's options, for a store of seven words of a thousand."""
    documents = [[9, 8, 7, 6]] * 200
    recipe = recipe_of(tmp_path, Stage(steps=1, batch_size=1), documents={"a": documents})
    write_sentences(tmp_path / "a", documents, vocab_size=12)
    usual = {"store": recipe.stores["a"], "vocab_file": recipe.vocab_file}
    usual |= {"batch_tokens": 512, "hidden_size": 64, "steps": 12}

    def parse(**others: Any) -> Any:
        return example.parse([f"--{name}={value}" for name, value in (usual | others).items()])

    return parse


@pytest.fixture(autouse=True)
def one_thread() -> Any:
    """Threads of PyTorch that wait for a core spin."""
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(before)


@pytest.mark.parametrize("batching", ["flat", "packed"])
def test_modernbert_sees_each_sequence_alone(options: Any, batching: str) -> None:
    """With sdpa, and a window that is shorter than the sequences."""
    own = options(model="modernbert")
    recipe, vocabulary = example.make_recipe(own), read_vocabulary(own.vocab_file)
    stage = dataclasses.replace(recipe.stages[0], batching=batching)
    model = example.make_model(own, vocabulary, flash=False).eval()
    for layer in model.config, *(each.attn for each in model.model.layers):
        layer.sliding_window = 9
    attention = "sdpa" if batching == "flat" else None
    batch = next(
        iter(
            RecipeDataset(
                dataclasses.replace(recipe, stages=(stage,)), form="transformers",
                attention=attention, window=model.config.sliding_window,
            )
        )
    )  # fmt: skip
    labels = batch.pop("labels")
    assert 0.2 < (labels >= 0).float().mean() < 0.4
    batch.pop("token_type_ids", None)  # ModernBERT has none
    num_compared = 0
    with torch.no_grad():
        together = model(**batch).logits
        for row, positions in enumerate(batch["position_ids"]):
            splits = [*torch.nonzero(positions == 0).flatten().tolist(), len(positions)]
            for a, b in itertools.pairwise(splits):
                if b - a > 20:
                    alone = model(input_ids=batch["input_ids"][row : row + 1, a:b]).logits[0]
                    assert torch.allclose(together[row, a:b], alone, atol=1e-5)
                    num_compared += 1
    assert num_compared > 4


def test_the_sequences_of_a_packed_row_do_not_see_each_other(options: Any) -> None:
    own = options(model="bert")
    recipe, vocabulary = example.make_recipe(own), read_vocabulary(own.vocab_file)
    model = example.make_model(own, vocabulary, flash=False).eval()
    batch = next(iter(RecipeDataset(recipe, form="transformers")))
    length = int(batch["attention_mask"][0, 0, 0].sum())  # of the first sequence
    assert length < example.LENGTH / 2
    batch.pop("labels")
    with torch.no_grad():
        together = model(**batch).logits[0, :length]
        alone = model(input_ids=batch["input_ids"][:1, :length]).logits[0]
    assert torch.allclose(together, alone, atol=1e-4)


@pytest.mark.parametrize("model", ["modernbert", "bert"])
def test_a_model_learns_and_goes_on_from_its_checkpoint(
    options: Any, tmp_path: Path, model: str
) -> None:
    losses = example.train(options(model=model, steps=30))
    assert sum(losses[-5:]) / 5 < losses[0] - 0.5
    kept = {"model": model, "steps": 30, "checkpoint": tmp_path / "state.pt"}
    first = example.train(options(**kept, stop_after=10))
    rest = example.train(options(**kept))
    assert len(first) == 10
    assert first + rest == pytest.approx(losses, abs=1e-4)
    assert example.train(options(**kept)) == []  # nothing is left of the recipe
