"""Numbers of records in, the records out: copied from mapped shards, checked, and looked at.

    records 7 -1 0   ->   RecordBlock of [record 7] [nothing] [record 0],   OK  OK  OK

Records are numbered through all shards, in the order of the shards. -1 stands for an empty row.
"""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from bert_data.errors import CorruptDataError
from bert_data.formats.index import INDEX_DTYPE
from bert_data.kernels import Scalar, inner, kernel
from bert_data.reader.examples.block import RecordBlock
from bert_data.reader.examples.example import (
    BAD_DATA,
    FEATURES,
    NUM_NAMES,
    OK,
    SPLITS,
    read_example,
)
from bert_data.reader.examples.vectors import VECTOR_BYTES
from bert_data.reader.examples.wire import WORD_BYTES, load_word, load_word_at
from bert_data.reader.files.blocks import reason_of
from bert_data.reader.files.corruption import Damage
from bert_data.reader.files.indexes import read_indexes
from bert_data.reader.files.mapping import map_files
from bert_data.reader.files.scan import FRAME_BYTES, HEADER_BYTES, LENGTH_BYTES, is_checked
from bert_data.reader.files.shards import Shard
from bert_data.reader.files.unpacking import unpack
from bert_data.reader.memory import new_bytes

BAD_LENGTH, OTHER_SIZE, OTHER_TOKENS = 5, 6, 7  # besides the statuses of `read_example`
_ROW_BYTES = INDEX_DTYPE.itemsize
_LOW = np.uint64(0xFFFFFFFF)


class Gathered(NamedTuple):
    """Records that were asked for, in the order in which they were.

    Attributes:
      block: the records; those that are not there have no numbers.
      is_there: bool[records], false for empty rows and for damaged records that are left out.
    """

    block: RecordBlock
    is_there: NDArray[np.bool_]


@kernel
def _find_frames(
    records: NDArray[np.integer],
    firsts: NDArray[np.int64],
    index_addresses: NDArray[np.int64],
    data_addresses: NDArray[np.int64],
    frames: NDArray[np.int64],
    sizes: NDArray[np.int64],
    num_tokens: NDArray[np.int64],
) -> Scalar:
    """Where the index says that records are: addresses, bytes with frame, tokens.

    Returns:
      Bytes of all of them.
    """
    total = np.int64(0)
    for i in range(records.size):
        record = np.int64(records[i])
        frames[i], sizes[i], num_tokens[i] = 0, 0, 0
        if record < 0:
            continue
        shard, end = 0, firsts.size - 1
        while end - shard > 1:
            middle = (shard + end) >> 1
            if firsts[middle] <= record:
                shard = middle
            else:
                end = middle
        row = index_addresses[shard] + _ROW_BYTES * (record - firsts[shard])
        offset = np.int64(load_word_at(row))
        sizes[i] = np.int64(load_word_at(row + _ROW_BYTES)) - offset
        num_tokens[i] = np.int64(load_word_at(row + _ROW_BYTES - WORD_BYTES) >> np.uint64(32))
        frames[i] = data_addresses[shard] + offset
        total += sizes[i]
    return total


@inner
def _copy(address: Scalar, size: Scalar, out: NDArray[np.uint64], at: Scalar) -> None:
    """Copies whole words, the last of which ends with the range's last byte or before the first."""
    num_words = size >> 3
    for k in range(num_words):
        out[at + k] = load_word_at(address + WORD_BYTES * k)
    left = size & 7
    if left:
        last = load_word_at(address + size - WORD_BYTES)
        out[at + num_words] = last >> np.uint64(8 * (WORD_BYTES - left))


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
    """The status of the record whose frame is data[frame : frame + size]."""
    if not is_checked(data, frame, frame + LENGTH_BYTES):
        return BAD_LENGTH
    if load_word(data, frame) != np.uint64(size - FRAME_BYTES):
        return OTHER_SIZE
    start, end = frame + HEADER_BYTES, frame + size - 4
    if not is_checked(data, start, end):
        return BAD_DATA
    status = read_example(data, start, end, True, needs_label, spans, counts, lengths)
    if status == OK and counts[SPLITS] < 0:  # a padded record
        status = read_example(data, start, end, False, needs_label, spans, counts, lengths)
    if status == OK and lengths[0] != num_tokens:
        return OTHER_TOKENS
    return status


