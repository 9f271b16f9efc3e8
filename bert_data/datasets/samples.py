"""GPT samples as files: TFRecord shards with an index each, or Parquet, and a manifest.

    export_samples(dataset, SampleExportConfig(output_file="train.parquet@2",
                                               output_format="parquet"))
      -> train.parquet-00000-of-00002, train.parquet-00001-of-00002, manifest.train.parquet.json

Sample i goes to shard i modulo their number. All files appear together under their final names.
"""

import dataclasses
import json
import os
from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bert_data.causal.gathering import SampleBatch
from bert_data.causal.gpt import SampleSet
from bert_data.datasets.manifest import SampleManifest
from bert_data.datasets.record_set import open_record_set
from bert_data.datasets.writing import Chunk, take_turns, write_shards
from bert_data.formats.registry import PARQUET, TFRECORD, WriterSettings, find_format
from bert_data.formats.summed_file import ManifestFile
from bert_data.schema.columns import Column, ColumnBatch
from bert_data.schema.fields import GPT_SAMPLES
from bert_data.storage import (
    OutputNames,
    expand_outputs,
    list_folder,
    refuse_existing,
    refuse_inputs,
)
from bert_data.work import count_workers, open_threads

_CHUNK_BYTES = 4 << 20  # of samples that are encoded at once
_ROW_GROUP_BYTES = 32 << 20


@dataclasses.dataclass(frozen=True, kw_only=True)
class SampleExportConfig:
    """Where samples go.

    Attributes:
      output_file: comma-separated names, or path@N; see `bert_data.storage.expand_outputs`.
      output_format: one of `formats.registry.format_names()`.
      overwrite: whether files that exist are replaced.
      num_workers: threads; 0: all cores. The files do not depend on it.
    """

    output_file: str
    output_format: str = TFRECORD
    overwrite: bool = False
    num_workers: int = 0

    def __post_init__(self) -> None:
        find_format(self.output_format, output_file=self.output_file)
        expand_outputs(self.output_file)
        count_workers(self.num_workers)


def check_export(dataset: SampleSet, config: SampleExportConfig) -> OutputNames:
    """The names of the shards, before any is written.

    Raises:
      ValueError: there are more shards than samples, they are in several folders, or one is read.
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
    refuse_inputs(names.paths, _inputs_of(dataset))
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
    check_export(dataset, config)
    shard_format = find_format(config.output_format)
    manifest = SampleManifest(description=_describe(dataset, config, made_from or {}))
    description = json.loads(manifest.to_json())
    del description["files"]
    # A row group is a batch.
    writer = shard_format.make(GPT_SAMPLES, WriterSettings(manifest=description, group_records=1))
    row_bytes = 4 * len(SampleBatch._fields) * dataset.config.seq_length
    chunk_bytes = _ROW_GROUP_BYTES if config.output_format == PARQUET else _CHUNK_BYTES
    num_workers = count_workers(config.num_workers)
    with (
        open_record_set(
            config.output_file,
            inputs=_inputs_of(dataset),
            has_indexes=shard_format.has_index,
            overwrite=config.overwrite,
            work_dir=None,
        ) as record_set,
        open_threads(num_workers) as executor,
    ):
        num_shards = len(record_set.paths)
        num_open = shard_format.count_open(num_workers, num_shards)
        files = write_shards(
            record_set,
            writer,
            _cut(len(dataset), num_shards, num_open, max(1, chunk_bytes // row_bytes)),
            lambda numbers: writer.encode(columns_of(dataset.batch(numbers))),
            num_records=len(dataset),
            num_open=num_open,
            executor=executor,
            label=f"write {dataset.split} samples",
            unit="sample",
        )
        record_set.commit(dataclasses.replace(manifest, files=files))
    return files


def _inputs_of(dataset: SampleSet) -> list[str]:
    """The files of the stores, and of the folder that keeps the indices."""
    folder = dataset.config.cache_dir
    indices = [] if folder is None else [os.path.join(folder, n) for n in list_folder(folder)]
    return [*dataset.paths, *indices]


def columns_of(batch: SampleBatch) -> ColumnBatch:
    """Samples as columns that share their memory."""
    columns = {name: Column(values) for name, values in batch._asdict().items()}
    return ColumnBatch(kind=GPT_SAMPLES, columns=columns)


def _cut(num_samples: int, num_shards: int, num_open: int, chunk_size: int) -> Iterator[Chunk]:
    """The numbers of the samples of each chunk."""
    turns = take_turns(num_samples, num_shards, num_open=num_open, turn_size=chunk_size)
    for number, turn in enumerate(turns):
        samples: NDArray[np.int64] = np.arange(turn.start, turn.end) * num_shards + turn.shard
        yield Chunk(turn.shard, samples.size, samples, number)


def _describe(
    dataset: SampleSet, config: SampleExportConfig, made_from: Mapping[str, Any]
) -> dict[str, Any]:
    """What the manifest says of all files together."""
    settings = dataclasses.asdict(dataset.config)
    del settings["cache_dir"]
    return {
        "output_format": config.output_format,
        "split_name": dataset.split,
        "num_samples": len(dataset),
        **settings,
        **made_from,
    }
