"""Read records of TFRecord shards by number, check them, and find their features.

    records 7 -1 0   ->   RecordBlock of [record 7] [nothing] [record 0],   OK  OK  OK

Records are numbered through all shards, in the order of the shards. -1 is an empty row.
"""

import abc
import contextlib
import os
from collections.abc import Generator, Sequence

import numpy as np
from numpy.typing import ArrayLike, NDArray

from bert_data.errors import CorruptDataError
from bert_data.formats.index import FRAME_BYTES, index_path
from bert_data.kernels import Scalar, inner, kernel
from bert_data.reader.examples.block import Gathered, RecordBlock
from bert_data.reader.examples.example import BAD_DATA, OK, Features, features_of, read_example
from bert_data.reader.examples.wire import load_word
from bert_data.reader.files.blocks import is_checked, reason_of
from bert_data.reader.files.corruption import Damage
from bert_data.reader.files.indexes import Places, Ranges, read_indexes
from bert_data.reader.files.record_source import RecordSource
from bert_data.reader.files.shards import HEADER_BYTES, LENGTH_BYTES, Shard
from bert_data.reader.files.system_calls import PREAD, read_range
from bert_data.reader.memory import new_bytes

# In addition to the statuses of `read_example`.
BAD_LENGTH, OTHER_SIZE, OTHER_TOKENS, CUT, FAILED = 5, 6, 7, 13, 14


@inner
def check_frame(data: NDArray[np.uint8], frame: Scalar, size: Scalar) -> Scalar:
    """Return the status of the frame data[frame : frame + size]."""
    if not is_checked(data, frame, frame + LENGTH_BYTES):
        return BAD_LENGTH
    if load_word(data, frame) != np.uint64(size - FRAME_BYTES):
        return OTHER_SIZE
    if not is_checked(data, frame + HEADER_BYTES, frame + size - 4):
        return BAD_DATA
    return OK


@inner
def look_at_frame(
    data: NDArray[np.uint8],
    frame: Scalar,
    size: Scalar,
    num_tokens: Scalar,
    features: Features,
    spans: NDArray[np.int32],
    counts: NDArray[np.int64],
    lengths: NDArray[np.int32],
) -> Scalar:
    """Return the status of the Example in the frame data[frame : frame + size]."""
    start, end = frame + HEADER_BYTES, frame + size - 4
    status = read_example(data, start, end, features, spans, counts, lengths)
    if status == OK and lengths[0] != num_tokens:
        return OTHER_TOKENS
    return status


@inner
def _run_of(ranges: Ranges, first: Scalar) -> tuple[Scalar, Scalar]:
    """Return the end of the gapless ranges from `first` on in its file, and their bytes."""
    end, size = first + 1, ranges.sizes[first]
    while (
        end < ranges.sizes.size
        and ranges.shards[end] == ranges.shards[first]
        and ranges.offsets[end] == ranges.offsets[first] + size
    ):
        size += ranges.sizes[end]
        end += 1
    return end, size


@kernel
def _read(
    function: Scalar,
    files: NDArray[np.int64],
    ranges: Ranges,
    records: NDArray[np.integer],
    num_tokens: NDArray[np.unsignedinteger],
    looks: bool,
    features: Features,
    counts: NDArray[np.int64],
    data: NDArray[np.uint8],
    spans: NDArray[np.int32],
    lengths: NDArray[np.int32],
    statuses: NDArray[np.int32],
) -> Scalar:
    """Read records from the open files, check them, and look at their Examples.

    A record is checked as soon as it is read, while it is in the caches.

    Args:
      files: int64[shards], descriptors; -1 for a file that is not open, whose records are left out.
      ranges, records, num_tokens: of all requested records; tokens of every record.
      looks: whether to look at the Examples.
      features: that they must have.
      counts: int64[features], scratch space.
      data: uint8[ranges.num_bytes], filled.
      spans, lengths: int32[records, ...], filled if `looks`.
      statuses: int32[records], filled.

    Returns:
      How many of these records are not OK.
    """
    first, num_bad = np.int64(0), np.int64(0)
    while first < ranges.sizes.size:
        end, size = _run_of(ranges, first)
        file = files[ranges.shards[first]]
        if file >= 0 and size:
            at = ranges.places[first]
            left, is_failed = read_range(function, file, data, at, size, ranges.offsets[first])
            for i in range(first, end):
                left -= ranges.sizes[i]
                if not ranges.sizes[i]:
                    continue
                if left < 0:
                    statuses[i] = FAILED if is_failed else CUT
                else:
                    statuses[i] = check_frame(data, ranges.places[i], ranges.sizes[i])
                if looks and statuses[i] == OK:
                    statuses[i] = look_at_frame(
                        data, ranges.places[i], ranges.sizes[i], num_tokens[records[i]],
                        features, spans[i], counts, lengths[i],
                    )  # fmt: skip
                num_bad += np.int64(statuses[i] != OK)
        first = end
    return num_bad


def room_for(num_records: int, num_spans: int) -> tuple[NDArray[np.int32], NDArray[np.int32]]:
    """Return the spans and lengths of records, not initialised."""
    spans = np.empty((num_records, num_spans, 2), np.int32)
    return spans, np.empty((num_records, 2), np.int32)


