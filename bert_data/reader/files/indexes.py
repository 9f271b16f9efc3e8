"""Where each record of a shard begins and how many tokens it has, before a record is read.

    data/index.train-00000.npy  ->  (0, 71) (1043, 128) (2231, 9) ... (98432, 0)

Shards that have no index, such as those of Google's program, are scanned once in a process.
"""

import functools
from collections.abc import Sequence

import numpy as np
from absl import logging
from numpy.typing import NDArray

from bert_data import storage
from bert_data.errors import CorruptDataError
from bert_data.formats.index import FRAME_BYTES, INDEX_DTYPE, index_path, read_index_file
from bert_data.objectives.next_sentence import NONE
from bert_data.reader.files.blocks import walk_frames
from bert_data.reader.files.corruption import Damage
from bert_data.reader.files.shards import Shard

_KEPT_SCANS = 4096


def why_not_addressable(shard: Shard) -> str | None:
    """Why single records of a shard cannot be read: "is compressed"; None where they can."""
    if storage.is_remote(shard.path):
        return "is remote"
    return "is compressed" if shard.is_gzip else None


def read_indexes(shards: Sequence[Shard], *, skip_corrupt: bool) -> list[NDArray[np.void]]:
    """The indexes of addressable shards, see `read_index`; says which ones must be scanned."""
    missing = [shard for shard in shards if not storage.exists(index_path(shard.path))]
    if missing:
        logging.info(
            "%d of %d shard(s) have no index (%s); they are scanned, and the index kept in memory",
            len(missing), len(shards), missing[0].path,
        )  # fmt: skip
    return [read_index(shard, skip_corrupt=skip_corrupt) for shard in shards]


def read_index(shard: Shard, *, skip_corrupt: bool) -> NDArray[np.void]:
    """The index of an addressable shard: its own, or what a scan finds.

    Args:
      shard: to read.
      skip_corrupt: whether to scan a shard that its index contradicts, or that is damaged.

    Returns:
      INDEX_DTYPE[records + 1], each with the record's offset in bytes and its tokens; the last has
      the offset where the records end.

    Raises:
      CorruptDataError: the index contradicts the shard, or there is none and the shard is damaged.
    """
    name = index_path(shard.path)
    if not storage.exists(name):
        return _scan(shard, skip_corrupt=skip_corrupt)
    try:
        return _load(name, shard)
    except CorruptDataError as error:
        if not skip_corrupt:
            raise
        logging.warning("%s; the shard is scanned instead", error)
        return _scan(shard, skip_corrupt=True)


def _load(name: str, shard: Shard) -> NDArray[np.void]:
    index = read_index_file(name)
    end, num_records = int(index["offset"][-1]), index.size - 1
    if end != shard.num_bytes:
        contradiction = f"says {end} bytes, but {shard.path} has {shard.num_bytes}"
        raise CorruptDataError(name, 0, contradiction)
    if shard.num_records not in (None, num_records):
        contradiction = f"but the manifest of {shard.path} says {shard.num_records}"
        raise CorruptDataError(name, 0, f"says {num_records} records, {contradiction}")
    return index


def _scan(shard: Shard, *, skip_corrupt: bool) -> NDArray[np.void]:
    status = storage.read_status(shard.path)
    changed = 0 if status is None else status.modified_ns
    return _scan_once(shard.path, shard.num_bytes, changed, skip_corrupt)


@functools.lru_cache(_KEPT_SCANS)
def _scan_once(path: str, num_bytes: int, changed: int, skip_corrupt: bool) -> NDArray[np.void]:
    """The index of a shard as it was when it was changed last."""
    del changed
    shard = Shard(path=path, num_bytes=num_bytes, is_gzip=False, next_sentence=NONE)
    damage = Damage(skip=skip_corrupt)
    parts, end = [], 0
    for frames in walk_frames(shard, damage):
        part = np.zeros(frames.offsets.size, INDEX_DTYPE)
        part["offset"] = frames.offsets
        part["num_tokens"] = np.where(frames.statuses, 0, frames.block.lengths[:, 0])
        parts.append(part)
        end = int(frames.offsets[-1] + frames.block.sizes[-1]) + FRAME_BYTES
    damage.tell()
    return np.concatenate([*parts, np.array([(end, 0)], INDEX_DTYPE)])
