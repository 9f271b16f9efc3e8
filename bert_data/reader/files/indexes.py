"""Locate records: where each begins and how many tokens it has, before a record is read.

    data/index.train-00000.npy  ->  (0, 71) (1043, 128) (2231, 9) ... (98432, 0)
    record 7 of all shards      ->  shard 1, 2043 bytes from byte 98304 on

Shards that have no index, such as those of Google's program, are scanned once per process. Of all
indexes, `RecordPlaces` keeps five bytes per record: its size, and where every 64th one begins,
counted through all shards.
"""

import functools
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from absl import logging
from numpy.typing import NDArray

from bert_data import storage
from bert_data.errors import CorruptDataError
from bert_data.kernels import Scalar, kernel
from bert_data.progress import how_many
from bert_data.reader.files.blocks import walk_frames
from bert_data.reader.files.record_source import Damage
from bert_data.reader.files.shards import Shard, map_files
from bert_data.records.formats.tfrecord import FRAME_BYTES, INDEX_DTYPE, index_path, read_index_file
from bert_data.records.objectives import NO_OBJECTIVE

_KEPT_SCANS = 4096


def why_not_addressable(shard: Shard) -> str | None:
    """Return why records of a shard cannot be read by number; None if they can."""
    return "is Parquet" if shard.is_parquet else "is compressed" if shard.is_gzip else None


def read_indexes(shards: Sequence[Shard], *, skip_corrupt: bool) -> list[NDArray[np.void]]:
    """Return the indexes of addressable shards, see `read_index`; log which ones are scanned."""
    paths = [shard.path for shard in shards]
    have_index = map_files(lambda path: storage.exists(index_path(path)), paths, paths)
    missing = [shard for shard, has_one in zip(shards, have_index, strict=True) if not has_one]
    if missing:
        _tell_scan(len(missing), len(shards), missing[0].path)
    read = functools.partial(read_index, skip_corrupt=skip_corrupt)
    return list(map_files(read, shards, paths))


@functools.cache  # who trains reads indexes several times; only the first time scans
def _tell_scan(num_missing: int, num_shards: int, first: str) -> None:
    logging.info(
        "no index for %d of %s (%s); the shards are scanned, and the index kept in memory",
        num_missing, how_many(num_shards, "shard"), first,
    )  # fmt: skip


def read_index(shard: Shard, *, skip_corrupt: bool) -> NDArray[np.void]:
    """Return the index of an addressable shard: its own, or one made by a scan.

    Args:
      skip_corrupt: whether to scan a shard that its index contradicts, or that is damaged.

    Returns:
      INDEX_DTYPE[records + 1], each with the record's offset in bytes and its tokens; the last has
        the offset where the records end.
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
    return _scan_once(shard.path, shard.num_bytes, shard.num_records, changed, skip_corrupt)


@functools.lru_cache(_KEPT_SCANS)
def _scan_once(
    path: str, num_bytes: int, num_records: int | None, changed: int, skip_corrupt: bool
) -> NDArray[np.void]:
    """Return the index of a shard in the state that `changed`, its time of modification, names."""
    del changed
    shard = Shard(
        path=path,
        num_bytes=num_bytes,
        is_gzip=False,
        num_records=num_records,
        objective=NO_OBJECTIVE,
    )
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


_STEP_BITS = np.int64(6)


class Ranges(NamedTuple):
    """The places of some records.

    Attributes:
      shards, offsets, sizes: int64[records]; an empty row, -1, is 0 bytes of shard 0.
      places: int64[records], where each begins if they are joined.
    """

    shards: NDArray[np.int64]
    offsets: NDArray[np.int64]
    sizes: NDArray[np.int64]
    places: NDArray[np.int64]
    num_bytes: int


@kernel
def _find(
    records: NDArray[np.integer],
    firsts: NDArray[np.int64],
    shard_starts: NDArray[np.int64],
    record_sizes: NDArray[np.uint32],
    step_starts: NDArray[np.int64],
    shards: NDArray[np.int64],
    offsets: NDArray[np.int64],
    sizes: NDArray[np.int64],
    places: NDArray[np.int64],
) -> Scalar:
    total = np.int64(0)
    for i in range(records.size):
        record = np.int64(records[i])
        shards[i], offsets[i], sizes[i], places[i] = 0, 0, 0, total
        if record < 0:
            continue
        shard, end = 0, firsts.size - 1
        while end - shard > 1:
            middle = (shard + end) >> 1
            if firsts[middle] <= record:
                shard = middle
            else:
                end = middle
        step = record >> _STEP_BITS
        start = step_starts[step]
        for before in range(step << _STEP_BITS, record):
            start += np.int64(record_sizes[before])
        shards[i], offsets[i] = shard, start - shard_starts[shard]
        sizes[i] = record_sizes[record]
        total += sizes[i]
    return total


class RecordPlaces:
    """The places of all records of some shards.

    Attributes:
      firsts: int64[shards + 1], the number of each shard's first record, and of all records.
      shard_starts: int64[shards + 1], where each shard begins if they are joined, and their bytes.
    """

    def __init__(self, offsets: Sequence[NDArray[np.uint64]]) -> None:
        """Take the offsets from the indexes.

        Args:
          offsets: uint64[records + 1] of each shard, ascending from 0, the last one where its
            records end; every record is smaller than 4 GiB.
        """
        sizes = [np.diff(part.astype(np.int64)) for part in offsets]
        self.firsts: NDArray[np.int64] = np.cumsum([0, *(part.size for part in sizes)])
        self.shard_starts = np.cumsum([0, *(int(part[-1]) for part in offsets)])
        self._sizes = np.concatenate(
            [np.zeros(0, np.uint32), *sizes], dtype=np.uint32, casting="unsafe"
        )
        step = 1 << int(_STEP_BITS)
        starts = [
            part[(-int(first)) % step : -1 : step].astype(np.int64) + start
            for part, first, start in zip(offsets, self.firsts, self.shard_starts, strict=False)
        ]
        self._step_starts = np.concatenate([np.zeros(0, np.int64), *starts])

    def find(self, records: NDArray[np.integer]) -> Ranges:
        """Locate records."""
        shards, offsets, sizes, places = np.empty((4, records.size), np.int64)
        num_bytes = _find(
            records, self.firsts, self.shard_starts, self._sizes, self._step_starts,
            shards, offsets, sizes, places,
        )  # fmt: skip
        return Ranges(shards, offsets, sizes, places, int(num_bytes))

    def shard_of(self, record: int) -> tuple[int, int]:
        """Return the shard of a record, and its number there."""
        shard = int(np.searchsorted(self.firsts, record, side="right")) - 1
        return shard, record - int(self.firsts[shard])
