"""Planned batches of damaged shards: what is told, what is left out, and indexes that lie."""

import logging
import re
import shutil
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from bert_data.errors import CorruptDataError
from bert_data.reader import ReaderConfig, iterate_arrays, iterate_batches
from bert_data.reader.sources import make_source
from bert_data.records.formats.tfrecord import index_path
from bert_data.records.instances.instance_config import InstanceConfig
from bert_data.records.sets.creating import Dataset, create_dataset
from bert_data.records.sets.dataset_config import DatasetConfig
from tests.reader.making import (
    MAX_TOKENS,
    first_tokens,
    frame_offsets,
    make_instances,
    write_index,
    write_shard,
)
from tests.reader.planned_making import INSTANCES, batches_of, config_of, rows_of


@pytest.fixture
def shard(tmp_path: Path) -> Path:
    path = write_shard(tmp_path / "train", INSTANCES)
    write_index(path, [len(instance.tokens) for instance in INSTANCES])
    return path


def flip(path: Path, record: int, byte: int) -> int:
    """Flips a bit of a record; returns the record's offset."""
    data, offset = bytearray(path.read_bytes()), frame_offsets(path)[record]
    data[offset + byte] ^= 1
    path.write_bytes(data)
    return offset


@pytest.mark.parametrize("has_index", [False, True])
@pytest.mark.parametrize(("byte", "what"), [(0, "length"), (9, "length"), (30, "data")])
def test_damage_is_told_with_file_record_and_offset(
    shard: Path, byte: int, what: str, has_index: bool
) -> None:
    offset = flip(shard, 7, byte)
    if not has_index:
        Path(index_path(str(shard))).unlink()
    with pytest.raises(CorruptDataError, match=f"checksum of a record's {what}") as caught:
        list(iterate_batches(config_of(str(shard), batching="pools")))
    error = caught.value
    assert (error.path, error.record, error.offset) == (str(shard), 7, offset)


@pytest.mark.parametrize("batching", ["pools", "packed"])
@pytest.mark.parametrize("has_index", [False, True])
def test_a_damaged_record_leaves_an_empty_place(
    shard: Path, caplog: pytest.LogCaptureFixture, batching: str, has_index: bool
) -> None:
    for record in (3, 11):
        flip(shard, record, 30)
    if not has_index:
        Path(index_path(str(shard))).unlink()
    config = config_of(str(shard), batching=batching, skip_corrupt=True, num_epochs=2)
    with caplog.at_level(logging.WARNING, logger="absl"):
        batches = list(batches_of(config))
    tokens = [i.tokens[0] for batch in batches for row in rows_of(batch) for i in row]
    assert sorted(tokens) == sorted(2 * [n for n in range(1, 24) if n not in (4, 12)])
    assert sum(batch["next_sentence_weights"].sum() for batch in batches) == 42
    assert [message for message in caplog.messages if "left out 2 damaged" in message]
    if batching == "pools":
        assert sum(len(batch["input_ids"]) for batch in batches) == 46
        for batch in batches:
            empty = batch["next_sentence_weights"][:, 0] == 0
            for name in batch:
                assert not batch[name][empty].any()


def test_a_cut_shard_without_index_gives_what_is_there(shard: Path) -> None:
    Path(index_path(str(shard))).unlink()
    shard.write_bytes(shard.read_bytes()[: frame_offsets(shard)[20] + 5])
    with pytest.raises(CorruptDataError, match="is cut off after 5 bytes") as caught:
        make_source(config_of(str(shard), batching="plain"))
    assert caught.value.record == 20
    config = config_of(str(shard), batching="plain", skip_corrupt=True)
    assert sorted(first_tokens(batches_of(config))) == list(range(1, 21))


def tamper(shard: Path, change: Any) -> str:
    name = index_path(str(shard))
    index = np.load(name)
    np.save(name, change(index))
    return name


def moved(index: np.ndarray) -> np.ndarray:
    index["offset"][5] += 1
    return index


def swapped(index: np.ndarray) -> np.ndarray:
    index["offset"][[3, 4]] = index["offset"][[4, 3]]
    return index