@kernel
def _gather(
    frames: NDArray[np.int64],
    sizes: NDArray[np.int64],
    num_tokens: NDArray[np.int64],
    words: NDArray[np.uint64],
    data: NDArray[np.uint8],
    needs_label: bool,
    counts: NDArray[np.int64],
    starts: NDArray[np.int64],
    example_sizes: NDArray[np.int32],
    spans: NDArray[np.int32],
    lengths: NDArray[np.int32],
    statuses: NDArray[np.int32],
) -> Scalar:
    """Copies and checks; `words` are the bytes of `data`. Returns how many records are not OK."""
    at, num_bad = np.int64(0), 0
    for i in range(frames.size):
        statuses[i], starts[i], example_sizes[i] = OK, 0, 0
        if sizes[i]:
            _copy(frames[i], sizes[i], words, at >> 3)
            starts[i], example_sizes[i] = at + HEADER_BYTES, sizes[i] - FRAME_BYTES
            statuses[i] = _look(
                data, at, sizes[i], num_tokens[i], needs_label, spans[i], counts, lengths[i]
            )
            at += (sizes[i] + WORD_BYTES - 1) & ~np.int64(WORD_BYTES - 1)
        if statuses[i] != OK:
            num_bad += 1
        if statuses[i] != OK or not sizes[i]:
            lengths[i, 0] = lengths[i, 1] = 0
            for name in range(spans.shape[1]):
                spans[i, name, 0] = spans[i, name, 1] = 0
    return num_bad


def _map_shards(
    shards: Sequence[Shard], *, in_order: bool, skip_corrupt: bool
) -> list[NDArray[np.uint8]]:
    """The bytes of TFRecord files, and of what Parquet files are unpacked to."""
    files = iter(map_files([s.path for s in shards if not s.is_parquet], in_order=in_order))
    return [
        unpack(shard, skip_corrupt=skip_corrupt).data if shard.is_parquet else next(files)
        for shard in shards
    ]


class MappedShards:
    """The records of addressable shards, by their numbers.

    Attributes:
      num_tokens: uint[records], tokens of each, by the indexes.
    """

    def __init__(self, shards: Sequence[Shard], *, in_order: bool, skip_corrupt: bool) -> None:
        """Maps shards and indexes.

        Args:
          shards: local and not compressed.
          in_order: whether records will be asked for in their order, mostly.
          skip_corrupt: see `read_index`.

        Raises:
          CorruptDataError: see `read_index`.
        """
        self._shards = shards
        self._indexes = read_indexes(shards, skip_corrupt=skip_corrupt)
        self._maps = _map_shards(shards, in_order=in_order, skip_corrupt=skip_corrupt)
        counts = [index.size - 1 for index in self._indexes]
        self._firsts = np.concatenate(([0], np.cumsum(counts, dtype=np.int64)))
        tokens = [index["num_tokens"][:-1] for index in self._indexes]
        longest = max((int(part.max()) for part in tokens if part.size), default=0)
        kind = np.uint16 if longest < 1 << 16 else np.uint32
        self.num_tokens: NDArray[np.unsignedinteger] = np.empty(self._firsts[-1], kind)
        np.concatenate(tokens, out=self.num_tokens, casting="unsafe")
        self._addresses = tuple(
            np.array([array.__array_interface__["data"][0] for array in arrays], np.int64)
            for arrays in (self._indexes, self._maps)
        )

    def gather(self, records: NDArray[np.integer], damage: Damage) -> Gathered:
        """Reads records.

        Args:
          records: int[any], numbers of records, or -1.
          damage: takes what is found damaged: raises it, or counts it.

        Raises:
          CorruptDataError: damage, unless it is counted.
        """
        count = records.size
        frames, sizes, num_tokens = np.empty((3, count), np.int64)
        total = _find_frames(records, self._firsts, *self._addresses, frames, sizes, num_tokens)
        # Room for whole words, and for what is loaded behind the last one.
        data = new_bytes((total + WORD_BYTES * count + VECTOR_BYTES) & ~(WORD_BYTES - 1))
        starts, example_sizes = np.empty(count, np.int64), np.empty(count, np.int32)
        spans, lengths = (
            np.empty((count, len(FEATURES), 2), np.int32),
            np.empty((count, 2), np.int32),
        )
        statuses = np.empty(count, np.int32)
        num_bad = _gather(
            frames, sizes, num_tokens, data.view(np.uint64), data,
            any(shard.needs_label for shard in self._shards), np.empty(NUM_NAMES, np.int64), starts,
            example_sizes, spans, lengths, statuses,
        )  # fmt: skip
        if num_bad:
            for i in np.flatnonzero(statuses).tolist():
                damage.found(self._error(int(records[i]), int(statuses[i])), 1)
        block = RecordBlock(data, starts, example_sizes, spans, lengths)
        return Gathered(block, (records >= 0) & (statuses == OK))

    def _error(self, record: int, status: int) -> CorruptDataError:
        number = int(np.searchsorted(self._firsts, record, side="right")) - 1
        local = record - int(self._firsts[number])
        offset, end = self._indexes[number]["offset"][local : local + 2].tolist()
        if status == BAD_LENGTH:
            reason = "the checksum of a record's length does not match"
        elif status == OTHER_SIZE:
            begin = self._maps[number][offset : offset + LENGTH_BYTES].tobytes()
            size = int.from_bytes(begin, "little")
            told = f"its index tells of {end - offset - FRAME_BYTES}"
            reason = f"a record has {size} bytes; {told}"
        elif status == OTHER_TOKENS:
            told = f"its index tells of {self.num_tokens[record]}"
            reason = f"a record has another number of tokens; {told}"
        else:
            reason = reason_of(status)
        return CorruptDataError(self._shards[number].path, offset, reason, local)
