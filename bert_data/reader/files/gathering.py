"""Read records of TFRecord shards by number, check them, and find their features.

    records 7 -1 0   ->   RecordBlock of [record 7] [nothing] [record 0],   OK  OK  OK

Records are numbered through all shards, in the order of the shards. -1 is an empty row.

`read_range` reads any file. Where files are mapped, `copy_ranges` has the system copy dozens of
ranges at once to a file in memory, and the processor fetch them into its caches first. To touch
such a map would end the process if its file has become shorter.
"""

import abc
import contextlib
import ctypes
import os
from collections.abc import Generator, Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from bert_data.errors import CorruptDataError
from bert_data.kernels import Scalar, inner, intrinsic, kernel
from bert_data.kernels.declaring import prefetch
from bert_data.reader.examples.block import Gathered, RecordBlock, gathered, room_for
from bert_data.reader.examples.example import BAD_DATA, OK, Features, features_of, read_example
from bert_data.reader.examples.frames import HEADER_BYTES, LENGTH_BYTES, is_checked
from bert_data.reader.examples.wire import address_of, load_word
from bert_data.reader.files.blocks import reason_of
from bert_data.reader.files.indexes import Ranges, RecordPlaces, read_indexes
from bert_data.reader.files.record_source import Damage, RecordSource
from bert_data.reader.files.shards import Shard
from bert_data.reader.layout import new_bytes
from bert_data.records.formats.tfrecord import FRAME_BYTES, index_path


def _address_of(name: str) -> np.int64:
    function = getattr(ctypes.CDLL(None), name, None)
    return np.int64(ctypes.cast(function, ctypes.c_void_p).value or 0 if function else 0)


PREAD, PWRITEV = _address_of("pread"), _address_of("pwritev")
MAX_RANGES = 64
"""At a time: few enough for the caches; the system takes 1,024 at most."""

_CACHE_LINE = 64


def _call(builder: Any, address: Any, *values: Any) -> Any:
    """Call the C function at an address, which returns 64 bits."""
    from llvmlite import ir

    kind = ir.FunctionType(ir.IntType(64), [value.type for value in values])
    return builder.call(builder.inttoptr(address, kind.as_pointer()), values)


@intrinsic
def _pread(
    typing_context: Any, function: Any, file: Any, data: Any, at: Any, size: Any, offset: Any
) -> Any:
    """Call the system's pread into data[at : at + size] (uint8 array); return bytes read, or -1."""
    from llvmlite import ir
    from numba import types

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        address, descriptor, array, place, count, start = arguments
        target = address_of(context, builder, signature.args[2], (array, place), ir.IntType(8))
        number = builder.trunc(descriptor, ir.IntType(32))
        return _call(builder, address, number, target, count, start)

    int64 = types.int64
    return int64(int64, int64, data, types.intp, int64, int64), generate


@intrinsic
def _pwritev(
    typing_context: Any, function: Any, file: Any, ranges: Any, count: Any, offset: Any
) -> Any:
    """Call the system's pwritev of ranges[:count] (int64[any, 2]); return bytes written, or -1."""
    from llvmlite import ir
    from numba import types

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        address, descriptor, array, number, start = arguments
        short, first = ir.IntType(32), ir.IntType(64)(0)
        source = address_of(context, builder, signature.args[2], (array, first), ir.IntType(8))
        descriptor, number = builder.trunc(descriptor, short), builder.trunc(number, short)
        return _call(builder, address, descriptor, source, number, start)

    int64 = types.int64
    return int64(int64, int64, ranges, int64, int64), generate


@inner
def read_range(
    function: Scalar,
    file: Scalar,
    data: NDArray[np.uint8],
    at: Scalar,
    size: Scalar,
    offset: Scalar,
) -> tuple[Scalar, Scalar]:
    """Read a range of a file into data[at : at + size].

    Returns:
      How many bytes were read, fewer at the end of the file; and whether the system reports an
        error.
    """
    done, count = np.int64(0), np.int64(1)
    while done < size and count > 0:
        count = _pread(function, file, data, at + done, size - done, offset + done)
        done += max(count, np.int64(0))
    return done, count < 0


