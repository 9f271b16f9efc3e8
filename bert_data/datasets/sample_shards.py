"""One shard of GPT samples: the task that `bert_data.datasets.samples` runs for each.

    OutputShard 0 of "train@2"  --write_samples-->  train-00000-of-00002, its index    in a folder

It is picklable: another process opens the data set again, from a snapshot and the token stores.
"""

import dataclasses
import functools
import json
import os
from typing import Any

from bert_data.causal.gathering import SampleBatch
from bert_data.causal.gpt import SampleSet, open_snapshot, take_snapshot
from bert_data.datasets.manifest import SampleManifest
from bert_data.datasets.writing import OutputShard, write_shard
from bert_data.formats.registry import PARQUET, WriterSettings, find_format
from bert_data.schema.columns import Column, ColumnBatch
from bert_data.schema.fields import GPT_SAMPLES
from bert_data.storage import OutputNames, absolute_path
from bert_data.work import Filled, FolderTask

_CHUNK_BYTES = 4 << 20  # of samples that are encoded at once
_ROW_GROUP_BYTES = 32 << 20


@dataclasses.dataclass(frozen=True, kw_only=True)
class SampleWriting:
    """What the tasks of a set have in common.

    Attributes:
      dataset: the samples; in another process that of the snapshot.
      manifest: of the set, without its files.
      snapshot: folder of the data set's snapshot, if there are other processes.
      num_threads: that encode samples in each process.
    """

    dataset: SampleSet
    names: OutputNames
    manifest: SampleManifest
    output_format: str
    snapshot: str = ""
    num_threads: int = 1

    @property
    def description(self) -> dict[str, Any]:
        """What made the shards; JSON."""
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
            "row_group_bytes": _ROW_GROUP_BYTES,
            "num_shards": len(self.names.paths),
            "stores": [store.identity for store in self.dataset.stores],
            "arrays": take_snapshot(self.dataset).arrays_sha256(),
        }
        return [contents, [absolute_path(path) for path in self.names.paths]]

    def task(self, folder: str) -> FolderTask:
        """Return the task of a shard, whose folder will be in a folder of the split."""
        parent = os.path.join(folder, self.dataset.split)
        return FolderTask(parent=parent, function=functools.partial(write_samples, self))

    def __getstate__(self) -> dict[str, Any]:
        return {**vars(self), "dataset": None}

    def __setstate__(self, state: dict[str, Any]) -> None:
        vars(self).update(state, dataset=open_snapshot(state["snapshot"]))


def write_samples(writing: SampleWriting, shard: OutputShard, folder: str) -> Filled:
    """Write a shard, and its index, into a folder; return what the manifest says about it."""
    dataset = writing.dataset
    # A row group is a batch.
    settings = WriterSettings(manifest=writing.description, group_records=1)
    writer = find_format(writing.output_format).make(GPT_SAMPLES, settings)
    samples = range(shard.number, len(dataset), len(writing.names.paths))
    chunk_bytes = _ROW_GROUP_BYTES if writing.output_format == PARQUET else _CHUNK_BYTES
    size = max(1, chunk_bytes // sample_bytes(dataset))
    chunks = [samples[start : start + size] for start in range(0, len(samples), size)]

    def encode(numbers: range) -> tuple[int, Any]:
        return len(numbers), writer.encode(columns_of(dataset.batch(numbers)))

    num_threads = writing.num_threads
    written = write_shard(
        shard.path, folder, writer, chunks, encode, len(samples), num_threads, unit="sample"
    )
    return Filled(dataclasses.asdict(written), written.sums)


def sample_bytes(dataset: SampleSet) -> int:
    """Return the memory of a sample."""
    return 4 * len(SampleBatch._fields) * dataset.config.seq_length


def columns_of(batch: SampleBatch) -> ColumnBatch:
    """Return samples as columns that share their memory."""
    columns = {name: Column(values) for name, values in batch._asdict().items()}
    return ColumnBatch(kind=GPT_SAMPLES, columns=columns)
