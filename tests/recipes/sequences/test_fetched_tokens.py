"""Token stores in buckets: the batches of local ones, each byte fetched once an epoch."""

import contextlib
import dataclasses
import fcntl
import itertools
import os
import re
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from bert_data.errors import CorruptDataError
from bert_data.recipes.recipe import RECIPE_BATCHINGS, Recipe, Stage
from bert_data.recipes.recipe_run import Run
from bert_data.recipes.run_batches import iterate_placed, iterate_recipe_arrays
from bert_data.recipes.stage_masking import StageMasking
from bert_data.storage import local_copies
from bert_data.tokens.store import open_store
from bert_data.tokens.store_writer import StoreWriter
from tests.full_disk import full_disk
from tests.object_store import ObjectStore
from tests.recipes.stores import many_documents, recipe_of, write_sentences, write_vocabulary
from tests.rows import mostly_slow

COVERS = ("recipes/sequences/opened_stores", "storage/remote_ranges")


@pytest.fixture
def room(tmp_path, monkeypatch):
    """Sets how many bytes the local copies may have; they are in tmp_path/copies."""
    monkeypatch.setenv(local_copies.PLACE, str(tmp_path / "copies"))

    def give(num_bytes: int) -> None:
        monkeypatch.setenv(local_copies.GIGABYTES, str(num_bytes / 1e9))

    yield give
    local_copies.close()


def upload(store: ObjectStore, recipe: Recipe, *names: str) -> Recipe:
    """The recipe with some of its stores, by default all, in a bucket."""
    paths = dict(recipe.stores)
    for name in names or recipe.stores:
        folder, prefix = os.path.split(recipe.stores[name].partition("@")[0])
        for path in Path(folder).glob(f"{prefix}[-.]*"):
            store.put(f"in/{path.name}", path.read_bytes())
        paths[name] = store.uri(f"in/{os.path.basename(recipe.stores[name])}")
    return dataclasses.replace(recipe, stores=paths)


def num_tokens_bytes(recipe: Recipe) -> int:
    paths = map(Path, recipe.input_files())
    return sum(path.stat().st_size for path in paths if path.suffix == ".bin")


def num_bytes(recipe: Recipe) -> int:
    return sum(
        Path(path).stat().st_size for path in recipe.input_files()[1:] if Path(path).exists()
    )


def fetched(store: ObjectStore, ending=".bin") -> list[int]:
    """The bytes of each ranged read of files with this ending."""
    reads = [each for each in store.requests if each.method == "GET" and each.key.endswith(ending)]
    ends = [re.fullmatch(r"bytes=(\d+)-(\d+)", each.range).groups() for each in reads]
    return [int(last) - int(first) + 1 for first, last in ends]


def assert_equal(found, expected) -> None:
    for one, other in itertools.zip_longest(found, expected):
        assert one.keys() == other.keys()
        assert all((one[name] == other[name]).all() for name in one)


@mostly_slow("objective", ["nsp", "none", "tokens"])
def test_batches_are_those_of_local_stores(tmp_path, object_store, room, objective):
    settings = {"objective": objective, "batching": "plain"}
    own = Stage(epochs={"a": 2}, max_seq_length=32, batch_size=4, masking=MASKING, **settings)
    longer = Stage(steps=20, max_seq_length=64, mixture={"a": 1, "b": 3}, batching="pools")
    local = recipe_of(tmp_path, own, longer)
    room(9 * num_tokens_bytes(local))
    remote = upload(object_store, local)
    assert_equal(iterate_recipe_arrays(remote), iterate_recipe_arrays(local))
    assert len(fetched(object_store)) > 20
    half = upload(object_store, local, "b")
    assert_equal(iterate_recipe_arrays(half), iterate_recipe_arrays(local))


@mostly_slow("batching", RECIPE_BATCHINGS)
def test_any_place_host_and_worker_reads_the_same(tmp_path, object_store, room, batching):
    own = Stage(
        epochs={"a": 3}, max_seq_length=32, batch_size=3, objective="none", batching=batching
    )
    local = recipe_of(tmp_path, own)
    room(9 * num_tokens_bytes(local))
    remote = upload(object_store, local)
    for settings in ({"start_batch": 17}, {"num_hosts": 3, "host_index": 1, "start_batch": 30}):
        assert_equal(
            iterate_recipe_arrays(remote, **settings), iterate_recipe_arrays(local, **settings)
        )
    run, expected = (
        Run(remote),
        [batch for _, batch in iterate_placed(Run(local), first=1, every=3)],
    )
    for _ in range(2):  # of one run, as workers of PyTorch do
        assert_equal((batch for _, batch in iterate_placed(run, first=1, every=3)), expected)