def longer(index: np.ndarray) -> np.ndarray:
    index["num_tokens"][5] += 1
    return index


def beyond_bytes(index: np.ndarray) -> np.ndarray:
    index["num_tokens"][5] |= 1 << 31
    return index


@pytest.mark.parametrize(
    ("change", "sentence"),
    [
        (beyond_bytes, "index.*a record has more tokens than bytes"),
        (lambda index: index["offset"], "is not an index of records"),
        (swapped, "its offsets are not those of records"),
        (lambda index: index[:0], "is not an index of records"),
        (moved, "record's length does not match|a record has .* bytes; its index says"),
        (longer, r"record 5, .*index\.\S+ is wrong: it says that this record has \d+ tokens"),
    ],
)
def test_an_index_that_contradicts_its_shard_is_told(
    shard: Path, change: Any, sentence: str
) -> None:
    tamper(shard, change)
    config = config_of(str(shard), batching="pools", max_seq_length=MAX_TOKENS + 1)
    with pytest.raises(CorruptDataError, match=sentence) as caught:
        list(iterate_batches(config))
    assert "\n" not in str(caught.value)


def test_the_index_of_another_shard_is_told(shard: Path, tmp_path: Path) -> None:
    other = write_shard(tmp_path / "other", make_instances(23, 40))
    write_index(other, [len(instance.tokens) for instance in make_instances(23, 40)])
    Path(index_path(str(other))).replace(index_path(str(shard)))
    with pytest.raises(CorruptDataError, match="its manifest or index says"):
        list(iterate_batches(config_of(str(shard), batching="pools")))


@pytest.fixture(scope="module")
def sets(
    small_text: Path, small_vocabulary: Path, tmp_path_factory: pytest.TempPathFactory
) -> dict[str, Dataset]:
    """A set of three shards of each format, with manifests."""
    folder = tmp_path_factory.mktemp("sets")
    return {
        form: create_dataset(
            DatasetConfig(
                input_file=str(small_text),
                output_file=f"{folder / form}@3",
                vocab_file=str(small_vocabulary),
                instances=InstanceConfig(max_seq_length=24, max_predictions_per_seq=4),
                output_format=form,
            )
        )
        for form in ("tfrecord", "parquet")
    }


@pytest.mark.parametrize("batching", ["stream", "plain", "packed"])
@pytest.mark.parametrize(
    ("form", "share", "has_index"),
    [("tfrecord", 0.5, True), ("tfrecord", 0.5, False), ("tfrecord", 0, True), ("parquet", 0.5, 1)],
)
def test_lost_records_are_those_that_the_manifest_promised(
    sets: dict[str, Dataset],
    tmp_path: Path,
    caplog: pytest.LogCaptureFixture,
    form: str,
    share: float,
    has_index: bool,
    batching: str,
) -> None:
    """A shard is cut off after a share of its bytes."""
    if form == "parquet" and batching != "stream":
        pytest.skip("Parquet is read in order")
    promised = sum(file.num_records for file in sets[form].manifest.files)
    folder = shutil.copytree(Path(sets[form].paths[0]).parent, tmp_path / "set")
    shard = folder / Path(sets[form].paths[1]).name
    shard.write_bytes(shard.read_bytes()[: int(share * shard.stat().st_size)])
    if not has_index:
        Path(index_path(str(shard))).unlink()
    config = ReaderConfig(
        input_patterns=f"{folder / form}-*", batch_size=8, batching=batching, skip_corrupt=True
    )
    with caplog.at_level(logging.WARNING, logger="absl"):
        batches = list(iterate_arrays(config))
    num_read = sum((batch["next_sentence_weights"] > 0).sum() if "next_sentence_weights" in batch
                   else len(batch["input_ids"]) for batch in batches)  # fmt: skip
    told = [re.search(r"left out (\d+) damaged or missing", message) for message in caplog.messages]
    assert 0 < num_read < promised
    assert sum(int(match[1]) for match in told if match) == promised - num_read
