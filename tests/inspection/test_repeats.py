"""Copies of records: all are counted as long as they fit, and a fair sample beyond."""

import numpy as np
import pytest

from bert_data.inspection.repeats import SeenRecords


def hashes(values: list[int]) -> np.ndarray:
    """Well spread 64-bit numbers, equal for equal values."""
    table = np.random.default_rng(1).integers(0, 2**64, 100_000, np.uint64)
    return table[values]


def add(seen: SeenRecords, shard: int, texts: list[int], instances: list[int]) -> None:
    count = len(texts)
    telling = np.ones(count, np.bool_)
    seen.add(shard, np.arange(count), hashes(texts), hashes(instances), telling)


def test_copies_and_texts_are_counted() -> None:
    seen = SeenRecords()
    add(seen, 0, [1, 2, 3, 1], [10, 20, 30, 11])
    add(seen, 1, [4, 1, 3], [40, 12, 30])
    repeats = seen.count(2, 5)
    assert (repeats.num_compared, repeats.num_copies) == (7, 1)
    assert (repeats.num_texts, repeats.num_beyond) == (4, 1)  # the text 1, three times
    assert repeats.examples == (((0, 2), (1, 2)),)


def test_records_that_may_be_equal_by_chance_are_no_copies() -> None:
    seen = SeenRecords()
    seen.add(0, np.arange(2), hashes([1, 1]), hashes([2, 2]), np.zeros(2, np.bool_))
    assert seen.count(2, 5).num_copies == 0


@pytest.mark.parametrize("order", [1, -1])
def test_a_sample_keeps_all_copies_of_a_record_or_none(order: int) -> None:
    seen = SeenRecords(capacity=500)
    values = [i // 2 for i in range(20_000)][::order]  # every record twice
    for begin in range(0, 20_000, 700):
        part = values[begin : begin + 700]
        add(seen, begin, part, part)
    repeats = seen.count(1, 0)
    assert 100 < repeats.num_compared <= 500
    assert repeats.num_copies * 2 == repeats.num_compared
    assert repeats.num_beyond == repeats.num_copies


def test_no_records() -> None:
    assert SeenRecords().count(1, 1).num_compared == 0
