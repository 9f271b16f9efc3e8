"""Indexes that a scan makes are those that the program would have written."""

import os
from pathlib import Path

import numpy as np
import pytest

from bert_data.reader.config import ReaderConfig
from bert_data.reader.files import blocks, indexes
from bert_data.reader.files.indexes import read_index, read_indexes, why_not_addressable
from bert_data.reader.files.shards import Shard, find_shards
from bert_data.records.formats.tfrecord import index_path
from tests.reader.making import frame_offsets, make_instances, write_shard

COVERS = ("reader/files/shards",)


INSTANCES = make_instances(40)


def shard_of(path: Path) -> Shard:
    (shard,) = find_shards(ReaderConfig(input_patterns=str(path), batch_size=1))
    return shard


@pytest.mark.parametrize("layout", ["ragged", "reference"])
@pytest.mark.parametrize("window_bytes", [1, 64, 1000, 1 << 20])
def test_a_scan_finds_every_record(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, window_bytes: int, layout: str
) -> None:
    """Through windows that hold no record, some, and all."""
    path = write_shard(tmp_path / "train", INSTANCES, layout)
    monkeypatch.setattr(blocks, "FIRST_BLOCK_BYTES", window_bytes)
    monkeypatch.setattr(blocks, "NEXT_BLOCK_BYTES", window_bytes)
    index = read_index(shard_of(path), skip_corrupt=False)
    assert index["offset"].tolist() == frame_offsets(path)
    lengths = [len(instance.tokens) for instance in INSTANCES]
    assert index["num_tokens"].tolist() == [*lengths, 0]


def test_a_shard_is_scanned_once_until_it_changes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = write_shard(tmp_path / "train", INSTANCES)
    scans: list[int] = []
    walk = indexes.walk_frames
    monkeypatch.setattr(indexes, "walk_frames", lambda *a: scans.append(1) or walk(*a))
    first = read_indexes([shard_of(path)] * 3, skip_corrupt=False)
    assert len(scans) == 1
    assert all((index == first[0]).all() for index in first)
    write_shard(path, INSTANCES[:7])
    os.utime(path, ns=(5, 5))
    (second,) = read_indexes([shard_of(path)], skip_corrupt=False)
    assert second.size == 8
    assert len(scans) == 2


def test_a_scan_is_told_when_it_is_made(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    """Training reads the indexes when it plans, describes its data and begins."""
    shard = shard_of(write_shard(tmp_path / "train", INSTANCES))
    with caplog.at_level("INFO", logger="absl"):
        for _ in range(3):
            read_indexes([shard], skip_corrupt=False)
    told = [message for message in caplog.messages if "no index" in message]
    assert len(told) == 1 and told[0].startswith(f"no index for 1 of 1 shard ({shard.path})")


def test_an_index_beside_the_shard_is_what_a_scan_finds(tmp_path: Path) -> None:
    path = write_shard(tmp_path / "train", INSTANCES)
    scanned = read_index(shard_of(path), skip_corrupt=False)
    np.save(index_path(str(path)), scanned)
    loaded = read_index(shard_of(path), skip_corrupt=False)
    assert (loaded == scanned).all()


def test_what_cannot_be_addressed() -> None:
    def why(path: str, *, is_gzip: bool) -> str | None:
        return why_not_addressable(Shard(path=path, num_bytes=1, is_gzip=is_gzip))

    assert why("data/train", is_gzip=False) is None
    assert why("data/train", is_gzip=True) == "is compressed"
    assert why("gs://data/train", is_gzip=False) is None
