"""Read a shard as blocks of checked records.

    file (or what gzip unpacks)  ->  1 MiB at a time  ->  frames  ->  RecordBlock, RecordBlock, ...

After an incomplete frame, or one whose length is damaged, no other can be found. Any other damage
costs one record; it is reported with file, record and offset, or counted. `parquet_shards.py` does
the same for Parquet.
"""

import contextlib
import functools
import gzip
import zlib
from collections.abc import Generator
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from bert_data import storage
from bert_data.errors import CorruptDataError
from bert_data.reader.examples.block import RecordBlock
from bert_data.reader.examples.example import (
    BAD_DATA,
    IDS,
    MISSING,
    NO_EXAMPLE,
    OK,
    POSITIONS,
    UNEVEN,
    feature_name,
    features_of,
    look_at_example,
)
from bert_data.reader.examples.frames import HEADER_BYTES, LENGTH_BYTES, Scan, scan_records
from bert_data.reader.files.parquet_shards import read_row_blocks
from bert_data.reader.files.record_source import Damage
from bert_data.reader.files.shards import Shard
from bert_data.reader.layout import new_bytes
from bert_data.records import fields
from bert_data.records.fields import RecordKind
from bert_data.records.formats.tfrecord import FRAME_BYTES

FIRST_BLOCK_BYTES = 1 << 16  # enough for the first record of most shards
NEXT_BLOCK_BYTES = 1 << 20

_HINTS = {fields.NEXT_SENTENCE_LABELS.name: "; next_sentence='none' reads records without it"}
_BAD_LENGTH = "the checksum of a record's length does not match"


class Frames(NamedTuple):
    """Consecutive frames, of damaged records too.

    Attributes:
      offsets: int64[records], where in the (uncompressed) file each frame begins.
    """

    block: RecordBlock
    statuses: NDArray[np.int32]
    offsets: NDArray[np.int64]


class FirstRecord(NamedTuple):
    """The form of a shard, by its first whole record."""

    is_ragged: bool
    num_tokens: int
    num_predictions: int


def look_at_first(shard: Shard, *, skip_corrupt: bool) -> FirstRecord | None:
    """Return the first whole record of a shard, or None if it has none."""
    with contextlib.closing(read_blocks(shard, Damage(skip=skip_corrupt))) as blocks:
        for block in blocks:
            if block.num_records and shard.is_parquet:  # rows have no padding
                return FirstRecord(True, *block.lengths[0].tolist())
            if block.num_records:
                start, size = int(block.starts[0]), int(block.sizes[0])
                counts = look_at_example(
                    block.data, start, start + size, features_of(shard.kind)
                ).tolist()
                return FirstRecord(counts[-1] >= 0, counts[IDS], counts[POSITIONS])
    return None


def read_blocks(shard: Shard, damage: Damage) -> Generator[RecordBlock]:
    """Read the records of a shard, in order."""
    if shard.is_parquet:
        return read_row_blocks(shard.path, shard.num_records, damage, shard.kind)
    return _read_frames(shard, damage)


def _read_frames(shard: Shard, damage: Damage) -> Generator[RecordBlock]:
    """Yield the undamaged records of a TFRecord file."""
    with contextlib.closing(walk_frames(shard, damage)) as walk:
        for frames in walk:
            is_whole = frames.statuses == OK
            yield frames.block if is_whole.all() else frames.block.take(np.flatnonzero(is_whole))


def walk_frames(shard: Shard, damage: Damage, *, with_splits: bool = False) -> Generator[Frames]:
    """Yield all frames of a TFRecord file, as far as they can be found."""
    stream, features = _Stream(shard), features_of(shard.kind)
    reason = functools.cache(functools.partial(reason_of, kind=shard.kind))
    with contextlib.closing(stream):
        while stream.fill():
            while True:
                scan = scan_records(stream.data, stream.at, features, with_splits=with_splits)
                if scan.block.num_records:
                    offsets = scan.block.starts + (stream.offset - stream.at - HEADER_BYTES)
                    for i in np.flatnonzero(scan.statuses).tolist():
                        place = int(offsets[i]), reason(int(scan.statuses[i])), stream.record + i
                        damage.found(CorruptDataError(shard.path, *place), 1)
                    yield Frames(scan.block, scan.statuses, offsets)
                stream.advance(scan)
                if scan.is_length_bad:
                    hint = "" if stream.offset else "; is it a TFRecord file?"
                    _lose_rest(shard, stream, damage, _BAD_LENGTH + hint)
                    return
                if not scan.block.num_records:
                    break
    if stream.error is not None or stream.data.size > stream.at:
        _lose_rest(shard, stream, damage, stream.reason())
    elif shard.num_records is not None and stream.record != shard.num_records:
        expected = f"its index or manifest lists {shard.num_records}"
        _lose_rest(shard, stream, damage, f"ends after {stream.record} records; {expected}")


