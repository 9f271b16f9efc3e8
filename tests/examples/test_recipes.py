"""The recipes of examples/recipes/, planned with small stores and fewer tokens."""

from pathlib import Path

import pytest
import yaml

from bert_data.inspection.recipe_plan import RecipePlan, plan_recipe
from bert_data.recipes.recipe import Recipe
from examples.recipes import mmbert
from tests.recipes.stores import many_documents, write_sentences, write_vocabulary
from tests.rows import mostly_slow

RECIPES = Path(mmbert.__file__).parent
NUM_LANGUAGES = 1833


def plan(folder: Path, text: str) -> RecipePlan:
    """Plan a recipe of a millionth of the tokens."""
    write_vocabulary(folder)
    text = text.replace("tokenizer_file: tokenizer.json", "vocab_file: vocab.txt")
    for large, small in (("e12", "e6"), ("e11", "e5"), ("e10", "e4"), ("500_000", "1")):
        text = text.replace(large, small)
    (folder / "recipe.yaml").write_text(text)
    return plan_recipe(Recipe.from_file("recipe.yaml"), 1 << 21)


@mostly_slow(
    ("name", "lengths", "rates"),
    [("modernbert", [1024, 8192, 8192], [0.3, 0.3, 0.3]), ("roberta", [512], [0.15])],
)
def test_a_recipe(tmp_path, monkeypatch, name, lengths, rates):
    monkeypatch.chdir(tmp_path)
    text = (RECIPES / f"{name}.yaml").read_text()
    stores = yaml.safe_load(text)["stores"]
    (tmp_path / "data").mkdir()
    for number, path in enumerate(stores.values()):
        prefix, _, count = path.partition("@")
        for part in range(int(count)):
            write_sentences(f"{prefix}-{part:05}-of-{int(count):05}", many_documents(number, 5))
    planned = plan(tmp_path, text)
    assert [stage.max_seq_length for stage in planned.stages] == lengths
    assert [stage.rates[0] for stage in planned.stages] == rates
    assert list(planned.epochs) == list(stores) and all(planned.epochs.values())
    sizes = [sum(store.num_sequences for store in stage.stores) for stage in planned.stages]
    assert sizes == [stage.num_sequences for stage in planned.stages]


@pytest.mark.slow
def test_mmbert_reads_ever_more_languages(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "data").mkdir()
    for number in range(NUM_LANGUAGES):
        documents = many_documents(number, 2 + 500 // (10 + number))
        write_sentences(f"data/l{number}", documents)
    monkeypatch.setattr("sys.argv", ["mmbert", "data"])
    mmbert.main()
    planned = plan(tmp_path, capsys.readouterr().out)
    assert [len(stage.stores) for stage in planned.stages] == [60, 110, NUM_LANGUAGES]
    assert [stage.rates for stage in planned.stages] == [(0.3, 0.3), (0.15, 0.15), (0.05, 0.05)]
    for stage in planned.stages:
        assert sum(store.share for store in stage.stores) == pytest.approx(1)
    most = [max(store.share for store in stage.stores) for stage in planned.stages]
    assert most == sorted(most, reverse=True)
