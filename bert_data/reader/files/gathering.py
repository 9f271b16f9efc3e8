"""Read records of TFRecord shards by number, check them, and find their features.

    records 7 -1 0   ->   RecordBlock of [record 7] [nothing] [record 0],   OK  OK  OK

Records are numbered through all shards, in the order of the shards. -1 is an empty row.

Where files are mapped, the system copies dozens of ranges at once to a file in memory, and the
processor fetches them into its caches first. To touch such a map would end the process if its file
has become shorter. What is not copied is read, a system call for each run of records.
"""

import abc
import contextlib
import ctypes
import os
from collections.abc import Callable, Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from bert_data.errors import CorruptDataError
from bert_data.formats.tfrecord import FRAME_BYTES, index_path
from bert_data.kernels import Scalar, inner, intrinsic, kernel
from bert_data.kernels.declaring import prefetch
from bert_data.reader.examples.block import Gathered, RecordBlock, gathered, room_for
from bert_data.reader.examples.example import BAD_DATA, OK, Features, features_of, read_example
from bert_data.reader.examples.wire import address_of, load_word
from bert_data.reader.files.blocks import is_checked, reason_of
from bert_data.reader.files.indexes import Ranges, RecordPlaces, read_indexes
from bert_data.reader.files.record_source import Damage, RecordSource
from bert_data.reader.files.shards import HEADER_BYTES, LENGTH_BYTES, Shard
from bert_data.reader.layout import new_bytes, new_file

_system = ctypes.CDLL(None)
_has_copies = hasattr(os, "memfd_create") and hasattr(_system, "pwritev")  # of Linux
PWRITEV = np.int64((ctypes.cast(_system.pwritev, ctypes.c_void_p).value or 0) if _has_copies else 0)
MAX_RANGES = 64
"""At a time: few enough for the caches; the system takes 1,024 at most."""

