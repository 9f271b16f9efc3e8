"""Shards are entered at a record where an index says where it is, and read from the start else."""

from pathlib import Path

import pytest

from bert_data.errors import CorruptDataError
from bert_data.inspection.sources.shard_items import has_index, read_payloads, within
from bert_data.reader.config import ReaderConfig
from bert_data.reader.files.shards import Shard, find_shards
from bert_data.records.formats.examples import encode_example
from tests.inspection.looking import instance, open_path
from tests.labelled.making import write_labelled
from tests.reader.making import frame_offsets, write_examples, write_shard


def shard_of(path: Path) -> Shard:
    (shard,) = find_shards(ReaderConfig(input_patterns=[str(path)], batch_size=1))
    return shard


def test_within() -> None:
    assert within([1, 4, 5, 9], range(4, 9)) == [4, 5]
    assert within([], range(3)) == []


def test_damage_elsewhere_does_not_matter_with_an_index(
    tmp_path: Path, small_vocabulary: Path
) -> None:
    write_labelled(tmp_path, small_vocabulary)
    path = tmp_path / "t-00000-of-00003"
    data = bytearray(path.read_bytes())
    data[20] ^= 1
    path.write_bytes(data)
    shard = shard_of(path)
    assert has_index(shard)
    assert [place for place, _ in read_payloads(shard, [1, 3, 99])] == [1, 3]
    with pytest.raises(CorruptDataError, match="record 0, byte offset 0: the checksum"):
        list(read_payloads(shard, None))


def test_payloads_of_any_kind_with_or_without_index(tmp_path: Path) -> None:
    records = [encode_example({"a": [b"%d" % i]}) for i in range(5)]
    for compression in ("", "GZIP"):
        path = write_examples(tmp_path / f"part{compression}", records, compression=compression)
        shard = shard_of(path)
        assert not has_index(shard)
        assert list(read_payloads(shard, None)) == list(enumerate(records))
        assert list(read_payloads(shard, [1, 3, 9])) == [(1, records[1]), (3, records[3])]


def test_a_cut_file_gives_what_is_whole_first(tmp_path: Path) -> None:
    path = write_shard(tmp_path / "part", [instance("[CLS] the [SEP]")] * 3)
    path.write_bytes(path.read_bytes()[: frame_offsets(path)[2] + 5])
    read = []
    with pytest.raises(CorruptDataError, match=r"record 2, .* is cut off after 5 bytes"):
        for item in open_path(path).stream():
            read.append(item.number)
    assert read == [0, 1]
    with pytest.raises(CorruptDataError, match="is cut off"):
        open_path(path).count()
