"""Random tokenizer.json files, whose added tokens and words are of every kind, and texts for them.

By hand: python -m tests.tokens.fuzzing --files=5000 --seed=1
"""

import argparse
import copy
import functools
import json
import random
from collections.abc import Iterator
from typing import Any

import numpy as np
from tokenizers import Tokenizer, models, normalizers, pre_tokenizers, trainers

from bert_data.tokens.backends import DefinitionFile
from bert_data.tokens.library_tokenizer import choose_backend
from tests.tokens.json_files import TEXT

CONTENTS = (
    "<mask>", "<s>", "</s>", "<<", ">>", "<", "s>", "[M]", "\t", " ", "  ", "   ", "\n", "\n\n",
    "a", "cat", "Cat", " cat", "cat ", "at", "the", "é", "e\u0301", "É", "_", "1",
    "▁", "▁cat", "日", "日本",
)  # fmt: skip
BETWEEN = ("", "", " ", "  ", "\t", "\n", "\u00a0", "\u3000", "x", "1", "_", ".", "é", "A", "▁")
UNREACHED = ("elephant", "zebra", "dogcat", "xyz")


@functools.cache
def _byte_level(kind: str) -> dict[str, Any]:
    tokenizer = Tokenizer(models.BPE())
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=kind == "prefix")
    form = {"lower": normalizers.Lowercase(), "nfc": normalizers.NFC()}.get(kind)
    if form is not None:
        tokenizer.normalizer = form
    alphabet = sorted(pre_tokenizers.ByteLevel.alphabet())
    trainer = trainers.BpeTrainer(vocab_size=300, initial_alphabet=alphabet, show_progress=False)
    tokenizer.train_from_iterator(TEXT, trainer)
    definition: dict[str, Any] = json.loads(tokenizer.to_str())
    return definition


def random_file(rng: random.Random) -> dict[str, Any]:
    """Return a tokenizer.json with up to six added tokens, and words that no merge makes."""
    definition = copy.deepcopy(_byte_level(rng.choice(["", "", "prefix", "lower", "nfc"])))
    model = definition["model"]
    if rng.random() < 0.4:
        model["ignore_merges"] = rng.random() < 0.7
        for word in rng.sample(UNREACHED, 2):
            model["vocab"][rng.choice(["", "Ġ"]) + word] = len(model["vocab"])
    size = len(model["vocab"])
    for content in rng.sample(CONTENTS, rng.randint(0, 6)):
        sides = rng.choice(["", "", "l", "r", "lr"])
        token = {
            "id": model["vocab"].get(content, size),
            "content": content,
            "single_word": rng.random() < 0.2,
            "lstrip": "l" in sides,
            "rstrip": "r" in sides,
            "normalized": rng.random() < 0.5,
            "special": rng.random() < 0.5,
        }
        size += token["id"] == size
        definition["added_tokens"].append(token)
    return definition


def random_texts(rng: random.Random, definition: dict[str, Any], number: int = 60) -> Iterator[str]:
    """Yield mixes of a file's added tokens, its unreached words, spaces and letters."""
    words = [token["content"] for token in definition["added_tokens"]]
    words += [*UNREACHED, "the cat", "a"]
    for _ in range(number):
        parts = []
        for _ in range(rng.randint(1, 6)):
            parts += [rng.choice(BETWEEN) * rng.randint(0, 2), rng.choice(words)]
        yield "".join([*parts, rng.choice(BETWEEN)])


def check_file(seed: int) -> str | None:
    """Compare what is chosen for a random file with `tokenizers`; None if that fails for a text.

    Returns:
      The name of the backend.

    Raises:
      AssertionError: an id differs.
    """
    rng = random.Random(seed)
    definition = random_file(rng)
    file = DefinitionFile("random.json", json.dumps(definition).encode())
    backend, _ = choose_backend(file)
    texts = list(random_texts(rng, definition))
    try:
        expected, splits = file.reference.encode(texts)
    except ValueError:  # it panics where two added tokens take the same space
        return None
    ids, my_splits = backend.encode(texts)
    if not (np.array_equal(ids, expected) and np.array_equal(splits, my_splits)):
        for text in texts:
            mine, others = (each.encode([text])[0].tolist() for each in (backend, file.reference))
            added = [t for t in definition["added_tokens"] if t["content"] in text]
            assert mine == others, f"{backend.name}, seed {seed}, {text!r}, {added}"
    return backend.name


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--files", type=int, default=1000)
    parser.add_argument("--seed", type=int, default=0)
    arguments = parser.parse_args()
    counts: dict[str, int] = {}
    for seed in range(arguments.seed, arguments.seed + arguments.files):
        name = check_file(seed) or "not to be compared"
        counts[name] = counts.get(name, 0) + 1
    print(counts)


if __name__ == "__main__":
    main()
