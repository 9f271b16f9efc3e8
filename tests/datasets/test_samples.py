"""GPT samples as TFRecord and Parquet: the same values, whole files, a manifest."""

import json
from pathlib import Path

import numpy as np
import pyarrow.parquet
import pytest
import tensorflow as tf
from hypothesis import given
from hypothesis import strategies as st

from bert_data.causal import GptConfig, GptDataset, SampleBatch, build_datasets
from bert_data.datasets import samples
from bert_data.datasets.samples import SampleExportConfig, columns_of, export_samples
from bert_data.formats import registry
from bert_data.formats.examples import ExampleEncoder
from bert_data.schema.fields import GPT_SAMPLES
from tests.causal.stores import write_store
from tests.formats.tfrecords import crc32c, split_records

SEQ_LENGTH = 6
FLOATS = ("loss_mask",)


@pytest.fixture
def dataset(tmp_path):
    random = np.random.RandomState(0)
    stories = [[*random.randint(1, 60_000, random.randint(1, 30)), 0] for _ in range(30)]
    prefixes = [write_store(tmp_path / name, stories[i::2]) for i, name in enumerate("ab")]
    config = GptConfig(
        seq_length=SEQ_LENGTH, eod_id=0, reset_position_ids=True, reset_attention_mask=True,
        eod_mask_loss=True,
    )  # fmt: skip
    made, _, _ = build_datasets(prefixes, config)
    return made


def parse(record: bytes) -> dict[str, list]:
    features = tf.train.Example.FromString(record).features.feature
    return {
        name: list((value.float_list if name in FLOATS else value.int64_list).value)
        for name, value in features.items()
    }


def rows_of(batch: SampleBatch) -> list[dict[str, list]]:
    columns = {name: values.tolist() for name, values in batch._asdict().items()}
    return [
        {name: values[row] for name, values in columns.items()} for row in range(len(batch.tokens))
    ]


def export(dataset, path: Path, **settings):
    return export_samples(dataset, SampleExportConfig(output_file=str(path), **settings))


@given(
    st.lists(st.lists(st.integers(0, 2**31 - 1), min_size=4, max_size=4), min_size=1, max_size=5),
    st.lists(st.booleans(), min_size=4, max_size=4),
)
def test_records_are_examples_of_the_samples(rows, mask):
    numbers = np.array(rows, np.int32)
    batch = SampleBatch(
        numbers, numbers[:, ::-1].copy(), np.array([mask] * len(rows), np.float32), numbers // 2,
        numbers // 1000,
    )  # fmt: skip
    data, ends = ExampleEncoder(GPT_SAMPLES).encode(columns_of(batch))
    records = split_records(bytes(data))
    assert [parse(record) for _, record in records] == rows_of(batch)
    assert ends.tolist() == [*[offset for offset, _ in records[1:]], len(data)]
    entries = [field[1] for field in tf.train.Example.FromString(records[0][1]).ListFields()]
    assert entries
    again = tf.train.Example.FromString(records[0][1]).SerializeToString(deterministic=True)
    assert again == records[0][1]


@pytest.mark.parametrize("workers", [1, 3])
def test_tfrecord_shards(dataset, tmp_path, workers, monkeypatch):
    monkeypatch.setattr(samples, "_CHUNK_BYTES", 3 * 20 * SEQ_LENGTH)
    files = export(dataset, tmp_path / "out" / "t@3", num_workers=workers)
    expected = rows_of(dataset.batch(range(len(dataset))))
    for shard in range(3):
        path = tmp_path / "out" / f"t-{shard:05d}-of-00003"
        data = path.read_bytes()
        records = split_records(data)
        assert [parse(record) for _, record in records] == expected[shard::3]
        index = np.load(path.parent / f"index.{path.name}.npy")
        assert index["offset"].tolist() == [*[offset for offset, _ in records], len(data)]
        assert index["num_tokens"].tolist() == [SEQ_LENGTH] * len(records) + [0]
        assert files[shard].num_records == len(records)
        assert (files[shard].num_bytes, files[shard].crc32c) == (len(data), crc32c(data))
    parsed = next(iter(tf.data.TFRecordDataset(str(path)).batch(999)))
    spec = {
        name: tf.io.FixedLenFeature([SEQ_LENGTH], tf.float32 if name in FLOATS else tf.int64)
        for name in SampleBatch._fields
    }
    for name, values in tf.io.parse_example(parsed, spec).items():
        assert values.numpy().tolist() == [row[name] for row in expected[2::3]]


