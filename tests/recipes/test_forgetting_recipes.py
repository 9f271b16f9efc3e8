"""Stores of a recipe without some documents, and the recipe that names them."""

import json

import pytest

from bert_data.recipes.forgetting_recipes import forget_in_recipe
from bert_data.tokens.forgetting_stores import ForgetConfig
from bert_data.tokens.store_making import StoreConfig, make_stores

RECIPE = """\
# All of it.
seed: 3
vocab_file: vocab.txt
stores:
  wiki: &wiki wiki@2   # two partitions
  "again": *wiki
  books: 'parts/*'
  other: {other}
stages:
  - {{tokens: 100, batch_size: 2, mixture: {{wiki: 1, books: 2}}}}  # wiki@2 is not renamed here
"""


@pytest.fixture
def make(tmp_path, monkeypatch, small_vocabulary):
    """A function that makes stores of four documents with ids, and of one without."""
    monkeypatch.chdir(tmp_path)

    def store(prefix: str, name: str, without: set[str] = frozenset(), **changes) -> None:
        ids = [f"{name}{n}" for n in range(4)]
        rows = [{"text": "ba do ki", "id": each} for each in ids if each not in without]
        (tmp_path / f"{name}.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
        make_stores(
            StoreConfig(
                input_file=f"{name}.jsonl",
                output_prefix=prefix,
                vocab_file=small_vocabulary,
                **changes,
            )
        )

    (tmp_path / "parts").mkdir()
    (tmp_path / "fresh").mkdir()
    store("wiki", "w", num_partitions=2)
    store("parts/a", "a")
    store("parts/b", "b")
    store("other", "o")
    return store


def forget(ids: str, recipe: str = RECIPE, **changes):
    for name, text in (("ids.txt", ids), ("recipe.yaml", recipe.format(other="other"))):
        with open(name, "w") as file:
            file.write(text)
    config = {"documents": "ids.txt", "output_prefix": "clean/", "recipe": "recipe.yaml", **changes}
    return forget_in_recipe(ForgetConfig(**config))


def test_new_recipe(make, tmp_path):
    done = forget("w1\na0\na2\n")
    assert (done.num_forgotten, done.num_documents) == (3, 12)
    text = (tmp_path / "clean/recipe.yaml").read_text()
    expected = RECIPE.format(other="other").replace("&wiki wiki@2", '&wiki "clean/wiki@2"')
    assert text == expected.replace("'parts/*'", '"clean/books/*"')
    make("fresh/a", "a", {"a0", "a2"})
    for ending in ("bin", "idx", "provenance"):
        files = (tmp_path / f"{name}.{ending}" for name in ("clean/books/a", "fresh/a"))
        assert len({file.read_bytes() for file in files}) == 1
    assert {path.name for path in (tmp_path / "clean").glob("**/*.idx")} == {
        *("wiki-00000-of-00002.idx", "wiki-00001-of-00002.idx", "a.idx", "b.idx")
    }


def test_mistakes(make):
    make("fresh/a", "w")
    with pytest.raises(ValueError, match=r"^wiki-00000-of-00002 and 4 more: no document has one"):
        forget("x\n")
    with pytest.raises(ValueError, match="two of the stores would be clean/a"):
        forget("a1\nw1\n", RECIPE.replace("'parts/*'", "parts/a").replace("wiki@2", "fresh/a"))
    with pytest.raises(ValueError, match="forget needs one of `input_file` and `recipe`"):
        forget("a1\n", input_file="wiki")
