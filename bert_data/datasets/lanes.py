"""The files in which a partition keeps its instances until the shards are written.

    rows     lane 0 | lane 1 | ... | lane 0 | lane 1 | ...      rows of instances, by lane
    tokens   lane 0 | lane 1 | ... | lane 0 | lane 1 | ...      their tokens, end to end
    index    for each segment: the first row and token of each lane, and the CRC-32Cs of its rows
             and tokens; after the last lane, the ends of rows and tokens

A segment holds what fitted in memory. A shard reads its lanes, which are consecutive, from all
partitions: three ranges of bytes from each segment. It checks what it reads, so that nobody has to
read rows and tokens for damage before; their files can be most of a set's unfinished work.
"""

import contextlib
import itertools
import mmap
import os
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from bert_data.datasets.dealing import Dealer, deck_size
from bert_data.formats.summed_file import SummedFile
from bert_data.kernels.crc32c import extend_crc32cs
from bert_data.objectives.rows import count_tokens, take_rows
from bert_data.storage import open_scratch
from bert_data.tokens.store import TokenStore

ROWS, TOKENS, INDEX = "rows", "tokens", "index"
INDEX_WORDS = 3
"""int64 of a lane: its first row, its first token, and two uint32, the checksums of both."""

_PAGES_OF_ROW = 2  # of the store, that copying a row reads
_BYTES_BESIDE_ROW = 64  # while lanes are sorted
_COPIED_ROWS = 1 << 12  # at a time, so that caches hold them
_FEW_LANES = 1 << 16  # that NumPy sorts faster


