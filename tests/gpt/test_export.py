"""GPT samples as TFRecord and Parquet: the same values, whole files, a manifest."""

import json
from pathlib import Path

import numpy as np
import pyarrow.parquet
import pytest
import tensorflow as tf
from hypothesis import given
from hypothesis import strategies as st

from bert_data.gpt import GptConfig, GptDataset, SampleBatch, build_datasets
from bert_data.gpt import export as module
from bert_data.gpt.export import columns_of_samples, export_splits
from bert_data.gpt.gpt_config import SampleExportConfig
from bert_data.records.fields import GPT_SAMPLES
from bert_data.records.formats import registry
from bert_data.records.formats.examples import ExampleEncoder
from tests.gpt.stores import write_store
from tests.program_folder import contents
from tests.records.formats.tfrecords import crc32c, split_records

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
    built, _, _ = build_datasets(prefixes, config)
    return built


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
    config = SampleExportConfig(output_file=str(path), **settings)
    return export_splits([dataset], config)[0]


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
    data, ends = ExampleEncoder(GPT_SAMPLES).encode(columns_of_samples(batch))
    records = split_records(bytes(data))
    assert [parse(record) for _, record in records] == rows_of(batch)
    assert ends.tolist() == [*[offset for offset, _ in records[1:]], len(data)]
    entries = [field[1] for field in tf.train.Example.FromString(records[0][1]).ListFields()]
    assert entries
    again = tf.train.Example.FromString(records[0][1]).SerializeToString(deterministic=True)
    assert again == records[0][1]


@pytest.mark.parametrize("workers", [1, 3])
def test_tfrecord_shards(dataset, tmp_path, workers, monkeypatch):
    monkeypatch.setattr(module, "SAMPLE_CHUNK_BYTES", 3 * 20 * SEQ_LENGTH)
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
    monkeypatch.setattr(module, "ROW_GROUP_BYTES", 5 * 20 * SEQ_LENGTH)
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


@pytest.mark.parametrize("output_format", tuple(registry.SHARD_FORMATS))
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
    (files,) = export_splits([dataset], config, made_from={"weights": [1, 2]})
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


class StopError(Exception):
    """Ends a run amid its work."""


def stop_before_last_shard(monkeypatch, run) -> None:
    """Runs until the first two of three shards are done."""
    real = module.write_samples

    def write_samples(writing, shard, folder):
        if shard.number == 2:
            raise StopError
        return real(writing, shard, folder)

    with monkeypatch.context() as patched, pytest.raises(StopError):
        patched.setattr(module, "write_samples", write_samples)
        run()


def written_now(monkeypatch, run) -> list[int]:
    """The numbers of the shards that a run writes."""
    numbers = []
    real = module.write_samples

    def write_samples(writing, shard, folder):
        numbers.append(shard.number)
        return real(writing, shard, folder)

    with monkeypatch.context() as patched:
        patched.setattr(module, "write_samples", write_samples)
        run()
    return numbers


@pytest.mark.parametrize("output_format", tuple(registry.SHARD_FORMATS))
def test_a_run_goes_on_with_the_shards_that_are_missing(
    dataset, tmp_path, monkeypatch, output_format
):
    def run(name, num_workers=1):
        settings = {"output_format": output_format, "num_workers": num_workers}
        export(dataset, tmp_path / name / "x@3", **settings)

    run("whole")
    stop_before_last_shard(monkeypatch, lambda: run("stopped"))
    assert {path.name for path in (tmp_path / "stopped").iterdir()} == {".x.samples"}
    assert written_now(monkeypatch, lambda: run("stopped", num_workers=2)) == [2]
    assert contents(tmp_path / "stopped") == contents(tmp_path / "whole")


@pytest.mark.slow
def test_work_in_an_object_store_goes_on_with_what_is_missing(
    dataset, tmp_path, monkeypatch, object_store
):
    def run(name, **settings):
        export(dataset, tmp_path / name / "x@3", **settings)

    run("whole")
    work_dir = object_store.uri("work")
    stop_before_last_shard(monkeypatch, lambda: run("stopped", work_dir=work_dir))
    assert any(key.endswith("/task") for key in object_store.contents())
    assert written_now(monkeypatch, lambda: run("stopped", work_dir=work_dir)) == [2]
    assert contents(tmp_path / "stopped") == contents(tmp_path / "whole")
    assert not any(object_store.contents("work/").values())


CHANGES = {
    "another token": lambda build, config: build(tokens=1),
    "a store written again": lambda build, config: build(tokens=0),
    "seq_length": lambda build, config: build(seq_length=SEQ_LENGTH + 1),
    "seed": lambda build, config: build(seed=7),
    "eod_id": lambda build, config: build(eod_id=3),
    "weights": lambda build, config: build(weights=[2, 1], num_samples=[70]),
    "num_samples": lambda build, config: build(num_samples=[40]),
    "split": lambda build, config: build(split="1,1"),
    "format": lambda build, config: (build(), config.update(output_format="parquet")),
    "shards": lambda build, config: (build(), config.update(output_file="x@4")),
    "made_from": lambda build, config: (build(), config.update(made_from={"input": ["c"]})),
    "nothing": lambda build, config: build(),
}


