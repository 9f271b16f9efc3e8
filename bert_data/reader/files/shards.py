"""Find the shards that patterns name, and what each should hold.

    "data/train-*"  ->  Shard(data/train-00000-of-00002, gzip? Parquet? records by index, manifest)
                        Shard(data/train-00001-of-00002, ...)

An index or a manifest that matches a pattern like data/* is dropped. Local files and URIs (see
`bert_data.storage`) are alike; several threads look at remote ones.
"""

import dataclasses
import errno
import functools
import os
import re
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from typing import TypeVar

from absl import logging

from bert_data import storage
from bert_data.errors import CorruptDataError
from bert_data.kernels.crc32c import is_frame
from bert_data.progress import how_many
from bert_data.reader.config import ReaderConfig
from bert_data.reader.examples.frames import HEADER_BYTES
from bert_data.reader.files.parquet_shards import PARQUET_MAGIC, look_inside
from bert_data.reader.files.record_source import Damage
from bert_data.records.choices import RAGGED
from bert_data.records.fields import RecordKind, masked_lm_records
from bert_data.records.formats import registry
from bert_data.records.formats.tfrecord import index_path, read_index_file
from bert_data.records.objectives import NSP, Objective, find_objective
from bert_data.records.sets.manifest import (
    Manifest,
    find_manifest,
    is_sidecar,
    list_manifests,
    read_manifest,
)
from bert_data.storage import is_remote
from bert_data.tokens.store import INDEX_MAGIC
from bert_data.tokens.store_files import expand_store, store_paths
from bert_data.work.executor import Threads

Item = TypeVar("Item")
Result = TypeVar("Result")

_NUM_THREADS = 16


def map_files(
    function: Callable[[Item], Result], items: Sequence[Item], paths: Sequence[str]
) -> Iterator[Result]:
    """Yield what a function returns for each item, in order; threads wait for remote files."""
    if not any(map(is_remote, paths)):
        yield from map(function, items)
        return
    with Threads(_NUM_THREADS) as executor:
        yield from executor.ordered_map(function, items)


_GZIP_MAGIC = b"\x1f\x8b"
_OF_STORES = (".bin", ".idx")
_NUMBERED = re.compile(r"(?P<set>.+)-(?P<number>\d{5})-of-(?P<count>\d{5})")


@dataclasses.dataclass(frozen=True, kw_only=True)
class Shard:
    """One file of records.

    Attributes:
      manifest: the one that lists it, or that it contains, if any.
      num_records: records that it must hold by its index or manifest, or by a Parquet file's
        footer; None if unknown.
      expected_bytes: size that it must have by its manifest or index; None if unknown.
    """

    path: str
    num_bytes: int
    is_gzip: bool
    is_parquet: bool = False
    manifest: Manifest | None = None
    num_records: int | None = None
    expected_bytes: int | None = None
    objective: Objective = NSP

    @property
    def special_tokens(self) -> Mapping[str, str]:
        """Special tokens that were named when the records were made, by role."""
        return {} if self.manifest is None else self.manifest.flags.get("special_tokens", {})

    @property
    def kind(self) -> RecordKind:
        """The fields that its records must have, if they are of masked language modelling."""
        kind = masked_lm_records(RAGGED, sentence_field=self.objective.label)
        return kind.in_parquet() if self.is_parquet else kind


def find_shards(config: ReaderConfig, damage: Damage | None = None) -> tuple[Shard, ...]:
    """Find the shards that the patterns name: each pattern's matches sorted, each file once.

    Logs a warning if other shards of the same sets are missing.

    Args:
      config: with the patterns; with skip_corrupt, damaged indexes are ignored.
      damage: counts indexes and manifests that are damaged, which are then ignored; None raises the
        damage.
    """
    faults = damage or Damage(skip=False)
    paths: dict[str, None] = {}
    for pattern in config.patterns:
        paths.update(dict.fromkeys(_matches(pattern)))
    manifests = _Manifests()
    shards = tuple(
        _with_objective(_add_details(shard, manifests, faults, config.skip_corrupt), config)
        for shard in map_files(_describe, list(paths), list(paths))
    )
    _look_for_others(paths, manifests.of_shard, config, must_be_whole=damage is None)
    _refuse_order_of_parquet(shards, config)
    return shards


def _refuse_order_of_parquet(shards: Sequence[Shard], config: ReaderConfig) -> None:
    path = next((shard.path for shard in shards if shard.is_parquet), None)
    if path is not None and (config.shuffle or config.is_planned):
        asked = f"batching is {config.batching}" if config.is_planned else "shuffle is True"
        raise ValueError(
            f"{asked}, but {path} is Parquet, whose rows are read in order; for batches in another"
            " order write TFRecord (`output_format=tfrecord`), or train by a recipe"
        )


def _look_for_others(
    paths: Collection[str],
    manifests: Mapping[str, Manifest],
    config: ReaderConfig,
    *,
    must_be_whole: bool,
) -> None:
    """Look for the other shards of the sets: those that manifests list, or names promise."""

    def matching(absent: Iterable[str]) -> list[str]:
        patterns = list(map(storage.pattern_of, config.patterns))
        return [path for path in absent if any(storage.matches(each, path) for each in patterns)]

    others = [path for path in manifests if path not in paths]
    are_there = map_files(storage.exists, others, others)
    absent = [path for path, is_there in zip(others, are_there, strict=True) if not is_there]
    lacking = matching(absent)
    if lacking and must_be_whole and not config.skip_corrupt:
        reason = (
            "the manifest of the set lists this file, but it is not there ("
            f"{how_many(len(lacking), 'such file')}; to read only a part of a set, name its files)"
        )
        raise FileNotFoundError(errno.ENOENT, reason, lacking[0])
    if absent:
        records = (manifests[path].by_name[os.path.basename(path)].num_records for path in absent)
        lists = f"with {how_many(sum(records), 'record')} that the manifest of the others lists"
        _tell_absent(tuple(absent), lists)
    if promised := matching(absent_by_name([path for path in paths if path not in manifests])):
        _tell_absent(tuple(promised), "of the set, to judge by the names of the others")


