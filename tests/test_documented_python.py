"""The Python of the guides runs on small data, and that of docs/python.md does what it shows."""

import contextlib
import importlib.util
import io
import json
import os
import re
from pathlib import Path
from typing import Any

import pytest

import bert_data

GUIDES = Path(__file__).resolve().parent.parent / "docs" / "guides"
BLOCK = re.compile(r"^```python\n(.*?)^```$", re.MULTILINE | re.DOTALL)
SHOWN = re.compile(r"^```(python)?\n(.*?)^```\n", re.MULTILINE | re.DOTALL)
# What takes long, or what small data cannot have.
SMALLER = {
    "steps_per_epoch=1000, epochs=10": "steps_per_epoch=1, epochs=2",
    "steps_per_epoch=1000": "steps_per_epoch=1",
    "num_samples=[100_000, 1000]": "num_samples=[20, 2]",
    'seq_length=1024, split="99,1"': 'seq_length=16, split="9,1"',
    "start_batch=500": "start_batch=1",
    "[14477, 20961, 3468, 999]": "[6, 7]",
}
CONFIG = {
    "vocab_size": 100,
    "hidden_size": 8,
    "num_hidden_layers": 1,
    "num_attention_heads": 2,
    "intermediate_size": 16,
    "max_position_embeddings": 128,
    "type_vocab_size": 2,
}


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with what the guides read: text, a vocabulary, records, stores, a configuration."""
    folder = tmp_path_factory.mktemp("guides")
    sentences = [f"Sentence {n} of a text is unaffable, really." for n in range(20)]
    documents = [[*sentences[n:], *sentences[:n]] for n in range(20)]
    for name in ("text.txt", "corpus.txt"):
        (folder / name).write_text("\n\n".join(map("\n".join, documents)), encoding="utf-8")
    vocab_file = folder / "vocab.txt"
    bert_data.train_vocab(documents, vocab_file, vocab_size=CONFIG["vocab_size"])
    (folder / "data").mkdir()
    bert_data.create_records(documents, folder / "data" / "train@2", vocab_file=vocab_file)
    for name in ("web", "books"):
        marks = {"append_eod": True, "eod_token": "[SEP]"}
        bert_data.tokenize(documents, folder / name, vocab_file=vocab_file, **marks)
    for name in ("wiki", "books"):
        prefix = folder / "data" / name
        bert_data.tokenize(documents, prefix, vocab_file=vocab_file, level="sentence")
    text = (GUIDES / "recipes.md").read_text("utf-8")
    recipe = text.partition("```yaml\n")[2].partition("```")[0]
    (folder / "recipe.yaml").write_text(recipe, encoding="utf-8")
    (folder / "bert_config.json").write_text(json.dumps(CONFIG), encoding="utf-8")
    return folder


@pytest.mark.process
@pytest.mark.slow
@pytest.mark.parametrize(
    "name", ["gpt", "keras", "reading", "recipes", "tokenizers", "../../README"]
)
def test_a_guide_runs(name: str, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """All blocks of a page, one after the other, as a reader would paste them."""
    monkeypatch.chdir(folder)
    scope: dict[str, Any] = {}
    blocks = BLOCK.findall((GUIDES / f"{name}.md").read_text("utf-8"))
    for number, code in enumerate(blocks):
        if "import torch" in code and importlib.util.find_spec("torch") is None:
            continue
        for large, small in SMALLER.items():
            code = code.replace(large, small)
        exec(compile(code, os.path.join(name, str(number)), "exec"), scope)
    assert scope


@pytest.mark.process
def test_the_examples_give_what_they_show(tmp_path, monkeypatch, checkout):
    """All of them in turn, in one program, as a notebook runs them."""
    monkeypatch.chdir(tmp_path)
    text = (checkout / "docs" / "python.md").read_text(encoding="utf-8")
    names = {"__name__": "__main__"}
    printed, num_compared = "", 0
    for language, code in SHOWN.findall(text):
        if language:
            with contextlib.redirect_stdout(io.StringIO()) as output:
                exec(compile(code, "docs/python.md", "exec"), names)
            printed = output.getvalue()
        elif printed:
            assert printed == code
            printed, num_compared = "", num_compared + 1
    assert num_compared == 9


@pytest.mark.parametrize("name", ["train_vocab", "create_records", "tokenize", "curate",
                                  "train_classifier", "build_samples", "read_batches",
                                  "iterate_arrays", "train", "export_hub",
                                  "export_hf"])  # fmt: skip
def test_all_functions_are_in_the_document(checkout, name):
    assert f"| `{name}(" in (checkout / "docs" / "python.md").read_text(encoding="utf-8")
