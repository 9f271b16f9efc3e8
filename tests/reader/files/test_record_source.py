"""Damaged shards: told with file, record and offset, or left out, counted and told at the end."""

import dataclasses
import logging
import os
import re
from pathlib import Path

import pytest
import tensorflow as tf

from bert_data.errors import CorruptDataError
from bert_data.reader import ReaderConfig, explain, iterate_batches, read_batches
from bert_data.reader.layout import arrays_of
from bert_data.reader.streamed import BatchSource
from tests.reader.making import (
    STREAMED,
    first_tokens,
    frame_offsets,
    make_instances,
    write_index,
    write_shard,
)

INSTANCES = make_instances(5)
ALL = [1, 2, 3, 4, 5]


@pytest.fixture
def shard(tmp_path: Path) -> Path:
    return write_shard(tmp_path / "train-00000", INSTANCES)


def config_of(path: Path | str, *, skip_corrupt: bool = False) -> ReaderConfig:
    return ReaderConfig(input_patterns=str(path), batch_size=2, skip_corrupt=skip_corrupt)


def read_tokens(path: Path, *, skip_corrupt: bool = False) -> list[int]:
    """The numbers of the instances that are read, without tf.data."""
    source = BatchSource(config_of(path, skip_corrupt=skip_corrupt))
    blocks = list(source.batches())
    assert sum(block.num_records for block in blocks) == sum(
        entry[3] for group in source.groups() for entry in group.table
    )
    tokens = []
    for group in source.groups():
        tokens += first_tokens(arrays_of(group, STREAMED))
    return tokens


@pytest.mark.slow
def test_a_shard_cut_anywhere(shard: Path) -> None:
    data, offsets = shard.read_bytes(), frame_offsets(shard)
    for size in sorted({*range(1, len(data), 3), *offsets[:-1]}):
        shard.write_bytes(data[:size])
        record = sum(offset <= size for offset in offsets) - 1
        if size == 0:
            with pytest.raises(ValueError, match="no records in"):
                read_tokens(shard)
        elif size in offsets:  # nothing tells that there were more
            assert read_tokens(shard) == ALL[:record]
        else:
            with pytest.raises(CorruptDataError, match="is cut off after") as caught:
                read_tokens(shard)
            error = caught.value
            assert (error.path, error.record) == (str(shard), record)
            assert error.offset == offsets[record]


def test_a_shard_cut_between_records_is_told_by_its_index(shard: Path) -> None:
    data, offsets = shard.read_bytes(), frame_offsets(shard)
    write_index(shard)
    for record, size in enumerate(offsets[:-1]):
        shard.write_bytes(data[:size])
        with pytest.raises(
            CorruptDataError, match=r"manifest or index|index or manifest"
        ) as caught:
            read_tokens(shard)
        assert (caught.value.record, caught.value.offset) == (record, size)
    shard.write_bytes(data + data[: offsets[1]])  # one too many
    with pytest.raises(CorruptDataError, match="index"):
        read_tokens(shard)
    shard.write_bytes(data)
    assert read_tokens(shard) == ALL


def test_a_packed_shard_cut_at_any_byte(tmp_path: Path) -> None:
    path = write_shard(tmp_path / "packed", INSTANCES, compression="GZIP")
    data = path.read_bytes()
    plain = frame_offsets(write_shard(tmp_path / "plain", INSTANCES))
    for size in range(3, len(data), 5):
        path.write_bytes(data[:size])
        with pytest.raises(
            CorruptDataError, match=r"cannot be unpacked|is cut off after"
        ) as caught:
            read_tokens(path)
        assert caught.value.record is not None
        assert caught.value.offset == plain[caught.value.record]


def test_a_packed_shard_that_ends_early_is_told_by_its_index(tmp_path: Path) -> None:
    path = write_shard(tmp_path / "train", INSTANCES)
    write_index(path)
    write_shard(path, INSTANCES[:3], compression="GZIP")
    with pytest.raises(CorruptDataError, match=r"ends after 3 records; .* lists 5") as caught:
        read_tokens(path)
    assert caught.value.record == 3


@pytest.mark.slow
def test_a_flipped_bit_is_told(shard: Path) -> None:
    data, offsets = bytearray(shard.read_bytes()), frame_offsets(shard)
    for at in range(0, len(data), 3):
        data[at] ^= 1 << at % 8
        shard.write_bytes(data)
        with pytest.raises(CorruptDataError, match="checksum of a record's") as caught:
            read_tokens(shard)
        record = sum(offset <= at for offset in offsets) - 1
        assert (caught.value.path, caught.value.record) == (str(shard), record)
        assert caught.value.offset == offsets[record]
        data[at] ^= 1 << at % 8


@pytest.mark.slow
def test_skipping_loses_what_is_damaged_and_no_more(shard: Path) -> None:
    data, offsets = bytearray(shard.read_bytes()), frame_offsets(shard)
    for at in range(0, len(data), 7):
        record = sum(offset <= at for offset in offsets) - 1
        in_length = at - offsets[record] < 12
        left = ALL[:record] + ([] if in_length else ALL[record + 1 :])
        data[at] ^= 0x40
        shard.write_bytes(data)
        if left:
            assert read_tokens(shard, skip_corrupt=True) == left
        else:
            with pytest.raises(ValueError, match="no records in"):
                read_tokens(shard, skip_corrupt=True)
        data[at] ^= 0x40


