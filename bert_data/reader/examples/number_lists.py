"""Decode lists of numbers, one for each record, to given places of an int32 array.

    places 0 4, stops 3 8, lists (7 8) (9 9 9)   ->   7 8 0 0 9 9 9 0        up to the end, 8

A span says where a record's list is, relative to the record's start, and in which form:

    (begin, end)     packed: varints, or floats of four bytes
    (~begin, end)    a protocol buffer's list in several parts, see `bert_data.reader.examples.wire`
    (begin, ~end)    words of four bytes
    (ONES, count)    that many ones, which are not stored
"""

import numpy as np
from numpy.typing import NDArray

from bert_data.kernels import Scalar, inner
from bert_data.reader.examples.vectors import (
    COUNTS,
    GATHERED_NUMBERS,
    HAS_SHUFFLE,
    ORDERS,
    SIZES,
    VECTOR_BYTES,
    high_bits,
    put_gathered,
    put_widened,
)
from bert_data.reader.examples.wire import (
    FIELD_1,
    FIXED32_1,
    VARINT_1,
    load_int32,
    next_field,
    read_varint,
)

ONES = -(2**31)
_MAX_INT32 = np.uint64(0x7FFFFFFF)
_ONE = np.int32(np.float32(1).view(np.int32))


@inner
def _put_words(
    data: NDArray[np.uint8],
    start: Scalar,
    begin: Scalar,
    end: Scalar,
    one: np.int32,
    out: NDArray[np.int32],
    at: Scalar,
    stop: Scalar,
) -> Scalar:
    """Copy the words, or ones, of a span to out[at:stop]; return where they end."""
    if begin == ONES:
        last = min(stop, at + end)
        for k in range(at, last):
            out[k] = one
        return last
    count = min((np.int64(~end) - begin) >> 2, stop - at)
    for k in range(count):
        out[at + k] = load_int32(data, start + begin + 4 * k)
    return at + count


@inner
def _put_varint(out: NDArray[np.int32], at: Scalar, value: Scalar) -> None:
    out[at] = -1 if value > _MAX_INT32 else np.int32(value)


@inner
def _put_fields(
    data: NDArray[np.uint8],
    begin: Scalar,
    end: Scalar,
    is_float: bool,
    out: NDArray[np.int32],
    at: Scalar,
    stop: Scalar,
) -> Scalar:
    """Decode a list of any form in data[begin:end] to out[at:stop]; return where that ends."""
    while begin < end:
        tag, i, last = next_field(data, begin, end)
        begin = last
        if tag != FIELD_1 and tag != (FIXED32_1 if is_float else VARINT_1):
            continue
        while i < last and at < stop:
            if is_float:
                out[at] = load_int32(data, i)
                i += 4
            else:
                value, i = read_varint(data, i, last)
                if i < 0:
                    return at
                _put_varint(out, at, value)
            at += 1
    return at


@inner
def _put_packed_varints(
    data: NDArray[np.uint8],
    i: Scalar,
    end: Scalar,
    out: NDArray[np.int32],
    at: Scalar,
    stop: Scalar,
) -> Scalar:
    """Decode data[i:end] to out[at:stop]; anything may be written after the numbers.

    Masks and segments have one byte each and are decoded sixteen at a time, ids have one to three
    and are decoded four at a time. Returns where the numbers end.
    """
    while i < end and at < stop:
        room = stop - at
        if room >= GATHERED_NUMBERS and data.size - i >= VECTOR_BYTES:
            here = min(end - i, VECTOR_BYTES)
            inside = (np.int64(1) << here) - 1
            bits = high_bits(data, i)
            if bits & inside == 0 and room >= VECTOR_BYTES:
                put_widened(data, i, out, at)
                i, at = i + here, at + here
                continue
            bits = (bits | ~inside) & 255  # bytes after the end do not end a number
            if HAS_SHUFFLE and COUNTS[bits] > 0:
                put_gathered(data, i, ORDERS, VECTOR_BYTES * bits, out, at)
                i, at = i + SIZES[bits], at + COUNTS[bits]
                continue
        value, i = np.uint64(data[i]), i + 1
        if value >= 128:
            value, i = read_varint(data, i - 1, end)
        if i < 0:
            return at
        _put_varint(out, at, value)
        at += 1
    return at


@inner
def put_integers(
    data: NDArray[np.uint8],
    starts: NDArray[np.int64],
    spans: NDArray[np.int32],
    places: NDArray[np.int64],
    stops: NDArray[np.int64],
    out: NDArray[np.int32],
) -> None:
    """Decode the integers of one feature of records.

    Args:
      data, starts: of the records.
      spans: int32[records, 2], of the feature.
      places, stops: int64[records], ascending: where in `out` the numbers of each record begin, and
        the limit of where they end.
      out: int32[any], filled, with zeros between the lists. Numbers that are negative or above
        2**31 - 1 become -1.
    """
    at = 0
    for record in range(starts.size):
        for k in range(at, places[record]):
            out[k] = 0
        at, stop = places[record], stops[record]
        begin, end = starts[record] + spans[record, 0], starts[record] + spans[record, 1]
        if spans[record, 1] < 0 or spans[record, 0] == ONES:
            first, last = np.int64(spans[record, 0]), np.int64(spans[record, 1])
            at = _put_words(data, starts[record], first, last, np.int32(1), out, at, stop)
        elif spans[record, 0] >= 0:
            at = _put_packed_varints(data, begin, end, out, at, stop)
        else:
            begin = starts[record] + ~spans[record, 0]
            at = _put_fields(data, begin, end, False, out, at, stop)
    for k in range(at, out.size):
        out[k] = 0


@inner
def put_floats(
    data: NDArray[np.uint8],
    starts: NDArray[np.int64],
    spans: NDArray[np.int32],
    places: NDArray[np.int64],
    stops: NDArray[np.int64],
    out: NDArray[np.int32],
) -> None:
    """Do the same as `put_integers` for floats, bit by bit."""
    at = 0
    for record in range(starts.size):
        for k in range(at, places[record]):
            out[k] = 0
        at, stop = places[record], stops[record]
        begin, end = starts[record] + spans[record, 0], starts[record] + spans[record, 1]
        if spans[record, 1] < 0 or spans[record, 0] == ONES:
            first, last = np.int64(spans[record, 0]), np.int64(spans[record, 1])
            at = _put_words(data, starts[record], first, last, _ONE, out, at, stop)
        elif spans[record, 0] >= 0:
            count = min((end - begin) >> 2, stop - at)
            for k in range(count):
                out[at + k] = load_int32(data, begin + 4 * k)
            at += count
        else:
            begin = starts[record] + ~spans[record, 0]
            at = _put_fields(data, begin, end, True, out, at, stop)
    for k in range(at, out.size):
        out[k] = 0
