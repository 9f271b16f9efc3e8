"""Parquet shards: the batches of the same TFRecord shards, whoever wrote them."""

import dataclasses
import shutil
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import tensorflow as tf
from hypothesis import given
from hypothesis import strategies as st

from bert_data.reader import (
    ReaderConfig,
    can_be_planned,
    describe_order,
    iterate_batches,
    limits_of_manifests,
)
from bert_data.reader.files.shards import find_shards
from bert_data.reader.sources import make_source
from bert_data.reader.streamed import BatchSource
from tests.hypotheses import examples
from tests.reader.making import (
    assert_same_batch,
    dense,
    first_tokens,
    make_instances,
    widest,
    write_shard,
)
from tests.reader.parquet_making import row_of, write_instances, write_rows

INSTANCES = make_instances(23)


def config_of(pattern: object, batch_size: int = 4, **changes: Any) -> ReaderConfig:
    return ReaderConfig(input_patterns=str(pattern), batch_size=batch_size, **changes)


class TestBatches:
    @pytest.mark.slow
    @pytest.mark.parametrize(
        "changes",
        [
            {},
            {"width": "max"},
            {"width": (8, 16), "drop_remainder": True},
            {"num_epochs": 3, "start_batch": 170},
            {"num_hosts": 2, "host_index": 1, "form": "fit"},
            {"num_hosts": 3, "host_index": 2, "feature_names": "tfhub"},
        ],
        ids=str,
    )
    def test_in_order_they_are_those_of_tfrecord_files(self, pair, changes):
        assert_batches_of_tfrecord_files(pair, batch_size=4, **changes)

    @pytest.mark.slow
    @examples(30)
    @given(st.integers(1, 60), st.integers(1, 30), st.integers(1, 9), st.integers(0, 2**32))
    def test_files_of_pyarrow(self, tmp_path_factory, count, group_rows, batch_size, seed):
        instances = make_instances(count, first=1 + seed % 1000)
        path = write_instances(tmp_path_factory.mktemp("p") / "x", instances, group_rows=group_rows)
        batches = list(iterate_batches(config_of(path, batch_size)))
        for number, batch in enumerate(batches):
            rows = instances[number * batch_size : (number + 1) * batch_size]
            assert_same_batch(batch, dense(rows, *widest(rows)))
        assert len(batches) == -(-count // batch_size)

    @pytest.mark.slow
    def test_padded_rows_of_64_bits(self, tmp_path):
        """The batch of a list of dictionaries: padding has the segment -1."""
        rows = [row_of(instance, padded_to=12) for instance in INSTANCES]
        path = write_rows(tmp_path / "x", rows, schema=None)
        assert pq.read_schema(path).field("tokens").type.value_type == pa.int64()
        whole = dense(INSTANCES, *widest(INSTANCES))
        (batch,) = iterate_batches(config_of(path, 23))
        assert_same_batch(batch, whole)

    def test_remote_files_are_read(self, pair):
        path = pair["parquet"] / "t-00000-of-00004"
        assert rows_of(config_of(f"file://{path}")) == rows_of(config_of(path))


def assert_batches_of_tfrecord_files(pair: dict[str, Path], **options: Any) -> None:
    ours, theirs = (
        list(iterate_batches(ReaderConfig(input_patterns=str(pair[name] / "t-*"), **options)))
        for name in ("parquet", "tfrecord")
    )
    assert len(ours) == len(theirs) > 5
    for batch, expected in zip(ours, theirs, strict=True):
        tf.nest.assert_same_structure(batch, expected)
        for one, other in zip(*map(tf.nest.flatten, (batch, expected)), strict=True):
            assert one.dtype == other.dtype
            np.testing.assert_array_equal(one, other)


def rows_of(config: ReaderConfig) -> list[tuple[int, ...]]:
    """The tokens of each row."""
    return [
        tuple(row[: int(mask.sum())].tolist())
        for batch in iterate_batches(config)
        for row, mask in zip(
            np.asarray(batch["input_ids"]), np.asarray(batch["input_mask"]), strict=True
        )
    ]


class TestManifests:
    def test_one_file_alone_tells_what_made_it(self, pair, tmp_path):
        path = shutil.copy(pair["parquet"] / "t-00001-of-00004", tmp_path / "alone")
        config = config_of(path)
        assert dataclasses.asdict(limits_of_manifests(config)) == {
            "max_seq_length": 24, "max_predictions_per_seq": 4,
        }  # fmt: skip
        for changes, sentence in (
            ({"vocab_size": 99}, "vocab_size is 99, but .* was made with a vocabulary of size"),
            ({"max_seq_length": 20}, "max_seq_length is 20, but the manifest of .* allows 24"),
            ({"max_predictions_per_seq": 3}, "max_predictions_per_seq is 3, but the manifest of"),
        ):
            with pytest.raises(ValueError, match=sentence):
                make_source(dataclasses.replace(config, **changes))
        assert BatchSource(config).num_records() == pq.ParquetFile(path).metadata.num_rows

    def test_another_vocabulary_is_refused(self, pair, tmp_path, small_vocabulary):
        path = shutil.copy(pair["parquet"] / "t-00001-of-00004", tmp_path / "alone")
        make_source(config_of(path, vocab_file=str(small_vocabulary)))
        other = tmp_path / "other.txt"
        other.write_bytes(small_vocabulary.read_bytes() + b"more\n")
        with pytest.raises(ValueError, match=r"has sha256 .* was made with a vocabulary of sha256"):
            make_source(config_of(path, vocab_file=str(other)))

    def test_the_order_is_told_by_what_shards_hold(self, pair, tmp_path):
        pattern = pair["parquet"] / "t-*"
        copies = tmp_path / "copies"
        shutil.copytree(pair["parquet"], copies)
        assert describe_order(config_of(copies / "t-*")) == describe_order(config_of(pattern))
        shutil.copy(copies / "t-00000-of-00004", copies / "t-00001-of-00004")
        (copies / "manifest.t.json").unlink()
        assert describe_order(config_of(copies / "t-*")) != describe_order(config_of(pattern))

    def test_files_of_something_else(self, tmp_path):
        path = write_rows(tmp_path / "x", [{"text": "One."}], schema=None)
        with pytest.raises(ValueError, match="x has no column 'tokens'; instances have tokens, s"):
            make_source(config_of(path))
        rows = [row_of(INSTANCES[0]) | {"tokens": "One."}]
        path = write_rows(tmp_path / "x", rows, schema=None)
        with pytest.raises(ValueError, match="column 'tokens' is of type string, not list<"):
            make_source(config_of(path))

    def test_a_file_without_rows(self, tmp_path):
        path = write_rows(tmp_path / "x", [])
        with pytest.raises(ValueError, match=r"no records in .*x"):
            make_source(config_of(path))
        other = write_instances(tmp_path / "y", INSTANCES)
        assert len(first_tokens(iterate_batches(config_of(f"{path},{other}")))) == 23


@pytest.mark.parametrize(
    ("changes", "asked"),
    [({"shuffle": True}, "shuffle is True"), ({"batching": "pools"}, "batching is pools")],
)
def test_another_order_is_refused(pair, changes, asked):
    with pytest.raises(ValueError, match=f"{asked}, but .* is Parquet, .*; .* recipe"):
        make_source(config_of(pair["parquet"] / "t-*", **changes))
    assert not can_be_planned(str(pair["parquet"] / "t-*"))


def test_a_tfrecord_file_that_begins_as_parquet_does(tmp_path):
    """The magic bytes may be the length of a record, of 827 MB."""
    path = tmp_path / "x"
    path.write_bytes(b"PAR1")
    (shard,) = find_shards(config_of(path))
    assert shard.is_parquet
    write_shard(path, INSTANCES)
    (shard,) = find_shards(config_of(path))
    assert not shard.is_parquet