@pytest.mark.parametrize("workers", [1, 3])
def test_parquet_shards(dataset, tmp_path, workers, monkeypatch):
    monkeypatch.setattr(samples, "_ROW_GROUP_BYTES", 5 * 20 * SEQ_LENGTH)
    files = export(dataset, tmp_path / "p@2", output_format="parquet", num_workers=workers)
    expected = rows_of(dataset.batch(range(len(dataset))))
    for shard in range(2):
        path = tmp_path / f"p-{shard:05d}-of-00002"
        table = pyarrow.parquet.read_table(path)
        assert table.to_pylist() == expected[shard::2]
        file = pyarrow.parquet.ParquetFile(path)
        assert file.metadata.row_group(0).num_rows == 5
        assert file.metadata.row_group(0).column(0).compression == "ZSTD"
        manifest = json.loads(table.schema.metadata[b"bert_data.manifest"])
        assert (manifest["seq_length"], manifest["num_samples"]) == (SEQ_LENGTH, len(dataset))
        assert files[shard].crc32c == crc32c(path.read_bytes())
        assert files[shard].num_bytes == path.stat().st_size


@pytest.mark.parametrize("output_format", registry.format_names())
def test_the_bytes_do_not_depend_on_workers(dataset, tmp_path, output_format):
    for workers in (1, 2):
        export(dataset, tmp_path / f"{workers}" / "x@2", output_format=output_format,
               num_workers=workers)  # fmt: skip
    one, two = (
        {path.name: path.read_bytes() for path in (tmp_path / workers).iterdir()}
        for workers in "12"
    )
    assert one == two
    assert len(one) == (3 if output_format == "parquet" else 5)


def test_the_manifest_lists_the_files(dataset, tmp_path):
    config = SampleExportConfig(output_file=str(tmp_path / "t@2"))
    files = export_samples(dataset, config, made_from={"weights": [1, 2]})
    manifest = json.loads((tmp_path / "manifest.t.json").read_text())
    assert manifest["format"] == "bert_data samples"
    assert manifest["files"][1]["name"] == "t-00001-of-00002"
    assert [file["crc32c"] for file in manifest["files"]] == [file.crc32c for file in files]
    assert (manifest["seed"], manifest["eod_mask_loss"], manifest["weights"]) == (
        1234,
        True,
        [1, 2],
    )
    assert "cache_dir" not in manifest


def test_files_that_exist_are_kept_without_overwrite(dataset, tmp_path):
    export(dataset, tmp_path / "t@3")
    before = {path: path.read_bytes() for path in tmp_path.iterdir()}
    with pytest.raises(FileExistsError):
        export(dataset, tmp_path / "t@3")
    assert {path: path.read_bytes() for path in tmp_path.iterdir()} == before
    export(dataset, tmp_path / "t@2", overwrite=True)
    names = {path.name for path in tmp_path.iterdir() if "of-0000" in path.name}
    assert names == {f"{head}t-0000{i}-of-00002{end}" for i in (0, 1)
                     for head, end in (("", ""), ("index.", ".npy"))}  # fmt: skip


def test_mistakes_are_refused(dataset, tmp_path):
    with pytest.raises(ValueError, match="output_format is 'csv'; tfrecord or parquet"):
        SampleExportConfig(output_file="x", output_format="csv")
    with pytest.raises(ValueError, match="2,000 shards for"):
        export(dataset, tmp_path / "t@2000")
    with pytest.raises(ValueError, match="files of one folder are allowed"):
        export(dataset, f"{tmp_path}/a/t,{tmp_path}/b/t")
    assert {path.suffix for path in tmp_path.iterdir()} == {".bin", ".idx"}


def test_a_store_that_turns_out_damaged_leaves_nothing(tmp_path):
    prefix = write_store(tmp_path / "s", [[1, 2, -3, 4, 5, 6]], "<i4")
    made = GptDataset(prefix, GptConfig(seq_length=2))
    for output_format in registry.format_names():
        with pytest.raises(Exception, match="token id"):
            export(made, tmp_path / "out" / "x", output_format=output_format)
    assert not (tmp_path / "out").exists()
