"""Records of a small set, kept in memory from the second epoch on, are those that are read."""

from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from bert_data.errors import CorruptDataError
from bert_data.reader.config import ReaderConfig
from bert_data.reader.examples.block import RecordBlock
from bert_data.reader.files import records_in_memory
from bert_data.reader.files.corruption import Damage
from bert_data.reader.files.local_records import ShardRecords
from bert_data.reader.files.shards import find_shards
from tests.reader.making import example_of, frame_offsets, make_instances, write_examples

INSTANCES = make_instances(12)
EXAMPLES = [example_of(instance, "ragged") for instance in INSTANCES]


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


def test_one_epoch_leaves_nothing_in_memory(tmp_path: Path) -> None:
    source = open_records(write_two_shards(tmp_path))
    source.gather(np.arange(6), Damage(skip=False))
    source.gather(np.arange(6, 12), Damage(skip=False))
    (tmp_path / "train-0").write_bytes(b"")
    with pytest.raises(CorruptDataError, match="it has become shorter since it was opened"):
        source.gather(np.array([0]), Damage(skip=False))


def test_a_large_set_is_read_each_time(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(records_in_memory, "MAX_BYTES", 1000)
    source = open_records(write_two_shards(tmp_path))
    for _ in range(3):
        source.gather(np.arange(12), Damage(skip=False))
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
