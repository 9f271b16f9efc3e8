"""Records by number, in any order, are the bytes of the shards, however they are read."""

import contextlib
import errno
import unittest.mock
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from bert_data.errors import CorruptDataError
from bert_data.reader.config import ReaderConfig
from bert_data.reader.examples.block import RecordBlock
from bert_data.reader.files import local_records
from bert_data.reader.files.local_records import ShardRecords
from bert_data.reader.files.record_source import Damage
from bert_data.reader.files.shards import find_shards
from bert_data.storage.descriptors import FileMaps, OpenFiles
from tests.reader.making import (
    example_of,
    frame_offsets,
    make_instances,
    write_examples,
    write_shard,
)

SIZES = (3, 0, 1, 12)
INSTANCES = make_instances(sum(SIZES))
LAYOUTS = ("ragged", "reference", "ragged", "reference")


def from_maps() -> contextlib.AbstractContextManager:
    return contextlib.nullcontext()


def from_files() -> contextlib.AbstractContextManager:
    """As on a file system without maps."""
    return unittest.mock.patch.object(FileMaps, "add", side_effect=OSError(errno.ENODEV, "none"))


def without_memory() -> contextlib.AbstractContextManager:
    """Reading works where there is no memory for a copy."""
    return unittest.mock.patch.object(local_records, "new_file", side_effect=OSError)


