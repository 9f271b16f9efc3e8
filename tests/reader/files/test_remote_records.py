"""Records of remote shards: the batches of local ones, few requests, bounded files, faults."""

import dataclasses
import itertools
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given
from hypothesis import strategies as st

from bert_data.errors import CorruptDataError
from bert_data.reader import ReaderConfig, iterate_arrays
from bert_data.reader.files import remote_records
from bert_data.reader.files.record_source import Damage
from bert_data.reader.files.remote_records import records_of_shards
from bert_data.reader.files.shards import Shard, find_shards
from bert_data.storage import local_copies, remote_ranges
from tests.hypotheses import examples
from tests.object_store import ObjectStore
from tests.reader.making import (
    MAX_PREDICTIONS,
    MAX_TOKENS,
    make_instances,
    write_index,
    write_shard,
)
from tests.reader.parquet_making import write_instances
from tests.rows import mostly_slow

INSTANCES = make_instances(60)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Three TFRecord shards, two with indexes, and one Parquet shard."""
    folder = tmp_path_factory.mktemp("shards")
    for number in range(3):
        instances = INSTANCES[15 * number : 15 * number + 15]
        path = write_shard(folder / f"part-{number}", instances)
        if number:
            write_index(path, [len(instance.tokens) for instance in instances])
    write_instances(folder / "rows.parquet", INSTANCES[45:])
    return folder


@pytest.fixture
def remote(
    folder: Path, object_store: ObjectStore, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> Iterator[ObjectStore]:
    """The same shards in a store; requests are small, and the local file may be."""
    for path in folder.iterdir():
        object_store.put(f"set/{path.name}", path.read_bytes())
    monkeypatch.setattr(remote_ranges, "UNIT_BYTES", 500)
    monkeypatch.setattr(remote_records, "GAP_BYTES", 300)
    monkeypatch.setenv(local_copies.PLACE, str(tmp_path / "copies"))
    yield object_store
    local_copies.close()


@dataclasses.dataclass(frozen=True, kw_only=True)
class UncheckedConfig(ReaderConfig):
    """A configuration whose settings were checked but for the one that was replaced."""

    def __post_init__(self) -> None:
        pass


def config_of(patterns: str, **changes: Any) -> ReaderConfig:
    """A configuration; remote_cache_bytes may be less than is allowed."""
    cache_bytes = changes.pop("remote_cache_bytes", None)
    settings = {"batch_size": 4, "max_seq_length": MAX_TOKENS, "batching": "pools", **changes}
    made = ReaderConfig(
        input_patterns=patterns, max_predictions_per_seq=MAX_PREDICTIONS, **settings
    )
    if cache_bytes is None:
        return made
    return UncheckedConfig(**{**vars(made), "remote_cache_bytes": cache_bytes})


def assert_same(one: Iterator[Any], other: Iterator[Any]) -> None:
    for ours, theirs in itertools.zip_longest(one, other):
        assert ours.keys() == theirs.keys()
        for name in ours:
            np.testing.assert_array_equal(ours[name], theirs[name], name)


@pytest.mark.slow
@examples(8, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    batching=st.sampled_from(["stream", "plain", "pools", "buckets", "packed"]),
    names=st.sampled_from(["part-*", "part-1,part-0"]),
    shuffle=st.booleans(),
    hosts=st.sampled_from([(1, 0), (2, 1), (3, 0)]),
    num_epochs=st.integers(1, 2),
    start_batch=st.integers(0, 3),
    cache=st.sampled_from([3, 3000, 1 << 24]),
)
def test_batches_are_those_of_local_shards(
    remote, folder, batching, names, shuffle, hosts, num_epochs, start_batch, cache
) -> None:
    def of(root: str) -> Iterator[Any]:
        is_in_order = batching == "stream" and not shuffle
        all_names = f"{names},rows.parquet" if is_in_order else names
        patterns = ",".join(f"{root}/{name}" for name in all_names.split(","))
        num_hosts, host_index = hosts
        return iterate_arrays(
            config_of(
                patterns,
                batching=batching,
                shuffle=shuffle,
                seed=num_epochs,
                num_hosts=num_hosts,
                host_index=host_index,
                num_epochs=num_epochs,
                start_batch=start_batch,
                remote_cache_bytes=cache,
            )
        )

    assert_same(of(remote.uri("set")), of(str(folder)))


def ranges_read(store: ObjectStore) -> list[tuple[str, int, int]]:
    """Key, begin and end of each ranged read of a TFRecord shard past its header."""
    spans = []
    for request in store.requests:
        if request.method == "GET" and "/part-" in request.key and request.range:
            begin, last = map(int, request.range.removeprefix("bytes=").split("-"))
            spans.append((request.key, begin, last + 1))
    return spans


def shards_of(store: ObjectStore, names: str) -> tuple[Shard, ...]:
    return find_shards(config_of(store.uri(f"set/{names}")))


def read_epochs(
    shards: tuple[Shard, ...], steps: list[list[int]], cache_bytes: int
) -> list[list[int]]:
    """The first tokens of the records of each step."""
    source = records_of_shards(
        shards, in_order=False, skip_corrupt=False, remote_cache_bytes=cache_bytes
    )
    tokens = []
    for step, records in source.follow(iter(steps), np.array):
        block = records.gather(np.array(step), Damage(skip=False)).block
        tokens.append(block.lengths[:, 0].tolist())
    return tokens


def test_shards_that_fit_are_fetched_once(remote: ObjectStore) -> None:
    shards = shards_of(remote, "part-[12]")
    size = sum(shard.num_bytes for shard in shards)
    remote.requests.clear()
    lengths = [len(instance.tokens) for instance in INSTANCES[15:45]]
    order = np.random.default_rng(1).permutation(30).reshape(10, 3).tolist()
    expected = [[lengths[number] for number in step] for step in order]
    assert read_epochs(shards, order + order, size) == expected + expected
    spans = ranges_read(remote)
    assert sum(end - begin for _, begin, end in spans) == size
    assert len(spans) <= size // remote_ranges.UNIT_BYTES + 4


def test_only_what_the_plan_needs_is_fetched(remote: ObjectStore) -> None:
    shards = shards_of(remote, "part-[12]")
    remote.requests.clear()
    read_epochs(shards, [[0, -1], [-1], [29]], sum(shard.num_bytes for shard in shards) - 1)
    spans = ranges_read(remote)
    assert len(spans) == 2
    assert {key.rpartition("/")[2] for key, *_ in spans} == {"part-1", "part-2"}
    assert all(end - begin < 2 * remote_ranges.UNIT_BYTES for _, begin, end in spans)


def test_a_larger_set_is_read_through_small_files(remote: ObjectStore, tmp_path: Path) -> None:
    """Each of a third of the bytes; neighbours are joined."""
    shards = shards_of(remote, "part-[12]")
    size = sum(shard.num_bytes for shard in shards)
    remote.requests.clear()
    order = np.random.default_rng(2).permutation(30).reshape(15, 2).tolist()
    lengths = [len(instance.tokens) for instance in INSTANCES[15:45]]
    expected = [[lengths[number] for number in step] for step in order]
    assert read_epochs(shards, order, size // 2) == expected
    files = list((tmp_path / "copies").glob("bert_data-copies/files/*"))
    padding = 30 * remote_ranges.ALIGNED
    assert max(path.stat().st_size for path in files) <= size // 2 // 3 + padding
    assert size <= sum(path.stat().st_size for path in files) <= size + padding
    assert len(ranges_read(remote)) < 30  # fewer requests than records


@mostly_slow("kind", ["500", "503", "reset", "cut", "slow"])
def test_passing_faults_are_survived(remote: ObjectStore, folder: Path, kind: str) -> None:
    remote.fail(kind, method="GET", key="part-1", skip=2)
    patterns = "part-[012]"
    here = config_of(remote.uri(f"set/{patterns}"), shuffle=True)
    assert_same(
        iterate_arrays(here),
        iterate_arrays(dataclasses.replace(here, input_patterns=f"{folder}/{patterns}")),
    )


def test_lasting_faults_end_the_iteration_with_the_uri(
    remote: ObjectStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(remote_ranges, "NUM_REQUESTS", 2)  # at a time
    batches = iterate_arrays(config_of(remote.uri("set/part-[12]")))
    remote.fail("403", method="GET", times=100)
    remote.requests.clear()
    with pytest.raises(
        PermissionError, match=r"part-[12]: access is forbidden|forbidden.*part-[12]"
    ):
        next(batches)
    # What was asked for besides is given up: a thread has at most one request under way.
    assert sum(request.method == "GET" for request in remote.requests) <= 8


def test_a_shard_that_goes_away_is_named(remote: ObjectStore) -> None:
    batches = iterate_arrays(config_of(remote.uri("set/part-1")))
    remote.remove("set/part-1")
    with pytest.raises(FileNotFoundError, match=r"has been removed since it was opened.*part-1"):
        next(batches)


@mostly_slow("same_size", [True, False])
def test_a_shard_that_changes_is_named(remote: ObjectStore, folder: Path, same_size: bool) -> None:
    data = (folder / "part-1").read_bytes()
    here = config_of(remote.uri("set/part-1"), batch_size=1, remote_cache_bytes=3)
    batches = iterate_arrays(here)
    next(batches)
    remote.put("set/part-1", bytes(len(data)) if same_size else data[:400])
    with pytest.raises(CorruptDataError, match=r"part-1: .*has changed since it was opened"):
        list(batches)


def test_damage_is_that_of_a_local_shard(remote: ObjectStore, folder: Path, tmp_path: Path) -> None:
    data = bytearray((folder / "part-2").read_bytes())
    data[700] ^= 1
    remote.put("set/part-2", data)
    local = tmp_path / "part-2"
    local.write_bytes(data)
    errors = []
    for path in (remote.uri("set/part-2"), str(local)):
        with pytest.raises(CorruptDataError) as raised:
            list(iterate_arrays(config_of(path)))
        errors.append((raised.value.offset, raised.value.reason, raised.value.record))
    assert errors[0] == errors[1]


def test_an_abandoned_iteration_ends_its_requests(remote: ObjectStore) -> None:
    before = set(threading.enumerate())
    batches = iterate_arrays(config_of(remote.uri("set/part-[12]"), batch_size=1))
    next(batches)
    batches.close()
    after = {thread for thread in threading.enumerate() if thread.name.startswith("bert_data")}
    assert after <= before
