"""Check sets of records of any kind: are the files whole, and those that manifest and index list.

    manifest lists t-0, t-1; t-1 is not there     ->  Finding "missing"
    frames, checksums, numbers of records         ->  Finding "damage", one for each shard

What the records of labelled texts and GPT samples hold is not judged; `inspect` shows it.
"""

import os
from collections.abc import Iterator, Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from bert_data import storage
from bert_data.datasets.manifest import SAMPLES_FORMAT, list_manifests, parse_file
from bert_data.errors import CorruptDataError
from bert_data.formats.index import index_path, read_index_file
from bert_data.formats.summed_file import ManifestFile
from bert_data.inspection.findings import DAMAGED, DOUBTFUL, Finding
from bert_data.inspection.sources.shards import parquet_of, walk_blocks
from bert_data.inspection.surveying import FoundDamage, check_bytes
from bert_data.reader.files.shards import Shard
from bert_data.schema.fields import LABELLED
from bert_data.storage import JsonObject


def kind_of_others(shards: Sequence[Shard]) -> str | None:
    """Return what a set holds that is not records of masked words; None for these."""
    if any(s.manifest is not None and s.manifest.record_layout == LABELLED for s in shards):
        return "labelled texts"
    is_listed = {shard.path for shard in shards} & listed_files(shards, SAMPLES_FORMAT).keys()
    return "GPT samples" if is_listed else None


def listed_files(shards: Sequence[Shard], *formats: str) -> Mapping[str, ManifestFile]:
    """Return what manifests beside local shards list, by path, if they list one of the shards."""
    paths = {shard.path for shard in shards if not storage.is_remote(shard.path)}
    files: dict[str, ManifestFile] = {}
    for folder in dict.fromkeys(map(os.path.dirname, sorted(paths))):
        for manifest in list_manifests(folder, formats):
            try:
                listed = [parse_file(file) for file in JsonObject.read(manifest).objects("files")]
            except CorruptDataError:
                continue  # a finding of its own
            its_own = {os.path.join(folder, file.name): file for file in listed}
            if not paths.isdisjoint(its_own):
                files |= its_own
    return files


def survey_any(shard: Shard, file: ManifestFile | None) -> tuple[FoundDamage, NDArray[np.int64]]:
    """Read a shard of any records.

    Args:
      shard: TFRecord or Parquet.
      file: what its manifest says of it, if there is one.

    Returns:
      Its damage, and int64[any], how many records have each number of tokens: 0 where no index
      says it.

    Raises:
      OSError: the file cannot be read.
    """
    damage, lengths = FoundDamage(), None
    if file is not None:
        check_bytes(shard.path, file, damage)
    num_records = 0
    try:
        for count in _rows(shard) if shard.is_parquet else _records(shard):
            num_records += count
        lengths = _lengths_of(shard)
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


def _records(shard: Shard) -> Iterator[int]:
    yield from (block.num_records for _, block in walk_blocks(shard, are_instances=False))


def _rows(shard: Shard) -> Iterator[int]:
    with parquet_of(shard.path) as file:
        for batch in file.iter_batches():
            yield batch.num_rows


def _lengths_of(shard: Shard) -> NDArray[np.int64] | None:
    path = index_path(shard.path)
    if shard.is_parquet or storage.is_remote(path) or not storage.exists(path):
        return None
    return np.asarray(read_index_file(path)["num_tokens"][:-1], np.int64)


def check_others(shards: Sequence[Shard], files: Mapping[str, ManifestFile]) -> Iterator[Finding]:
    """Compare the shards with what their manifests list; yield what is wrong."""
    others = [path for path in files if path not in {shard.path for shard in shards}]
    for path in others:
        if not storage.exists(path):
            yield Finding("missing", DAMAGED, f"{path} is not there; the manifest lists it")
    unread = [path for path in others if storage.exists(path)]
    if unread:
        sentence = f"only a part of the set is read; the manifest lists {unread[0]}, too"
        yield Finding("unread", DOUBTFUL, sentence)
