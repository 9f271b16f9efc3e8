"""GPT samples as files: TFRecord shards with an index each, or Parquet, and a manifest.

    export_samples(dataset, SampleExportConfig(output_file="train.parquet@2",
                                               output_format="parquet"))
      -> train.parquet-00000-of-00002, train.parquet-00001-of-00002, manifest.train.parquet.json

Sample i goes to shard i modulo their number. All files appear together under their final names.
"""

import dataclasses
import json
import os
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

import bert_data
from bert_data import features
from bert_data.causal.gathering import SampleBatch
from bert_data.causal.gpt import SampleSet
from bert_data.progress import progress
from bert_data.records.manifest import ManifestFile
from bert_data.records.parquet_writer import open_parquet_shard
from bert_data.records.record_config import check_ending
from bert_data.records.sample_examples import encode_samples, sample_bytes
from bert_data.records.sidecars import index_path, manifest_path
from bert_data.records.tfrecord_writer import TFRecordWriter
from bert_data.storage import (
    OutputNames,
    OutputSet,
    expand_outputs,
    naming,
    refuse_existing,
    refuse_inputs,
)
from bert_data.work import count_workers, open_threads

MANIFEST_FORMAT = "bert_data samples"

_FORMAT_VERSION = 1
_CHUNK_BYTES = 4 << 20
_ROW_GROUP_BYTES = 32 << 20


@dataclasses.dataclass(frozen=True, kw_only=True)
class SampleExportConfig:
    """Where samples go.

    Attributes:
      output_file: comma-separated names, or path@N; see `bert_data.storage.expand_outputs`.
      output_format: one of `features.OUTPUT_FORMATS`.
      overwrite: whether files that exist are replaced.
      num_workers: threads; 0: all cores. The files do not depend on it.
    """

    output_file: str
    output_format: str = features.TFRECORD
    overwrite: bool = False
    num_workers: int = 0

    def __post_init__(self) -> None:
        if self.output_format not in features.OUTPUT_FORMATS:
            allowed = " or ".join(features.OUTPUT_FORMATS)
            raise ValueError(f"output_format is {self.output_format!r}; {allowed} is allowed")
        expand_outputs(self.output_file)
        check_ending(self.output_file, self.output_format)
        count_workers(self.num_workers)


def check_export(dataset: SampleSet, config: SampleExportConfig) -> OutputNames:
    """The names of the shards, before any is written.

    Raises:
      ValueError: there are more shards than samples, or they are in several folders.
      OSError: one is there already.
    """
    names = expand_outputs(config.output_file)
    if len({os.path.dirname(path) for path in names.paths}) > 1:
        raise ValueError(f"output_file is {config.output_file!r}; files of one folder are allowed")
    if len(names.paths) > len(dataset):
        raise ValueError(
            f"{config.output_file}: {len(names.paths):,} shards for {len(dataset):,} samples; fewer"
            " will do"
        )
    refuse_inputs(names.paths, dataset.paths)
    refuse_existing(names.paths, overwrite=config.overwrite)
    return names


def export_samples(
    dataset: SampleSet, config: SampleExportConfig, *, made_from: Mapping[str, Any] | None = None
) -> tuple[ManifestFile, ...]:
    """Writes all samples of a data set.

    Args:
      dataset: a `GptDataset` or `BlendedDataset`.
      config: where to.
      made_from: what the manifest says beside the configuration of the data set; JSON.

    Returns:
      Of each shard, what the manifest says.

    Raises:
      ValueError: there are more shards than samples, or they are in several folders.
      OSError: a file exists, or cannot be written.
    """
    names = check_export(dataset, config)
    parquet = config.output_format == features.PARQUET
    indexes = [] if parquet else [index_path(path) for path in names.paths]
    manifest = manifest_path(names.name)
    description = _describe(dataset, config, made_from or {})
    write = _write_parquet if parquet else _write_tfrecord
    files = []
    with (
        OutputSet(
            names.name,
            [*names.paths, *indexes, manifest],
            reads=dataset.paths,
            overwrite=config.overwrite,
            obsolete=lambda: _obsolete(manifest, {*names.paths, *indexes}),
        ) as outputs,
        naming(outputs.work_dir),
        progress(f"write {dataset.split} samples", total=len(dataset), unit="sample") as advance,
    ):
        for number, path in enumerate(names.paths):
            numbers = np.arange(number, len(dataset), len(names.paths))
            with naming(path):
                files.append(write(dataset, numbers, outputs, path, config, description, advance))
        with outputs.open(manifest) as file:
            listed = [dataclasses.asdict(each) for each in files]
            file.write((json.dumps({**description, "files": listed}, indent=1) + "\n").encode())
        outputs.commit([*names.paths, *indexes], [manifest])
    return tuple(files)


