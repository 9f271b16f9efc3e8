"""What a start finds in stores is kept, and never taken for that of another store or setting."""

import contextlib
import dataclasses
import os
import threading
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from bert_data.recipes.recipe import Stage
from bert_data.recipes.run_batches import iterate_recipe_arrays
from bert_data.recipes.sequences.cutting import index_sequences
from bert_data.recipes.sequences.opened_stores import OpenedPart, open_stores
from bert_data.recipes.sequences.sequence_index import index_store, kept_index, sentence_arrays
from bert_data.storage.paths import new_token, writing_path
from bert_data.tokens.store import open_store
from tests.hypotheses import examples
from tests.recipes.stores import many_documents, recipe_of, write_sentences


def open_part(prefix: str) -> OpenedPart:
    opened = open_stores({"a": str(prefix)}, contextlib.nullcontext, identify=True)
    return opened["a"].parts[0]


def nothing() -> None:
    """Checks no bounds."""


def refused() -> None:
    raise AssertionError("all lengths are read again")


def assert_same(found, expected) -> None:
    assert found.num_sequences == expected.num_sequences
    assert np.array_equal(found.entries, expected.entries)
    assert not found.entries.flags.writeable


@pytest.fixture
def store(tmp_path):
    return write_sentences(tmp_path / "a", many_documents(1, 900))


def test_what_was_found_is_kept(store, tmp_path):
    folder = str(tmp_path / "new" / "cache")
    for room in (12, 30):
        expected = index_store(open_part(store), room, nothing)
        assert expected.num_sequences > 300
        assert_same(kept_index(open_part(store), room, nothing, folder), expected)
        assert_same(kept_index(open_part(store), room, refused, folder), expected)
    assert len(os.listdir(folder)) == 2


def test_another_store_of_the_same_size_is_found_anew(store, tmp_path):
    kept_index(open_part(store), 12, nothing, str(tmp_path / "c"))
    documents = [each[::-1] for each in many_documents(1, 900)]
    size = os.path.getsize(f"{store}.idx")
    write_sentences(store, documents)
    assert os.path.getsize(f"{store}.idx") == size
    part = open_part(store)
    found = kept_index(part, 12, nothing, str(tmp_path / "c"))
    assert_same(found, index_store(part, 12, nothing))


def test_remote_stores_of_the_same_size_and_second_are_told_apart(store, tmp_path):
    other = write_sentences(tmp_path / "b", [each[::-1] for each in many_documents(1, 900)])
    for prefix in (store, other):
        part = open_part(prefix)
        status = dataclasses.replace(part.identity, modified_ns=10**9, inode=0)
        part = part._replace(identity=status)
        found = kept_index(part, 12, nothing, str(tmp_path / "c"))
        assert_same(found, index_store(part, 12, nothing))
    assert len(os.listdir(tmp_path / "c")) == 2


@pytest.mark.parametrize("where", ["c", "c/d"])
def test_a_folder_that_cannot_be_written_is_told(store, tmp_path, where, caplog):
    (tmp_path / "c").write_text("somebody's file")
    part = open_part(store)
    found = kept_index(part, 12, nothing, str(tmp_path / where))
    assert_same(found, index_store(part, 12, nothing))
    assert "what is found in stores cannot be kept" in caplog.text


@pytest.mark.parametrize("damage", ["flip", "cut", "longer", "empty", "other"])
def test_a_damaged_file_is_made_again(store, tmp_path, caplog, damage):
    part, folder = open_part(store), tmp_path / "c"
    expected = index_store(part, 12, nothing)
    kept_index(part, 12, nothing, str(folder))
    (path,) = folder.iterdir()
    data = path.read_bytes()
    changed = {
        "cut": [data[:-32], data[32:], data[:-1]],
        "longer": [data + data[:32], data + b"\0"],
        "empty": [b""],
        "flip": [
            data[:at] + bytes([data[at] ^ 1]) + data[at + 1 :]
            for at in (*range(0, len(data) - 32, 301), *range(len(data) - 32, len(data)))
        ],
    }
    if damage == "other":
        kept_index(part, 13, nothing, str(folder))
        (other,) = (each for each in folder.iterdir() if each != path)
        changed["other"] = [other.read_bytes()]
    for each in changed[damage]:
        path.write_bytes(each)
        caplog.clear()
        assert_same(kept_index(part, 12, nothing, str(folder)), expected)
        assert f"{path} is damaged; it is made again" in caplog.text
        assert path.read_bytes() == data


def test_what_a_killed_run_left_half_written_is_removed(store, tmp_path):
    part, folder = open_part(store), tmp_path / "c"
    folder.mkdir()
    left = writing_path(str(folder / "sequences-1.bin"), new_token())
    Path(left).write_bytes(b"half")
    kept_index(part, 12, nothing, str(folder))
    assert len(os.listdir(folder)) == 1 and not os.path.exists(left)


def test_several_may_keep_it_at_once(store, tmp_path):
    part, found = open_part(store), []
    expected = index_store(part, 12, nothing)

    def keep() -> None:
        found.append(kept_index(part, 12, nothing, str(tmp_path / "c")))

    threads = [threading.Thread(target=keep) for _ in range(8)]
    for each in threads:
        each.start()
    for each in threads:
        each.join()
    assert len(found) == 8 and len(os.listdir(tmp_path / "c")) == 1
    for each in found:
        assert_same(each, expected)


@examples(40)
@given(
    st.lists(st.lists(st.integers(0, 30), max_size=40), min_size=1, max_size=300),
    st.integers(2, 20),
    st.data(),
)
def test_an_index_in_parts_is_that_of_all(tmp_path_factory, documents, room, data):
    prefix = write_sentences(tmp_path_factory.mktemp("s") / "a", documents)
    store, size = open_store(prefix), len(documents)
    middle = data.draw(st.integers(0, size))
    most = 1 + (size + 2 * store.ids.size // room) // 128
    whole, first, second = np.empty((3, most, 4), np.int64)
    sentences = sentence_arrays(store)
    number, count = index_sequences(sentences, room, (0, size), 0, whole)
    before, num_first = index_sequences(sentences, room, (0, middle), 0, first)
    found, num_second = index_sequences(sentences, room, (middle, size), before, second)
    assert (found, num_first + num_second) == (number, count)
    parts = np.concatenate((first[:num_first], second[:num_second]))
    assert np.array_equal(parts, whole[:count])


def test_batches_do_not_depend_on_it(tmp_path):
    stages = [
        Stage(epochs={"a": 1}, max_seq_length=24, batch_size=4),
        Stage(steps=5, objective="nsp", batching="packed"),
    ]
    recipe = recipe_of(tmp_path, *stages)
    expected = list(iterate_recipe_arrays(recipe))
    kept = recipe_of(tmp_path, *stages, cache_dir=str(tmp_path / "c"))
    for _ in range(2):
        batches = iterate_recipe_arrays(kept)
        for batch, other in zip(batches, expected, strict=True):
            assert all(np.array_equal(batch[name], other[name]) for name in other)
        assert len(list((tmp_path / "c").iterdir())) >= 4
    state = batches.get_state()
    iterate_recipe_arrays(recipe).set_state(state)  # it is not part of a recipe's digest