@pytest.mark.parametrize("change", CHANGES)
def test_what_has_changed_is_not_taken_over(tmp_path, monkeypatch, change):
    inputs = {}

    def build(tokens=None, weights=None, num_samples=None, **settings):
        if tokens is not None:
            stories = [[*range(1, 9), tokens, 0] for _ in range(20)]
            inputs["prefixes"] = [write_store(tmp_path / name, stories) for name in "ab"]
        config = GptConfig(**{"seq_length": SEQ_LENGTH, "eod_id": 0, **settings})
        inputs["set"] = build_datasets(
            inputs["prefixes"], config, weights=weights, num_samples=num_samples
        )[0]

    def run():
        settings = {**options, "output_file": f"{tmp_path}/out/{options['output_file']}"}
        made_from = settings.pop("made_from", None)
        export_splits([inputs["set"]], SampleExportConfig(**settings), made_from=made_from)

    options = {"output_file": "x@3"}
    build(tokens=0)
    stop_before_last_shard(monkeypatch, run)
    CHANGES[change](build, options)
    again = written_now(monkeypatch, run)
    assert again == ([2] if change == "nothing" else list(range(4 if change == "shards" else 3)))
    assert not list((tmp_path / "out").glob(".*"))


@pytest.mark.process
def test_other_processes_open_the_same_samples(dataset, tmp_path, monkeypatch):
    export(dataset, tmp_path / "one" / "x@3", num_workers=1)
    monkeypatch.setattr(module, "LEAST_PROCESS_BYTES", 1)
    export(dataset, tmp_path / "two" / "x@3", num_workers=2, num_processes=2)
    assert contents(tmp_path / "two") == contents(tmp_path / "one")


@pytest.mark.process
def test_a_store_that_is_replaced_amid_the_work_is_refused(dataset, tmp_path, monkeypatch):
    monkeypatch.setattr(module, "LEAST_PROCESS_BYTES", 1)
    write_store(tmp_path / "b", [[1] * 500])
    with pytest.raises(ValueError, match="the token store was replaced while samples were made"):
        export(dataset, tmp_path / "out" / "x@3", num_workers=2, num_processes=2)
    assert not (tmp_path / "out").exists()


def splits_of(folder):
    prefix = write_store(folder / "s", [[number] * 30 for number in range(20)])
    config = GptConfig(seq_length=8, split="3,1")
    return [each for each in build_datasets([prefix], config) if each is not None]


def test_splits_appear_together(tmp_path, monkeypatch):
    datasets = splits_of(tmp_path)
    config = SampleExportConfig(output_file=str(tmp_path / "out" / "{split}@2"))
    (tmp_path / "out").mkdir()
    (tmp_path / "out" / "index.valid-00001-of-00002.npy").write_text("mine")
    with pytest.raises(FileExistsError, match=r"valid-00001-of-00002.npy: exists|exists already"):
        export_splits(datasets, config)
    assert len(list((tmp_path / "out").iterdir())) == 1
    (tmp_path / "out" / "index.valid-00001-of-00002.npy").unlink()

    def interrupted(*_, **__):
        assert not [path for path in (tmp_path / "out").iterdir() if path.name[0] != "."]
        raise KeyboardInterrupt

    with monkeypatch.context() as patch, pytest.raises(KeyboardInterrupt):
        patch.setattr(module, "commit_sets", interrupted)
        export_splits(datasets, config)
    monkeypatch.setattr(module, "columns_of_samples", None)  # what makes a shard fails
    files = export_splits(datasets, config)
    assert [[file.name for file in each] for each in files] == [
        [f"{split}-{number:05d}-of-00002" for number in range(2)] for split in ("train", "valid")
    ]
    assert len(list((tmp_path / "out").iterdir())) == 10


def test_mistakes_are_refused(dataset, tmp_path):
    with pytest.raises(ValueError, match="2,000 shards for"):
        export(dataset, tmp_path / "t@2000")
    with pytest.raises(ValueError, match="the shards must be in one folder"):
        export(dataset, f"{tmp_path}/a/t,{tmp_path}/b/t")
    assert {path.suffix for path in tmp_path.iterdir()} == {".bin", ".idx"}


def test_a_store_that_turns_out_damaged_leaves_nothing(tmp_path):
    prefix = write_store(tmp_path / "s", [[1, 2, 3, 4, 5, 6]], "<i4")
    samples = GptDataset(prefix, GptConfig(seq_length=2))
    (tmp_path / "s.bin").write_bytes(np.array([1, 2, -3, 4, 5, 6], "<i4").tobytes())
    for output_format in tuple(registry.SHARD_FORMATS):
        with pytest.raises(Exception, match="token id"):
            export(samples, tmp_path / "out" / "x", output_format=output_format)
    assert not (tmp_path / "out").exists()
