"""Survey a shard: read it whole; what it holds, what is damaged, which records are wrong.

Damage ends nothing: reading continues after it, by the index if a record's length is damaged.
"""

import dataclasses
import os
import threading
from collections.abc import Iterator
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from bert_data import storage
from bert_data.errors import CorruptDataError
from bert_data.inspection.measuring import COUNTS, FAULTS, NEXT, SPLITS, Rule, measure_records
from bert_data.kernels.crc32c import crc32c
from bert_data.reader.examples.block import RecordBlock
from bert_data.reader.examples.example import OK
from bert_data.reader.files.blocks import Frames, walk_frames
from bert_data.reader.files.local_records import ShardRecords
from bert_data.reader.files.parquet_shards import read_row_blocks
from bert_data.reader.files.record_source import Damage
from bert_data.reader.files.shards import Shard
from bert_data.reader.layout import stored_fields
from bert_data.records.fields import Axis, RecordKind, Role
from bert_data.records.formats.manifest_file import ManifestFile
from bert_data.records.formats.tfrecord import FRAME_BYTES, index_path, read_index_file

CAPACITY = 1 << 22
"""Records that are compared; each takes 24 bytes, and as many while they are counted."""

_RECORD_BITS = 40  # of a place; the others are the shard's
MOST_PLACES = 5
"""Places that are kept of each kind of fault or damage."""
_MOST_LENGTH = 1 << 16  # of the histogram; longer records count as this long
_TELLING_PREDICTIONS = 5  # from which on equal masks are no chance: one pair in a million
_BYTES_AT_ONCE, _RECORDS_AT_ONCE = 1 << 22, 1 << 12


class CopyCounts(NamedTuple):
    """Numbers of records that are copies.

    Attributes:
      num_copies: those that equal an earlier one in everything.
      num_beyond: those whose text occurs in more earlier records than there are passes.
      example: the first copy: places (shard, record) of what it equals, and of itself.
    """

    num_compared: int
    num_copies: int
    num_beyond: int
    example: tuple[tuple[int, int], tuple[int, int]] | None


class SeenRecords:
    """The records that have been seen, up to `capacity`; threads may add at the same time."""

    def __init__(self, capacity: int = CAPACITY) -> None:
        self._capacity = capacity
        self._lock = threading.Lock()
        self._num_zeros = 0
        self._num_kept = 0
        self._parts: list[NDArray[np.uint64]] = []

    def add(
        self,
        shard: int,
        records: NDArray[np.int64],
        texts: NDArray[np.uint64],
        instances: NDArray[np.uint64],
        is_telling: NDArray[np.bool_],
    ) -> None:
        """Add records of a shard, by their numbers in it, with the hashes of `Measured`.

        Args:
          is_telling: bool[records], whether equal hashes of instances cannot be chance.
        """
        places = records.astype(np.uint64) | np.uint64(shard << _RECORD_BITS)
        # A record whose copy may be chance equals no other.
        whole = np.where(is_telling, instances, ~places)
        part = np.stack([texts, whole, places])
        with self._lock:
            part = part[:, self._is_kept(part[0])]
            self._parts.append(part)
            self._num_kept += part.shape[1]
            while self._num_kept > self._capacity:
                self._num_zeros += 1
                self._parts = [each[:, self._is_kept(each[0])] for each in self._parts]
                self._num_kept = sum(each.shape[1] for each in self._parts)

    def _is_kept(self, texts: NDArray[np.uint64]) -> NDArray[np.bool_]:
        return texts & np.uint64((1 << self._num_zeros) - 1) == 0

    def count(self, num_passes: int) -> CopyCounts:
        """Count the copies; each text may occur `num_passes` times."""
        texts, instances, places = np.concatenate(
            [*self._parts, np.empty((3, 0), np.uint64)], axis=1
        )
        self._parts = []
        order = np.lexsort((places, instances))
        same = instances[order[1:]] == instances[order[:-1]]
        copies = np.flatnonzero(same)
        example = None
        if copies.size:
            first = copies[places[order[copies + 1]].argmin()]
            example = _place(int(places[order[first]])), _place(int(places[order[first + 1]]))
        _, counts = np.unique(texts, return_counts=True)
        return CopyCounts(
            num_compared=texts.size,
            num_copies=copies.size,
            num_beyond=int(np.maximum(counts - num_passes, 0).sum()),
            example=example,
        )


def _place(number: int) -> tuple[int, int]:
    return number >> _RECORD_BITS, number & (1 << _RECORD_BITS) - 1


