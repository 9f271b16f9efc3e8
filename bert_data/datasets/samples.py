"""GPT samples as files: TFRecord shards with an index each, or Parquet, and a manifest.

    export_samples(dataset, SampleExportConfig(output_file="train.parquet@2",
                                               output_format="parquet"))
      -> train.parquet-00000-of-00002, train.parquet-00001-of-00002, manifest.train.parquet.json

Sample i goes to shard i modulo their number. Each shard is a task, whose files stay in a hidden
folder beside the set, `.train.parquet.samples`, until all files get their final names together: a
run that was killed resumes with the missing shards.
"""

import contextlib
import dataclasses
import functools
import json
import os
from collections.abc import Callable, Iterator, Mapping
from typing import Any

from bert_data.causal.gpt import SampleSet
from bert_data.causal.snapshot import take_snapshot
from bert_data.datasets.manifest import SampleManifest, parse_file
from bert_data.datasets.record_set import RecordSet, open_record_set
from bert_data.datasets.sample_shards import SampleShard, SampleWriting, sample_bytes, write_shard
from bert_data.errors import CorruptDataError
from bert_data.formats.registry import TFRECORD, find_format
from bert_data.formats.summed_file import ManifestFile
from bert_data.storage import (
    JsonObject,
    OutputNames,
    expand_outputs,
    hidden_path,
    is_remote,
    list_folder,
    refuse_existing,
    refuse_inputs,
)
from bert_data.work import (
    Executor,
    FolderTask,
    count_workers,
    fingerprint,
    open_executor,
    open_work_folder,
    read_report,
    run_tasks,
)

_PROCESS_BYTES = 256 << 20  # of samples: fewer are written before a process has started


@dataclasses.dataclass(frozen=True, kw_only=True)
class SampleExportConfig:
    """Configuration of `export_samples`.

    Attributes:
      output_file: comma-separated names, or path@N; see `bert_data.storage.expand_outputs`.
      output_format: one of `formats.registry.format_names()`.
      overwrite: whether to replace existing files.
      num_workers: >= 0, threads in all; 0: all cores. The files do not depend on it, nor on the
        next one.
      num_processes: >= 1. So many shards are written at a time, each in its own process with its
        share of the threads. More than one process needs a program whose main module can be
        imported (`if __name__ == "__main__"`).
    """

    output_file: str
    output_format: str = TFRECORD
    overwrite: bool = False
    num_workers: int = 0
    num_processes: int = 1

    def __post_init__(self) -> None:
        find_format(self.output_format, output_file=self.output_file)
        expand_outputs(self.output_file)
        count_workers(self.num_workers)
        if self.num_processes < 1:
            raise ValueError(f"num_processes is {self.num_processes}; it must be 1 or more")


def check_export(dataset: SampleSet, config: SampleExportConfig) -> OutputNames:
    """Return the names of the shards, before any is written.

    Raises:
      ValueError: there are more shards than samples, they are in several folders, or one is an
        input.
      OSError: one exists already.
    """
    names = expand_outputs(config.output_file)
    if len({os.path.dirname(path) for path in names.paths}) > 1:
        raise ValueError(f"output_file is {config.output_file!r}; the shards must be in one folder")
    if len(names.paths) > len(dataset):
        raise ValueError(
            f"{config.output_file}: {len(names.paths):,} shards for {len(dataset):,} samples; there"
            " must be no more shards than samples"
        )
    refuse_inputs(names.paths, _inputs_of(dataset))
    refuse_existing(names.paths, overwrite=config.overwrite)
    return names


@dataclasses.dataclass(frozen=True, kw_only=True)
class WrittenSamples:
    """A set whose shards are complete and still have hidden names.

    Attributes:
      files: what the manifest says about each shard.
      commit: gives all files their final names.
    """

    files: tuple[ManifestFile, ...]
    commit: Callable[[], None]


def export_samples(
    dataset: SampleSet, config: SampleExportConfig, *, made_from: Mapping[str, Any] | None = None
) -> tuple[ManifestFile, ...]:
    """Write all samples of a data set; see `write_samples`.

    Returns:
      What the manifest says about each shard.
    """
    with write_samples(dataset, config, made_from=made_from) as written:
        written.commit()
    return written.files


