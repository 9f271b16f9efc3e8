"""Records by their numbers, and what damage is told."""

from pathlib import Path

import numpy as np
import pytest

from bert_data.errors import CorruptDataError
from bert_data.labelled.batches import LabelledReaderConfig, LabelledSource
from bert_data.reader.files.local_records import ShardRecords
from bert_data.reader.planning import PlanConfig
from bert_data.records.formats.tfrecord import index_path
from tests.labelled.making import NUM_RECORDS, write_labelled
from tests.object_store import ObjectStore
from tests.records.formats.tfrecords import split_records


@pytest.fixture
def pattern(tmp_path: Path, small_vocabulary: Path) -> str:
    return write_labelled(tmp_path, small_vocabulary)


def records_of(pattern: str) -> ShardRecords:
    return LabelledSource(
        LabelledReaderConfig(input_patterns=pattern, plan=PlanConfig(batch_size=1))
    ).records


def first_shard(pattern: str) -> Path:
    return Path(pattern.replace("*", "00000-of-00003"))


def test_records_in_any_order(pattern: str) -> None:
    shards = sorted(Path(pattern).parent.glob("t-*"))
    expected = [record for path in shards for _, record in split_records(path.read_bytes())]
    records = records_of(pattern)
    assert records.num_tokens.size == len(expected) == NUM_RECORDS
    order = np.random.default_rng(0).permutation(NUM_RECORDS)
    assert records.read(order) == [expected[number] for number in order]
    assert records.read([]) == []


@pytest.mark.parametrize(("at", "offset"), [(3, 0), (9, 0), (20, 0), (-1, None)])
def test_damage_is_told_with_its_place(pattern: str, at: int, offset: int | None) -> None:
    path = first_shard(pattern)
    data = bytearray(path.read_bytes())
    offsets = [start for start, _ in split_records(bytes(data))]
    data[at] ^= 1
    path.write_bytes(data)
    record = 0 if offset == 0 else len(offsets) - 1
    with pytest.raises(CorruptDataError) as caught:
        records_of(pattern).read([NUM_RECORDS - 1, record])
    assert (caught.value.path, caught.value.record) == (str(path), record)
    assert caught.value.offset == offsets[record]


def test_an_index_must_fit(pattern: str) -> None:
    path = first_shard(pattern)
    index = Path(index_path(str(path)))
    whole = np.load(index)
    for wrong in (whole[:-1], whole["num_tokens"], whole[::-1], whole[:0]):
        np.save(index, wrong)
        with pytest.raises(CorruptDataError):
            records_of(pattern)
    index.write_bytes(b"no array")
    with pytest.raises(CorruptDataError, match="not a complete array"):
        records_of(pattern)
    index.unlink()
    with pytest.raises(ValueError, match=r"has no index, .*index\.t-00000"):
        records_of(pattern)


def test_shards_must_be_plain(tmp_path: Path) -> None:
    import gzip

    (tmp_path / "a").write_bytes(gzip.compress(b"x" * 100))
    with pytest.raises(ValueError, match="a is compressed; it must not be compressed"):
        records_of(str(tmp_path / "a"))


def test_remote_records_are_those_of_local_files(pattern: str, object_store: ObjectStore) -> None:
    folder = Path(pattern).parent
    for path in folder.iterdir():
        object_store.put(f"set/{path.name}", path.read_bytes())
    plan = PlanConfig(batch_size=4, batching="pools", shuffle=True)

    def batches_of(pattern: str) -> list[tuple[list[bytes], int]]:
        config = LabelledReaderConfig(input_patterns=pattern, plan=plan, num_epochs=2)
        return [(rows.tolist(), width) for rows, width in LabelledSource(config).batches()]

    uri = object_store.uri("set/t-*")
    assert batches_of(uri) == batches_of(pattern)
    order = np.random.default_rng(0).permutation(NUM_RECORDS)
    assert records_of(uri).read(order) == records_of(pattern).read(order)
