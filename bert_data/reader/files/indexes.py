"""Where each record of a shard begins and how many tokens it has, before a record is read.

    data/index.train-00000.npy  ->  (0, 71) (1043, 128) (2231, 9) ... (98432, 0)

Shards that have no index, such as those of Google's program, are scanned once in a process, Parquet
is unpacked.
"""

import functools
import os
from collections.abc import Sequence

import numpy as np
from absl import logging
from numpy.typing import NDArray

from bert_data import storage
from bert_data.errors import CorruptDataError
from bert_data.formats.index import INDEX_DTYPE, index_path
from bert_data.reader.files.blocks import BLOCK_BYTES, looks_ragged, read_blocks, reason_of
from bert_data.reader.files.corruption import Damage
from bert_data.reader.files.mapping import map_file
from bert_data.reader.files.scan import FRAME_BYTES, HEADER_BYTES, scan_records
from bert_data.reader.files.shards import Shard
from bert_data.reader.files.unpacking import unpack

_KEPT_SCANS = 4096


def why_not_addressable(shard: Shard) -> str | None:
    """Why single records of a shard cannot be read: "is compressed"; None where they can."""
    if storage.is_remote(shard.path):
        return "is remote"
    return "is compressed" if shard.is_gzip else None


def read_indexes(shards: Sequence[Shard], *, skip_corrupt: bool) -> list[NDArray[np.void]]:
    """The indexes of addressable shards, see `read_index`; says which ones must be scanned."""
    missing = [
        shard
        for shard in shards
        if not shard.is_parquet and not os.path.exists(index_path(shard.path))
    ]
    if missing:
        logging.info(
            "%d of %d shard(s) have no index (%s); they are scanned, and the index kept in memory",
            len(missing), len(shards), missing[0].path,
        )  # fmt: skip
    return [read_index(shard, skip_corrupt=skip_corrupt) for shard in shards]


def read_index(shard: Shard, *, skip_corrupt: bool) -> NDArray[np.void]:
    """The index of an addressable shard: its own, what a scan finds, or of Parquet, unpacking.

    Args:
      shard: to read.
      skip_corrupt: whether to scan a shard that its index contradicts, or that is damaged.

    Returns:
      INDEX_DTYPE[records + 1], each with the record's offset in bytes and its tokens; the last has
      the offset where the records end. Those of an index file are memory-mapped.

    Raises:
      CorruptDataError: the index contradicts the shard, or there is none and the shard is damaged.
    """
    if shard.is_parquet:
        return unpack(shard, skip_corrupt=skip_corrupt).records
    name = index_path(shard.path)
    if not os.path.exists(name):
        return _scan(shard, skip_corrupt=skip_corrupt)
    try:
        return _load(name, shard)
    except CorruptDataError as error:
        if not skip_corrupt:
            raise
        logging.warning("%s; the shard is scanned instead", error)
        return _scan(shard, skip_corrupt=True)


def _load(name: str, shard: Shard) -> NDArray[np.void]:
    try:
        index = np.load(name, mmap_mode="r")
    except (ValueError, EOFError) as error:
        raise CorruptDataError(name, 0, f"is no index of records ({error})") from error
    if index.dtype != INDEX_DTYPE or index.ndim != 1 or not index.size:
        raise CorruptDataError(name, 0, "is no index of records (it holds something else)")
    offsets, num_records = index["offset"], index.size - 1
    reason = None
    if offsets[0] or (np.diff(offsets.astype(np.int64)) < FRAME_BYTES).any():
        reason = "tells of offsets that are not those of records"
    elif int(offsets[-1]) != shard.num_bytes:
        reason = f"tells of {offsets[-1]} bytes, but {shard.path} has {shard.num_bytes}"
    elif shard.num_records not in (None, num_records):
        told = f"but the manifest of {shard.path} of {shard.num_records}"
        reason = f"tells of {num_records} records, {told}"
    if reason is not None:
        raise CorruptDataError(name, 0, reason)
    return index


def _scan(shard: Shard, *, skip_corrupt: bool) -> NDArray[np.void]:
    changed = os.stat(shard.path).st_mtime_ns
    return _scan_once(shard.path, shard.num_bytes, changed, skip_corrupt)


@functools.lru_cache(_KEPT_SCANS)
def _scan_once(path: str, num_bytes: int, changed: int, skip_corrupt: bool) -> NDArray[np.void]:
    """The index of a shard as it was when it was changed last."""
    del changed
    data = map_file(path)
    damage = Damage(skip=skip_corrupt)
    parts: list[NDArray[np.void]] = []
    at = record = 0
    window, is_ragged = BLOCK_BYTES, None
    while at < num_bytes:
        block = data[at : at + window]
        if is_ragged is None:
            is_ragged = looks_ragged(block)
        scan = scan_records(block, 0, is_ragged=bool(is_ragged), needs_label=False)
        part = np.zeros(scan.block.num_records, INDEX_DTYPE)
        part["offset"] = at + scan.block.starts - HEADER_BYTES
        part["num_tokens"] = np.where(scan.statuses, 0, scan.block.lengths[:, 0])
        for i in np.flatnonzero(scan.statuses).tolist():
            reason = reason_of(int(scan.statuses[i]))
            error = CorruptDataError(path, int(part["offset"][i]), reason, record + i)
            damage.found(error, 0)  # it is counted when it is read
        parts.append(part)
        at, record = at + scan.end, record + part.size
        is_cut = not part.size and at + window >= num_bytes
        if scan.is_length_bad or is_cut:
            # The reader of streams finds the same place, and says what is wrong there.
            for _ in read_blocks(Shard(path=path, num_bytes=num_bytes, is_gzip=False), damage):
                pass
            damage.tell()
            break
        if not part.size:
            window *= 2
    parts.append(np.array([(at, 0)], INDEX_DTYPE))
    return np.concatenate(parts)
