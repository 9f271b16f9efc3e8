"""Token stores of sentences for tests, and what the definition takes of them."""

from pathlib import Path

import numpy as np

from bert_data.recipes.recipe import Recipe, Stage
from bert_data.tokens.store import open_store
from bert_data.tokens.store_writer import StoreWriter

FIRST_ID = 5  # behind the special tokens of the vocabulary below
VOCAB = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"]


def write_sentences(
    prefix: Path | str,
    documents: list[list[int]],
    vocab_size: int = 1000,
    *,
    has_special: bool = False,
) -> str:
    """A store of documents, given by the lengths of their sentences.

    Its ids count up, but for special ones now and then, as if they stood in the text.
    """
    with StoreWriter(str(prefix), np.dtype("<u2")) as writer:
        begin = 0
        for document in documents:
            lengths = np.array(document, np.int32)
            places = np.arange(begin, begin + lengths.sum())
            ids = places % (vocab_size - FIRST_ID) + FIRST_ID
            if has_special:
                ids[places % 13 == 7] = places[places % 13 == 7] % FIRST_ID
            writer.add(ids.astype("<u2"), lengths, np.array([lengths.size], np.int64))
            begin += int(lengths.sum())
    return str(prefix)


def write_vocabulary(folder: Path, size: int = 1000) -> str:
    """A vocabulary of special tokens, words, and pieces of words."""
    path = folder / "vocab.txt"
    words = [f"##w{n}" if n % 3 == 1 else f"w{n}" for n in range(size - len(VOCAB))]
    path.write_text("".join(f"{token}\n" for token in VOCAB + words))
    return str(path)


def many_documents(seed: int, number: int = 60, longest: int = 40) -> list[list[int]]:
    """Documents of up to a dozen sentences of different lengths, a few of them long."""
    drawn = np.random.default_rng(seed)
    documents = []
    for _ in range(number):
        lengths = drawn.integers(1, 12, drawn.integers(1, 13))
        lengths[drawn.random(lengths.size) < 0.05] = longest
        documents.append(lengths.tolist())
    return documents


def recipe_of(folder: Path, *stages: Stage, documents=None, **settings) -> Recipe:
    """A recipe of two stores, `a` and `b`."""
    stores = documents or {"a": many_documents(1), "b": many_documents(2, 25)}
    for name, lengths in stores.items():
        write_sentences(folder / name, lengths)
    return Recipe(
        vocab_file=write_vocabulary(folder),
        stores={name: str(folder / name) for name in stores},
        stages=stages,
        **{"seed": 7, "shuffle_block": 8, "shuffle_window": 32, **settings},
    )


def write_recipe(folder: Path, stages: str, num_documents: int = 300) -> Path:
    """A file r.yaml, a recipe of two stores, wiki and books; its stages are lines of YAML."""
    for seed, name in enumerate(("wiki", "books")):
        write_sentences(folder / name, many_documents(seed, num_documents))
    path = folder / "r.yaml"
    path.write_text(
        f"vocab_file: {write_vocabulary(folder)}\n"
        f"stores: {{wiki: {folder}/wiki, books: {folder}/books}}\n"
        f"stages:\n{stages}"
    )
    return path


def ids_of(prefix: str) -> list[int]:
    """The tokens of a store."""
    return open_store(prefix).ids.tolist()
