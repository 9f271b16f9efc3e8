"""The records of a shard, gathered from all partitions and shuffled, in bounded memory.

    partition 0: lane 0 | lane 1 ...   --ranges of bytes-->  lane 0: its rows of 0 and 1, shuffled
    partition 1: lane 0 | lane 1 ...                         lane 1: ...

As many consecutive lanes are in memory as fit; the records do not depend on how many.
"""

import itertools
import os
from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from bert_data.datasets.dealing import LaneShuffler
from bert_data.datasets.lanes import INDEX, INDEX_WORDS, ROWS, TOKENS, as_bytes
from bert_data.errors import CorruptDataError
from bert_data.kernels.crc32c import extend_crc32cs
from bert_data.objectives.rows import count_tokens, place_rows, take_rows
from bert_data.storage import file_size, read_many, read_range

_BYTES_BESIDE_ROW = 32  # while lanes are sorted
# What is read at a time: enough for ranges of this size on average, but not much more than caches
# hold, and memory that the allocator uses again.
_RANGE_BYTES = 1 << 18
_LEAST_BYTES = 16 << 20


class Hand(NamedTuple):
    """The instances that a shard gets of a partition: its folder, and which hand it dealt."""

    folder: str
    number: int


class InstanceChunk(NamedTuple):
    """Instances of a shard.

    Attributes:
      rows: uint32[any, words], see `objectives.rows`.
      ids: uint16 or int32[tokens] that the rows point into.
      order: uint32[records], the row of each record.
    """

    rows: NDArray[np.uint32]
    ids: NDArray[np.integer]
    order: NDArray[np.uint32]


