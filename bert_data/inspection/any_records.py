"""Survey shards of records of any kind: are they whole, and what manifest and index list.

    frames, checksums, numbers of records         ->  Finding "damage", one for each shard

What the records of labelled texts and GPT samples hold is not judged; `inspect` shows it.
"""

import os
from collections.abc import Iterator, Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from bert_data.datasets.manifest import SAMPLES_FORMAT, manifests_beside, parse_file
from bert_data.errors import CorruptDataError
from bert_data.formats.summed_file import ManifestFile
from bert_data.formats.tfrecord import index_path
from bert_data.inspection.sources.shards import parquet_of, walk_blocks
from bert_data.inspection.surveying import FoundDamage, check_bytes, read_index
from bert_data.reader.examples.block import RecordBlock
from bert_data.reader.examples.decode import Rows, decode_records
from bert_data.reader.files.shards import Shard
from bert_data.reader.layout import (
    Arrays,
    BatchGroup,
    Shape,
    arrays_of,
    layout_of,
    make_table,
    new_buffer,
)
from bert_data.schema.fields import LABELLED, RecordKind
from bert_data.storage import JsonObject


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
            listed = [parse_file(file) for file in JsonObject.read(manifest).objects("files")]
        except CorruptDataError:
            continue  # a finding of its own
        its_own = {os.path.join(os.path.dirname(manifest), file.name): file for file in listed}
        if not its_own.keys().isdisjoint(paths):
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
    """
    damage, lengths = FoundDamage(), None
    if file is not None:
        check_bytes(shard.path, file, damage)
    num_records = 0
    try:
        for count in _rows(shard) if shard.is_parquet else _records(shard):
            num_records += count
        index = None if shard.is_parquet else read_index(shard, damage)
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


def _records(shard: Shard) -> Iterator[int]:
    yield from (block.num_records for _, block in walk_blocks(shard, are_instances=False))


def _rows(shard: Shard) -> Iterator[int]:
    with parquet_of(shard.path) as file:
        for batch in file.iter_batches():
            yield batch.num_rows


_MOST_VALUES = 4096  # of a field: a single long record would pad all others


def short_records(block: RecordBlock) -> RecordBlock:
    """Return the records of usual lengths, which are cheap to pad."""
    is_short = (block.lengths <= _MOST_VALUES).all(axis=1) & (block.lengths[:, 0] > 0)
    return block.take(np.flatnonzero(is_short))


def decode_block(block: RecordBlock, kind: RecordKind) -> Arrays:
    """Return the fields of short records by name, padded with 0; at least one record."""
    rows = block.num_records
    width, predictions = np.maximum(block.lengths.max(axis=0), 1).tolist()
    layout = layout_of(kind)
    table, num_words = make_table([Shape(rows, width, predictions)], layout)
    words, splits = new_buffer(num_words), np.arange(rows + 1)
    to_fill = Rows(np.ones(rows, np.bool_), splits, np.array([0, rows]))
    decode_records(block, to_fill, layout, table, words)
    return next(arrays_of(BatchGroup(words, table), layout))
