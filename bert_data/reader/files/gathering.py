"""Read records by number from shards of either format, check them, and find their features.

    records 7 -1 0   ->   RecordBlock of [record 7] [nothing] [record 0],   OK  OK  OK

Records are numbered through all shards, in the order of the shards. -1 is an empty row.
"""

import itertools
import os
from collections.abc import Sequence
from typing import Protocol

import numpy as np
from numpy.typing import ArrayLike, NDArray

from bert_data.errors import CorruptDataError
from bert_data.formats.index import FRAME_BYTES, index_path
from bert_data.kernels import Scalar, inner, kernel
from bert_data.reader.examples.block import Gathered, RecordBlock, join_blocks
from bert_data.reader.examples.example import BAD_DATA, FEATURES, NUM_NAMES, OK, read_example
from bert_data.reader.examples.wire import load_word
from bert_data.reader.files.blocks import is_checked, reason_of
from bert_data.reader.files.corruption import Damage
from bert_data.reader.files.indexes import PREAD, Places, Ranges, read_indexes, read_range
from bert_data.reader.files.parquet_shards import ParquetRecords
from bert_data.reader.files.shards import HEADER_BYTES, LENGTH_BYTES, Shard
from bert_data.reader.memory import new_bytes
from bert_data.storage.descriptors import OpenFiles

# In addition to the statuses of `read_example`.
BAD_LENGTH, OTHER_SIZE, OTHER_TOKENS, CUT, FAILED = 5, 6, 7, 13, 14
_MEMORY_SHARE = 2  # files read in random order may fill half of the memory


@inner
def _check_frame(data: NDArray[np.uint8], frame: Scalar, size: Scalar) -> Scalar:
    """Return the status of the frame data[frame : frame + size]."""
    if not is_checked(data, frame, frame + LENGTH_BYTES):
        return BAD_LENGTH
    if load_word(data, frame) != np.uint64(size - FRAME_BYTES):
        return OTHER_SIZE
    if not is_checked(data, frame + HEADER_BYTES, frame + size - 4):
        return BAD_DATA
    return OK


