"""Instances as Parquet: the rows are the TFRecord files' records, and other programs read them."""

import json
import tempfile
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import tensorflow as tf
from hypothesis import HealthCheck, given
from hypothesis import strategies as st

from bert_data.kernels.crc32c import crc32c
from bert_data.reader import ReaderConfig, iterate_arrays
from bert_data.records import fields
from bert_data.records.formats.parquet_files import METADATA_KEY
from bert_data.records.formats.registry import find_shard_format
from bert_data.records.instances.instance_config import InstanceConfig
from bert_data.records.sets import dataset_config
from bert_data.records.sets.creating import create_dataset
from bert_data.records.sets.dataset_config import DatasetConfig
from bert_data.records.sets.manifest import parse_manifest, read_manifest
from tests.hypotheses import examples
from tests.records.formats.tfrecords import split_records
from tests.rows import mostly_slow

INSTANCES = InstanceConfig(max_seq_length=40, max_predictions_per_seq=6, dupe_factor=2)
COLUMNS = ["tokens", "segment_ids", "is_random_next", "masked_positions", "masked_labels"]


@pytest.fixture(scope="module")
def make(small_text, small_vocabulary):
    """Makes a set: make(folder, "t@3", output_format="parquet") -> paths of its shards."""

    def create(folder: Path, output: str = "t", **options) -> list[Path]:
        dataset = create_dataset(
            DatasetConfig(
                input_file=str(small_text),
                output_file=",".join(str(folder / name) for name in output.split(",")),
                vocab_file=str(small_vocabulary),
                **{"instances": INSTANCES, "num_workers": 1, "output_format": "parquet", **options},
            )
        )
        return [Path(path) for path in dataset.paths]

    return create


def rows_of_examples(path: Path) -> list[dict[str, object]]:
    """The rows that equal the records of a TFRecord file."""
    rows = []
    for _, record in split_records(path.read_bytes()):
        features = tf.train.Example.FromString(record).features.feature
        numbers = {name: list(feature.int64_list.value) for name, feature in features.items()}
        assert numbers[fields.INPUT_MASK.name] == [1] * len(numbers[fields.INPUT_IDS.name])
        rows.append(
            {
                "tokens": numbers[fields.INPUT_IDS.name],
                "segment_ids": numbers[fields.SEGMENT_IDS.name],
                "is_random_next": bool(numbers[fields.NEXT_SENTENCE_LABELS.name][0]),
                "masked_positions": numbers[fields.MASKED_LM_POSITIONS.name],
                "masked_labels": numbers[fields.MASKED_LM_IDS.name],
            }
        )
    return rows


CONFIGS = st.builds(
    InstanceConfig,
    max_seq_length=st.integers(5, 70),
    max_predictions_per_seq=st.integers(0, 12),
    random_seed=st.integers(-(2**70), 2**70),
    dupe_factor=st.integers(1, 3),
    masked_lm_prob=st.floats(0, 1),
    short_seq_prob=st.floats(0, 1),
    do_whole_word_mask=st.booleans(),
)


@pytest.mark.slow
@examples(25, suppress_health_check=[HealthCheck.too_slow])
@given(CONFIGS, st.integers(1, 5), st.integers(1, 3), st.integers(1, 40))
def test_rows_are_the_records_of_the_tfrecord_files(make, instances, num_shards, workers, chunk):
    with tempfile.TemporaryDirectory() as folder, pytest.MonkeyPatch.context() as patch:
        patch.setattr(dataset_config, "CHUNK_BYTES", chunk * 5 * instances.max_seq_length)
        output, options = f"t@{num_shards}", {"instances": instances, "num_workers": workers}
        expected = make(Path(folder, "a"), output, output_format="tfrecord", **options)
        files = make(Path(folder, "b"), output, **options)
        assert [path.name for path in files] == [path.name for path in expected]
        for parquet, tfrecord in zip(files, expected, strict=True):
            assert pq.read_table(parquet).to_pylist() == rows_of_examples(tfrecord)


@pytest.fixture
def shards(make, tmp_path, monkeypatch) -> list[Path]:
    """Three shards of several row groups each."""
    monkeypatch.setattr(dataset_config, "CHUNK_BYTES", 600)
    return make(tmp_path / "p", "t@3")


