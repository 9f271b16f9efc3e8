"""CRC-32C by the instruction and by tables, against an independent one and published values."""

from collections.abc import Callable

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from bert_data.kernels import kernel
from bert_data.kernels.crc32c import (
    HAS_INSTRUCTION,
    crc32c,
    extend_by_instruction,
    extend_by_tables,
    masked_crc32c,
)
from tests.records.formats import tfrecords

ALL_ONES = np.uint32(0xFFFFFFFF)


@kernel
def by_tables(data, start, stop):
    return extend_by_tables(ALL_ONES, data, start, stop) ^ ALL_ONES


@kernel
def by_instruction(data, start, stop):
    return extend_by_instruction(ALL_ONES, data, start, stop) ^ ALL_ONES


WAYS = [by_tables]
if HAS_INSTRUCTION:
    WAYS.append(by_instruction)


@pytest.mark.parametrize("way", WAYS, ids=lambda way: way.__name__)
@given(data=st.binary(max_size=200), start=st.integers(0, 20), end=st.integers(0, 20))
def test_a_range_of_any_place_and_length(
    way: Callable[..., int], data: bytes, start: int, end: int
) -> None:
    part = data[start : max(start, len(data) - end)]
    padded = np.frombuffer(data + bytes(20), np.uint8)
    assert int(way(padded, start, start + len(part))) == tfrecords.crc32c(part)


@pytest.mark.parametrize(
    ("data", "value"),
    [  # RFC 3720, B.4
        (b"", 0),
        (b"123456789", 0xE3069283),
        (bytes(32), 0x8A9136AA),
        (b"\xff" * 32, 0x62A8AB43),
        (bytes(range(32)), 0x46DD794E),
        (bytes(range(31, -1, -1)), 0x113FDB5C),
    ],
)
def test_published_values(data, value):
    assert crc32c(data) == value
    assert masked_crc32c(data) == tfrecords.masked(value)


@given(st.binary(max_size=60), st.binary(max_size=60))
def test_it_goes_on(first, second):
    assert crc32c(second, crc32c(first)) == crc32c(first + second)


def test_kinds_of_buffers():
    array = np.arange(20, dtype=np.uint8)
    assert crc32c(array) == crc32c(memoryview(array)) == crc32c(array.tobytes())


def test_the_tables_are_used_where_there_is_no_instruction(monkeypatch):
    from bert_data.kernels import crc32c as module

    monkeypatch.setattr(module.platform, "machine", lambda: "riscv64")
    assert not module.has_instruction()
