"""Read a shard as blocks of checked records.

    file (or what gzip unpacks)  ->  1 MiB at a time  ->  frames  ->  RecordBlock, RecordBlock, ...

    length u64 | crc u32 | Example {features {"input_ids": [..] "segment_ids": [..] ...}} | crc u32
                           ^ starts                  ^^^^ spans

After an incomplete frame, or one whose length is damaged, no other can be found. Any other damage
costs one record; it is reported with file, record and offset, or counted. `parquet_shards.py` does
the same for Parquet.
"""

import contextlib
import gzip
import zlib
from collections.abc import Generator
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from bert_data import storage
from bert_data.errors import CorruptDataError
from bert_data.formats.tfrecord import FRAME_BYTES
from bert_data.kernels import Scalar, kernel
from bert_data.kernels.crc32c import masked_crc32c_of_range
from bert_data.reader.examples.block import RecordBlock, room_for
from bert_data.reader.examples.example import (
    BAD_DATA,
    IDS,
    MISSING,
    NO_EXAMPLE,
    OK,
    POSITIONS,
    UNEVEN,
    Features,
    feature_name,
    features_of,
    look_at_example,
    read_example,
)
from bert_data.reader.files.parquet_shards import read_row_blocks
from bert_data.reader.files.record_source import Damage
from bert_data.reader.files.shards import HEADER_BYTES, LENGTH_BYTES, Shard
from bert_data.reader.layout import new_bytes
from bert_data.schema import fields
from bert_data.schema.fields import RecordKind

_USUAL_BYTES, _MORE_RECORDS = 512, 64  # to guess how many records a scan finds


@kernel
def _read_uint(data: NDArray[np.uint8], at: Scalar, num_bytes: int) -> Scalar:
    value = np.uint64(0)
    for i in range(num_bytes):
        value |= np.uint64(data[at + i]) << np.uint64(8 * i)
    return value


@kernel
def is_checked(data: NDArray[np.uint8], start: Scalar, end: Scalar) -> bool:
    """Return whether data[start:end] is followed by its checksum."""
    difference = np.uint64(masked_crc32c_of_range(data, start, end)) ^ _read_uint(data, end, 4)
    return difference == np.uint64(0)


@kernel
def _scan(
    block: RecordBlock,
    at: Scalar,
    features: Features,
    counts: NDArray[np.int64],
    statuses: NDArray[np.int32],
) -> tuple[Scalar, Scalar, bool]:
    """Fill a row per record; return (records, next frame, whether that frame's length is bad)."""
    data, count = block.data, 0
    while count < statuses.size and data.size - at >= HEADER_BYTES:
        if not is_checked(data, at, at + LENGTH_BYTES):
            return count, at, True
        size = _read_uint(data, at, LENGTH_BYTES)
        if size > np.uint64(0x7FFFFFFF):
            return count, at, True
        start = at + HEADER_BYTES
        end = start + np.int64(size)
        if data.size - 4 < end:
            return count, at, False
        block.starts[count], block.sizes[count] = start, size
        if not is_checked(data, start, end):
            statuses[count] = BAD_DATA
        else:
            statuses[count] = read_example(
                data, start, end, features, block.spans[count], counts, block.lengths[count]
            )
        at = end + 4
        count += 1
    return count, at, False


class Scan(NamedTuple):
    """The result of a scan.

    Attributes:
      statuses: int32[records], OK (0) or what is wrong.
      end: where in the data the first unread frame begins.
      is_length_bad: whether that frame's length is damaged (otherwise the frame is incomplete).
    """

    block: RecordBlock
    statuses: NDArray[np.int32]
    end: int
    is_length_bad: bool


def scan_records(
    data: NDArray[np.uint8], start: int, features: Features, *, with_splits: bool = False
) -> Scan:
    """Read frames from `start` on, as many as are complete; perhaps fewer if they are small."""
    room = (data.size - start) // _USUAL_BYTES + _MORE_RECORDS
    block = room_for(data, room, features.num_spans + int(with_splits))
    block.spans[:, features.num_spans :] = 0
    statuses, counts = np.empty(room, np.int32), np.empty(features.sizes.size, np.int64)
    count, end, is_length_bad = _scan(block, start, features, counts, statuses)
    return Scan(block.take(slice(0, count)), statuses[:count], end, is_length_bad)


FIRST_BLOCK_BYTES = 1 << 16  # enough for the first record of most shards
BLOCK_BYTES = 1 << 20

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
    with contextlib.closing(stream):
        while stream.fill():
            while True:
                scan = scan_records(stream.data, stream.at, features, with_splits=with_splits)
                if scan.block.num_records:
                    offsets = scan.block.starts + (stream.offset - stream.at - HEADER_BYTES)
                    for i in np.flatnonzero(scan.statuses).tolist():
                        reason = reason_of(int(scan.statuses[i]), shard.kind)
                        place = int(offsets[i]), reason, stream.record + i
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
        num_more, self._block_bytes = self._block_bytes, BLOCK_BYTES
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