class TestFiles:
    def test_columns_have_sensible_types(self, shards):
        schema = pq.read_schema(shards[0])
        assert schema.names == COLUMNS
        numbers = pa.list_(pa.int32())
        assert [schema.field(name).type for name in COLUMNS] == [
            numbers, pa.list_(pa.int8()), pa.bool_(), numbers, numbers,
        ]  # fmt: skip

    def test_row_groups_are_compressed_and_checked(self, shards):
        metadata = pq.ParquetFile(shards[0]).metadata
        sizes = [metadata.row_group(i).num_rows for i in range(metadata.num_row_groups)]
        assert len(sizes) >= 2
        assert sizes[:-1] == [32] * (len(sizes) - 1)
        assert {metadata.row_group(0).column(i).compression for i in range(5)} == {"ZSTD"}
        damaged = bytearray(shards[0].read_bytes())
        damaged[metadata.row_group(1).column(0).data_page_offset + 60] ^= 1
        shards[0].write_bytes(damaged)
        with pytest.raises(OSError, match="CRC"):
            pq.ParquetFile(shards[0], page_checksum_verification=True).read()

    def test_row_groups_hold_some_megabytes(self):
        for length, predictions in ((128, 20), (512, 76), (65_535, 20)):
            instances = InstanceConfig(max_seq_length=length, max_predictions_per_seq=predictions)
            config = DatasetConfig(
                input_file="a", output_file="b", instances=instances, output_format="parquet"
            )
            assert 4e6 < config.group_size * (5 * length + 8 * predictions) < 17e6

    def test_the_manifest_is_in_them_and_beside_them(self, shards):
        beside = read_manifest(str(shards[0].parent / "manifest.t.json"))
        assert (beside.output_format, beside.compression) == ("parquet", "zstd")
        for path, file in zip(shards, beside.files, strict=True):
            text = pq.read_schema(path).metadata[METADATA_KEY.encode()]
            inside = parse_manifest(text, str(path))
            assert json.loads(text)["files"] == []
            assert inside == parse_manifest(
                json.dumps(json.loads(beside.to_json()) | {"files": []}).encode(), ""
            )
            data = path.read_bytes()
            assert (file.name, file.num_bytes, file.crc32c) == (path.name, len(data), crc32c(data))
            assert file.num_records == pq.ParquetFile(path).metadata.num_rows
        names = {path.name for path in shards[0].parent.iterdir()}
        assert names == {*(path.name for path in shards), "manifest.t.json"}

    @pytest.mark.slow
    def test_shards_without_a_row_are_files_too(self, make, tmp_path):
        paths = make(tmp_path, "t@320")
        sizes = [pq.read_table(path).num_rows for path in paths]
        assert 0 in sizes
        manifest = read_manifest(str(tmp_path / "manifest.t.json"))
        assert sizes == [file.num_records for file in manifest.files]


class TestOtherSets:
    @pytest.mark.parametrize("earlier", ["tfrecord", "parquet"])
    @pytest.mark.parametrize("later", ["tfrecord", "parquet"])
    def test_a_set_over_another(self, make, tmp_path, earlier, later):
        make(tmp_path / "a", "t@5", output_format=earlier)
        make(tmp_path / "a", "t@2", output_format=later, overwrite=True)
        make(tmp_path / "b", "t@2", output_format=later)
        replaced, expected = (
            {path.name: path.read_bytes() for path in (tmp_path / name).iterdir()} for name in "ab"
        )
        assert replaced == expected

    def test_the_index_of_a_shard_of_another_set_goes(self, make, tmp_path):
        make(tmp_path, "a,b", output_format="tfrecord")
        make(tmp_path, "b", overwrite=True)
        names = {path.name for path in tmp_path.iterdir()}
        assert names == {"a", "index.a.npy", "b", "manifest.b.json"}


class TestOtherPrograms:
    def test_pandas(self, shards):
        pandas = pytest.importorskip("pandas")
        frame = pandas.read_parquet(shards[0])
        rows = pq.read_table(shards[0]).to_pylist()
        assert [list(tokens) for tokens in frame["tokens"]] == [row["tokens"] for row in rows]
        assert frame["is_random_next"].tolist() == [row["is_random_next"] for row in rows]

    @mostly_slow("streaming", [False, True])
    def test_datasets(self, shards, tmp_path, streaming):
        datasets = pytest.importorskip("datasets")
        paths = [str(path) for path in shards]
        read = datasets.Dataset.from_parquet(
            paths, streaming=streaming, cache_dir=str(tmp_path / "cache")
        )
        assert list(read) == [row for path in paths for row in pq.read_table(path).to_pylist()]


def test_padded_rows_are_read_as_those_without_padding(make, tmp_path):
    """As Hugging Face's articles have them: tokens followed by 0s, segments by -1s."""
    (ragged,) = make(tmp_path, "ragged.parquet")
    (padded,) = make(tmp_path, "padded.parquet", record_layout="reference")
    plain, rows = (pq.read_table(path).to_pylist() for path in (ragged, padded))
    assert any(len(row["tokens"]) < INSTANCES.max_seq_length for row in plain)
    for row in plain:
        num_padding = INSTANCES.max_seq_length - len(row["tokens"])
        row["tokens"] += [0] * num_padding
        row["segment_ids"] += [-1] * num_padding
    assert rows == plain
    batches = [
        list(iterate_arrays(ReaderConfig(input_patterns=str(path), batch_size=3)))
        for path in (ragged, padded)
    ]
    for one, other in zip(*batches, strict=True):
        assert one.keys() == other.keys()
        assert all(np.array_equal(one[name], other[name]) for name in one)


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        (
            {"compression": "gzip"},
            "compression is 'gzip'; with output_format 'parquet' it must be 'none', as it is"
            " compressed inside, by zstd",
        ),
        ({"name": "orc"}, "output_format is 'orc'; it must be one of tfrecord, parquet"),
    ],
)
def test_flags_that_contradict_each_other(options, sentence):
    with pytest.raises(ValueError, match=f"^{sentence}$"):
        find_shard_format(**{"name": "parquet", **options})
