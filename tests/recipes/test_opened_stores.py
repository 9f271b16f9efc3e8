"""Errors of a recipe's stores and vocabulary: the recipe's file, its line, and the store."""

import re

import numpy as np
import pytest

from bert_data.errors import CorruptDataError
from bert_data.recipes.recipe import Recipe, Stage
from bert_data.recipes.recipe_run import Run
from bert_data.recipes.run_batches import iterate_recipe_arrays
from bert_data.tokens.store import HEADER
from bert_data.tokens.store_writer import StoreWriter
from tests.recipes.stores import write_recipe, write_sentences

COVERS = ("recipes/sequences/opened_stores",)

STAGES = "  - {epochs: {wiki: 1}, max_seq_length: 16, batch_size: 4}\n"


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """A recipe whose stores are on lines of their own."""
    monkeypatch.chdir(tmp_path)
    path = write_recipe(tmp_path, STAGES, num_documents=5)
    stores = "stores:\n  wiki: wiki\n  books: books\n"
    path.write_text(re.sub("stores: .*\n", stores, path.read_text()))
    return tmp_path


def put(path, offset, data):
    with path.open("r+b") as file:
        file.seek(offset)
        file.write(data)


def without_tokens(folder):
    with StoreWriter(str(folder / "books"), np.dtype("<u2")):
        pass


LINE = "r.yaml: line 4: stores: books"


def told(error):
    """What the command line prints; errors of files keep their name and number."""
    if not isinstance(error, OSError):
        return str(error)
    assert error.errno
    return f"{error.filename}: {error.strerror}"


def to_folder(path):
    path.unlink()
    path.mkdir()


@pytest.mark.parametrize(
    ("change", "kind", "said"),
    [
        (lambda f: (f / "books.idx").unlink(), FileNotFoundError, "books.idx: No such file"),
        (lambda f: (f / "books.bin").unlink(), FileNotFoundError, "books.bin: No such file"),
        (lambda f: put(f / "books.idx", 0, b"x"), CorruptDataError, "byte offset 0: not"),
        (lambda f: put(f / "books.idx", 17, b"\x09"), CorruptDataError, "dtype code 9 is not one"),
        (lambda f: put(f / "books.idx", 17, b"\x05"), CorruptDataError, "the index says"),
        (lambda f: put(f / "books.idx", HEADER.size, b"\x00"), CorruptDataError, "end to end"),
        (lambda f: (f / "books.bin").write_bytes(b"1"), CorruptDataError, "books.bin: byte offset"),
        (lambda f: to_folder(f / "books.idx"), IsADirectoryError, "books.idx: Is a directory"),
        (lambda f: to_folder(f / "books.bin"), IsADirectoryError, "books.bin: Is a directory"),
        (without_tokens, ValueError, "books: the token store has no tokens"),
    ],
)
def test_an_error_of_a_store_names_its_line(folder, change, kind, said):
    change(folder)
    with pytest.raises(kind) as caught:
        Run(Recipe.from_file("r.yaml"))
    assert said in told(caught.value) and LINE in told(caught.value)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("'data/*'", "data/*.idx: No such file"),
        ("books@3", "books-00000-of-00003.idx: No such file"),
        ("other", "other was made with another vocabulary than"),
    ],
)
def test_so_does_one_of_what_it_names(folder, text, said):
    note = (
        '{"format": "bert_data token store", "format_version": 1, "created_by": "", "inputs": [],'
        ' "vocabulary": {"size": 3, "sha256": "0"}, "counts": {"num_documents": 1,'
        ' "num_sentences": 1, "num_tokens": 1}, "settings": {"level": "sentence", "id_limit": 3,'
        ' "eod_id": null, "do_lower_case": true}, "files": {"bin": {"num_bytes": 1, "crc32": 1},'
        ' "idx": {"num_bytes": 1, "crc32": 1}}}'
    )
    write_sentences(folder / "other", [[3]])
    (folder / "other.store.json").write_text(note)
    path = folder / "r.yaml"
    path.write_text(path.read_text().replace("  books: books", f"  books: {text}"))
    with pytest.raises((ValueError, OSError)) as caught:
        Run(Recipe.from_file("r.yaml"))
    assert said in told(caught.value) and LINE in told(caught.value)


def test_so_do_ids_beyond_the_vocabulary_when_they_are_read(folder):
    with StoreWriter(str(folder / "books"), np.dtype("<u2")) as writer:
        writer.add(np.full(64, 60_000, "<u2"), np.array([64], np.int32), np.array([1], np.int64))
    with pytest.raises(ValueError, match=r"^r.yaml: line 4: stores: books: books has an id that"):
        list(iterate_recipe_arrays(Recipe.from_file("r.yaml")))


def test_an_error_of_the_vocabulary_names_its_line(folder):
    path = folder / "r.yaml"
    path.write_text(re.sub("vocab_file: .*", "vocab_file: none.txt", path.read_text()))
    with pytest.raises(FileNotFoundError, match=r"\(r.yaml: line 1: vocab_file\)") as caught:
        Run(Recipe.from_file("r.yaml"))
    assert caught.value.filename == "none.txt"


def test_a_recipe_in_python_names_the_store(folder):
    recipe = Recipe(
        vocab_file=str(folder / "vocab.txt"),
        stores={"wiki": "none"},
        stages=(Stage(steps=1, batch_size=1),),
    )
    with pytest.raises(FileNotFoundError, match=r"No such .* \(stores: wiki\): 'none.idx'"):
        Run(recipe)
