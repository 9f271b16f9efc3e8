"""Scan TFRecord bytes for checked records, and locate each feature's numbers in them.

    length u64 | crc u32 | Example {features {"input_ids": [..] "segment_ids": [..] ...}} | crc u32
                           ^ starts                  ^^^^ spans

A scan stops at the first incomplete frame, or at one whose length is damaged, after which no frame
can be found. Anything else that is wrong with a record is in its status.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from bert_data.formats.crc32c import masked_crc32c_of_range
from bert_data.kernels import Scalar, kernel
from bert_data.reader.examples.block import RecordBlock
from bert_data.reader.examples.example import BAD_DATA, FEATURES, NUM_NAMES, read_example

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
    data: NDArray[np.uint8],
    at: Scalar,
    needs_label: bool,
    counts: NDArray[np.int64],
    starts: NDArray[np.int64],
    sizes: NDArray[np.int32],
    spans: NDArray[np.int32],
    lengths: NDArray[np.int32],
    statuses: NDArray[np.int32],
) -> tuple[Scalar, Scalar, bool]:
    """Fill a row per record; return (records, next frame, whether that frame's length is bad)."""
    count = 0
    while count < starts.size and data.size - at >= HEADER_BYTES:
        if not is_checked(data, at, at + LENGTH_BYTES):
            return count, at, True
        size = _read_uint(data, at, LENGTH_BYTES)
        if size > np.uint64(0x7FFFFFFF):
            return count, at, True
        start = at + HEADER_BYTES
        end = start + np.int64(size)
        if data.size - 4 < end:
            return count, at, False
        starts[count], sizes[count] = start, size
        if not is_checked(data, start, end):
            statuses[count] = BAD_DATA
        else:
            statuses[count] = read_example(
                data, start, end, needs_label, spans[count], counts, lengths[count]
            )
        at = end + 4
        count += 1
    return count, at, False


class Scan(NamedTuple):
    """The result of a scan.

    Attributes:
      block: the records, including damaged ones.
      statuses: int32[records], OK (0) or what is wrong.
      end: where in the data the first unread frame begins.
      is_length_bad: whether that frame's length is damaged (otherwise the frame is incomplete).
    """

    block: RecordBlock
    statuses: NDArray[np.int32]
    end: int
    is_length_bad: bool


def scan_records(
    data: NDArray[np.uint8], start: int, *, needs_label: bool = True, with_splits: bool = False
) -> Scan:
    """Read frames from `start` on, as many as are complete; perhaps fewer if they are small.

    Args:
      data: uint8[bytes] of a TFRecord file.
      start: where in it a frame begins.
      needs_label: whether a record without next_sentence_labels is damaged.
      with_splits: whether spans have an eighth row, of the row splits, (0, 0) without any.
    """
    room = (data.size - start) // _USUAL_BYTES + _MORE_RECORDS
    starts, sizes = np.empty(room, np.int64), np.empty(room, np.int32)
    num_spans = NUM_NAMES if with_splits else len(FEATURES)
    spans, lengths = np.empty((room, num_spans, 2), np.int32), np.empty((room, 2), np.int32)
    spans[:, len(FEATURES) :] = 0
    statuses, counts = np.empty(room, np.int32), np.empty(NUM_NAMES, np.int64)
    count, end, is_length_bad = _scan(
        data, start, needs_label, counts, starts, sizes, spans, lengths, statuses
    )
    block = RecordBlock(data, starts, sizes, spans, lengths).take(slice(0, count))
    return Scan(block, statuses[:count], end, is_length_bad)
