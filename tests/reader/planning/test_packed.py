"""Batches of packed rows; packing against placing records one by one, and the best there is."""

from collections import Counter

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from bert_data.reader.planning import PlanConfig, make_plan
from bert_data.reader.planning.packed import pack_lengths
from tests.reader.planning.batches_of_epoch import rows_of
from tests.rows import mostly_slow


def rows_of_patterns(patterns):
    """The lengths of each row, and that the rows are those that the patterns count."""
    rows = []
    for pattern in patterns:
        lengths = [length for length, count in pattern.items for _ in range(count)]
        assert len(lengths) == pattern.num_records and pattern.num_rows > 0
        assert lengths == sorted(lengths, reverse=True)
        rows += [lengths] * pattern.num_rows
    return rows


def packed(lengths, width):
    return rows_of_patterns(pack_lengths(np.bincount(lengths, minlength=width + 1), width))


def best_fit_decreasing(lengths, width):
    """One record at a time: into the row that it leaves the least room in, or a new one."""
    rows = []
    for length in sorted(lengths, reverse=True):
        fitting = [row for row in rows if sum(row) + length <= width]
        if fitting:
            max(fitting, key=sum).append(length)
        else:
            rows.append([length])
    return rows


def first_fit(lengths, width):
    """Records as they come, each into the first row with room; by a tree over rows' rooms."""
    size = 1 << (len(lengths) - 1).bit_length()
    rooms = np.zeros(2 * size, np.int64)
    rooms[size:] = width
    for level in range(size - 1, 0, -1):
        rooms[level] = max(rooms[2 * level], rooms[2 * level + 1])
    for length in lengths:
        node = 1
        while node < size:
            node = 2 * node if rooms[2 * node] >= length else 2 * node + 1
        rooms[node] -= length
        while node > 1:
            node //= 2
            rooms[node] = max(rooms[2 * node], rooms[2 * node + 1])
    return int((rooms[size:] < width).sum())


@given(
    lengths=st.lists(st.integers(1, 40), max_size=60) | st.lists(st.integers(1, 3), max_size=90),
    width=st.integers(40, 60),
)
def test_the_rows_are_those_of_records_placed_one_by_one(lengths, width):
    rows = packed(np.array(lengths, np.int64), width)
    # Rows with as much room are as good as each other, so those that hold as much may differ.
    expected = best_fit_decreasing(lengths, width)
    assert sorted(map(sum, rows)) == sorted(map(sum, expected))
    assert sorted(length for row in rows for length in row) == sorted(lengths)


def test_a_hundred_million_records_are_no_more_work_than_a_few():
    histogram = np.zeros(129, np.int64)
    histogram[[128, 100, 60, 28, 7]] = [75_000_000, 10_000_000, 9_999_999, 10_000_000, 33]
    patterns = pack_lengths(histogram, 128)
    held = np.zeros(129, np.int64)
    for pattern in patterns:
        for length, count in pattern.items:
            held[length] += count * pattern.num_rows
    assert held.tolist() == histogram.tolist()
    assert sum(pattern.num_rows for pattern in patterns) == 75_000_000 + 10_000_000 + 5_000_000


def test_rows_of_every_length_there_can_be():
    width = 20_000
    patterns = pack_lengths(np.ones(width + 1, np.int64) - (np.arange(width + 1) == 0), width)
    rows = rows_of_patterns(patterns)
    assert sorted(length for row in rows for length in row) == list(range(1, width + 1))
    assert len(rows) == width // 2 + 1  # n and width - n, width alone, width / 2 alone


@mostly_slow("name", ["movie_reviews.txt", "wikitext.txt"])
def test_no_more_rows_than_first_fit_on_real_text(shared, name):
    """Records of sentences up to the width, as the lines of the text give them."""
    lines = (shared / "data" / "corpora" / name).read_text(encoding="utf-8").split("\n")
    for width in (32, 128):
        lengths = [min(len(line.split()) + 3, width) for line in lines if line][:20_000]
        num_rows = len(packed(np.array(lengths), width))
        assert num_rows <= first_fit(lengths, width)


LENGTHS = st.lists(st.integers(0, 30), min_size=1, max_size=300)


@given(lengths=LENGTHS, width=st.sampled_from([None, 30, 64]), shuffle=st.booleans())
def test_rows_hold_what_was_packed_in_every_epoch(lengths, width, shuffle):
    config = PlanConfig(
        batching="packed",
        batch_size=4,
        max_seq_length=30,
        width="batch" if width is None else (width,),
        shuffle=shuffle,
    )
    plan = make_plan(lengths, config)
    histogram = np.bincount(np.maximum(lengths, 1), minlength=31)
    expected = Counter()
    for pattern in pack_lengths(histogram, width or 30):
        row = tuple(length for length, count in pattern.items for _ in range(count))
        expected[row] += pattern.num_rows
    for number in (0, 5):
        epoch = plan.epoch(number)
        rows = rows_of(epoch)
        assert Counter(tuple(max(1, lengths[r]) for r in row) for row in rows) == expected
        assert sorted(record for row in rows for record in row) == list(range(len(lengths)))
        assert set(epoch.widths.tolist()) == {width or 30}
        assert np.diff(epoch.batch_splits).max(initial=0) <= 4


def test_rows_of_a_pattern_come_apart_and_their_records_change():
    lengths = np.repeat([20, 10, 30], 1000)
    plan = make_plan(lengths, PlanConfig(batching="packed", batch_size=10, shuffle=True))
    assert (plan.num_batches, plan.num_rows, plan.max_records_per_row) == (200, 2000, 2)
    rows = [rows_of(plan.epoch(number)) for number in range(2)]
    pairs = [{tuple(row) for row in epoch if len(row) == 2} for epoch in rows]
    assert len(pairs[0] & pairs[1]) < 10  # of 1,000; one is expected
    for epoch in rows:
        sizes = np.array([len(row) for row in epoch])
        assert all(60 < (part == 2).sum() < 140 for part in np.split(sizes, 10))


def test_records_left_out_are_others_each_epoch():
    lengths = np.random.default_rng(0).integers(1, 50, 500)
    config = PlanConfig(batching="packed", batch_size=32, shuffle=True, drop_remainder=True)
    plan = make_plan(lengths, config)
    assert plan.num_rows == plan.num_batches * 32
    kept = [set(plan.epoch(number).records.tolist()) for number in range(12)]
    assert all(len(records) < 500 for records in kept)
    assert len(set.union(*kept)) == 500


@pytest.mark.parametrize("max_tokens", [99, 100, 250])
def test_rows_of_a_batch_by_tokens(max_tokens):
    lengths = np.full(30, 50)
    config = PlanConfig(batching="packed", max_tokens_per_batch=max_tokens)
    assert np.diff(make_plan(lengths, config).epoch(0).batch_splits).max() == max_tokens // 50
