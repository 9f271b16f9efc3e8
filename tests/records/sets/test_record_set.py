"""Shards as they are on disk: whatever cuts the work, the same files, and the oracle's records."""

import dataclasses
import functools
import gzip
from pathlib import Path

import numpy as np
import pytest
import tensorflow as tf
from pyarrow import parquet

from bert_data.kernels.crc32c import crc32c
from bert_data.records.formats.tfrecord import index_path
from bert_data.records.instances.instance_config import InstanceConfig
from bert_data.records.sets import config as set_config
from bert_data.records.sets import dataset_config
from bert_data.records.sets.config import MemoryBudget
from bert_data.records.sets.dataset_config import DatasetConfig
from bert_data.records.sets.manifest import manifest_path, read_manifest
from bert_data.tokens.vocabulary import load_vocabulary
from tests.program_folder import contents
from tests.records.formats.tfrecords import features_of, split_records
from tests.records.oracle import instances_of
from tests.rows import mostly_slow
from tokenization import FullTokenizer

COVERS = ("records/formats/manifest_file",)

INSTANCES = InstanceConfig(max_seq_length=40, max_predictions_per_seq=6, dupe_factor=2)


@pytest.fixture
def create(create_set):
    return functools.partial(create_set, instances=INSTANCES)


@pytest.fixture(scope="module")
def oracle(small_text, small_vocabulary):
    """The instances of the small text, by the readable tokenizer and the oracle."""
    tokenizer = FullTokenizer(str(small_vocabulary))
    documents = [
        [tokenizer.convert_tokens_to_ids(tokenizer.tokenize(line)) for line in lines.splitlines()]
        for lines in small_text.read_text().split("\n\n")
    ]
    return instances_of(documents, load_vocabulary(small_vocabulary), INSTANCES)


def uncompressed(path: Path, compression: str) -> bytes:
    return gzip.decompress(path.read_bytes()) if compression == "gzip" else path.read_bytes()


@mostly_slow(
    ("layout", "compression", "num_shards"),
    [("ragged", "none", 3), ("ragged", "gzip", 320), ("reference", "gzip", 1)],
)
def test_shards_indexes_and_manifest_have_the_oracles_records(
    create, oracle, small_vocabulary, layout, compression, num_shards
):
    """Of 320 shards some have no record."""
    folder = create("a", f"t@{num_shards}", record_layout=layout, compression=compression)
    paths, manifest = sorted(folder.glob("t-*")), read_manifest(manifest_path(str(folder / "t")))
    vocabulary = load_vocabulary(small_vocabulary)
    assert len(paths) == num_shards
    assert 3 < len(oracle) < 320
    assert (manifest.record_layout, manifest.compression) == (layout, compression)
    assert manifest.counts["instances"]["num_instances"] == len(oracle)
    all_records = []
    for shard, (path, file) in enumerate(zip(paths, manifest.files, strict=True)):
        data, expected = uncompressed(path, compression), oracle[shard::num_shards]
        offsets, records = [[pair[part] for pair in split_records(data)] for part in (0, 1)]
        all_records += records
        for record, instance in zip(records, expected, strict=True):
            features = tf.train.Example.FromString(record).features.feature
            values = {
                name: list(f.float_list.value or f.int64_list.value) for name, f in features.items()
            }
            assert values == features_of(
                instance, vocabulary, layout, max_seq_length=40, max_predictions_per_seq=6
            )
        index = np.load(index_path(str(path)), mmap_mode="r")
        assert index["offset"].tolist() == [*offsets, len(data)]
        assert index["num_tokens"].tolist() == [*(len(each.ids) for each in expected), 0]
        on_disk = path.read_bytes()
        assert (file.name, file.num_records) == (path.name, len(expected))
        assert (file.num_bytes, file.crc32c) == (len(on_disk), crc32c(on_disk))
    kind = "GZIP" if compression == "gzip" else ""
    by_tensorflow = tf.data.TFRecordDataset(list(map(str, paths)), kind)
    assert list(by_tensorflow.as_numpy_iterator()) == all_records


