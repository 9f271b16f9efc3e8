"""Batches decoded from bytes that are not Examples, number by number beside the kernels' way."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from bert_data.reader.examples.block import RecordBlock
from bert_data.reader.layout import Shape
from tests.reader.making import FEATURES, decode_rows

COVERS = (
    "reader/examples/block",
    "reader/examples/example",
    "reader/examples/number_lists",
    "reader/examples/wire",
)


# Numbers of one to five bytes, and those that no id can be.
SMALL = st.integers(0, 127)
IDS = st.one_of(
    SMALL, st.integers(0, 2**14 - 1), st.integers(0, 2**21 - 1), st.integers(0, 2**31 - 1)
)
ANY = st.one_of(IDS, st.integers(-(2**63), 2**63 - 1))
FLOATS = st.floats(width=32, allow_nan=False)


def varint(value: int) -> bytes:
    value %= 2**64
    encoded = b""
    while value >= 128:
        encoded += bytes([value % 128 + 128])
        value //= 128
    return encoded + bytes([value])


def packed(values: list, *, is_float: bool) -> bytes:
    if is_float:
        return np.array(values, "<f4").tobytes()
    return b"".join(map(varint, values))


def block_of(records: list[list[list]], slack: bytes) -> RecordBlock:
    """Records of seven lists of numbers each, packed one after the other, and bytes behind them."""
    data, starts, spans = b"", [], []
    for lists in records:
        starts.append(len(data))
        begin = 0
        for name, values in enumerate(lists):
            encoded = packed(values, is_float=name == 5)
            spans.append((begin, begin + len(encoded)))
            begin += len(encoded)
            data += encoded
    lengths = [(len(lists[0]), len(lists[3])) for lists in records]
    return RecordBlock(
        np.frombuffer(data + slack, np.uint8),
        np.array(starts, np.int64),
        np.zeros(len(records), np.int32),
        np.array(spans, np.int32).reshape(-1, 7, 2),
        np.array(lengths, np.int32),
    )


def expected_numbers(records: list[list[list]], name: int, columns: int) -> list[list[int]]:
    rows = [lists[name][:columns] + [0] * (columns - len(lists[name])) for lists in records]
    return [
        [value if -(2**31) <= value < 2**31 or name == 5 else -1 for value in row] for row in rows
    ]


@pytest.mark.slow
@given(st.data())
def test_decoded_numbers_are_the_packed_ones(data: st.DataObject) -> None:
    numbers = data.draw(st.sampled_from((SMALL, IDS, ANY)))

    def lists(values: st.SearchStrategy, most: int) -> st.SearchStrategy:
        return st.lists(values, max_size=most)

    record = st.tuples(
        *(lists(numbers, 70), lists(SMALL, 70), lists(SMALL, 70)),
        *(lists(SMALL, 24), lists(numbers, 24), lists(FLOATS, 24), lists(SMALL, 1)),
    ).map(list)
    records = data.draw(st.lists(record, min_size=1, max_size=4))
    slack = data.draw(st.binary(max_size=20))
    shape = Shape(len(records), data.draw(st.integers(1, 80)), data.draw(st.integers(0, 30)))
    batch, _ = decode_rows(block_of(records, slack), shape)
    columns = (shape.width,) * 3 + (shape.predictions,) * 3 + (1,)
    for name, (feature, count) in enumerate(zip(FEATURES, columns, strict=True)):
        assert batch[feature].tolist() == expected_numbers(records, name, count)


@pytest.mark.parametrize("largest", [2**31 - 1, 2**31, -1])
def test_the_largest_numbers_are_told(largest: int) -> None:
    records = [[[1, 2, largest], [1] * 3, [0] * 3, [1, 2], [5, 6], [1.0, 1.0], [0]]]
    _, largest_and_outside = decode_rows(block_of(records, b""), Shape(1, 3, 2))
    assert largest_and_outside == (largest if 0 <= largest < 2**31 else 2**32 - 1, False)


@pytest.mark.parametrize("position", [3, 2**31, -1])
def test_positions_outside_are_told(position: int) -> None:
    records = [[[1, 2, 3], [1] * 3, [0] * 3, [1, position], [5, 6], [1.0, 1.0], [0]]]
    _, (_, is_outside) = decode_rows(block_of(records, b""), Shape(1, 3, 2))
    assert is_outside
