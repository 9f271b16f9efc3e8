"""GPT samples as files: TFRecord shards with an index each, or Parquet, and a manifest.

    export_splits([dataset], SampleExportConfig(output_file="train.parquet@2",
                                               output_format="parquet"))
      -> train.parquet-00000-of-00002, train.parquet-00001-of-00002, manifest.train.parquet.json

Sample i goes to shard i modulo their number. Each shard is a task, whose files stay in a hidden
folder beside the set, `.train.parquet.samples` (of a remote set, among the temporary files), until
all files get their final names together: a run that was killed resumes with the missing shards.
"""

import dataclasses
import functools
import json
import os
from collections.abc import Mapping, Sequence
from typing import IO, Any

from bert_data import storage
from bert_data.errors import CorruptDataError
from bert_data.gpt.dataset import SampleSet, open_snapshot, take_snapshot
from bert_data.gpt.gpt_config import SampleExportConfig
from bert_data.gpt.sample_kernels import SampleBatch
from bert_data.progress import progress
from bert_data.records.columns import Column, ColumnBatch
from bert_data.records.fields import GPT_SAMPLES
from bert_data.records.formats.manifest_file import ManifestFile
from bert_data.records.formats.registry import PARQUET, WriterSettings, find_shard_format
from bert_data.records.sets.manifest import SampleManifest, manifest_path
from bert_data.records.sets.record_set import RecordSet, commit_sets, open_record_sets
from bert_data.work import (
    Executor,
    Filled,
    FolderTask,
    fingerprint,
    open_threads,
    open_work,
    run_tasks,
)
from bert_data.work.work_folder import finish_removal, has_committed

SAMPLE_CHUNK_BYTES = 4 << 20  # of samples that are encoded at once
ROW_GROUP_BYTES = 32 << 20
LEAST_PROCESS_BYTES = 256 << 20  # of samples: fewer are written before a process has started
_TASK_BYTES = 500_000_000  # of memory, besides the pages of stores and indices that it maps


@dataclasses.dataclass(frozen=True)
class OutputShard:
    """A shard that a task writes: its number and its final path."""

    number: int
    path: str

    @property
    def task_name(self) -> str:
        """The name of its folder."""
        return f"{self.number:05d}"


@dataclasses.dataclass(frozen=True, kw_only=True)
class SampleWriting:
    """The part that the tasks of a split have in common.

    Attributes:
      dataset: the samples; in another process that of the snapshot.
      manifest: of the set, without its files.
      snapshot: folder of the data set's snapshot, if there are other processes.
      num_threads: that encode samples in each process.
    """

    dataset: SampleSet
    names: storage.OutputNames
    manifest: SampleManifest
    output_format: str
    snapshot: str = ""
    num_threads: int = 1

    @property
    def description(self) -> dict[str, Any]:
        """The settings that made the shards; JSON."""
        description: dict[str, Any] = json.loads(self.manifest.to_json())
        del description["files"]
        return description

    @property
    def shards(self) -> list[OutputShard]:
        """The shards to write."""
        return [OutputShard(*each) for each in enumerate(self.names.paths)]

    def depends_on(self) -> list[Any]:
        """Return all that the files and their names depend on."""
        contents = {
            "manifest": self.description,
            "row_group_bytes": ROW_GROUP_BYTES,
            "num_shards": len(self.names.paths),
            "stores": [store.identity for store in self.dataset.stores],
            "arrays": take_snapshot(self.dataset).arrays_sha256(),
        }
        return [contents, [storage.absolute_path(path) for path in self.names.paths]]

    def __getstate__(self) -> dict[str, Any]:
        return {**vars(self), "dataset": None}

    def __setstate__(self, state: dict[str, Any]) -> None:
        vars(self).update(state, dataset=open_snapshot(state["snapshot"]))