@contextlib.contextmanager
def write_samples(
    dataset: SampleSet, config: SampleExportConfig, *, made_from: Mapping[str, Any] | None = None
) -> Iterator[WrittenSamples]:
    """Write all samples of a data set, which appear when `commit` is called within the block.

    Args:
      dataset: a `GptDataset` or `BlendedDataset`.
      config: where to write them.
      made_from: JSON for the manifest, in addition to the configuration of the data set.

    Raises:
      ValueError: there are more shards than samples, or they are in several folders.
      OSError: a file exists, or cannot be written.
      CorruptDataError: an index or a store is damaged.
    """
    names = check_export(dataset, config)
    manifest = SampleManifest(description=_describe(dataset, config, made_from or {}))
    num_workers = count_workers(config.num_workers)
    worth = len(dataset) * sample_bytes(dataset) // _PROCESS_BYTES
    num_processes = max(1, min(config.num_processes, num_workers, len(names.paths), worth))
    with open_record_set(
        config.output_file,
        inputs=_inputs_of(dataset),
        has_indexes=find_format(config.output_format).has_index,
        overwrite=config.overwrite,
        work_dir=None,
    ) as record_set:
        work_dir = record_set.outputs.work_dir
        description = json.loads(manifest.to_json())
        del description["files"]
        writing = SampleWriting(
            dataset=dataset,
            snapshot=work_dir,
            output_format=config.output_format,
            description=description,
            num_shards=len(names.paths),
            num_threads=num_workers // num_processes,
        )
        snapshot = take_snapshot(dataset)
        if num_processes > 1:
            snapshot.save(work_dir)
        work = [writing.depends_on(snapshot), [os.path.abspath(path) for path in names.paths]]
        # Finished shards of a remote set are local, and do not outlast the run.
        parent = work_dir if is_remote(names.name) else hidden_path(names.name, "samples")
        with (
            open_work_folder(
                parent,
                fingerprint(work),
                is_own=True,
                useless_after=(CorruptDataError,),
            ) as folder,
            open_executor(num_processes) as executor,
        ):
            files = _write_shards(record_set, writing, os.path.join(folder, "shards"), executor)
            whole = dataclasses.replace(manifest, files=files)
            yield WrittenSamples(files=files, commit=lambda: record_set.commit(whole))


def _inputs_of(dataset: SampleSet) -> list[str]:
    """Return the files of the stores, and of the folder that keeps the indices."""
    folder = dataset.config.cache_dir
    indices = [] if folder is None else [os.path.join(folder, n) for n in list_folder(folder)]
    return [*dataset.paths, *indices]


def _write_shards(
    record_set: RecordSet, writing: SampleWriting, folder: str, executor: Executor
) -> tuple[ManifestFile, ...]:
    """Write the shards that the folder does not hold yet, and add all of them to the set."""
    task = FolderTask(parent=folder, function=functools.partial(write_shard, writing))
    shards = [SampleShard(number, path) for number, path in enumerate(record_set.paths)]
    done = run_tasks("build_samples", task, shards, executor)
    files = []
    for number, (shard_folder, _) in enumerate(done):
        report = JsonObject(read_report(shard_folder), shard_folder)
        files.append(parse_file(report))
        own_index = record_set.index_paths[number : number + 1]
        for path in (record_set.paths[number], *own_index):
            record_set.outputs.link_in(path, os.path.join(shard_folder, os.path.basename(path)))
    return tuple(files)


def _describe(
    dataset: SampleSet, config: SampleExportConfig, made_from: Mapping[str, Any]
) -> dict[str, Any]:
    """Return what the manifest says about all files together."""
    settings = dataclasses.asdict(dataset.config)
    del settings["cache_dir"], settings["verify"]
    return {
        "output_format": config.output_format,
        "split_name": dataset.split,
        "num_samples": len(dataset),
        **settings,
        **made_from,
    }
