"""The files of one set of records: shards, an index beside each, a manifest in each folder.

with open_record_set("train@2", inputs=[...], overwrite=False, work_dir=None) as record_set:
    record_set.outputs.open(record_set.paths[0]) ...        under hidden names
    record_set.commit(manifest)                             all of them appear, the manifests last

Shards are written by one of two ways:

    chunks --encode, in workers--> bytes, or rows --in order--> shards, one after the other

    chunks of shard 0 --encode, add--> shard 0      for formats in which adding takes the time,
    chunks of shard 1 --encode, add--> shard 1      several shards at a time, each by a worker

A chunk is a run of records of one shard, and depends only on the records; workers only decide who
encodes which chunk.
"""

import contextlib
import dataclasses
import functools
import itertools
import os
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import AbstractContextManager
from typing import IO, Any, NamedTuple

from bert_data.progress import progress
from bert_data.records.formats.manifest_file import ManifestFile
from bert_data.records.formats.registry import OpenShard, ShardWriter
from bert_data.records.formats.tfrecord import index_path
from bert_data.records.sets.manifest import (
    FORMAT,
    SAMPLES_FORMAT,
    Manifest,
    SampleManifest,
    is_sidecar,
    list_manifests,
    listed_shards,
    manifest_path,
)
from bert_data.storage import OutputNames, OutputSet, expand_outputs, naming, refuse_undecodable
from bert_data.text.without import not_found_path
from bert_data.work import Executor
from bert_data.work.work_folder import note_commit


class Chunk(NamedTuple):
    """Records of one shard.

    Attributes:
      item: the argument of `encode`.
      turn: number of its `Turn`, when several shards are written at a time.
    """

    shard: int
    num_records: int
    item: Any
    turn: int = 0


class Turn(NamedTuple):
    """Records `start` to `end`, exclusive, of a shard."""

    shard: int
    start: int
    end: int


def take_turns(
    num_records: int, num_shards: int, *, num_open: int, turn_size: int
) -> Iterator[Turn]:
    """Yield the order in which to write the records of a set, several shards at a time.

        8 records, 3 shards, 2 of them at a time, 2 records per turn
          ->  0: 0 1   1: 0 1   0: 2   1: 2   2: 0 1

    Args:
      num_records: of the set; record i is number i // num_shards of shard i mod num_shards.
      num_open: shards that are written at a time, >= 1.
      turn_size: consecutive records of one shard, >= 1.
    """
    sizes = [len(range(shard, num_records, num_shards)) for shard in range(num_shards)]
    for first in range(0, num_shards, num_open):
        shards = range(first, min(first + num_open, num_shards))
        for start in range(0, sizes[first], turn_size):  # no shard after it has more records
            for shard in shards:
                end = min(start + turn_size, sizes[shard])
                if start < end:
                    yield Turn(shard, start, end)


class ShardFiles(NamedTuple):
    """The shards to write: their final paths, and what opens a path, of a shard or its index."""

    paths: Sequence[str]
    open: Callable[[str], AbstractContextManager[IO[bytes]]]


def write_shards(
    files: ShardFiles,
    writer: ShardWriter,
    chunks: Iterable[Chunk],
    encode: Callable[[Any], Any],
    *,
    num_records: int,
    num_open: int = 1,
    executor: Executor,
) -> tuple[ManifestFile, ...]:
    """Write shards to which records are dealt in turn; return their entries in the manifest.

    Args:
      files: of the shards; record i goes to shard i mod their number.
      chunks: in the order of `take_turns`.
      encode: turns a chunk's item into what the writer's shards add; called in workers.
      num_open: shards that are written at a time; if more than one, workers also add what they have
        encoded.
      executor: its workers share memory. The files do not depend on it.
    """
    num_shards = len(files.paths)
    sizes = [len(range(shard, num_records, num_shards)) for shard in range(num_shards)]
    write = _write_in_order if num_open == 1 else functools.partial(_write_together, num_open)
    with progress("write records", total=num_records, unit="record") as advance:
        return tuple(write(files, writer, sizes, chunks, encode, executor, advance))


def _write_in_order(
    files: ShardFiles,
    writer: ShardWriter,
    sizes: Sequence[int],
    chunks: Iterable[Chunk],
    encode: Callable[[Any], Any],
    executor: Executor,
    advance: Callable[[int], None],
) -> Iterator[ManifestFile]:
    """Write one shard after the other, of chunks that workers encode."""

    def encode_chunk(chunk: Chunk) -> tuple[int, Any]:
        return chunk.num_records, encode(chunk.item)

    encoded = executor.ordered_map(encode_chunk, chunks)
    for path, left in zip(files.paths, sizes, strict=True):
        with writer.open_shard(files.open, path, left) as shard:
            while left:
                num_records, records = next(encoded)
                shard.add(records)
                left -= num_records
                advance(num_records)
            yield shard.finish()


