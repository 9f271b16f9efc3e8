"""The files of one set of records: shards, an index beside each, a manifest in each folder.

with open_record_set("train@2", inputs=[...], overwrite=False, work_dir=None) as record_set:
    record_set.outputs.open(record_set.paths[0]) ...        under hidden names
    record_set.commit(manifest)                             all of them appear, the manifests last
"""

import contextlib
import dataclasses
import os
from collections.abc import Iterator, Sequence

from bert_data.datasets.manifest import (
    FORMAT,
    SAMPLES_FORMAT,
    Manifest,
    SampleManifest,
    list_manifests,
    listed_shards,
    manifest_path,
)
from bert_data.formats.index import index_path
from bert_data.storage import OutputSet, expand_outputs, naming


@dataclasses.dataclass(frozen=True, kw_only=True)
class RecordSet:
    """A set that is being written.

    Attributes:
      paths: of the shards, in the order in which records are dealt to them.
      index_paths: of their indexes; () for a format without.
      manifest_paths: one in each folder of shards, the first shard's folder last.
      outputs: where its files are written.
    """

    paths: tuple[str, ...]
    index_paths: tuple[str, ...]
    manifest_paths: Sequence[str]
    outputs: OutputSet

    def commit(self, manifest: Manifest | SampleManifest) -> None:
        """Write the manifests and give all files their final names.

        Shards and indexes must have been written. Files of an earlier set of the same name that
        this one does not replace, and manifests that would be untrue now, are removed.

        Args:
          manifest: its files are in the order of `paths`.
        """
        for path in self.manifest_paths:
            pairs = zip(manifest.files, self.paths, strict=True)
            folder = os.path.dirname(path)
            files = tuple(file for file, shard in pairs if os.path.dirname(shard) == folder)
            with self.outputs.open(path) as file:
                file.write(dataclasses.replace(manifest, files=files).to_json().encode())
        self.outputs.commit([*self.paths, *self.index_paths], self.manifest_paths)


@contextlib.contextmanager
def open_record_set(
    output_file: str,
    *,
    inputs: Sequence[str],
    overwrite: bool,
    work_dir: str | None,
    has_indexes: bool = True,
) -> Iterator[RecordSet]:
    """Begin a set; leaving the block without `commit` removes everything written.

    Args:
      output_file: names of the shards, see `bert_data.storage.expand_outputs`.
      inputs: files that are read, which the set must not replace.
      overwrite: whether to replace existing files.
      work_dir: folder for what spills to disk; None: the folder of the first shard.
      has_indexes: whether an index lies beside each shard.

    Raises:
      ValueError: the names are malformed, or one of them is an input.
      OSError: a file exists, or cannot be written.
    """
    names = expand_outputs(output_file)
    # One manifest in each folder of shards, the first shard's folder last.
    folders = dict.fromkeys(os.path.dirname(path) for path in names.paths)
    name = os.path.basename(names.name)
    manifests = [manifest_path(os.path.join(folder, name)) for folder in reversed(folders)]
    indexes = tuple(map(index_path, names.paths)) if has_indexes else ()
    with (
        OutputSet(
            names.name,
            [*names.paths, *indexes, *manifests],
            reads=inputs,
            overwrite=overwrite,
            work_dir=work_dir,
            obsolete=lambda: _obsolete(manifests, names.paths, indexes),
        ) as outputs,
        naming(outputs.work_dir),
    ):
        yield RecordSet(
            paths=names.paths, index_paths=indexes, manifest_paths=manifests, outputs=outputs
        )


def _obsolete(manifests: Sequence[str], shards: Sequence[str], indexes: Sequence[str]) -> list[str]:
    """Return the files that the new set makes untrue or superfluous.

    These are the shards and indexes of the earlier set of the same name that it does not replace,
    indexes of shards that it replaces by shards without, and manifests of other sets that list a
    shard that it replaces.
    """
    kept = {*shards, *indexes}
    obsolete = [name for name in map(index_path, shards) if name not in kept]
    for folder in dict.fromkeys(os.path.dirname(path) for path in shards):
        for path in list_manifests(folder, (FORMAT, SAMPLES_FORMAT)):
            earlier = listed_shards(path)
            if path in manifests:
                left = [name for shard in earlier for name in (shard, index_path(shard))]
                obsolete += [name for name in left if name not in kept and name not in obsolete]
            elif not kept.isdisjoint(earlier):
                obsolete.append(path)
    return obsolete
