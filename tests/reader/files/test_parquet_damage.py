"""Damaged Parquet shards: what is told, and what is left out."""

import json
import random
import shutil
from pathlib import Path

import pyarrow.parquet as pq
import pytest

from bert_data.errors import CorruptDataError
from bert_data.reader import iterate_batches
from bert_data.reader.files import parquet_shards as library
from bert_data.reader.files.blocks import read_blocks
from bert_data.reader.files.record_source import Damage
from bert_data.reader.files.shards import find_shards
from bert_data.reader.sources import make_source
from tests.reader.files.test_parquet_shards import INSTANCES, config_of, rows_of
from tests.reader.parquet_making import SCHEMA, row_of, write_rows


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

    @pytest.mark.slow
    def test_every_cut_is_told(self, shard):
        data = shard.read_bytes()
        for size in (*range(4, len(data), 397), len(data) - 1):
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
        for at in drawn.sample(range(4, end), 15):
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
        assert num_told > 10

    def test_a_damaged_page_loses_its_row_group(self, shard, monkeypatch):
        monkeypatch.setattr(library, "MAX_ROWS", 2)
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

    @pytest.mark.slow
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