def _write_together(
    num_open: int,
    files: ShardFiles,
    writer: ShardWriter,
    sizes: Sequence[int],
    chunks: Iterable[Chunk],
    encode: Callable[[Any], Any],
    executor: Executor,
    advance: Callable[[int], None],
) -> Iterator[ManifestFile]:
    """Write several shards at a time: a worker encodes and adds the chunks of a shard's turn."""

    def write_turn(turn: tuple[OpenShard, Sequence[Chunk]]) -> None:
        shard, chunks_of_turn = turn
        for chunk in chunks_of_turn:
            shard.add(encode(chunk.item))

    turns = (list(turn) for _, turn in itertools.groupby(chunks, key=lambda chunk: chunk.turn))
    for first in range(0, len(sizes), num_open):
        left = dict(enumerate(sizes[first : first + num_open], first))
        with contextlib.ExitStack() as stack:
            shards = {
                number: stack.enter_context(
                    writer.open_shard(files.open, files.paths[number], size)
                )
                for number, size in left.items()
            }
            while any(left.values()):
                together = list(itertools.islice(turns, sum(map(bool, left.values()))))
                ready = [(shards[turn[0].shard], turn) for turn in together]
                for turn, _ in zip(together, executor.ordered_map(write_turn, ready), strict=True):
                    num_records = sum(chunk.num_records for chunk in turn)
                    left[turn[0].shard] -= num_records
                    advance(num_records)
            for shard in shards.values():
                yield shard.finish()


@dataclasses.dataclass(frozen=True, kw_only=True)
class RecordSet:
    """A set that is being written.

    Attributes:
      paths: of the shards, in the order in which records are dealt to them.
      index_paths: of their indexes; () for a format without.
      manifest_paths: one in each folder of shards, the first shard's folder last.
      beside: more files of the set.
    """

    paths: tuple[str, ...]
    index_paths: tuple[str, ...]
    manifest_paths: Sequence[str]
    beside: tuple[str, ...] = ()
    outputs: OutputSet

    @property
    def shards(self) -> ShardFiles:
        """The shards, to be written under hidden names."""
        return ShardFiles(self.paths, self.outputs.open)

    def commit(
        self, manifest: Manifest | SampleManifest, *, work_folder: str | None = None
    ) -> None:
        """Write the manifests and give all files their final names; see `commit_sets`."""
        commit_sets([self], [manifest], work_folder=work_folder)

    def link_shard(self, number: int, folder: str) -> None:
        """Add a shard and its index from the folder of the task that wrote them."""
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
    record_sets: Sequence[RecordSet],
    manifests: Sequence[Manifest | SampleManifest],
    *,
    work_folder: str | None = None,
) -> None:
    """Write the manifests of sets of one `OutputSet`, and give all files their final names.

    Files of earlier sets of the same names that these do not replace, and manifests that would be
    untrue now, are removed. A manifest's files are in the order of its set's `paths`.

    Args:
      work_folder: in which the commit is noted, see `has_committed`.
    """
    outputs = record_sets[0].outputs
    for record_set, manifest in zip(record_sets, manifests, strict=True):
        for path, text in record_set.manifest_texts(manifest):
            with outputs.open(path) as file:
                file.write(text)
    if work_folder is not None:
        note_commit(work_folder, text)
    outputs.commit(
        [p for each in record_sets for p in (*each.paths, *each.index_paths, *each.beside)],
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
    beside: Sequence[str] = (),
) -> Iterator[list[RecordSet]]:
    """Begin sets that appear together; leaving the block without a commit removes what is written.

    Args:
      inputs: files that are read, which the sets must not replace.
      work_dir: folder for what spills to disk; None: the folder of the first shard.
      has_indexes: whether an index lies beside each shard.
      beside: more files of the first set.
    """
    shards = [path for each in names for path in each.paths]
    for path in shards:
        refuse_undecodable("output", os.path.basename(path))  # the manifest names it
    for path in filter(is_sidecar, shards):  # no pattern of a reader would match it
        raise ValueError(f"output {path!r} has the name of a set's index or manifest")
    manifests = [_manifest_paths(each) for each in names]
    indexes = [tuple(map(index_path, each.paths)) if has_indexes else () for each in names]
    all_indexes = [path for paths in indexes for path in paths]
    all_manifests = [path for paths in manifests for path in paths]
    with (
        OutputSet(
            names[0].name,
            [*shards, *all_indexes, *beside, *all_manifests],
            reads=inputs,
            overwrite=overwrite,
            work_dir=work_dir,
            obsolete=lambda: [
                *_obsolete(all_manifests, shards, all_indexes),
                *(not_found_path(each.name) for each in names),
            ],
        ) as outputs,
        naming(outputs.work_dir),
    ):
        yield [
            RecordSet(
                paths=each.paths,
                index_paths=own,
                manifest_paths=paths,
                beside=() if number else tuple(beside),
                outputs=outputs,
            )
            for number, (each, own, paths) in enumerate(zip(names, indexes, manifests, strict=True))
        ]


def _manifest_paths(names: OutputNames) -> list[str]:
    """Return a manifest's path in each folder of shards, the first shard's folder last."""
    folders = dict.fromkeys(os.path.dirname(path) for path in names.paths)
    name = os.path.basename(names.name)
    return [manifest_path(os.path.join(folder, name)) for folder in reversed(folders)]


def _obsolete(manifests: Sequence[str], shards: Sequence[str], indexes: Sequence[str]) -> list[str]:
    """Return the files that the new set makes untrue or superfluous.

    These are the files of the earlier set of the same name that it does not replace, indexes of
    shards that it replaces by shards without, and manifests of other sets that list a shard that it
    replaces.
    """
    new_paths = {*shards, *indexes}
    obsolete = dict.fromkeys(path for path in map(index_path, shards) if path not in new_paths)
    for folder in dict.fromkeys(os.path.dirname(path) for path in shards):
        for path in list_manifests(folder, (FORMAT, SAMPLES_FORMAT)):
            earlier = listed_shards(path)
            if path in manifests:
                earlier_paths = [name for shard in earlier for name in (shard, index_path(shard))]
                obsolete |= dict.fromkeys(name for name in earlier_paths if name not in new_paths)
            elif not new_paths.isdisjoint(earlier):
                obsolete[path] = None
    return list(obsolete)