def absent_by_name(paths: Sequence[str]) -> list[str]:
    """Return the missing files of local sets whose files are named NAME-00000-of-00003."""
    named = filter(None, (_NUMBERED.fullmatch(p) for p in paths if not storage.is_remote(p)))
    sets = dict.fromkeys((match["set"], int(match["count"])) for match in named)
    names = [f"{name}-{i:05d}-of-{count:05d}" for name, count in sets for i in range(count)]
    return [name for name in names if not storage.exists(name)]


@functools.cache  # who trains finds them several times
def _tell_absent(paths: Sequence[str], which: str) -> None:
    files = how_many(len(paths), "file")
    logging.warning("missing %s %s; the first: %s", files, which, paths[0])


def _matches(pattern: str) -> list[str]:
    matches = storage.find_files(pattern)
    if matches != [pattern]:
        matches = [path for path in matches if not is_sidecar(path)]
    if not matches or matches[0].endswith(_OF_STORES):
        _refuse_stores(pattern)
    if not matches:
        raise ValueError(storage.describe_absence(pattern))
    return matches


def _refuse_stores(pattern: str) -> None:
    for prefix in expand_store(pattern):
        index = store_paths(prefix)[1]
        if storage.exists(index):
            with storage.open_input(index) as file:
                if file.read(len(INDEX_MAGIC)) == INDEX_MAGIC:
                    raise ValueError(
                        f"{prefix} is a token store, not records; make records of it (bert-data"
                        f" create `input_file={prefix}`), or train by a `recipe` that names it"
                    )


def _describe(path: str) -> Shard:
    """Look at a shard's size and first bytes."""
    status = storage.read_status(path)
    if status is not None and status.is_folder:
        raise IsADirectoryError(f"{path} is a directory, not a shard (name its files: {path}/*)")
    try:
        with storage.open_input(path, buffering=0) as file:
            head = file.read(HEADER_BYTES)
    except OSError as error:
        raise OSError(f"cannot read {path}: {error.strerror or error}") from error
    return Shard(
        path=path,
        num_bytes=0 if status is None else status.num_bytes,
        # The first bytes of other files may be a record's length, too.
        is_gzip=head.startswith(_GZIP_MAGIC) and not is_frame(head),
        is_parquet=head.startswith(PARQUET_MAGIC) and not is_frame(head),
    )


class _Manifests:
    """The manifests beside shards, read once."""

    def __init__(self) -> None:
        self.of_shard: dict[str, Manifest] = {}
        self._in_folder: dict[str, list[Manifest]] = {}

    def find(self, path: str) -> Manifest | None:
        """Return the manifest that lists a shard, or None; errors are those of `find_manifest`."""
        folder, name = os.path.split(path)
        if path in self.of_shard:
            return self.of_shard[path]
        if folder not in self._in_folder:
            manifest = find_manifest(path)
            if manifest is None:  # so all have been read; the next shard asks for them again
                self._in_folder[folder] = [read_manifest(each) for each in list_manifests(folder)]
        else:
            listing = (each for each in self._in_folder[folder] if name in each.by_name)
            manifest = next(listing, None)
        if manifest is not None:
            self.of_shard |= {os.path.join(folder, file.name): manifest for file in manifest.files}
        return manifest


def _add_details(
    shard: Shard, manifests: _Manifests, damage: Damage, ignores_indexes: bool
) -> Shard:
    """Add what files beside a shard say about it, or else the shard itself."""
    try:
        shard = _compare_beside(shard, manifests, ignores_indexes)
        if not shard.is_parquet or shard.manifest is not None:
            return shard
        if (inside := look_inside(shard.path)) is None:  # it is damaged
            return shard
        return dataclasses.replace(shard, manifest=inside.manifest, num_records=inside.num_rows)
    except CorruptDataError as error:
        damage.found(error, 0)
        return shard


def _with_objective(shard: Shard, config: ReaderConfig) -> Shard:
    """Add the objective, by the manifest or else the configuration."""
    objective = shard.objective
    if shard.manifest is not None:
        objective = shard.manifest.objective
    elif config.next_sentence is not None:
        objective = find_objective(config.next_sentence)
    return dataclasses.replace(shard, objective=objective)


def _compare_beside(shard: Shard, manifests: _Manifests, ignores_indexes: bool) -> Shard:
    name, manifest = os.path.basename(shard.path), manifests.find(shard.path)
    if manifest is not None:
        file = manifest.by_name[name]
        return dataclasses.replace(
            shard,
            is_parquet=manifest.output_format == registry.PARQUET,
            manifest=manifest,
            num_records=file.num_records,
            expected_bytes=file.num_bytes,
        )
    index_name = index_path(shard.path)
    if shard.is_parquet or not storage.exists(index_name):
        return shard
    try:
        index = read_index_file(index_name)
    except CorruptDataError:
        if not ignores_indexes:
            raise
        return shard  # who reads by number scans it, and says so
    expected_bytes = None if shard.is_gzip else int(index["offset"][-1])
    return dataclasses.replace(shard, num_records=index.size - 1, expected_bytes=expected_bytes)