@pytest.mark.slow
def test_parts_of_different_types_under_one_name(tmp_path, object_store, room):
    for part, (seed, dtype) in enumerate([(1, "<u2"), (2, "<i4"), (3, "<u2")]):
        path = write_sentences(tmp_path / "plain", many_documents(seed))
        store = open_store(path)
        with StoreWriter(f"{tmp_path}/s-{part:05}-of-00003", np.dtype(dtype)) as writer:
            breaks = store.documents[1:]
            writer.add(store.ids.astype(dtype), np.array(store.lengths), breaks)
    own = Stage(epochs=2, max_seq_length=32, batch_size=4, objective="none", batching="packed")
    local = Recipe(
        vocab_file=write_vocabulary(tmp_path), stores={"s": f"{tmp_path}/s@3"}, stages=(own,),
        shuffle_block=4, shuffle_window=64,
    )  # fmt: skip
    room(9 * num_tokens_bytes(local))
    assert_equal(iterate_recipe_arrays(upload(object_store, local)), iterate_recipe_arrays(local))
    assert len(fetched(object_store)) > 100


MASKING = StageMasking(rate=0.2)
LONG = {"shuffle_block": 32, "shuffle_window": 256}


def long_store(folder: Path, number: int = 60, batch_size: int = 4) -> Recipe:
    """A recipe of an epoch of documents of 1,000 tokens, in windows far smaller than its store."""
    own = Stage(
        epochs=1, max_seq_length=16, batch_size=batch_size, objective="tokens", batching="packed"
    )
    return recipe_of(folder, own, documents={"a": [[1000]] * number}, **LONG)