@inner
def _look(
    data: NDArray[np.uint8],
    frame: Scalar,
    size: Scalar,
    num_tokens: Scalar,
    needs_label: bool,
    spans: NDArray[np.int32],
    counts: NDArray[np.int64],
    lengths: NDArray[np.int32],
) -> Scalar:
    """Return the status of the Example in the frame data[frame : frame + size]."""
    start, end = frame + HEADER_BYTES, frame + size - 4
    status = read_example(data, start, end, needs_label, spans, counts, lengths)
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
    needs_label: bool,
    counts: NDArray[np.int64],
    data: NDArray[np.uint8],
    spans: NDArray[np.int32],
    lengths: NDArray[np.int32],
    statuses: NDArray[np.int32],
) -> Scalar:
    """Read records from the open files, check them, and look at their Examples.

    A record is checked as soon as it is read, while it is in the caches.

    Args:
      function: PREAD.
      files: int64[shards], descriptors; -1 for a file that is not open, whose records are left out.
      ranges, records, num_tokens: of all requested records; tokens of every record.
      looks: whether to look at the Examples; needs_label: see `read_example`.
      counts: int64[NUM_NAMES], scratch space.
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
                    statuses[i] = _check_frame(data, ranges.places[i], ranges.sizes[i])
                if looks and statuses[i] == OK:
                    statuses[i] = _look(
                        data, ranges.places[i], ranges.sizes[i], num_tokens[records[i]],
                        needs_label, spans[i], counts, lengths[i],
                    )  # fmt: skip
                num_bad += np.int64(statuses[i] != OK)
        first = end
    return num_bad


class ShardRecords:
    """The records of TFRecord shards, by number.

    Attributes:
      num_tokens: uint[records], tokens of each, from the indexes.
    """

    def __init__(self, shards: Sequence[Shard], *, in_order: bool, skip_corrupt: bool) -> None:
        """Read the indexes, but nothing of the shards that have one.

        Args:
          shards: local and not compressed.
          in_order: whether records will mostly be read in order.
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
        self._needs_label = any(shard.needs_label for shard in shards)
        self._files = OpenFiles([shard.path for shard in shards])
        self._advise(sum(shard.num_bytes for shard in shards), in_order=in_order)

    def _advise(self, num_bytes: int, *, in_order: bool) -> None:
        """Have files that are read in random order prefetched, if they fit into memory."""
        memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
        if in_order or num_bytes > memory // _MEMORY_SHARE or not hasattr(os, "posix_fadvise"):
            return
        for number in range(len(self._files.paths)):
            with self._files.some([number]) as descriptors:
                os.posix_fadvise(descriptors[number], 0, 0, os.POSIX_FADV_WILLNEED)

    def gather(self, records: NDArray[np.integer], damage: Damage) -> Gathered:
        """Read records.

        Args:
          records: int[any], numbers of records, or -1.
          damage: raises or counts the damage.

        Raises:
          OSError: a file cannot be read.
          CorruptDataError: damage, unless it is counted.
        """
        count = records.size
        spans, lengths = (
            np.empty((count, len(FEATURES), 2), np.int32),
            np.empty((count, 2), np.int32),
        )
        ranges, data, statuses = self._read(records, spans, lengths, damage, looks=True)
        is_there = (records >= 0) & (statuses == OK)
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
          OSError: a file cannot be read.
          CorruptDataError: a record's frame or checksum is damaged.
        """
        records = np.asarray(numbers, np.int64)
        room = np.empty((0, len(FEATURES), 2), np.int32), np.empty((0, 2), np.int32)
        ranges, data, _ = self._read(records, *room, Damage(skip=False), looks=False)
        begins, ends = ranges.places + HEADER_BYTES, ranges.places + ranges.sizes - 4
        spans = zip(begins.tolist(), ends.tolist(), strict=True)
        return [data[begin:end].tobytes() for begin, end in spans]

    def _read(
        self,
        records: NDArray[np.integer],
        spans: NDArray[np.int32],
        lengths: NDArray[np.int32],
        damage: Damage,
        *,
        looks: bool,
    ) -> tuple[Ranges, NDArray[np.uint8], NDArray[np.int32]]:
        """Return where records are, their bytes, and int32[records], their statuses."""
        ranges = self._places.find(records)
        data = new_bytes(ranges.num_bytes)
        statuses = np.zeros(records.size, np.int32)
        counts, num_bad = np.empty(NUM_NAMES, np.int64), 0
        left = np.flatnonzero(np.bincount(ranges.shards[ranges.sizes > 0])).tolist()
        while left:
            files = np.full(len(self._files.paths), -1, np.int64)
            with self._files.some(left) as descriptors:
                files[list(descriptors)] = list(descriptors.values())
                num_bad += _read(
                    PREAD, files, ranges, records, self.num_tokens, looks, self._needs_label,
                    counts, data, spans, lengths, statuses,
                )  # fmt: skip
                for i in np.flatnonzero(statuses == FAILED).tolist():
                    descriptor = descriptors[int(ranges.shards[i])]
                    os.pread(descriptor, int(ranges.sizes[i]), int(ranges.offsets[i]))  # raises
                    raise OSError(f"cannot read {self._files.paths[int(ranges.shards[i])]}")
            left = [number for number in left if number not in descriptors]
        if num_bad:
            self._tell(records, ranges, data, statuses, damage)
        return ranges, data, statuses

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
            begin, size = int(ranges.places[i]), int(ranges.sizes[i])
            stored = int.from_bytes(data[begin : begin + LENGTH_BYTES].tobytes(), "little")
            path, offset = self._files.paths[shard], int(ranges.offsets[i])
            index, tokens = os.path.basename(index_path(path)), self.num_tokens[records[i]]
            status = int(statuses[i])
            reason = {
                BAD_LENGTH: "the checksum of a record's length does not match",
                OTHER_SIZE: f"a record has {stored} bytes; its index says {size - FRAME_BYTES}",
                OTHER_TOKENS: f"{index} is wrong: it says that this record has {tokens} tokens",
                CUT: "the file ends inside a record; it has become shorter since it was opened",
            }.get(status) or reason_of(status)
            damage.found(CorruptDataError(path, offset, reason, local), 1)


class RecordSource(Protocol):
    """Records by number.

    Attributes:
      num_tokens: uint[records], tokens of each.
    """

    num_tokens: NDArray[np.unsignedinteger]

    def gather(self, records: NDArray[np.integer], damage: Damage) -> Gathered:
        """Read records, see `ShardRecords.gather`."""


class _Parts:
    """The records of several sources, one after the other."""

    def __init__(self, parts: Sequence[RecordSource]) -> None:
        self._parts = parts
        self._firsts = np.cumsum([0, *(part.num_tokens.size for part in parts)])
        self.num_tokens: NDArray[np.unsignedinteger] = np.concatenate(
            [part.num_tokens for part in parts]
        )

    def gather(self, records: NDArray[np.integer], damage: Damage) -> Gathered:
        """Read records, see `ShardRecords.gather`."""
        # Empty rows, -1, go to the first part.
        part_of = np.maximum(np.searchsorted(self._firsts, records, side="right") - 1, 0)
        rows_of = [np.flatnonzero(part_of == number) for number in range(len(self._parts))]
        gathered = [
            part.gather(np.where(records[which] < 0, -1, records[which] - first), damage)
            for part, which, first in zip(self._parts, rows_of, self._firsts, strict=False)
        ]
        order = np.argsort(np.concatenate(rows_of))
        is_there = np.concatenate([part.is_there for part in gathered])
        return Gathered(join_blocks([part.block for part in gathered]).take(order), is_there[order])


def records_of_shards(
    shards: Sequence[Shard], *, in_order: bool, skip_corrupt: bool
) -> RecordSource:
    """Return the records of addressable shards, numbered in the order of the shards.

    Raises:
      ValueError, OSError, CorruptDataError: see `ShardRecords` and `ParquetRecords`.
    """
    parts: list[RecordSource] = []
    for is_parquet, group in itertools.groupby(shards, lambda shard: shard.is_parquet):
        members = tuple(group)
        if is_parquet:
            parts.append(ParquetRecords(members, skip_corrupt=skip_corrupt))
        else:
            parts.append(ShardRecords(members, in_order=in_order, skip_corrupt=skip_corrupt))
    return parts[0] if len(parts) == 1 else _Parts(parts)