class TFRecords(RecordSource):
    """The records of TFRecord shards, by number; a subclass says where their bytes are.

    Attributes:
      num_tokens: uint[records], tokens of each, from the indexes.
    """

    def __init__(self, shards: Sequence[Shard], *, skip_corrupt: bool) -> None:
        """Read the indexes, but nothing of the shards that have one.

        Args:
          shards: not compressed.
          skip_corrupt: see `read_index`.

        Raises:
          CorruptDataError: see `read_index`.
        """
        indexes = read_indexes(shards, skip_corrupt=skip_corrupt)
        self._places = Places([index["offset"] for index in indexes])
        tokens = [index["num_tokens"][:-1] for index in indexes]
        longest = max((int(part.max()) for part in tokens if part.size), default=0)
        kind = np.uint16 if longest < 1 << 16 else np.uint32
        self.num_tokens: NDArray[np.unsignedinteger] = np.concatenate(
            [np.zeros(0, kind), *tokens], dtype=kind, casting="unsafe"
        )
        self._kind = shards[0].kind
        self._features = features_of(self._kind)
        self._paths = tuple(shard.path for shard in shards)

    @abc.abstractmethod
    def _open(
        self, records: NDArray[np.integer], ranges: Ranges
    ) -> Generator[tuple[dict[int, int], Ranges]]:
        """Yield open files by number, and where in them the records are; until all were open."""

    def _copy(
        self,
        records: NDArray[np.integer],
        ranges: Ranges,
        spans: NDArray[np.int32],
        lengths: NDArray[np.int32],
    ) -> NDArray[np.uint8] | None:
        """Return what `_read` would read, or None if it must; a subclass may have a faster way."""

    def _check_unchanged(self, shard: int) -> None:
        """Raise an error if damage to a shard is rather a change of the whole file."""

    def gather(self, records: NDArray[np.integer], damage: Damage) -> Gathered:
        """Read records.

        Args:
          records: int[any], numbers of records, or -1.

        Raises:
          CorruptDataError: damage, unless it is counted.
        """
        spans, lengths = room_for(records.size, self._features.num_spans)
        ranges = self._places.find(records)
        is_there = records >= 0
        data = self._copy(records, ranges, spans, lengths)
        if data is None:
            data = new_bytes(ranges.num_bytes)
            is_there &= self._read(records, ranges, data, spans, lengths, damage, looks=True) == OK
        starts = ranges.places + HEADER_BYTES
        sizes = (ranges.sizes - FRAME_BYTES).astype(np.int32)
        if not is_there.all():
            for part in (starts, sizes, spans, lengths):
                part[~is_there] = 0
        return Gathered(RecordBlock(data, starts, sizes, spans, lengths), is_there)

    def read(self, numbers: ArrayLike) -> list[bytes]:
        """Return the bytes of records, without their frames.

        Args:
          numbers: integers [any], in [0, num_tokens.size).

        Raises:
          CorruptDataError: a record's frame or checksum is damaged.
        """
        records = np.asarray(numbers, np.int64)
        ranges = self._places.find(records)
        data = new_bytes(ranges.num_bytes)
        self._read(records, ranges, data, *room_for(0, 0), Damage(skip=False), looks=False)
        begins, ends = ranges.places + HEADER_BYTES, ranges.places + ranges.sizes - 4
        spans = zip(begins.tolist(), ends.tolist(), strict=True)
        return [data[begin:end].tobytes() for begin, end in spans]

    def _read(
        self,
        records: NDArray[np.integer],
        ranges: Ranges,
        data: NDArray[np.uint8],
        spans: NDArray[np.int32],
        lengths: NDArray[np.int32],
        damage: Damage,
        *,
        looks: bool,
    ) -> NDArray[np.int32]:
        """Read records to `ranges.places` in `data`; return int32[records], their statuses.

        Fills spans and lengths, int32[records, ...], if `looks`.
        """
        statuses = np.zeros(records.size, np.int32)
        counts, num_bad = np.empty(self._features.sizes.size, np.int64), 0
        with contextlib.closing(self._open(records, ranges)) as opened:
            for descriptors, where in opened:
                files = np.full(len(self._paths), -1, np.int64)
                files[list(descriptors)] = list(descriptors.values())
                num_bad += _read(
                    PREAD, files, where, records, self.num_tokens, looks, self._features,
                    counts, data, spans, lengths, statuses,
                )  # fmt: skip
                for i in np.flatnonzero(statuses == FAILED).tolist():
                    descriptor = descriptors[int(where.shards[i])]
                    os.pread(descriptor, int(where.sizes[i]), int(where.offsets[i]))  # raises
                    raise OSError(f"cannot read {self._paths[int(ranges.shards[i])]}")
        if num_bad:
            self._tell(records, ranges, data, statuses, damage)
        return statuses

    def _tell(
        self,
        records: NDArray[np.integer],
        ranges: Ranges,
        data: NDArray[np.uint8],
        statuses: NDArray[np.int32],
        damage: Damage,
    ) -> None:
        for i in np.flatnonzero(statuses).tolist():
            shard, local = self._places.shard_of(int(records[i]))
            self._check_unchanged(shard)
            begin, size = int(ranges.places[i]), int(ranges.sizes[i])
            stored = int.from_bytes(data[begin : begin + LENGTH_BYTES].tobytes(), "little")
            path, offset = self._paths[shard], int(ranges.offsets[i])
            index, tokens = os.path.basename(index_path(path)), self.num_tokens[records[i]]
            status = int(statuses[i])
            reason = {
                BAD_LENGTH: "the checksum of a record's length does not match",
                OTHER_SIZE: f"a record has {stored} bytes; its index says {size - FRAME_BYTES}",
                OTHER_TOKENS: f"{index} is wrong: it says that this record has {tokens} tokens",
                CUT: "the file ends inside a record; it has become shorter since it was opened",
            }.get(status) or reason_of(status, self._kind)
            damage.found(CorruptDataError(path, offset, reason, local), 1)