class FoundDamage(Damage):
    """Damage that is collected.

    Attributes:
      errors: of each reason the first `MOST_PLACES` in a file.
      num_losses: places where records are lost.
    """

    def __init__(self) -> None:
        super().__init__(skip=True)
        self.errors: list[CorruptDataError] = []
        self.num_losses = 0

    def found(self, error: CorruptDataError, num_records: int) -> None:
        """Note an error, and that it costs so many records."""
        super().found(error, num_records)
        self.num_losses += num_records > 0
        alike = [e for e in self.errors if (e.path, e.reason) == (error.path, error.reason)]
        if len(alike) < MOST_PLACES:
            self.errors.append(error)


@dataclasses.dataclass(kw_only=True)
class Survey:
    """Counts of a shard's contents.

    Attributes:
      counts: int64[counts], see `Measured`.
      num_faults: int64[faults], records with each of `FAULTS`.
      num_faulty: records with any.
      places: of each fault by its name, the records of the first ones.
      num_of_length: int64[any], records of each number of tokens.
    """

    path: str
    counts: NDArray[np.int64]
    num_faults: NDArray[np.int64]
    places: dict[str, list[int]]
    num_of_length: NDArray[np.int64]
    damage: FoundDamage
    num_faulty: int = 0

    @property
    def num_records(self) -> int:
        """The number of undamaged records."""
        return int(self.num_of_length.sum())


def survey_shard(shard: Shard, number: int, rule: Rule, seen: SeenRecords) -> Survey:
    """Read a shard of masked LM records and measure them; add them to `seen` by its number."""
    survey = Survey(
        path=shard.path,
        counts=np.zeros(len(COUNTS), np.int64),
        num_faults=np.zeros(len(FAULTS), np.int64),
        places={},
        num_of_length=np.zeros(1, np.int64),
        damage=FoundDamage(),
    )
    listed = {} if shard.manifest is None else shard.manifest.by_name
    if (file := listed.get(os.path.basename(shard.path))) is not None:
        check_bytes(shard.path, file, survey.damage)
    blocks = _read_rows if shard.is_parquet else _read_frames
    for block, records in blocks(shard, survey.damage):
        if not block.num_records:
            continue
        measured = measure_records(block, rule)
        survey.counts += measured.counts
        survey.num_faults += measured.num_faults
        survey.num_faulty += int(np.count_nonzero(measured.faults))
        for bit in np.flatnonzero(measured.num_faults).tolist():
            places = survey.places.setdefault(list(FAULTS)[bit], [])
            wrong = records[measured.faults >> bit & 1 == 1]
            places += wrong[: MOST_PLACES - len(places)].tolist()
        counts = np.bincount(np.minimum(block.lengths[:, 0], _MOST_LENGTH))
        survey.num_of_length = add_padded(survey.num_of_length, counts)
        is_telling = block.lengths[:, 1] >= _TELLING_PREDICTIONS
        seen.add(number, records, measured.texts, measured.instances, is_telling)
    return survey