class LaneWriter:
    """Writes the rows of a partition by lane, in segments of bounded size."""

    def __init__(
        self,
        folder: str,
        store: TokenStore,
        dealer: Dealer,
        *,
        num_lanes: int,
        num_words: int,
        max_rows_bytes: int,
        max_store_bytes: int,
    ) -> None:
        """Begin the files.

        Args:
          folder: of the files.
          store: that the rows point into.
          dealer: deals decks of rows to lanes.
          num_lanes: of all shards.
          num_words: of a row.
          max_rows_bytes: of rows in memory.
          max_store_bytes: of the store in memory.
        """
        self._store, self._dealer, self._num_lanes = store, dealer, num_lanes
        self._max_store_bytes = max_store_bytes
        self._deck = deck_size(num_words)
        row_bytes = 4 * num_words + _BYTES_BESIDE_ROW
        num_decks = max(1, max_rows_bytes // (self._deck * row_bytes))
        self._rows = np.empty((num_decks * self._deck, num_words), np.uint32)
        self._num_rows = self._deck_start = 0
        self._dealt: list[tuple[NDArray[np.uint32], NDArray[np.int64]]] = []
        self._written = np.zeros(2, np.int64)  # rows and tokens
        self._folder, self._stack = folder, contextlib.ExitStack()
        self._files: dict[str, Any] = {}

    def __enter__(self) -> Self:
        for name in (ROWS, TOKENS, INDEX):
            path = os.path.join(self._folder, name)
            self._files[name] = self._stack.enter_context(open_scratch(path))
        self._files[INDEX] = SummedFile(self._files[INDEX], path)
        return self

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        with self._stack:
            if kind is None and self._num_rows:
                self._deal()
                self._write_segment()

    @property
    def sums(self) -> dict[str, tuple[int, int | None]]:
        """Size and CRC-32C of each file, under its name; None for those that the index sums up."""
        rows, tokens = self._written.tolist()
        return {
            ROWS: (rows * self._rows.itemsize * self._rows.shape[1], None),
            TOKENS: (tokens * self._store.ids.itemsize, None),
            **self._files[INDEX].sums,
        }

    def add(self, rows: NDArray[np.uint32]) -> None:
        """Add rows, uint32[any, words], in the order in which they were made."""
        while len(rows):
            num_rows = min(len(rows), self._deck_start + self._deck - self._num_rows)
            self._rows[self._num_rows : self._num_rows + num_rows] = rows[:num_rows]
            self._num_rows += num_rows
            rows = rows[num_rows:]
            if self._num_rows == self._deck_start + self._deck:
                self._deal()
                if self._num_rows == len(self._rows):
                    self._write_segment()

    def _deal(self) -> None:
        """Deal the deck, which is complete or the last one."""
        order, lanes = self._dealer.deal(self._num_rows - self._deck_start)
        self._dealt.append((order + np.uint32(self._deck_start), lanes))
        self._deck_start = self._num_rows

    def _write_segment(self) -> None:
        """Write what was dealt since the last segment, sorted by lane."""
        order, lanes = (np.concatenate(arrays) for arrays in zip(*self._dealt, strict=True))
        self._dealt.clear()
        short = np.uint16 if self._num_lanes <= _FEW_LANES else np.int32
        order = order[np.argsort(lanes.astype(short), kind="stable")]
        starts = np.zeros((self._num_lanes + 1, 2), np.int64)
        starts[1:, 0] = np.cumsum(np.bincount(lanes, minlength=self._num_lanes))
        num_tokens = np.zeros(order.size + 1, np.int64)
        np.cumsum(count_tokens(self._rows[: self._num_rows])[order], out=num_tokens[1:])
        starts[:, 1] = num_tokens[starts[:, 0]]
        crcs = self._copy(order, num_tokens, starts)
        starts += self._written
        self._written = starts[-1]
        index = np.zeros((self._num_lanes + 1, INDEX_WORDS), "<i8")
        index[:, :2] = starts
        index[:-1, 2] = np.stack(crcs, axis=1).astype("<u4").view("<i8")[:, 0]
        self._files[INDEX].write(index.data)
        self._num_rows = self._deck_start = 0

    def _copy(
        self,
        order: NDArray[np.uint32],
        num_tokens: NDArray[np.int64],
        lanes: NDArray[np.int64],
    ) -> tuple[NDArray[np.uint32], NDArray[np.uint32]]:
        """Write rows in an order, and their tokens.

        Args:
          order: uint32[rows].
          num_tokens: int64[rows + 1], tokens before each row in that order.
          lanes: int64[lanes + 1, 2], the first row and token of each lane in that order.

        Returns:
          uint32[lanes], twice: the checksums of each lane's rows and tokens.
        """
        row_crcs, token_crcs = np.zeros((2, len(lanes) - 1), np.uint32)
        most = max(1, min(_COPIED_ROWS, self._max_store_bytes // (_PAGES_OF_ROW * mmap.PAGESIZE)))
        portions = np.append(np.arange(0, order.size, most), order.size)
        all_rows = np.empty((most, self._rows.shape[1]), np.uint32)
        all_ids = np.empty(np.diff(num_tokens[portions]).max(), self._store.ids.dtype)
        for start, stop in itertools.pairwise(portions.tolist()):
            rows, ids = all_rows[: stop - start], all_ids[: num_tokens[stop] - num_tokens[start]]
            take_rows(self._rows, order[start:stop], self._store.ids, rows, ids)
            self._files[ROWS].write(rows.data)
            self._files[TOKENS].write(ids.data)
            first = np.searchsorted(lanes[:, 0], start, side="right") - 1
            last = np.searchsorted(lanes[:, 0], stop)
            ends = lanes[first + 1 : last + 1] - [start, num_tokens[start]]
            row_ends = np.minimum(ends[:, 0], len(rows)) * (rows.itemsize * rows.shape[1])
            token_ends = np.minimum(ends[:, 1], ids.size) * ids.itemsize
            extend_crc32cs(as_bytes(rows), row_ends, row_crcs[first:last])
            extend_crc32cs(as_bytes(ids), token_ends, token_crcs[first:last])
            self._store.release_memory(self._max_store_bytes)
        return row_crcs, token_crcs


def as_bytes(array: NDArray[Any]) -> NDArray[np.uint8]:
    """Return a contiguous array's bytes, uint8[any]."""
    return array.reshape(-1).view(np.uint8)
