"""Check the files of a set: missing, unlisted and unreadable ones, and records of any kind.

What the records of labelled texts and GPT samples hold is not judged; `inspect` shows it.
"""

import os
from collections.abc import Iterator, Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from bert_data import storage
from bert_data.errors import CorruptDataError
from bert_data.inspection.figures import DAMAGED, DOUBTFUL, Finding
from bert_data.inspection.rules import ShardSettings
from bert_data.inspection.sources.shard_items import walk_blocks
from bert_data.inspection.surveying import FoundDamage, check_bytes, read_local_index
from bert_data.inspection.terminal import first_of
from bert_data.reader.files.shards import Shard, absent_by_name
from bert_data.records.fields import LABELLED
from bert_data.records.formats.manifest_file import ManifestFile
from bert_data.records.formats.registry import find_shard_format
from bert_data.records.formats.tfrecord import index_path
from bert_data.records.sets.manifest import (
    FORMAT,
    MANIFEST_PREFIX,
    SAMPLES_FORMAT,
    ListedFiles,
    list_manifests,
    manifests_beside,
)
from bert_data.storage import read_json
from bert_data.text.parquet import open_parquet


def check_listing(shards: Sequence[Shard], settings: Sequence[ShardSettings]) -> Iterator[Finding]:
    """Compare the shards with what their manifests list; yield what is wrong."""
    for path in _unreadable_manifests(shards):
        sentence = f"{path} is named like the manifest of the set, but is not a manifest"
        yield Finding("damage", DAMAGED, sentence)
    files = {
        os.path.join(os.path.dirname(shard.path), file.name): file
        for shard in {id(shard.manifest): shard for shard in shards}.values()
        for file in (() if shard.manifest is None else shard.manifest.files)
    }
    yield from check_listed(shards, files)
    for path in absent_by_name([shard.path for shard in shards if not _is_listed(shard)]):
        yield Finding(
            "missing", DOUBTFUL, f"{path} is not there, although the names of the others count it"
        )
    for name, lacking, sentence in (
        (
            "no_manifest",
            _without_manifest(shards, settings),
            "no manifest lists %s; nothing shows whether the set is whole",
        ),
        (
            "no_index",
            _without_index(shards),
            "there is no index of %s; a reader that plans batches scans such shards first",
        ),
    ):
        if lacking:
            yield Finding(name, DOUBTFUL, sentence % first_of(lacking))


def check_listed(shards: Sequence[Shard], files: Mapping[str, ManifestFile]) -> Iterator[Finding]:
    """Look for files that manifests list, by path, besides the shards that are read."""
    read, unread = {shard.path for shard in shards}, []
    for path in files:
        if path not in read and storage.exists(path):
            unread.append(path)
        elif path not in read:
            records = f"{files[path].num_records:,} records"
            sentence = f"{path} is not there; the manifest lists it with {records}"
            yield Finding("missing", DAMAGED, sentence)
    if unread:
        sentence = f"only a part of the set is read; the manifest lists {first_of(unread)}, too"
        yield Finding("unread", DOUBTFUL, sentence)


def _without_manifest(shards: Sequence[Shard], settings: Sequence[ShardSettings]) -> list[str]:
    """Return our own shards that none lists; padded records are Google's, which have none."""
    return [
        shard.path
        for shard, each in zip(shards, settings, strict=True)
        if not _is_listed(shard)
        and (each.are_known or each.max_seq_length is None)
        and not storage.is_remote(shard.path)
    ]


def _is_listed(shard: Shard) -> bool:
    """Return whether a manifest lists a shard; one inside of a Parquet file lists none."""
    return shard.manifest is not None and os.path.basename(shard.path) in shard.manifest.by_name


def _unreadable_manifests(shards: Sequence[Shard]) -> list[str]:
    """Return manifests, by their names, of the shards' sets that are none."""
    local = [shard.path for shard in shards if not storage.is_remote(shard.path)]
    unreadable = []
    for folder in dict.fromkeys(map(os.path.dirname, local)):
        names = [os.path.basename(path) for path in local if os.path.dirname(path) == folder]
        readable = list_manifests(folder, (FORMAT, SAMPLES_FORMAT))
        pattern = os.path.join(storage.escape(folder), f"{MANIFEST_PREFIX}*.json")
        for path in storage.glob(pattern):
            of_set = os.path.basename(path).removeprefix(MANIFEST_PREFIX).removesuffix(".json")
            if path not in readable and any(name.startswith(of_set) for name in names):
                unreadable.append(path)
    return unreadable


def _without_index(shards: Sequence[Shard]) -> list[str]:
    return [
        shard.path
        for shard in shards
        if shard.manifest is not None
        and find_shard_format(shard.manifest.output_format).has_index
        and not storage.is_remote(shard.path)
        and not storage.exists(index_path(shard.path))
    ]


def kind_of_others(shards: Sequence[Shard]) -> str | None:
    """Return what a set holds that is not records of masked words; None for these."""
    if any(s.manifest is not None and s.manifest.record_layout == LABELLED for s in shards):
        return "labelled texts"
    is_listed = {shard.path for shard in shards} & listed_files(shards, SAMPLES_FORMAT).keys()
    return "GPT samples" if is_listed else None


def listed_files(shards: Sequence[Shard], *formats: str) -> Mapping[str, ManifestFile]:
    """Return what manifests beside local shards list, by path, if they list one of the shards."""
    paths = sorted(shard.path for shard in shards)
    files: dict[str, ManifestFile] = {}
    for manifest in manifests_beside(paths, formats):
        try:
            listed = read_json(manifest, ListedFiles).files
        except CorruptDataError:
            continue  # a finding of its own
        its_own = {os.path.join(os.path.dirname(manifest), file.name): file for file in listed}
        if not its_own.keys().isdisjoint(paths):
            files |= its_own
    return files


def survey_any(shard: Shard, file: ManifestFile | None) -> tuple[FoundDamage, NDArray[np.int64]]:
    """Read a shard of any records; `file` is what its manifest says of it.

    Returns:
      Its damage, and int64[any], how many records have each number of tokens: 0 where no index
      says it.
    """
    damage, lengths = FoundDamage(), None
    if file is not None:
        check_bytes(shard.path, file, damage)
    num_records = 0
    try:
        for count in _counts(shard):
            num_records += count
        index = None if shard.is_parquet else read_local_index(shard, damage)
        lengths = None if index is None else index["num_tokens"][:-1].astype(np.int64)
        if lengths is not None and lengths.size != num_records:
            reason = f"lists {lengths.size:,} records; {shard.path} holds {num_records:,}"
            raise CorruptDataError(index_path(shard.path), 0, reason)
        if file is not None and file.num_records != num_records:
            reason = f"holds {num_records:,} records; its manifest says {file.num_records:,}"
            raise CorruptDataError(shard.path, 0, reason)
    except CorruptDataError as error:
        num_lost = 1 if file is None else max(0, file.num_records - num_records)
        damage.found(error, num_lost)
    if lengths is None or lengths.size != num_records:
        lengths = np.zeros(num_records, np.int64)
    return damage, np.bincount(lengths)


def _counts(shard: Shard) -> Iterator[int]:
    if not shard.is_parquet:
        yield from (block.num_records for _, block in walk_blocks(shard, are_instances=False))
        return
    with open_parquet(shard.path) as file:
        yield from (batch.num_rows for batch in file.iter_batches())
