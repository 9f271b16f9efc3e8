"""Find the records in bytes of a TFRecord file, and check them.

length u64 | crc u32 | Example {features {"input_ids": [..] "segment_ids": [..] ...}} | crc u32
^ starts                  ^^^^ spans
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from bert_data.kernels import Scalar, kernel
from bert_data.kernels.crc32c import masked_crc32c_of_range
from bert_data.reader.examples.block import RecordBlock, room_for
from bert_data.reader.examples.example import BAD_DATA, Features, read_example

LENGTH_BYTES, HEADER_BYTES = 8, 12
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
    statuses, counts = np.empty(room, np.int32), np.empty(features.is_float.size, np.int64)
    count, end, is_length_bad = _scan(block, start, features, counts, statuses)
    return Scan(block.take(slice(0, count)), statuses[:count], end, is_length_bad)