def test_shards_of_damaged_records_alone_are_not_called_empty(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    for name in ("train-0", "train-1"):
        path = write_shard(tmp_path / name, INSTANCES)
        data = bytearray(path.read_bytes())
        for offset in frame_offsets(path)[:-1]:
            data[offset + 20] ^= 1
        path.write_bytes(data)
    sentence = r"no records in .* \(2 files, 10 damaged or missing records left out\)"
    with pytest.raises(ValueError, match=sentence):
        BatchSource(config_of(tmp_path / "train-*", skip_corrupt=True))
    assert f"the first: {tmp_path}/train-0: record 0, byte offset 0: the checksum" in caplog.text


def test_what_was_skipped_is_counted_and_told(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    first = write_shard(tmp_path / "train-0", INSTANCES)
    second = write_shard(tmp_path / "train-1", INSTANCES)
    write_index(second)
    damaged = bytearray(first.read_bytes())
    damaged[frame_offsets(first)[1] + 20] ^= 1
    first.write_bytes(damaged)
    second.write_bytes(second.read_bytes()[: frame_offsets(second)[2] + 7])
    with caplog.at_level(logging.WARNING, logger="absl"):
        tokens = first_tokens(iterate_batches(config_of(tmp_path / "train-*", skip_corrupt=True)))
    assert tokens == [1, 3, 4, 5, 1, 2]
    (warning,) = [r.getMessage() for r in caplog.records if "left out" in r.getMessage()]
    assert warning.startswith("left out 4 damaged or missing records, in 2 places")
    assert f"{first}: record 1, byte offset {frame_offsets(first)[1]}: the checksum" in warning


def test_records_that_are_no_pretraining_data_are_told(tmp_path: Path) -> None:
    path = tmp_path / "other"
    message = tf.train.Example()
    message.features.feature["text"].bytes_list.value.append(b"hello")
    with tf.io.TFRecordWriter(str(path)) as writer:
        writer.write(message.SerializeToString())
    with pytest.raises(CorruptDataError, match=r"record 0, .* has no feature 'input_ids'"):
        read_tokens(path)
    path.write_bytes(b"Once upon a time there was a text that was no shard.\n")
    with pytest.raises(CorruptDataError, match="checksum of a record's length"):
        read_tokens(path)


def damage_the_last(shard: Path) -> str:
    """Flips a bit in the last record; returns what an error must say."""
    data, offsets = bytearray(shard.read_bytes()), frame_offsets(shard)
    record = len(offsets) - 2
    data[offsets[record] + 30] ^= 1
    shard.write_bytes(data)
    return (
        f"{shard}: record {record}, byte offset {offsets[record]}: the checksum of a record's data"
    )


def test_iterating_a_dataset_ends_in_an_error_that_says_where(tmp_path: Path) -> None:
    """Damage behind the first block, which is looked at before."""
    shard = write_shard(tmp_path / "train", make_instances(400))
    expected = damage_the_last(shard)
    dataset = read_batches(config_of(shard))
    with pytest.raises(tf.errors.OpError, match=re.escape(expected)) as caught:
        for _ in dataset:
            pass
    error = explain(caught.value)
    assert isinstance(error, CorruptDataError)
    assert (error.path, error.record) == (str(shard), 399)
    assert str(error).startswith(expected)
    with pytest.raises(CorruptDataError, match=re.escape(expected)):
        list(iterate_batches(config_of(shard)))


def test_what_the_reader_refuses_on_the_way_is_its_own_error(shard: Path) -> None:
    config = dataclasses.replace(config_of(shard), vocab_size=8)
    sentence = f"vocab_size is 8, but a record of {shard} holds the token id"
    with pytest.raises(tf.errors.OpError) as caught:
        list(read_batches(config))
    error = explain(caught.value)
    assert isinstance(error, ValueError) and re.fullmatch(rf"{re.escape(sentence)} \d+", str(error))
    with pytest.raises(ValueError, match=re.escape(sentence)):
        list(iterate_batches(config))


def test_files_that_cannot_be_read_are_named() -> None:
    text = "PermissionError: [Errno 13] access is forbidden; check: 's3://b/a'\nTraceback (most ..."
    error = explain(tf.errors.UnknownError(None, None, text))
    assert isinstance(error, PermissionError)
    assert (error.filename, error.strerror) == ("s3://b/a", "access is forbidden; check")


def test_other_errors_are_not_explained() -> None:
    error = tf.errors.UnknownError(None, None, "something else")
    assert explain(error) is error


def test_an_unreadable_file_is_told_in_one_sentence(tmp_path: Path) -> None:
    if os.geteuid() == 0:
        pytest.skip("root reads everything")
    path = write_shard(tmp_path / "train", INSTANCES)
    path.chmod(0)
    with pytest.raises(OSError, match=f"cannot read {path}: Permission denied"):
        read_tokens(path)
