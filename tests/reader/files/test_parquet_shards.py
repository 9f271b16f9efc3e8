"""Parquet shards: the batches of the same TFRecord shards, whoever wrote them, and their damage."""

import dataclasses
import itertools
import json
import logging
import os
import random
import shutil
import types
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bert_data.datasets import config as dataset_config
from bert_data.datasets.masked_lm import DatasetConfig, create_dataset
from bert_data.errors import CorruptDataError
from bert_data.objectives.making import InstanceConfig
from bert_data.reader import (
    ReaderConfig,
    can_be_planned,
    describe_order,
    iterate_arrays,
    iterate_batches,
    limits_of_manifests,
)
from bert_data.reader.files import parquet_rows
from bert_data.reader.files import parquet_shards as library
from bert_data.reader.files.blocks import read_blocks
from bert_data.reader.files.corruption import Damage
from bert_data.reader.files.shards import find_shards
from bert_data.reader.sources import make_source
from bert_data.reader.streamed import BatchSource
from tests.reader.making import (
    assert_same_batch,
    dense,
    first_tokens,
    make_instances,
    widest,
    write_shard,
)
from tests.reader.parquet_making import SCHEMA, row_of, write_instances, write_rows

COVERS = ("reader/files/parquet_rows",)


INSTANCES = make_instances(23)


def config_of(pattern: object, batch_size: int = 4, **changes: Any) -> ReaderConfig:
    return ReaderConfig(input_patterns=str(pattern), batch_size=batch_size, **changes)


@pytest.fixture(scope="module")
def pair(tmp_path_factory, small_text, small_vocabulary) -> dict[str, Path]:
    """Folders with the same instances in each format, four shards `t-*`."""
    folders = {}
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(dataset_config, "_CHUNK_BYTES", 300)
        patch.setattr(dataset_config, "CHUNKS_OF_GROUP", 3)
        for name in ("tfrecord", "parquet"):
            folders[name] = tmp_path_factory.mktemp(name)
            create_dataset(
                DatasetConfig(
                    input_file=str(small_text),
                    output_file=str(folders[name] / "t@4"),
                    vocab_file=str(small_vocabulary),
                    instances=InstanceConfig(max_seq_length=24, max_predictions_per_seq=4),
                    output_format=name,
                )
            )
    return folders


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
        ours, theirs = (
            list(iterate_batches(config_of(pair[name] / "t-*", **changes)))
            for name in ("parquet", "tfrecord")
        )
        assert len(ours) == len(theirs) > 5
        for batch, expected in zip(ours, theirs, strict=True):
            values, others = (
                {str(i): np.asarray(leaf) for i, leaf in enumerate(leaves(each))}
                for each in (batch, expected)
            )
            assert_same_batch(values, others)

    @pytest.mark.slow
    def test_shuffled_each_record_comes_once_an_epoch(self, pair):
        ordered = rows_of(config_of(pair["parquet"] / "t-*"))
        config = config_of(pair["parquet"] / "t-*", shuffle=True, seed=3, shuffle_buffer=150)
        first = rows_of(config)
        assert sorted(first) == sorted(ordered)
        assert first != ordered
        assert rows_of(config) == first
        assert rows_of(dataclasses.replace(config, seed=4)) != first
        assert rows_of(dataclasses.replace(config, start_batch=7)) == first[28:]
        hosts = [dataclasses.replace(config, num_hosts=2, host_index=host) for host in (0, 1)]
        assert sorted(itertools.chain(*map(rows_of, hosts))) == sorted(ordered)

    @pytest.mark.slow
    @settings(max_examples=30)
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
        """What a list of dictionaries becomes: padding has the segment -1."""
        rows = [row_of(instance, padded_to=12) for instance in INSTANCES]
        path = write_rows(tmp_path / "x", rows, schema=None)
        assert pq.read_schema(path).field("tokens").type.value_type == pa.int64()
        whole = dense(INSTANCES, *widest(INSTANCES))
        (batch,) = iterate_batches(config_of(path, 23))
        assert_same_batch(batch, whole)

    def test_remote_files_are_read(self, pair):
        path = pair["parquet"] / "t-00000-of-00004"
        assert rows_of(config_of(f"file://{path}")) == rows_of(config_of(path))