class _LastDamage(Damage):
    """Keeps the last damage; features that another kind of record lacks are none."""

    def __init__(self) -> None:
        super().__init__(skip=True)
        self.last: CorruptDataError | None = None

    def found(self, error: CorruptDataError, num_records: int) -> None:
        self.last = error


def walk_blocks(shard: Shard, *, are_instances: bool) -> Generator[tuple[int, RecordBlock]]:
    """Yield blocks of the records of a TFRecord shard, and the place of the first of each.

    Records before a damaged one come before its error. Unless they `are_instances`, any bytes will
    do.
    """
    damage, first = _LastDamage(), 0
    for frames in walk_frames(shard, damage):
        kinds = frames.statuses % 8  # without the feature that is missing or uneven
        bad = np.flatnonzero(kinds if are_instances else kinds == BAD_DATA)
        if bad.size:
            at = int(bad[0])
            yield first, frames.block.take(slice(0, at))
            place = (
                int(frames.offsets[at]),
                reason_of(int(frames.statuses[at]), shard.kind),
                first + at,
            )
            raise CorruptDataError(shard.path, *place)
        yield first, frames.block
        first += frames.block.num_records
        damage.last = None
    if damage.last is not None:
        raise damage.last


def _lose_rest(shard: Shard, stream: "_Stream", damage: Damage, reason: str) -> None:
    lost = 1 if shard.num_records is None else max(1, shard.num_records - stream.record)
    damage.found(CorruptDataError(shard.path, stream.offset, reason, stream.record), lost)


class _Stream:
    """The bytes of a shard, one block at a time, and the position reached.

    Attributes:
      data: uint8[bytes], the block, after what was left over from the previous one.
      at: where in it the next frame begins.
      offset: of that frame in the (unpacked) file.
      record: its number.
      error: what ended the unpacking early, if anything did.
    """

    def __init__(self, shard: Shard) -> None:
        # Blocks are read whole; only what unpacks them reads less.
        self._raw = storage.open_input(shard.path, buffering=-1 if shard.is_gzip else 0)
        self._file: Any = self._raw
        if shard.is_gzip:
            self._file = gzip.GzipFile(fileobj=self._raw, mode="rb")
        self.data: NDArray[np.uint8] = np.empty(0, np.uint8)
        self.at = self.offset = self.record = 0
        self.error: Exception | None = None
        self._block_bytes = FIRST_BLOCK_BYTES

    def fill(self) -> bool:
        """Read on, at least to the end of the next frame; return False at the end of the file."""
        left = self.data.size - self.at
        num_more, self._block_bytes = self._block_bytes, NEXT_BLOCK_BYTES
        if left >= HEADER_BYTES:
            size = int.from_bytes(self.data[self.at : self.at + LENGTH_BYTES].tobytes(), "little")
            num_more = max(num_more, size + FRAME_BYTES - left)
        if self.error is not None:
            return False
        block = new_bytes(left + num_more)
        block[:left] = self.data[self.at :]
        end = left
        try:
            while end < block.size and (got := self._file.readinto(block[end:].data)):
                end += got
        except (EOFError, zlib.error, gzip.BadGzipFile) as error:
            self.error = error
        self.data, self.at = block[:end], 0
        return end > left

    def advance(self, scan: Scan) -> None:
        self.offset += scan.end - self.at
        self.record += scan.block.num_records
        self.at = scan.end

    def reason(self) -> str:
        if self.error is not None:
            return f"cannot be unpacked ({self.error})"
        left = self.data.size - self.at
        if left < HEADER_BYTES:
            return f"is cut off after {left} bytes of a record's header"
        size = int.from_bytes(self.data[self.at : self.at + LENGTH_BYTES].tobytes(), "little")
        return f"is cut off after {left} of the {size + FRAME_BYTES} bytes of a record"

    def close(self) -> None:
        self._file.close()
        self._raw.close()


def reason_of(status: int, kind: RecordKind) -> str:
    """Describe a status of `read_example`, or BAD_DATA."""
    what, name = status % 8, feature_name(kind, status // 8)
    return {
        BAD_DATA: "the checksum of a record's data does not match",
        NO_EXAMPLE: "a record is not a tf.train.Example",
        MISSING: f"a record has no feature {name!r}" + _HINTS.get(name, ""),
        UNEVEN: f"a record's feature {name!r} differs in length from the features that go with it",
    }[what]