@inner
def copy_ranges(
    function: Scalar, target: Scalar, ranges: NDArray[np.int64], offset: Scalar
) -> bool:
    """Have the system copy ranges of maps to a file, one after the other.

    Args:
      ranges: int64[1 ... MAX_RANGES, 2], the address and the size of each.
      offset: int64, where in the file the first one begins.

    Returns:
      Whether all were copied: what a file has lost since it was mapped, or cannot be read, is not.
    """
    num_bytes = np.int64(0)
    for i in range(ranges.shape[0]):
        num_bytes += ranges[i, 1]
        for at in range(0, ranges[i, 1], _CACHE_LINE):
            prefetch(ranges[i, 0] + at)
    return _pwritev(function, target, ranges, np.int64(ranges.shape[0]), offset) == num_bytes


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
def look_at(
    block: RecordBlock,
    i: Scalar,
    num_tokens: Scalar,
    features: Features,
    counts: NDArray[np.int64],
) -> Scalar:
    """Return the status of the Example of a record, after filling its spans and lengths."""
    start, lengths = block.starts[i], block.lengths[i]
    end = start + block.sizes[i]
    status = read_example(block.data, start, end, features, block.spans[i], counts, lengths)
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
    block: RecordBlock,
    statuses: NDArray[np.int32],
) -> Scalar:
    """Read records from the open files, check them, and look at their Examples.

    A record is checked as soon as it is read, while it is in the caches.

    Args:
      files: int64[shards], descriptors; -1 for a file that is not open, whose records are left out.
      ranges, records, num_tokens: of all requested records; tokens of every record.
      looks: whether to look at the Examples.
      counts: int64[features], scratch space.
      block: of the records, see `TFRecords._room_for`; its data are filled, and its spans and
        lengths if `looks`.

    Returns:
      How many of these records are not OK.
    """
    first, num_bad = np.int64(0), np.int64(0)
    while first < ranges.sizes.size:
        end, size = _run_of(ranges, first)
        file = files[ranges.shards[first]]
        if file >= 0 and size:
            at = ranges.places[first]
            left, is_failed = read_range(
                function, file, block.data, at, size, ranges.offsets[first]
            )
            for i in range(first, end):
                left -= ranges.sizes[i]
                if not ranges.sizes[i]:
                    continue
                if left < 0:
                    statuses[i] = FAILED if is_failed else CUT
                else:
                    statuses[i] = check_frame(block.data, ranges.places[i], ranges.sizes[i])
                if looks and statuses[i] == OK:
                    statuses[i] = look_at(block, i, num_tokens[records[i]], features, counts)
                num_bad += np.int64(statuses[i] != OK)
        first = end
    return num_bad


class TFRecords(RecordSource):
    """The records of TFRecord shards, by number; a subclass says where their bytes are."""

    def __init__(
        self,
        shards: Sequence[Shard],
        *,
        skip_corrupt: bool,
        indexes: Sequence[NDArray[np.void]] | None = None,
    ) -> None:
        """Read the indexes, unless they are given, but nothing of the shards that have one."""
        indexes = indexes or read_indexes(shards, skip_corrupt=skip_corrupt)
        self._places = RecordPlaces([index["offset"] for index in indexes])
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

    def _copy(self, records: NDArray[np.integer], ranges: Ranges) -> RecordBlock | None:
        """Return what `_read` would read, or None if it must; a subclass may have a faster way."""

    def _check_unchanged(self, shard: int) -> None:
        """Raise an error if damage to a shard is rather a change of the whole file."""

    def _room_for(self, ranges: Ranges, data: NDArray[np.uint8]) -> RecordBlock:
        """Return the records that will be in `data`; their spans and lengths are not filled."""
        room = room_for(data, ranges.sizes.size, self._features.num_spans)
        room.starts[:] = ranges.places + HEADER_BYTES
        room.sizes[:] = ranges.sizes - FRAME_BYTES
        return room

    def gather(self, records: NDArray[np.integer], damage: Damage) -> Gathered:
        """Read records, see `RecordSource`."""
        ranges, is_there = self._places.find(records), records >= 0
        block = self._copy(records, ranges)
        if block is None:
            block = self._room_for(ranges, new_bytes(ranges.num_bytes))
            is_there &= self._read(records, ranges, block, damage, looks=True) == OK
        return gathered(block, is_there)

    def read(self, numbers: ArrayLike) -> list[bytes]:
        """Return the bytes of records, without their frames."""
        records = np.asarray(numbers, np.int64)
        ranges = self._places.find(records)
        data = new_bytes(ranges.num_bytes)
        block = self._room_for(ranges, data)
        self._read(records, ranges, block, Damage(skip=False), looks=False)
        places = zip(block.starts.tolist(), block.sizes.tolist(), strict=True)
        return [data[start : start + size].tobytes() for start, size in places]

    def _read(
        self,
        records: NDArray[np.integer],
        ranges: Ranges,
        block: RecordBlock,
        damage: Damage,
        *,
        looks: bool,
    ) -> NDArray[np.int32]:
        """Fill a block of `_room_for`; return int32[records], the statuses of its records."""
        statuses = np.zeros(records.size, np.int32)
        counts, num_bad = np.empty(self._features.is_float.size, np.int64), 0
        with contextlib.closing(self._open(records, ranges)) as opened:
            for descriptors, where in opened:
                files = np.full(len(self._paths), -1, np.int64)
                files[list(descriptors)] = list(descriptors.values())
                num_bad += _read(
                    PREAD, files, where, records, self.num_tokens, looks, self._features,
                    counts, block, statuses,
                )  # fmt: skip
                for i in np.flatnonzero(statuses == FAILED).tolist():
                    descriptor = descriptors[int(where.shards[i])]
                    os.pread(descriptor, int(where.sizes[i]), int(where.offsets[i]))  # raises
                    raise OSError(f"cannot read {self._paths[int(ranges.shards[i])]}")
        if num_bad:
            self._tell(records, ranges, block.data, statuses, damage)
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