_COPIED_BYTES = 1 << 16  # at a time, after which they are still in the caches
_CACHE_LINE = 64


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
        values = builder.trunc(descriptor, short), source, builder.trunc(number, short), start
        kind = ir.FunctionType(ir.IntType(64), [value.type for value in values])
        return builder.call(builder.inttoptr(address, kind.as_pointer()), values)

    int64 = types.int64
    return int64(int64, int64, ranges, int64, int64), generate


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
BAD_LENGTH, OTHER_SIZE, OTHER_TOKENS, CUT, UNREAD = 5, 6, 7, 13, 14


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
def _look_at(
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


@kernel
def _check(
    function: Scalar,
    target: Scalar,
    addresses: NDArray[np.int64],
    vectors: NDArray[np.int64],
    ranges: Ranges,
    records: NDArray[np.integer],
    num_tokens: NDArray[np.unsignedinteger],
    looks: bool,
    features: Features,
    counts: NDArray[np.int64],
    block: RecordBlock,
    statuses: NDArray[np.int32],
) -> Scalar:
    """Check records that are UNREAD and, if asked, look at their Examples.

    Args:
      target: descriptor of the file whose content is the data of the block, to which the records
        are copied first; what cannot be copied stays UNREAD. -1: the records are there.
      addresses: int64[files], of the maps from which they are copied.
      vectors: int64[MAX_RANGES, 2], scratch space.
      ranges, records, num_tokens: where the records are, their numbers; tokens of every record.
      looks: whether to look at the Examples.
      counts: int64[features], scratch space.
      block: of the records, see `TFRecords._room_for`; its spans and lengths are filled if `looks`.

    Returns:
      How many records are not OK.
    """
    first, num_bad = np.int64(0), np.int64(0)
    while first < records.size:
        end, size = first, np.int64(0)
        while end < records.size and end - first < MAX_RANGES and size < _COPIED_BYTES:
            if target >= 0:
                vectors[end - first, 0] = addresses[ranges.shards[end]] + ranges.offsets[end]
                vectors[end - first, 1] = ranges.sizes[end]
            size += ranges.sizes[end]
            end += 1
        is_there = target < 0 or copy_ranges(
            function, target, vectors[: end - first], ranges.places[first]
        )
        for i in range(first, end):
            if is_there and statuses[i] == UNREAD:
                statuses[i] = OK
                if ranges.sizes[i]:
                    statuses[i] = _check_frame(block.data, ranges.places[i], ranges.sizes[i])
                    if looks and statuses[i] == OK:
                        statuses[i] = _look_at(block, i, num_tokens[records[i]], features, counts)
            num_bad += np.int64(statuses[i] != OK)
        first = end
    return num_bad


class Files(NamedTuple):
    """Open files with records, by number.

    Attributes:
      read_into: fills memory from a place in a file on, and returns how many bytes the file had.
      addresses: int64[files], of maps of them; None: there are none, or copying would take longer.
    """

    read_into: Callable[[int, memoryview, int], int]
    addresses: NDArray[np.int64] | None


class TFRecords(RecordSource):
    """The records of TFRecord shards, by number; a subclass says where their bytes are."""

    def __init__(self, shards: Sequence[Shard], *, skip_corrupt: bool) -> None:
        """Read the indexes, but nothing of the shards that have one."""
        indexes = read_indexes(shards, skip_corrupt=skip_corrupt)
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
    def _locate(self, records: NDArray[np.integer], ranges: Ranges) -> tuple[Files, Ranges]:
        """Return open files, and where in them the records are."""

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
        block, is_whole = self._read(records, damage, looks=True)
        return gathered(block, is_whole & (records >= 0))

    def read(self, numbers: ArrayLike) -> list[bytes]:
        """Return the bytes of records, without their frames."""
        block, _ = self._read(np.asarray(numbers, np.int64), Damage(skip=False), looks=False)
        places = zip(block.starts.tolist(), block.sizes.tolist(), strict=True)
        return [block.data[start : start + size].tobytes() for start, size in places]

    def _read(
        self, records: NDArray[np.integer], damage: Damage, *, looks: bool
    ) -> tuple[RecordBlock, NDArray[np.bool_]]:
        """Return records, and which of them are whole: copied from maps, or else read."""
        ranges = self._places.find(records)
        files, here = self._locate(records, ranges)
        data, target, addresses = None, -1, files.addresses
        if addresses is not None and _has_copies:
            with contextlib.suppress(OSError):  # no memory for a file
                data, target = new_file(ranges.num_bytes)
        block = self._room_for(ranges, new_bytes(ranges.num_bytes) if data is None else data)
        statuses = np.full(records.size, UNREAD, np.int32)
        scratch = np.empty((MAX_RANGES, 2), np.int64)
        counts = np.empty(self._features.sizes.size, np.int64)

        def check(target: int) -> int:
            return _check(
                PWRITEV, target, scratch[0] if addresses is None else addresses, scratch, here,
                records, self.num_tokens, looks, self._features, counts, block, statuses,
            )  # fmt: skip

        num_bad = check(target) if target >= 0 else records.size
        if num_bad:
            for first, end in _runs(here, statuses == UNREAD):
                begin, ends = here.places[first], here.places[first:end] + here.sizes[first:end]
                number, offset = int(here.shards[first]), int(here.offsets[first])
                num_read = files.read_into(number, block.data[begin : ends[-1]].data, offset)
                statuses[first:end][ends > begin + num_read] = CUT
            num_bad = check(-1)
        if num_bad:
            self._tell(records, ranges, block.data, statuses, damage)
        return block, statuses == OK

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


def _runs(ranges: Ranges, is_wanted: NDArray[np.bool_]) -> Iterator[tuple[int, int]]:
    """Yield the ends of runs of wanted ranges, each of which lies in a file without a gap."""
    rows = np.flatnonzero(is_wanted)
    if not rows.size:
        return
    before, after = rows[:-1], rows[1:]
    follows = (after == before + 1) & (ranges.shards[after] == ranges.shards[before])
    follows &= ranges.offsets[after] == ranges.offsets[before] + ranges.sizes[before]
    firsts = np.flatnonzero(np.append(True, ~follows))
    ends = np.append(firsts[1:], rows.size)
    yield from zip(rows[firsts].tolist(), (rows[ends - 1] + 1).tolist(), strict=True)