@pytest.fixture(scope="module", params=[from_maps, from_files])
def shards(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> ShardRecords:
    """Shards of both layouts, one of them empty."""
    folder, first = tmp_path_factory.mktemp("shards"), 0
    for number, (size, layout) in enumerate(zip(SIZES, LAYOUTS, strict=True)):
        write_shard(folder / f"part-{number}", INSTANCES[first : first + size], layout)
        first += size
    config = ReaderConfig(input_patterns=f"{folder}/part-*", batch_size=1)
    with request.param():
        return ShardRecords(find_shards(config), in_order=False, skip_corrupt=False)


@given(
    st.lists(st.integers(-1, sum(SIZES) - 1), max_size=40), st.sampled_from((np.int32, np.int64))
)
def test_gathered_records_are_those_asked_for(
    shards: ShardRecords, numbers: list[int], kind: type
) -> None:
    layouts = [layout for size, layout in zip(SIZES, LAYOUTS, strict=True) for _ in range(size)]
    block, is_there = shards.gather(np.array(numbers, kind), Damage(skip=False))
    assert is_there.tolist() == [number >= 0 for number in numbers]
    for i, number in enumerate(numbers):
        if number < 0:
            assert not block.spans[i].any() and not block.lengths[i].any()
            continue
        start, size = block.starts[i], block.sizes[i]
        expected = example_of(INSTANCES[number], layouts[number])
        assert block.data[start : start + size].tobytes() == expected
        instance = INSTANCES[number]
        assert block.lengths[i].tolist() == [len(instance.tokens), len(instance.positions)]


def test_the_indexes_tell_the_tokens(shards: ShardRecords) -> None:
    assert shards.num_tokens.tolist() == [len(instance.tokens) for instance in INSTANCES]


def test_what_is_no_record_is_told_or_left_out(tmp_path: Path) -> None:
    path = write_examples(tmp_path / "train", [example_of(i, "ragged") for i in INSTANCES])
    config = ReaderConfig(input_patterns=str(path), batch_size=1)
    shards = ShardRecords(find_shards(config), in_order=False, skip_corrupt=False)
    data, offset = bytearray(path.read_bytes()), frame_offsets(path)[5]
    data[offset + 40] ^= 8
    with path.open("r+b") as file:  # as the mapped file sees it
        file.write(data)
    with pytest.raises(CorruptDataError, match="checksum of a record's data") as caught:
        shards.gather(np.array([1, 5, 2]), Damage(skip=False))
    assert (caught.value.record, caught.value.offset) == (5, offset)
    damage = Damage(skip=True)
    block, is_there = shards.gather(np.array([1, 5, 2]), damage)
    assert is_there.tolist() == [True, False, True]
    assert block.lengths[1].tolist() == [0, 0]
    assert damage.num_records == 1


@pytest.mark.parametrize("way", [from_maps, from_files, without_memory])
@pytest.mark.parametrize("num_records", [0, 1, 64, 65, 200])
def test_every_way_reads_the_same(tmp_path: Path, way: Callable, num_records: int) -> None:
    instances = make_instances(200)
    path = write_shard(tmp_path / "train", instances, "reference")
    config = ReaderConfig(input_patterns=str(path), batch_size=1)
    numbers = np.random.default_rng(2).permutation(200)[:num_records]
    with way():
        shards = ShardRecords(find_shards(config), in_order=False, skip_corrupt=False)
        block, is_there = shards.gather(numbers, Damage(skip=False))
    assert is_there.all()
    for number, start, size in zip(numbers, block.starts, block.sizes, strict=True):
        expected = example_of(instances[number], "reference")
        assert block.data[start : start + size].tobytes() == expected


def test_shuffled_records_are_copied_from_maps(tmp_path: Path) -> None:
    path = write_examples(tmp_path / "train", [example_of(i, "ragged") for i in INSTANCES])
    config = ReaderConfig(input_patterns=str(path), batch_size=1)
    shards = ShardRecords(find_shards(config), in_order=False, skip_corrupt=False)
    with unittest.mock.patch.object(OpenFiles, "some", side_effect=AssertionError):
        assert shards.gather(np.arange(len(INSTANCES)), Damage(skip=False)).is_there.all()


KEPT = make_instances(12)
EXAMPLES = [example_of(instance, "ragged") for instance in KEPT]


def open_records(path: Path, *, keeps: bool = True) -> ShardRecords:
    config = ReaderConfig(input_patterns=f"{path}*", batch_size=1)
    return ShardRecords(find_shards(config), in_order=False, skip_corrupt=False, keeps=keeps)


def write_two_shards(folder: Path) -> Path:
    write_examples(folder / "train-0", EXAMPLES[:5])
    write_examples(folder / "train-1", EXAMPLES[5:])
    return folder / "train"


@pytest.fixture(scope="module")
def pattern(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_two_shards(tmp_path_factory.mktemp("shards"))


@given(st.lists(st.lists(st.integers(-1, 11), max_size=20), max_size=6))
def test_records_are_the_same_whether_kept_or_read(pattern: Path, groups: list[list[int]]) -> None:
    kept, read = open_records(pattern), open_records(pattern, keeps=False)
    kept.gather(np.arange(12), Damage(skip=False))
    for group in groups:
        records = np.array(group, np.int64)
        blocks = [source.gather(records, Damage(skip=False)) for source in (kept, read)]
        assert blocks[0].is_there.tolist() == blocks[1].is_there.tolist()
        assert contents(blocks[0].block) == contents(blocks[1].block)


def contents(block: RecordBlock) -> list[tuple]:
    columns = (block.starts, block.sizes, block.spans, block.lengths)
    return [
        (block.data[start : start + size].tolist(), spans.tolist(), lengths.tolist())
        for start, size, spans, lengths in zip(*columns, strict=True)
    ]


def test_a_file_is_not_read_again_for_what_is_in_memory(tmp_path: Path) -> None:
    source = open_records(write_two_shards(tmp_path))
    source.gather(np.arange(12), Damage(skip=False))
    source.gather(np.array([3, 7]), Damage(skip=False))
    for path in tmp_path.glob("train-*"):
        path.write_bytes(b"")
    block, _ = source.gather(np.array([7, -1, 3]), Damage(skip=False))
    assert [bytes(data) for data, *_ in contents(block)] == [EXAMPLES[7], b"", EXAMPLES[3]]
    with pytest.raises(CorruptDataError, match="it has become shorter since it was opened"):
        source.gather(np.array([3, 4]), Damage(skip=False))


@pytest.mark.parametrize(("max_bytes", "num_epochs"), [(None, 1), (1000, 3)])
def test_one_epoch_or_a_large_set_leaves_nothing_in_memory(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, max_bytes: int | None, num_epochs: int
) -> None:
    if max_bytes:
        monkeypatch.setattr(local_records, "MAX_BYTES_IN_MEMORY", max_bytes)
    source = open_records(write_two_shards(tmp_path))
    for numbers in np.split(np.arange(12), 2) * num_epochs:
        source.gather(numbers, Damage(skip=False))
    (tmp_path / "train-0").write_bytes(b"")
    with pytest.raises(CorruptDataError, match="it has become shorter since it was opened"):
        source.gather(np.array([0]), Damage(skip=False))


def test_a_damaged_record_is_left_out_of_every_epoch(tmp_path: Path) -> None:
    path = write_examples(tmp_path / "train-0", EXAMPLES)
    source = open_records(tmp_path / "train")
    data, offset = bytearray(path.read_bytes()), frame_offsets(path)[5]
    data[offset + 40] ^= 8
    path.write_bytes(data)
    for _ in range(4):
        damage = Damage(skip=True)
        _, is_there = source.gather(np.arange(12), damage)
        assert np.flatnonzero(~is_there).tolist() == [5]
        assert damage.num_records == 1
