"""Records in memory: the bytes of many in one array, and where each part of them is.

    data    ..[record 0]....[record 1]......           uint8
    starts     ^             ^
    sizes      |--------|    |--------|           a shuffled block is the
                                                  same data with other starts

The numbers of a record are those of an Example, packed as varints. Nothing is decoded until a batch
is made, so ordering records moves numbers, not records.
"""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from bert_data.kernels import Scalar, kernel
from bert_data.reader.layout import new_bytes


class RecordBlock(NamedTuple):
    """Some checked records.

    Attributes:
      starts: int64[records], where in `data` each begins.
      sizes: int32[records], bytes of each.
      spans: int32[records, features, 2], begin and end of each feature's numbers, relative to the
        start, in the order of `layout.stored_fields`. `number_lists.py` explains the other forms.
      lengths: int32[records, 2], tokens and predictions without padding.
    """

    data: NDArray[np.uint8]
    starts: NDArray[np.int64]
    sizes: NDArray[np.int32]
    spans: NDArray[np.int32]
    lengths: NDArray[np.int32]

    @property
    def num_records(self) -> int:
        """The number of records."""
        return self.starts.size

    def take(self, which: slice | NDArray[np.integer]) -> "RecordBlock":
        """Return the records `which`, in that order; the data is shared."""
        return RecordBlock(
            self.data, self.starts[which], self.sizes[which], self.spans[which], self.lengths[which]
        )


def room_for(data: NDArray[np.uint8], num_records: int, num_features: int) -> RecordBlock:
    """Return a block of records, whose places and lengths are not initialised."""
    return RecordBlock(
        data,
        np.empty(num_records, np.int64),
        np.empty(num_records, np.int32),
        np.empty((num_records, num_features, 2), np.int32),
        np.empty((num_records, 2), np.int32),
    )


@kernel
def _copy_records(
    block: RecordBlock, out: NDArray[np.uint8], at: Scalar, new_starts: NDArray[np.int64]
) -> Scalar:
    for i in range(block.starts.size):
        start, size = block.starts[i], block.sizes[i]
        for k in range(size):
            out[at + k] = block.data[start + k]
        new_starts[i] = at
        at += size
    return at


def one_block(blocks: Sequence[RecordBlock]) -> RecordBlock:
    """Return one block of the records of blocks that share their data; nothing is copied."""
    if len(blocks) == 1:
        return blocks[0]
    _, *columns = zip(*blocks, strict=True)
    return RecordBlock(blocks[0].data, *map(np.concatenate, columns))


def join_blocks(blocks: Sequence[RecordBlock]) -> RecordBlock:
    """Return one block of the records of all blocks, in order; only their own bytes are kept."""
    if len(blocks) == 1:
        return blocks[0]
    sizes = np.concatenate([block.sizes for block in blocks])
    starts = np.empty(sizes.size, np.int64)
    data = new_bytes(int(sizes.sum(dtype=np.int64)))
    at = first = 0
    for block in blocks:
        last = first + block.num_records
        at = _copy_records(block, data, at, starts[first:last])
        first = last
    spans = np.concatenate([block.spans for block in blocks])
    lengths = np.concatenate([block.lengths for block in blocks])
    return RecordBlock(data, starts, sizes, spans, lengths)


class Gathered(NamedTuple):
    """The requested records, in the requested order."""

    block: RecordBlock
    is_there: NDArray[np.bool_]


def gathered(block: RecordBlock, is_there: NDArray[np.bool_]) -> Gathered:
    """Return the records of a block after emptying, in place, those that are not there."""
    if not is_there.all():
        for column in block[1:]:
            column[~is_there] = 0
    return Gathered(block, is_there)