def leaves(batch: Any) -> list[Any]:
    if isinstance(batch, tuple):
        return [leaf for part in batch for leaf in leaves(part)]
    if isinstance(batch, dict):
        return [leaf for name in sorted(batch) for leaf in leaves(batch[name])]
    return [batch]


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


@pytest.mark.slow
class TestPlans:
    """The batches are those of TFRecord files, to the bit."""

    @pytest.mark.parametrize(
        "changes",
        [
            {"batching": "plain"},
            {"batching": "pools", "pool_batches": 3, "start_batch": 5, "num_epochs": 2},
            {"batching": "buckets", "num_buckets": 3, "num_hosts": 2, "host_index": 1},
            {"batching": "packed", "width": (40,)},
            {"batching": "pools", "batch_size": None, "max_tokens_per_batch": 99},
            {"batching": "pools", "dynamic_masking": True},
            {"batching": "packed", "dynamic_masking": True, "do_whole_word_mask": True},
        ],
        ids=str,
    )
    @pytest.mark.parametrize("shuffle", [False, True])
    def test_they_are_those_of_tfrecord_files(self, pair, small_vocabulary, changes, shuffle):
        options = {"batch_size": 4, "shuffle": shuffle, "seed": 5, **changes}
        if "dynamic_masking" in changes:
            options["vocab_file"] = str(small_vocabulary)
        ours, theirs = (
            list(iterate_batches(ReaderConfig(input_patterns=str(pair[name] / "t-*"), **options)))
            for name in ("parquet", "tfrecord")
        )
        assert len(ours) == len(theirs) > 5
        for batch, expected in zip(ours, theirs, strict=True):
            assert_same_batch(batch, {name: np.asarray(v) for name, v in expected.items()})

    def test_row_groups_are_read_again_where_they_are_not_kept(self, pair, monkeypatch, caplog):
        config = config_of(pair["parquet"] / "t-*", batching="pools", shuffle=True, seed=3)
        expected = rows_of(config)
        monkeypatch.setattr(library, "MAX_KEPT_BYTES", 1)
        library._kept.forget()
        assert rows_of(config) == expected
        assert len(library._kept._groups) == 1
        assert any("read again and again" in message for message in caplog.messages)

    def test_both_formats_make_one_plan(self, pair):
        folders = pair["tfrecord"], pair["parquet"]
        both = ",".join(str(folder / "t-0000[01]*") for folder in folders)
        for batching in ("pools", "stream"):
            config = config_of(both, batching=batching, shuffle=True, seed=3, batch_size=5)
            halves = [
                rows_of(config_of(folder / "t-0000[01]*", batching=batching)) for folder in folders
            ]
            assert sorted(rows_of(config)) == sorted(halves[0] + halves[1])

    def test_damage_is_told_or_left_out(self, pair, tmp_path, caplog):
        path = Path(shutil.copy(pair["parquet"] / "t-00000-of-00004", tmp_path / "t"))
        metadata = pq.ParquetFile(path).metadata
        data = bytearray(path.read_bytes())
        data[metadata.row_group(1).column(0).data_page_offset + 40] ^= 4
        path.write_bytes(data)
        config = config_of(path, batching="pools")
        with pytest.raises(CorruptDataError, match="CRC"):
            rows_of(config)
        with caplog.at_level(logging.WARNING, logger="absl"):
            rows_left = rows_of(dataclasses.replace(config, skip_corrupt=True))
        whole = [row for row in rows_left if row]  # the others are empty
        assert len(whole) == metadata.num_rows - metadata.row_group(1).num_rows
        assert any("left out" in message for message in caplog.messages)

    def test_a_file_that_has_changed_since_it_was_planned(self, pair, tmp_path):
        first, second = (
            Path(shutil.copy(pair["parquet"] / f"t-0000{i}-of-00004", tmp_path / f"t-{i}"))
            for i in range(2)
        )
        config = config_of(f"{tmp_path}/t-*", batching="pools")
        whole, num_lost = rows_of(config), pq.ParquetFile(second).metadata.num_rows

        def cut() -> None:
            os.truncate(second, second.stat().st_size // 2)

        def replace() -> None:
            shutil.copy(first, second)

        for change in (cut, replace):
            shutil.copy(pair["parquet"] / "t-00001-of-00004", second)
            batches = iterate_arrays(config)
            left = iterate_arrays(dataclasses.replace(config, skip_corrupt=True))
            change()
            with pytest.raises(CorruptDataError, match=r"t-1: .*has changed since"):
                list(batches)
            rows = [row for batch in left for row in batch["next_sentence_weights"].ravel()]
            assert (len(rows), sum(rows)) == (len(whole), len(whole) - num_lost)

    def test_they_are_planned_where_they_can_be_kept(self, pair, monkeypatch):
        pattern = str(pair["parquet"] / "t-*")
        assert can_be_planned(pattern)
        assert can_be_planned(f"file://{pattern}")
        monkeypatch.setattr(library, "MAX_KEPT_BYTES", 1)
        assert not can_be_planned(pattern)
        assert can_be_planned(pattern, at_any_cost=True)
        description = describe_order(config_of(pattern, batching="pools"))
        assert description["batching"] == "pools"


def read_all(path: Path, *, skip: bool = False) -> tuple[list[bytes], Damage]:
    (shard,) = find_shards(config_of(path))
    damage = Damage(skip=skip)
    rows = [
        bytes(block.data[start : start + size])
        for block in read_blocks(shard, damage)
        for start, size in zip(block.starts.tolist(), block.sizes.tolist(), strict=True)
    ]
    return rows, damage


class TestDamage:
    @pytest.fixture
    def shard(self, pair, tmp_path) -> Path:
        """A shard of several row groups, with its manifest inside alone."""
        return Path(shutil.copy(pair["parquet"] / "t-00000-of-00004", tmp_path / "t"))

    def test_every_cut_is_told(self, shard):
        data = shard.read_bytes()
        for size in (*range(4, len(data), 97), len(data) - 1):
            shard.write_bytes(data[:size])
            with pytest.raises(
                CorruptDataError, match=f"^{shard}: byte offset 0: is not a readable Parquet"
            ):
                read_all(shard)
            assert read_all(shard, skip=True)[1].num_records == 1

    @pytest.mark.slow
    def test_a_bit_that_flips_changes_no_record(self, shard):
        whole, _ = read_all(shard)
        data, drawn = shard.read_bytes(), random.Random(5)
        end = len(data) - 8 - int.from_bytes(data[-8:-4], "little")
        num_told = 0
        for at in drawn.sample(range(4, end), 30):
            shard.write_bytes(
                data[:at] + bytes([data[at] ^ 1 << drawn.randrange(8)]) + data[at + 1 :]
            )
            try:
                assert read_all(shard)[0] == whole
            except CorruptDataError as error:
                assert error.path == str(shard)
                num_told += 1
                left, damage = read_all(shard, skip=True)
                assert len(left) + damage.num_records == len(whole)
                assert set(left) <= set(whole)
        assert num_told > 20

    def test_a_damaged_page_loses_its_row_group(self, shard, monkeypatch):
        monkeypatch.setattr(library, "_BLOCK_BYTES", 1)
        monkeypatch.setattr(library, "_LEAST_ROWS", 2)
        whole, _ = read_all(shard)
        metadata = pq.ParquetFile(shard).metadata
        sizes = [metadata.row_group(i).num_rows for i in range(metadata.num_row_groups)]
        assert len(sizes) > 3
        data = bytearray(shard.read_bytes())
        data[metadata.row_group(1).column(0).data_page_offset + 40] ^= 4
        shard.write_bytes(data)
        with pytest.raises(
            CorruptDataError, match=rf"t: record {sizes[0]}, byte offset \d+: .*CRC"
        ):
            read_all(shard)
        left, damage = read_all(shard, skip=True)
        assert (damage.num_records, damage.num_places) == (sizes[1], 1)
        assert left == [*whole[: sizes[0]], *whole[sum(sizes[:2]) :]]
        batches = iterate_batches(config_of(shard, skip_corrupt=True))
        assert sum(len(batch["input_ids"]) for batch in batches) == len(left)

    def test_a_file_that_its_manifest_contradicts(self, pair, tmp_path):
        shutil.copytree(pair["parquet"], tmp_path / "d")
        first, second, *_ = sorted((tmp_path / "d").glob("t-*"))
        shutil.copy(second, first)
        files = json.loads((tmp_path / "d/manifest.t.json").read_text())["files"]
        with pytest.raises(CorruptDataError, match="t-00000-of-00004: "):
            make_source(config_of(first))
        assert first.stat().st_size != files[0]["num_bytes"]
        first.write_bytes(b"")
        with pytest.raises(
            CorruptDataError, match="t-00000-of-00004: byte offset 0: is not a readable Parquet"
        ):
            make_source(config_of(first))
        left = sum(file["num_records"] for file in files[1:])
        assert len(rows_of(config_of(tmp_path / "d/t-*", skip_corrupt=True))) == left

    @pytest.mark.parametrize(
        ("changes", "reason"),
        [
            ({"tokens": [5, -1, 7]}, "a row's tokens hold a negative number"),
            ({"segment_ids": [0, 0]}, "a row's segment_ids are not 0s, then 1s, then -1s, one"),
            ({"segment_ids": [0, 1, 0]}, "a row's segment_ids are not 0s, then 1s, then -1s, one"),
            ({"segment_ids": [0, 2, 1]}, "a row's segment_ids are not 0s, then 1s, then -1s, one"),
            ({"masked_positions": [1, 1]}, "a row's masked_positions do not ascend"),
            ({"masked_positions": [-1, 1]}, "a row's masked_positions do not ascend"),
            ({"masked_positions": [1]}, "a row's masked_positions do not ascend"),
            ({"masked_labels": [4, -4]}, "a row's masked_positions do not ascend"),
        ],
    )
    def test_rows_that_make_no_sense(self, tmp_path, changes, reason):
        good = {
            "tokens": [5, 6, 7], "segment_ids": [0, 0, 1], "is_random_next": True,
            "masked_positions": [0, 2], "masked_labels": [3, 4],
        }  # fmt: skip
        path = write_rows(tmp_path / "x", [good] * 6 + [good | changes] + [good] * 3)
        with pytest.raises(CorruptDataError, match=rf"x: record 6, byte offset \d+: {reason}"):
            list(iterate_batches(config_of(path)))
        batches = list(iterate_batches(config_of(path, 20, skip_corrupt=True)))
        assert batches[0]["input_ids"].shape == (9, 3)

    def test_a_position_outside_its_row_is_refused(self, tmp_path):
        row = row_of(INSTANCES[0]) | {"masked_positions": [99], "masked_labels": [1]}
        path = write_rows(tmp_path / "x", [row])
        with pytest.raises(ValueError, match="predicts a position outside its batch's tokens"):
            list(iterate_batches(config_of(path)))

    @pytest.mark.parametrize("name", SCHEMA.names)
    def test_nulls(self, tmp_path, name):
        rows = [row_of(instance) for instance in INSTANCES]
        rows[7][name] = None
        path = write_rows(tmp_path / "x", rows)
        with pytest.raises(CorruptDataError, match=f"column '{name}' contains nulls"):
            list(iterate_batches(config_of(path)))
        assert len(rows_of(config_of(path, skip_corrupt=True))) == 18

    def test_numbers_that_do_not_fit(self, tmp_path):
        rows = [row_of(INSTANCES[0]) | {"tokens": [2**40] * len(INSTANCES[0].tokens)}]
        path = write_rows(tmp_path / "x", rows, schema=None)
        with pytest.raises(CorruptDataError, match="is not a readable Parquet file"):
            list(iterate_batches(config_of(path)))


def test_a_tfrecord_file_that_begins_as_parquet_does(tmp_path):
    """The magic bytes may be the length of a record, of 827 MB."""
    path = tmp_path / "x"
    path.write_bytes(b"PAR1")
    (shard,) = find_shards(config_of(path))
    assert shard.is_parquet
    write_shard(path, INSTANCES)
    (shard,) = find_shards(config_of(path))
    assert not shard.is_parquet


def test_a_footer_with_impossible_numbers_of_rows(tmp_path, monkeypatch):
    """A flipped bit makes them negative, or more than there are."""
    path = tmp_path / "a.parquet"
    pq.write_table(pa.table({"x": range(6)}), path, row_group_size=2)
    with parquet_rows.open_parquet(str(path)) as file:
        assert [parquet_rows.rows_of_group(file, group) for group in range(3)] == [2, 2, 2]
        for num_rows in (-1, 7, 2**62):
            group = types.SimpleNamespace(num_rows=num_rows)
            footer = types.SimpleNamespace(num_rows=6, row_group=lambda _, group=group: group)
            damaged = types.SimpleNamespace(metadata=footer)
            with pytest.raises(pa.ArrowInvalid, match=f"row group 1 has {num_rows} of 6 rows"):
                parquet_rows.rows_of_group(damaged, 1)
