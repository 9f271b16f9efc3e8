"""The files of one set of records: shards, an index beside each, a manifest in each folder.

with open_record_set("train@2", inputs=[...], overwrite=False, work_dir=None) as record_set:
    record_set.outputs.open(record_set.paths[0]) ...        under hidden names
    record_set.commit(manifest)                             all of them appear, the manifests last
"""

import contextlib
import dataclasses
import os
from collections.abc import Iterator, Sequence
from typing import Any

from bert_data.datasets.manifest import (
    FORMAT,
    SAMPLES_FORMAT,
    Manifest,
    SampleManifest,
    is_sidecar,
    list_manifests,
    listed_shards,
    manifest_path,
)
from bert_data.datasets.writing import ShardFiles
from bert_data.formats.tfrecord import index_path
from bert_data.storage import OutputNames, OutputSet, expand_outputs, naming


@dataclasses.dataclass(frozen=True, kw_only=True)
class RecordSet:
    """A set that is being written.

    Attributes:
      paths: of the shards, in the order in which records are dealt to them.
      index_paths: of their indexes; () for a format without.
      manifest_paths: one in each folder of shards, the first shard's folder last.
    """

    paths: tuple[str, ...]
    index_paths: tuple[str, ...]
    manifest_paths: Sequence[str]
    outputs: OutputSet

    @property
    def shards(self) -> ShardFiles:
        """The shards, to be written under hidden names."""
        return ShardFiles(self.paths, self.outputs.open)

    def commit(self, manifest: Manifest | SampleManifest) -> None:
        """Write the manifests and give all files their final names; see `commit_sets`."""
        commit_sets([self], [manifest])

    def link_shard(self, number: int, folder: str) -> None:
        """Add a shard, and its index, from the folder of the task that wrote them."""
        for path in (self.paths[number], *self.index_paths[number : number + 1]):
            self.outputs.link_in(path, os.path.join(folder, os.path.basename(path)))

    def manifest_texts(self, manifest: Manifest | SampleManifest) -> Iterator[tuple[str, bytes]]:
        """Yield the path of the manifest in each folder of shards, and its text."""
        for path in self.manifest_paths:
            pairs = zip(manifest.files, self.paths, strict=True)
            folder = os.path.dirname(path)
            files = tuple(file for file, shard in pairs if os.path.dirname(shard) == folder)
            yield path, dataclasses.replace(manifest, files=files).to_json().encode()


def commit_sets(
    record_sets: Sequence[RecordSet], manifests: Sequence[Manifest | SampleManifest]
) -> None:
    """Write the manifests of sets of one `OutputSet`, and give all files their final names.

    Files of earlier sets of the same names that these do not replace, and manifests that would be
    untrue now, are removed. A manifest's files are in the order of its set's `paths`.
    """
    outputs = record_sets[0].outputs
    for record_set, manifest in zip(record_sets, manifests, strict=True):
        for path, text in record_set.manifest_texts(manifest):
            with outputs.open(path) as file:
                file.write(text)
    outputs.commit(
        [path for each in record_sets for path in (*each.paths, *each.index_paths)],
        [path for each in record_sets for path in each.manifest_paths],
    )


@contextlib.contextmanager
def open_record_set(output_file: str, **settings: Any) -> Iterator[RecordSet]:
    """Begin one set, named as `bert_data.storage.expand_outputs` says; see `open_record_sets`."""
    with open_record_sets([expand_outputs(output_file)], **settings) as (record_set,):
        yield record_set


@contextlib.contextmanager
def open_record_sets(
    names: Sequence[OutputNames],
    *,
    inputs: Sequence[str],
    overwrite: bool,
    work_dir: str | None,
    has_indexes: bool = True,
) -> Iterator[list[RecordSet]]:
    """Begin sets that appear together; leaving the block without a commit removes what is written.

    Args:
      names: of the shards of each set.
      inputs: files that are read, which the sets must not replace.
      work_dir: folder for what spills to disk; None: the folder of the first shard.
      has_indexes: whether an index lies beside each shard.

    Raises:
      ValueError: an output is an input, or has the name of another one.
      OSError: a file exists, or cannot be written.
    """
    shards = [path for each in names for path in each.paths]
    for path in filter(is_sidecar, shards):  # no pattern of a reader would match it
        raise ValueError(f"output {path!r} has the name of a set's index or manifest")
    manifests = [_manifest_paths(each) for each in names]
    indexes = [tuple(map(index_path, each.paths)) if has_indexes else () for each in names]
    all_indexes = [path for paths in indexes for path in paths]
    all_manifests = [path for paths in manifests for path in paths]
    with (
        OutputSet(
            names[0].name,
            [*shards, *all_indexes, *all_manifests],
            reads=inputs,
            overwrite=overwrite,
            work_dir=work_dir,
            obsolete=lambda: _obsolete(all_manifests, shards, all_indexes),
        ) as outputs,
        naming(outputs.work_dir),
    ):
        yield [
            RecordSet(paths=each.paths, index_paths=index, manifest_paths=paths, outputs=outputs)
            for each, index, paths in zip(names, indexes, manifests, strict=True)
        ]


def _manifest_paths(names: OutputNames) -> list[str]:
    """Return a manifest's path in each folder of shards, the first shard's folder last."""
    folders = dict.fromkeys(os.path.dirname(path) for path in names.paths)
    name = os.path.basename(names.name)
    return [manifest_path(os.path.join(folder, name)) for folder in reversed(folders)]


def _obsolete(manifests: Sequence[str], shards: Sequence[str], indexes: Sequence[str]) -> list[str]:
    """Return the files that the new set makes untrue or superfluous.

    These are the shards and indexes of the earlier set of the same name that it does not replace,
    indexes of shards that it replaces by shards without, and manifests of other sets that list a
    shard that it replaces.
    """
    new_paths = {*shards, *indexes}
    obsolete = dict.fromkeys(name for name in map(index_path, shards) if name not in new_paths)
    for folder in dict.fromkeys(os.path.dirname(path) for path in shards):
        for path in list_manifests(folder, (FORMAT, SAMPLES_FORMAT)):
            earlier = listed_shards(path)
            if path in manifests:
                earlier_paths = [name for shard in earlier for name in (shard, index_path(shard))]
                obsolete |= dict.fromkeys(name for name in earlier_paths if name not in new_paths)
            elif not new_paths.isdisjoint(earlier):
                obsolete[path] = None
    return list(obsolete)