@mostly_slow("compression", ["none", "gzip"])
@mostly_slow("chunk_bytes", [8000, 1 << 20])
def test_workers_and_buckets_do_not_change_the_files(create, monkeypatch, compression, chunk_bytes):
    monkeypatch.setattr(dataset_config, "CHUNK_BYTES", chunk_bytes)
    plain = contents(create("plain", "t@3", compression=compression))
    for workers in (2, 5):
        folder = create(f"workers{workers}", "t@3", compression=compression, num_workers=workers)
        assert contents(folder) == plain
    for number, max_rows_bytes in enumerate((1, 3000)):
        budget = MemoryBudget(
            num_workers=workers, max_store_bytes=max_rows_bytes, max_rows_bytes=max_rows_bytes
        )
        monkeypatch.setattr(set_config, "share_memory", lambda *_, shares=budget, **__: shares)
        folder = create(f"buckets{number}", "t@3", compression=compression, num_workers=2)
        assert contents(folder) == plain


def test_chunks_of_any_size_give_the_same_records(create, monkeypatch):
    plain = contents(create("plain", "t@3"))
    for number, chunk_bytes in enumerate((1, 5000, 20_000)):
        monkeypatch.setattr(dataset_config, "CHUNK_BYTES", chunk_bytes)
        assert contents(create(f"small{number}", "t@3", num_workers=2)) == plain


def test_shards_in_several_folders_have_a_manifest_each(create, tmp_path):
    create("a", "x/t@2,y/u")
    for folder, names in (("x", ["t-00000-of-00002", "t-00001-of-00002"]), ("y", ["u"])):
        manifest = read_manifest(str(tmp_path / "a" / folder / "manifest.t.json"))
        assert [file.name for file in manifest.files] == names
        listed = {*names, *(f"index.{name}.npy" for name in names), "manifest.t.json"}
        assert set(contents(tmp_path / "a" / folder)) == listed


@pytest.mark.parametrize("earlier", ["t@5", "t"])
def test_a_set_over_another_of_the_same_name_leaves_nothing_of_it(create, earlier):
    create("a", earlier)
    folder = create("a", "t@2", overwrite=True)
    assert contents(folder) == contents(create("b", "t@2"))


def test_no_manifest_vouches_for_a_file_that_another_set_replaced(create):
    """The older set's manifest lists t and u; u becomes another set's."""
    create("a", "t,u")
    folder = create("a", "u", overwrite=True, compression="gzip")
    for path in folder.glob("manifest.*.json"):
        for file in read_manifest(str(path)).files:
            data = (folder / file.name).read_bytes()
            assert (file.num_bytes, file.crc32c) == (len(data), crc32c(data))


@pytest.mark.parametrize(
    ("name", "reason"),
    [
        ("t,index.t.npy", "the name of a set's index or manifest"),
        ("t\udcff", "a name that is not UTF-8; rename it"),
    ],
)
def test_names_that_no_shard_may_have(create, tmp_path, name, reason):
    with pytest.raises(ValueError, match=f"has {reason}"):
        create("a", name)
    assert not (tmp_path / "a").exists()


@pytest.mark.slow
@pytest.mark.parametrize("num_shards", [2, 320])
def test_workers_write_the_same_parquet_files_side_by_side(create, monkeypatch, num_shards):
    """Also where row groups are small, rows do not fit in memory, and shards have no record."""
    files = contents(create("a", f"p@{num_shards}", output_format="parquet"))
    for folder, num_workers in (("b", 2), ("c", 3)):
        options = {"output_format": "parquet", "num_workers": num_workers}
        assert contents(create(folder, f"p@{num_shards}", **options)) == files
    monkeypatch.setattr(DatasetConfig, "chunk_size", 3)
    monkeypatch.setattr(dataset_config, "CHUNKS_OF_GROUP", 2)
    small = contents(create("d", f"p@{num_shards}", output_format="parquet"))
    share = set_config.share_memory

    def share_little(*arguments, **options):
        return dataclasses.replace(share(*arguments, **options), max_rows_bytes=2000)

    monkeypatch.setattr(set_config, "share_memory", share_little)
    again = contents(create("e", f"p@{num_shards}", output_format="parquet", num_workers=2))
    assert again == small
    assert (small == files) == (num_shards == 320)


def test_a_disk_that_is_full_names_the_shard(create, tmp_path, monkeypatch):
    """A worker's error ends the other shards, and nothing is left."""

    written = []
    original = parquet.ParquetWriter.write_table

    def write_table(self, table, row_group_size):
        written.append(table)
        if len(written) == 1:  # in memory, to say how large the set will be
            return original(self, table, row_group_size)
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("pyarrow.parquet.ParquetWriter.write_table", write_table)
    with pytest.raises(OSError, match="No space left") as caught:
        create("a", "p@3", output_format="parquet", num_workers=2)
    assert caught.value.filename == str(tmp_path / "a/p-00000-of-00003")
    assert not (tmp_path / "a").exists()