@pytest.mark.slow
def test_an_epoch_with_a_cache_of_a_tenth_reads_the_store_once(tmp_path, object_store, room):
    local = long_store(tmp_path, 400, batch_size=1)
    theirs = {tmp_path / "copies" / name: b"precious" for name in ("a", "files/b", "users/c/0-d")}
    for path, data in theirs.items():
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(data)
    room(num_bytes(local) // 10)
    remote, most = upload(object_store, local), 0
    for found, expected in itertools.zip_longest(
        iterate_recipe_arrays(remote), iterate_recipe_arrays(local)
    ):
        assert_equal([found], [expected])
        copies = tmp_path / "copies" / "bert_data-copies"
        with open(copies / "lock") as lock, contextlib.suppress(FileNotFoundError):
            fcntl.flock(lock, fcntl.LOCK_EX)  # room is made under it, and nothing comes meanwhile
            most = max(most, sum(path.stat().st_size for path in (copies / "files").iterdir()))
    assert num_bytes(local) // 40 < most <= num_bytes(local) // 10
    num_read = sum(fetched(object_store)) + sum(fetched(object_store, ".idx"))
    assert 0.99 < num_read / num_bytes(local) < 1.01
    assert {path: path.read_bytes() for path in theirs} == theirs


def test_small_stores_are_copied_once(tmp_path, object_store, room):
    local = long_store(tmp_path, 20)
    room(20 * num_bytes(local))
    assert_equal(iterate_recipe_arrays(upload(object_store, local)), iterate_recipe_arrays(local))
    assert len(fetched(object_store)) == 1


@pytest.mark.slow
def test_runs_share_what_is_fetched(tmp_path, object_store, room):
    local = long_store(tmp_path)
    room(8 * num_tokens_bytes(local))
    remote = upload(object_store, local)
    for one, other in zip(
        iterate_recipe_arrays(remote), iterate_recipe_arrays(remote), strict=True
    ):
        assert_equal([one], [other])
    assert (
        0.99 < sum(fetched(object_store)) / Path(f"{local.stores['a']}.bin").stat().st_size < 1.01
    )


FORKS = """
import hashlib, os, sys
from bert_data.recipes.recipe import Recipe
from bert_data.recipes.recipe_run import Run
from bert_data.recipes.run_batches import iterate_placed

run = Run(Recipe.from_file(sys.argv[1]))

def told():
    return [hashlib.sha256(batch["input_ids"]).digest() for _, batch in iterate_placed(run)]

expected = told()
begun = iterate_placed(run)
next(begun)
children = []
for number in range(2):
    child = os.fork()
    if not child:
        os._exit(0 if told() == expected else 2)
    children.append(child)
assert told() == expected
assert [os.waitpid(child, 0)[1] for child in children] == [0, 0]
assert len(list(begun)) == len(expected) - 1
"""


@pytest.mark.process
def test_forked_processes(tmp_path, object_store, room, checkout):
    """They have connections of their own, and share what is fetched."""
    local = long_store(tmp_path, 50)
    room(8 * num_tokens_bytes(local))
    remote = upload(object_store, local)
    (tmp_path / "r.yaml").write_text(
        f"vocab_file: {local.vocab_file}\nstores: {{a: {remote.stores['a']}}}\n"
        "shuffle_block: 32\nshuffle_window: 256\nstages: [{epochs: 1, max_seq_length: 16,"
        " batch_size: 1, objective: tokens, batching: packed}]\n"
    )
    program = [sys.executable, "-c", FORKS, str(tmp_path / "r.yaml")]
    ended = subprocess.run(program, cwd=checkout, capture_output=True, text=True)
    assert ended.returncode == 0, ended.stderr[-2000:]


@pytest.fixture(scope="module")
def local(tmp_path_factory):
    """A recipe, and its batches."""
    recipe = long_store(tmp_path_factory.mktemp("local"))
    return recipe, list(iterate_recipe_arrays(recipe))


class TestFaults:
    """What a bucket or a disk does wrong while a run reads it."""

    @pytest.fixture
    def begun(self, local, object_store, room):
        """A run whose first batch was read, of which most is not fetched; and its other batches."""
        recipe, expected = local
        room(8 * num_tokens_bytes(recipe))
        batches = iterate_recipe_arrays(upload(object_store, recipe))
        next(batches)
        with contextlib.closing(batches):
            yield batches, expected[1:]

    @pytest.mark.parametrize("kind", ["500", "503", "reset", "cut", "slow"])
    def test_what_passes(self, begun, object_store, kind):
        object_store.fail(kind, method="GET", key="bin", times=2)
        assert_equal(*begun)

    @pytest.mark.parametrize(
        ("kind", "error", "reason"),
        [
            ("403", PermissionError, "access is forbidden"),
            ("expired", PermissionError, "the credentials have expired"),
            ("503", OSError, "the object store failed"),
        ],
    )
    def test_what_stays(self, begun, object_store, kind, error, reason):
        object_store.fail(kind, method="GET", times=10_000)  # also of what is asked for the reason
        with pytest.raises(error, match=reason) as caught:
            list(begun[0])
        assert caught.value.filename == object_store.uri("in/a.bin")

    def test_an_object_that_is_replaced_by_one_of_its_size(self, begun, object_store):
        object_store.put("in/a.bin", b"\7\0" * (len(object_store.get("in/a.bin")) // 2))
        with pytest.raises(CorruptDataError, match=r"a\.bin.*has changed since it was opened"):
            list(begun[0])

    def test_an_object_that_becomes_shorter(self, begun, object_store):
        object_store.put("in/a.bin", object_store.get("in/a.bin")[:-50_000])
        with pytest.raises(CorruptDataError, match=r"a\.bin.*has changed since it was opened"):
            list(begun[0])

    def test_an_object_that_is_removed(self, begun, object_store):
        object_store.remove("in/a.bin")
        with pytest.raises(FileNotFoundError, match="has been removed since it was opened"):
            list(begun[0])

    def test_a_full_disk(self, begun):
        with full_disk(1000), pytest.raises(OSError, match="BERT_DATA_COPIES names another folder"):
            list(begun[0])

    @pytest.mark.parametrize("ending", ["bin", "idx"])
    def test_a_missing_object(self, tmp_path, object_store, room, ending):
        room(100_000)
        remote = upload(object_store, long_store(tmp_path))
        object_store.remove(f"in/a.{ending}")
        with pytest.raises(FileNotFoundError, match=rf"\(stores: a\): '.*a.{ending}'"):
            next(iterate_recipe_arrays(remote))

    def test_windows_larger_than_the_room_for_copies(self, tmp_path, object_store, room):
        local = long_store(tmp_path)
        room(20_000)
        with pytest.raises(ValueError, match=r"parts of s3:.*/a\.bin must be .* `shuffle_window`"):
            list(iterate_recipe_arrays(upload(object_store, local)))