def _describe(
    dataset: SampleSet, config: SampleExportConfig, made_from: Mapping[str, Any]
) -> dict[str, Any]:
    """What the manifest says of all files together."""
    settings = dataclasses.asdict(dataset.config)
    del settings["cache_dir"]
    return {
        "format": MANIFEST_FORMAT,
        "format_version": _FORMAT_VERSION,
        "created_by": f"bert_data {bert_data.__version__}",
        "output_format": config.output_format,
        "split_name": dataset.split,
        "num_samples": len(dataset),
        **settings,
        **made_from,
    }


def _obsolete(manifest: str, kept: set[str]) -> list[str]:
    """Shards and indexes of an earlier set of the same name that are not replaced."""
    try:
        with open(manifest, "rb") as file:
            earlier = json.load(file)
        names = [str(each["name"]) for each in earlier["files"]]
        is_own = earlier["format"] == MANIFEST_FORMAT
    except (OSError, ValueError, KeyError, TypeError):
        return []
    folder = os.path.dirname(manifest)
    shards = [os.path.join(folder, name) for name in names if os.path.basename(name) == name]
    files = [path for shard in shards for path in (shard, index_path(shard))]
    return [path for path in files if is_own and path not in kept]


def _chunks(
    dataset: SampleSet, numbers: NDArray[np.int64], row_bytes: int, chunk_bytes: int
) -> Iterator[NDArray[np.int64]]:
    size = max(1, chunk_bytes // row_bytes)
    for start in range(0, numbers.size, size):
        yield numbers[start : start + size]


def _write_tfrecord(
    dataset: SampleSet,
    numbers: NDArray[np.int64],
    outputs: OutputSet,
    path: str,
    config: SampleExportConfig,
    _: Mapping[str, Any],
    advance: Any,
) -> ManifestFile:
    def encode(chunk: NDArray[np.int64]) -> tuple[memoryview, NDArray[np.int64]]:
        return encode_samples(dataset.batch(chunk))

    seq_length = dataset.config.seq_length
    chunks = _chunks(dataset, numbers, sample_bytes(seq_length), _CHUNK_BYTES)
    with (
        open_threads(count_workers(config.num_workers)) as executor,
        outputs.open(path) as file,
        outputs.open(index_path(path)) as index_file,
    ):
        shard = TFRecordWriter(file, index_file, numbers.size, gzip=False)
        for data, ends in executor.ordered_map(encode, chunks):
            shard.add(data, ends, np.full(ends.size, seq_length, np.uint32))
            advance(ends.size)
        shard.finish()
    return shard.describe(path)


def _write_parquet(
    dataset: SampleSet,
    numbers: NDArray[np.int64],
    outputs: OutputSet,
    path: str,
    config: SampleExportConfig,
    description: Mapping[str, Any],
    advance: Any,
) -> ManifestFile:
    """Writes one Parquet file, row group by row group."""
    import pyarrow as pa

    schema = pa.schema([(name, pa.list_(kind)) for name, kind in _columns(pa)])
    row_bytes = 4 * len(SampleBatch._fields) * dataset.config.seq_length
    chunks = _chunks(dataset, numbers, row_bytes, _ROW_GROUP_BYTES)
    with (
        open_threads(count_workers(config.num_workers)) as executor,
        outputs.open(path) as file,
        open_parquet_shard(file, schema, description, group_rows=1) as shard,
    ):
        for batch in executor.ordered_map(dataset.batch, chunks):  # each is a row group
            shard.add(_to_rows(pa, batch, schema))
            advance(batch.tokens.shape[0])
        shard.finish()
    return shard.describe(path)


def _columns(pa: Any) -> Sequence[tuple[str, Any]]:
    return [
        (name, pa.float32() if name == "loss_mask" else pa.int32()) for name in SampleBatch._fields
    ]


def _to_rows(pa: Any, batch: SampleBatch, schema: Any) -> Any:
    """Rows whose lists are views of the batch."""
    num_rows, seq_length = batch.tokens.shape
    offsets = pa.array(np.arange(num_rows + 1, dtype=np.int32) * np.int32(seq_length))
    columns = [pa.ListArray.from_arrays(offsets, pa.array(values.reshape(-1))) for values in batch]
    return pa.RecordBatch.from_arrays(columns, schema=schema)