class ShardLanes:
    """The lanes of a shard in the files of all partitions.

    A piece is what one segment holds of them.
    """

    def __init__(
        self, hands: Sequence[Hand], *, num_shards: int, num_lanes: int, num_words: int, dtype: str
    ) -> None:
        """Read where the lanes are.

        Args:
          hands: of all partitions, in order.
          num_shards: >= 1.
          num_lanes: of each shard.
          num_words: of a row.
          dtype: of the tokens.

        Raises:
          OSError, CorruptDataError: a file cannot be read.
        """
        self._num_words, self._dtype = num_words, np.dtype(dtype)
        word_bytes = 8 * INDEX_WORDS
        segment_bytes = word_bytes * (num_shards * num_lanes + 1)

        def read_index(hand: Hand) -> list[NDArray[np.int64]]:
            path = os.path.join(hand.folder, INDEX)
            starts = range(0, file_size(path), segment_bytes)
            segments = [np.empty((1, num_lanes + 1, INDEX_WORDS), "<i8") for _ in starts]
            for start, segment in zip(starts, segments, strict=True):
                read_range(path, start + word_bytes * num_lanes * hand.number, segment)
            return segments

        indexes = read_many(read_index, hands, [hand.folder for hand in hands])
        self._folders = [  # of the pieces
            hand.folder for hand, segments in zip(hands, indexes, strict=True) for _ in segments
        ]
        none = np.empty((0, num_lanes + 1, INDEX_WORDS), "<i8")
        index = np.concatenate([none, *itertools.chain.from_iterable(indexes)])
        self._starts = index[:, :, :2]  # int64[pieces, lanes + 1, 2], first rows and tokens
        # uint32[pieces, lanes, 2], checksums of rows and tokens
        self._crcs = np.ascontiguousarray(index[:, :-1, 2:]).view("<u4")
        self._sizes = np.diff(self._starts, axis=1).sum(axis=0)

    def read_chunks(
        self, shuffler: LaneShuffler, chunk_size: int, *, max_bytes: int
    ) -> Iterator[InstanceChunk]:
        """Read the records in their order.

        Args:
          shuffler: of the shard's lanes.
          chunk_size: records of all chunks but the last, >= 1.
          max_bytes: of instances in memory; the lanes that are read next may take as much again.

        Raises:
          ValueError: one lane does not fit.
          OSError, CorruptDataError: a file cannot be read.
        """
        left: InstanceChunk | None = None
        target_bytes = max(_LEAST_BYTES, _RANGE_BYTES * len(self._folders))
        groups = list(self._groups(max_bytes, min(max_bytes, target_bytes)))
        for first, stop in groups:
            rows, ids, order = self._read(first, stop, left, shuffler)
            is_last = stop == groups[-1][1]
            start = 0
            while order.size - start >= chunk_size or (is_last and start < order.size):
                yield InstanceChunk(rows, ids, order[start : start + chunk_size])
                start += chunk_size
            left = None if is_last else _copy(rows, ids, order[start:])

    def _groups(self, max_bytes: int, target_bytes: int) -> Iterator[tuple[int, int]]:
        """Yield (first, stop) of lanes to read together: one, or about target_bytes of them."""
        row_bytes = 4 * self._num_words + _BYTES_BESIDE_ROW
        lane_bytes = self._sizes @ [row_bytes, self._dtype.itemsize]
        first, num_bytes = 0, 0
        for lane, more in enumerate(lane_bytes.tolist()):
            if more > max_bytes:
                raise ValueError(
                    f"the set needs more shards, or --max_memory_mb: {more / 1e6:,.0f} MB of a"
                    f" shard's instances are shuffled at once, {max_bytes / 1e6:,.0f} MB fit"
                )
            if num_bytes and num_bytes + more > target_bytes:
                yield first, lane
                first, num_bytes = lane, 0
            num_bytes += more
        yield first, len(lane_bytes)

    def _read(
        self, first: int, stop: int, left: InstanceChunk | None, shuffler: LaneShuffler
    ) -> InstanceChunk:
        """Read and shuffle lanes; what is left of earlier lanes stays before them."""
        num_rows, num_tokens = self._sizes[first:stop].sum(axis=0).tolist()
        earlier = 0 if left is None else left.order.size
        earlier_tokens = 0 if left is None else left.ids.size
        rows = np.empty((earlier + num_rows, self._num_words), np.uint32)
        ids = np.empty(earlier_tokens + num_tokens, self._dtype)
        if left is not None:
            rows[:earlier], ids[:earlier_tokens] = left.rows, left.ids
        at, token = earlier, earlier_tokens
        ranges: list[tuple[str, int, NDArray[Any]]] = []
        bounds = self._starts[:, [first, stop]].tolist()
        for folder, ((row, row_token), (end, end_token)) in zip(self._folders, bounds, strict=True):
            if row < end:
                own, own_ids = rows[at : at + end - row], ids[token : token + end_token - row_token]
                ranges += [
                    (os.path.join(folder, ROWS), 4 * self._num_words * row, own),
                    (os.path.join(folder, TOKENS), ids.itemsize * row_token, own_ids),
                ]
                at, token = at + len(own), token + own_ids.size
        read_many(lambda each: read_range(*each), ranges, [path for path, *_ in ranges])
        self._check(first, stop, rows[earlier:], ids[earlier_tokens:])
        place_rows(rows[earlier:], earlier_tokens)
        ids.flags.writeable = False  # as those of a store, so that kernels are compiled once
        order = np.arange(earlier + num_rows, dtype=np.uint32)
        order[earlier:] = earlier + self._shuffle(first, stop, shuffler)
        return InstanceChunk(rows, ids, order)

    def _check(
        self, first: int, stop: int, rows: NDArray[np.uint32], ids: NDArray[np.integer]
    ) -> None:
        """Compare what was read of some lanes with its checksums; kernels check no bounds."""
        counts = np.diff(self._starts[:, first : stop + 1], axis=1)
        for k, (name, array) in enumerate(((ROWS, rows), (TOKENS, ids))):
            item_bytes = array.itemsize * (self._num_words if name == ROWS else 1)
            crcs = np.zeros(counts[:, :, k].size, np.uint32)
            extend_crc32cs(as_bytes(array), np.cumsum(counts[:, :, k]) * item_bytes, crcs)
            is_wrong = crcs.reshape(counts.shape[:2]) != self._crcs[:, first:stop, k]
            if is_wrong.any():
                piece, lane = np.argwhere(is_wrong)[0].tolist()
                offset = int(self._starts[piece, first + lane, k]) * item_bytes
                path = os.path.join(self._folders[piece], name)
                raise CorruptDataError(path, offset, "not what the task wrote")

    def _shuffle(self, first: int, stop: int, shuffler: LaneShuffler) -> NDArray[np.uint32]:
        """Return uint32[rows]: the rows of some lanes, lane by lane, each of them shuffled."""
        counts = np.diff(self._starts[:, first : stop + 1, 0], axis=1)
        lanes = np.tile(np.arange(stop - first, dtype=np.uint16), len(counts))
        by_lane = np.argsort(np.repeat(lanes, counts.ravel()), kind="stable")
        order = np.empty(by_lane.size, np.uint32)
        start = 0
        for size in self._sizes[first:stop, 0].tolist():
            order[start : start + size] = by_lane[start : start + size][shuffler.shuffled(size)]
            start += size
        return order


def _copy(
    rows: NDArray[np.uint32], ids: NDArray[np.integer], order: NDArray[np.uint32]
) -> InstanceChunk:
    """Copy some rows and their tokens, so that the others need not be kept."""
    out = np.empty((order.size, rows.shape[1]), np.uint32)
    num_tokens = int(count_tokens(rows[order]).sum())
    out_ids = np.empty(num_tokens, ids.dtype)
    take_rows(rows, order, ids, out, out_ids)
    return InstanceChunk(out, out_ids, np.arange(order.size, dtype=np.uint32))