def add_padded(first: NDArray[np.int64], second: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return the sum of two histograms, which may differ in length."""
    longer, shorter = (first, second) if first.size >= second.size else (second, first)
    total = longer.astype(np.int64)
    total[: shorter.size] += shorter
    return total


def _read_rows(
    shard: Shard, damage: FoundDamage
) -> Iterator[tuple[RecordBlock, NDArray[np.int64]]]:
    """Yield the undamaged rows of a Parquet file, and about which rows they are."""
    num_rows = 0
    for block in read_row_blocks(shard.path, shard.num_records, damage, shard.kind):
        first = num_rows + damage.num_records
        yield measurable(block, shard.kind), np.arange(first, first + block.num_records)
        num_rows += block.num_records


def _read_frames(
    shard: Shard, damage: FoundDamage
) -> Iterator[tuple[RecordBlock, NDArray[np.int64]]]:
    """Yield the undamaged records of a TFRecord file, and their numbers; compare the index."""
    index = read_local_index(shard, damage)
    num_records, end = 0, 0
    # A damaged length costs one record where the index has the rest.
    walked = dataclasses.replace(shard, num_records=None) if _locates_all(index, shard) else shard
    for frames in walk_frames(walked, damage, with_splits=True):
        records = np.arange(num_records, num_records + frames.offsets.size)
        num_records += frames.offsets.size
        end = int(frames.offsets[-1] + frames.block.sizes[-1]) + FRAME_BYTES
        if index is not None and not _agrees(index, records, frames, shard, damage):
            index = None
        is_whole = frames.statuses == OK
        block = frames.block if is_whole.all() else frames.block.take(np.flatnonzero(is_whole))
        yield measurable(block, shard.kind), records[is_whole]
    if index is None or (index.size - 1, int(index["offset"][-1])) == (num_records, end):
        return
    if _locates_all(index, shard) and end < shard.num_bytes:
        yield from _read_by_index(shard, num_records + 1, damage)
        return
    reason = f"lists {index.size - 1:,} records in {index['offset'][-1]:,} bytes;"
    actual = f" {shard.path} holds {num_records:,} in {end:,}"
    damage.found(CorruptDataError(index_path(shard.path), 0, reason + actual), 0)


def _locates_all(index: NDArray[np.void] | None, shard: Shard) -> bool:
    """Whether an index can show where reading goes on after a damaged length."""
    if index is None or shard.is_gzip or int(index["offset"][-1]) != shard.num_bytes:
        return False
    return shard.num_records in (None, index.size - 1)


def _read_by_index(
    shard: Shard, first: int, damage: FoundDamage
) -> Iterator[tuple[RecordBlock, NDArray[np.int64]]]:
    """Yield the undamaged records from one on, where the index says that they are."""
    source = ShardRecords([shard], in_order=True, skip_corrupt=True)
    for start in range(first, source.num_tokens.size, _RECORDS_AT_ONCE):
        records = np.arange(start, min(start + _RECORDS_AT_ONCE, source.num_tokens.size))
        gathered = source.gather(records, damage)
        yield (
            measurable(gathered.block.take(np.flatnonzero(gathered.is_there)), shard.kind),
            records[gathered.is_there],
        )


def measurable(block: RecordBlock, kind: RecordKind) -> RecordBlock:
    """Return a block with the spans that `measure_records` takes; row splits come last."""
    stored = stored_fields(kind.fields)
    spans = np.zeros((block.num_records, SPLITS + 1, 2), np.int32)
    spans[:, :NEXT] = block.spans[:, :NEXT]
    label = kind.find(Axis.INSTANCES, Role.LABELS)
    if label is not None:
        spans[:, NEXT] = block.spans[:, stored.index(label)]
    if block.spans.shape[1] > len(stored):
        spans[:, SPLITS] = block.spans[:, -1]
    return block._replace(spans=spans)


def read_local_index(shard: Shard, damage: FoundDamage) -> NDArray[np.void] | None:
    """Read the index of a local shard; None if there is none that can be read."""
    name = index_path(shard.path)
    if storage.is_remote(shard.path) or not storage.exists(name):
        return None
    try:
        return read_index_file(name)
    except CorruptDataError as error:
        damage.found(error, 0)
        return None


def _agrees(
    index: NDArray[np.void],
    records: NDArray[np.int64],
    frames: Frames,
    shard: Shard,
    damage: FoundDamage,
) -> bool:
    """Compare the index with frames, and report the first record that differs."""
    entries = index[records[0] : records[-1] + 1]
    offsets, lengths = frames.offsets[: entries.size], frames.block.lengths[: entries.size, 0]
    is_whole = frames.statuses[: entries.size] == OK
    differs = entries["offset"] != offsets.astype(np.uint64)
    differs |= is_whole & (entries["num_tokens"] != lengths)
    if not differs.any():
        return True
    first = int(differs.argmax())
    offset, num_tokens = entries[first].tolist()
    damage.found(
        CorruptDataError(
            index_path(shard.path),
            index.dtype.itemsize * int(records[first]),
            f"lists a record of {num_tokens:,} tokens at byte {offset:,}; {shard.path} has one of"
            f" {lengths[first]:,} at {offsets[first]:,}",
            int(records[first]),
        ),
        0,
    )
    return False


def check_bytes(path: str, file: ManifestFile, damage: FoundDamage) -> None:
    """Compare the size and the checksum of a shard with what a manifest says of it."""
    checksum = num_bytes = 0
    with storage.open_input(path) as stream:
        while data := stream.read(_BYTES_AT_ONCE):
            checksum = crc32c(data, checksum)
            num_bytes += len(data)
    if num_bytes != file.num_bytes:
        reason = f"has {num_bytes:,} bytes; its manifest says {file.num_bytes:,}"
        damage.found(CorruptDataError(path, min(num_bytes, file.num_bytes), reason), 0)
    elif checksum != file.crc32c:
        reason = "differs from the file that its manifest describes: the checksum is another"
        damage.found(CorruptDataError(path, 0, reason), 0)
