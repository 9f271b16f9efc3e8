"""TFRecord bytes in, checked records out, and where in them each feature's numbers stand.

    length u64 | crc u32 | Example {features {"input_ids": [..] "segment_ids": [..] ...}} | crc u32
                           ^ starts                  ^^^^ spans

A scan stops at the first frame that is not wholly there, or whose length is damaged: behind it no
frame can be found. All else that can be wrong with a record is in its status.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from bert_data import features
from bert_data.kernels import kernel
from bert_data.reader.block import RecordBlock
from bert_data.reader.wire import (
    FIELD_1,
    FIELD_2,
    FIELD_3,
    FIXED32_1,
    VARINT_1,
    count_numbers,
    next_field,
    read_varint,
)
from bert_data.records.crc32c import masked_crc32c_of_range

FEATURES = (
    features.INPUT_IDS,
    features.INPUT_MASK,
    features.SEGMENT_IDS,
    features.MASKED_LM_POSITIONS,
    features.MASKED_LM_IDS,
    features.MASKED_LM_WEIGHTS,
    features.NEXT_SENTENCE_LABELS,
)
IDS, MASK, SEGMENTS, POSITIONS, LABELS, WEIGHTS, NEXT = range(7)
_SPLITS = 7  # tells ragged records; not read

OK, BAD_DATA, NO_EXAMPLE, MISSING, UNEVEN = range(5)  # MISSING + 8 * feature says which
LENGTH_BYTES, HEADER_BYTES, FRAME_BYTES = 8, 12, 16
_LEAST_BYTES = 64  # of a record that could be ours; a guess of how many fit in a block


def _names() -> NDArray[np.uint8]:
    keys = [*FEATURES, features.INPUT_IDS_SPLITS]
    table = np.zeros((len(keys), 1 + max(map(len, keys))), np.uint8)
    for row, key in zip(table, keys, strict=True):
        row[0] = len(key)
        row[1 : 1 + len(key)] = np.frombuffer(key.encode(), np.uint8)
    return table


_NAMES = _names()
_NUM_NAMES = len(_NAMES)


@kernel
def _which_feature(data, begin, end):
    for name in range(_NUM_NAMES):
        if _NAMES[name, 0] != end - begin:
            continue
        same = True
        for i in range(end - begin):
            if data[begin + i] != _NAMES[name, 1 + i]:
                same = False
                break
        if same:
            return name
    return -1


@kernel
def _read_entry(data, begin, end, start, spans, found):
    """Notes the list of one entry of the map at data[begin:end]; False where it is malformed."""
    name, value_begin, value_end = -1, end, end
    while begin < end:
        tag, first, last = next_field(data, begin, end)
        if first < 0:
            return False
        if tag == FIELD_1:
            name = _which_feature(data, first, last)
        elif tag == FIELD_2:
            value_begin, value_end = first, last
        begin = last
    if name < 0:
        return True
    if name == _SPLITS:
        found[_SPLITS] = True
        return True
    wanted = FIELD_2 if name == WEIGHTS else FIELD_3
    found[name] = False
    while value_begin < value_end:
        tag, first, last = next_field(data, value_begin, value_end)
        if first < 0:
            return False
        if tag == wanted:
            spans[name, 0], spans[name, 1] = first - start, last - start
        found[name] = tag == wanted
        value_begin = last
    return True


@kernel
def _last_nonzero(data, begin, end, is_float):
    """One more than the index of the last number in a list that is not zero."""
    index = last_index = 0
    while begin < end:
        tag, at, last = next_field(data, begin, end)
        begin = last
        if tag != FIELD_1 and tag != (FIXED32_1 if is_float else VARINT_1):
            continue
        while at < last:
            if is_float:
                nonzero = data[at] | data[at + 1] | data[at + 2] | (data[at + 3] & 127)
                at += 4
            else:
                value, at = read_varint(data, at, last)
                if at < 0:
                    return -1
                nonzero = value != np.uint64(0)
            index += 1
            if nonzero:
                last_index = index
    return last_index


@kernel
def _read_example(data, start, end, is_ragged, spans, found, lengths):
    """Fills spans int32[7, 2] and lengths int32[2] of data[start:end]; returns its status."""
    found[:] = False
    at = start
    while at < end:
        tag, first, last = next_field(data, at, end)
        if first < 0:
            return NO_EXAMPLE
        while tag == FIELD_1 and first < last:
            entry_tag, entry_first, entry_last = next_field(data, first, last)
            if entry_first < 0:
                return NO_EXAMPLE
            if entry_tag == FIELD_1 and not _read_entry(
                data, entry_first, entry_last, start, spans, found
            ):
                return NO_EXAMPLE
            first = entry_last
        at = last
    tokens = predictions = 0
    for name in range(7):
        if not found[name]:
            return MISSING + 8 * name
        count = count_numbers(data, start + spans[name, 0], start + spans[name, 1], name == WEIGHTS)
        if count < 0:
            return NO_EXAMPLE
        if name == IDS:
            tokens = count
        elif name == POSITIONS:
            predictions = count
        elif count != (1 if name == NEXT else (tokens if name <= SEGMENTS else predictions)):
            return UNEVEN + 8 * name
    if not is_ragged:
        tokens = _last_nonzero(data, start + spans[MASK, 0], start + spans[MASK, 1], False)
        predictions = _last_nonzero(
            data, start + spans[WEIGHTS, 0], start + spans[WEIGHTS, 1], True
        )
    lengths[0], lengths[1] = tokens, predictions
    return OK if tokens >= 0 else NO_EXAMPLE


@kernel
def _read_uint(data, at, num_bytes):
    value = np.uint64(0)
    for i in range(num_bytes):
        value |= np.uint64(data[at + i]) << np.uint64(8 * i)
    return value


@kernel
def _is_checked(data, start, end):
    """Whether the checksum of data[start:end] stands behind it."""
    difference = np.uint64(masked_crc32c_of_range(data, start, end)) ^ _read_uint(data, end, 4)
    return difference & np.uint64(0xFFFFFFFF) == np.uint64(0)


@kernel
def _scan(data, at, is_ragged, starts, sizes, spans, lengths, statuses):
    """Fills a row a record; returns (records, next frame, whether that frame's length is bad)."""
    found = np.zeros(_NUM_NAMES, np.bool_)
    count = 0
    while count < starts.size and data.size - at >= HEADER_BYTES:
        if not _is_checked(data, at, at + LENGTH_BYTES):
            return count, at, True
        size = _read_uint(data, at, LENGTH_BYTES)
        if size > np.uint64(0x7FFFFFFF):
            return count, at, True
        start = at + HEADER_BYTES
        end = start + np.int64(size)
        if data.size - 4 < end:
            return count, at, False
        starts[count], sizes[count] = start, size
        if not _is_checked(data, start, end):
            statuses[count] = BAD_DATA
        else:
            statuses[count] = _read_example(
                data, start, end, is_ragged, spans[count], found, lengths[count]
            )
        at = end + 4
        count += 1
    return count, at, False


class Scan(NamedTuple):
    """What a scan found.

    Attributes:
      block: the records, damaged ones too.
      statuses: int32[records], OK (0) or what is wrong.
      end: where in the data the first frame begins that was not read.
      is_length_bad: whether that frame's length is damaged (else it is not wholly there).
    """

    block: RecordBlock
    statuses: NDArray[np.int32]
    end: int
    is_length_bad: bool


def scan_records(data: NDArray[np.uint8], start: int, *, is_ragged: bool) -> Scan:
    """Reads frames from `start` on, as many as are there.

    Args:
      data: uint8[bytes] of a TFRecord file.
      start: where in it a frame begins.
      is_ragged: whether the records are ragged; else input_mask and weights tell their lengths.
    """
    room = max(1, (data.size - start) // _LEAST_BYTES)
    starts, sizes = np.empty(room, np.int64), np.empty(room, np.int32)
    spans, lengths = np.zeros((room, 7, 2), np.int32), np.zeros((room, 2), np.int32)
    statuses = np.empty(room, np.int32)
    count, end, is_length_bad = _scan(
        data, start, is_ragged, starts, sizes, spans, lengths, statuses
    )
    block = RecordBlock(data, starts, sizes, spans, lengths).take(slice(0, count))
    return Scan(block, statuses[:count], end, is_length_bad)


def is_ragged_example(data: NDArray[np.uint8], start: int, end: int) -> bool:
    """Whether the Example data[start:end] has the row splits of a ragged record."""
    found = np.zeros(_NUM_NAMES, np.bool_)
    spans, lengths = np.zeros((7, 2), np.int32), np.zeros(2, np.int32)
    _read_example(data, start, end, True, spans, found, lengths)
    return bool(found[_SPLITS])


def stored_lengths(block: RecordBlock) -> tuple[int, int]:
    """Tokens and predictions of a block's first record as stored, padding included."""
    start, spans = int(block.starts[0]), block.spans[0].tolist()
    lengths = [
        count_numbers(block.data, start + spans[name][0], start + spans[name][1], False)
        for name in (IDS, POSITIONS)
    ]
    return lengths[0], lengths[1]