def write_samples(writing: SampleWriting, shard: OutputShard, folder: str) -> Filled:
    """Write a shard, and its index, into a folder; return what the manifest says about it."""
    dataset = writing.dataset
    # A row group is a batch.
    settings = WriterSettings(manifest=writing.description, group_records=1)
    writer = find_shard_format(writing.output_format).make(GPT_SAMPLES, settings)
    samples = range(shard.number, len(dataset), len(writing.names.paths))
    chunk_bytes = ROW_GROUP_BYTES if writing.output_format == PARQUET else SAMPLE_CHUNK_BYTES
    size = max(1, chunk_bytes // sample_bytes(dataset))
    chunks = [samples[start : start + size] for start in range(0, len(samples), size)]

    def encode(numbers: range) -> tuple[int, Any]:
        return len(numbers), writer.encode(columns_of_samples(dataset.batch(numbers)))

    def open_file(final: str) -> IO[bytes]:
        return storage.open_scratch(os.path.join(folder, os.path.basename(final)))

    with (
        open_threads(writing.num_threads) as executor,
        writer.open_shard(open_file, shard.path, len(samples)) as file,
        progress(os.path.basename(shard.path), total=len(samples), unit="sample") as advance,
    ):
        for num_samples, encoded in executor.ordered_map(encode, chunks):
            file.add(encoded)
            advance(num_samples)
        written = file.finish()
    return Filled(dataclasses.asdict(written), written.sums)


def sample_bytes(dataset: SampleSet) -> int:
    """Return the memory of a sample."""
    return 4 * len(SampleBatch._fields) * dataset.config.seq_length


def columns_of_samples(batch: SampleBatch) -> ColumnBatch:
    """Return samples as columns that share their memory."""
    columns = {name: Column(values) for name, values in batch._asdict().items()}
    return ColumnBatch(kind=GPT_SAMPLES, columns=columns)


def export_splits(
    datasets: Sequence[SampleSet],
    config: SampleExportConfig,
    *,
    made_from: Mapping[str, Any] | None = None,
) -> list[tuple[ManifestFile, ...]]:
    """Write all samples of some splits, whose files appear together.

    Args:
      made_from: JSON for the manifests, in addition to the configuration of the data sets.
    """
    writings = [_plan(dataset, config, made_from or {}) for dataset in datasets]
    set_name = writings[0].names.name
    is_cluster = config.engine.is_cluster
    parent = config.work_dir or storage.hidden_work_folder(
        set_name, "samples", is_shared=is_cluster
    )
    work = fingerprint([writing.depends_on() for writing in writings])
    finish_removal(parent, is_own=not config.work_dir)
    was_killed_at_its_end = has_committed(parent, work, manifest_path(writings[-1].names.name))
    num_tasks, num_threads = _share_workers(config, writings)
    with (
        open_record_sets(
            [writing.names for writing in writings],
            inputs=[path for dataset in datasets for path in _inputs_of(dataset)],
            has_indexes=find_shard_format(config.output_format).has_index,
            overwrite=config.overwrite or was_killed_at_its_end,
            work_dir=None,
        ) as record_sets,
        open_work(
            parent,
            work,
            is_own=not config.work_dir,
            keeps_inputs=True,
            num_workers=num_tasks,
            engine=config.engine,
            task_bytes=_TASK_BYTES,
            useless_after=(CorruptDataError,),
        ) as (folder, executor),
    ):
        manifests = []
        for writing, record_set in zip(writings, record_sets, strict=True):
            snapshot = os.path.join(folder, f".snapshot-{writing.dataset.split}")
            if is_cluster or num_tasks > 1:
                with storage.open_folder(snapshot) as snapshot_folder:
                    take_snapshot(writing.dataset).save(snapshot_folder)
            writing = dataclasses.replace(writing, snapshot=snapshot, num_threads=num_threads)
            files = _write_shards(record_set, writing, folder, executor)
            manifests.append(dataclasses.replace(writing.manifest, files=files))
        commit_sets(record_sets, manifests, work_folder=folder)
    return [manifest.files for manifest in manifests]


def _share_workers(
    config: SampleExportConfig, writings: Sequence[SampleWriting]
) -> tuple[int, int]:
    """Return the number of shards to write at a time, 0 for all, and the threads of each."""
    num_workers = config.engine.count_workers(config.num_workers)
    if config.engine.is_cluster:
        return num_workers, 1
    worth = sum(len(each.dataset) * sample_bytes(each.dataset) for each in writings)
    num_shards = sum(len(each.shards) for each in writings)
    most = min(config.num_processes, num_workers, num_shards, worth // LEAST_PROCESS_BYTES)
    num_tasks = max(1, most)
    return num_tasks, num_workers // num_tasks


def _plan(
    dataset: SampleSet, config: SampleExportConfig, made_from: Mapping[str, Any]
) -> SampleWriting:
    output_file = config.output_file.replace("{split}", dataset.split)
    names = storage.expand_outputs(output_file)
    if len({os.path.dirname(path) for path in names.paths}) > 1:
        raise ValueError(f"output_file is {output_file!r}; the shards must be in one folder")
    if len(names.paths) > len(dataset):
        raise ValueError(
            f"{output_file}: {len(names.paths):,} shards for {len(dataset):,} samples; there must"
            " be no more shards than samples"
        )
    return SampleWriting(
        dataset=dataset,
        names=names,
        manifest=SampleManifest(description=_describe(dataset, config, made_from)),
        output_format=config.output_format,
    )


def _inputs_of(dataset: SampleSet) -> list[str]:
    """Return the files of the stores, and of the folder that keeps the indices."""
    folder = dataset.config.cache_dir
    indices = (
        [] if folder is None else [os.path.join(folder, n) for n in storage.list_folder(folder)]
    )
    return [*dataset.paths, *indices]


def _write_shards(
    record_set: RecordSet, writing: SampleWriting, folder: str, executor: Executor
) -> tuple[ManifestFile, ...]:
    """Write the shards that the folder does not hold yet, and add all of them to the set."""
    task = FolderTask(
        parent=os.path.join(folder, writing.dataset.split),
        function=functools.partial(write_samples, writing),
    )
    done = run_tasks("build_samples", task, writing.shards, executor)
    files = []
    with progress("shards", total=len(writing.shards), unit="shard") as advance:
        for number, (made, _) in enumerate(done):
            files.append(ManifestFile(**made.report))
            record_set.link_shard(number, made.folder)
            advance(1)
    return tuple(files)


def _describe(
    dataset: SampleSet, config: SampleExportConfig, made_from: Mapping[str, Any]
) -> dict[str, Any]:
    settings = dataclasses.asdict(dataset.config)
    del settings["cache_dir"], settings["verify"]
    return {
        "output_format": config.output_format,
        "split_name": dataset.split,
        "num_samples": len(dataset),
        **settings,
        **made_from,
    }
