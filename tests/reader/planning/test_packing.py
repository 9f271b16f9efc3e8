"""Packing against placing records one by one, against the best there is, and against first-fit."""

import functools

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from bert_data.reader.planning.packed import pack

SMALL = st.lists(st.integers(1, 10), min_size=1, max_size=8)


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
    return rows_of_patterns(pack(np.bincount(lengths, minlength=width + 1), width))


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


def least_rows(lengths, width):
    """The fewest rows there can be, by trying everything."""

    @functools.cache
    def least(left, room):
        if not left:
            return 0
        best = len(left) + 1
        for i, length in enumerate(left):
            if i and left[i - 1] == length:
                continue
            rest = left[:i] + left[i + 1 :]
            if length <= room:
                best = min(best, least(rest, room - length))
            else:
                best = min(best, 1 + least(rest, width - length))
        return best

    return least(tuple(sorted(lengths)), 0)


def fewest_rows(lengths, width):
    """A number of rows that no packing is below: L2 of Martello and Toth (1990).

    For any p, records longer than width - p share no row with those of p and more, and those longer
    than half share none with each other; what the rest lacks of room in their rows takes others.
    """
    counts = np.bincount(lengths, minlength=width + 1)
    tokens = counts * np.arange(width + 1)
    bounds = []
    for p in range(1, width // 2 + 1):
        alone, half = counts[width - p + 1 :].sum(), slice(width // 2 + 1, width - p + 1)
        room = width * counts[half].sum() - tokens[half].sum()
        rest = max(0, tokens[p : width // 2 + 1].sum() - room)
        bounds.append(alone + counts[half].sum() + -(-rest // width))
    return max(bounds)


@given(lengths=st.lists(st.integers(1, 40), max_size=60), width=st.integers(40, 60))
def test_the_rows_are_those_of_records_placed_one_by_one(lengths, width):
    rows = packed(np.array(lengths, np.int64), width)
    # Rows with as much room are as good as each other, so those that hold as much may differ.
    expected = best_fit_decreasing(lengths, width)
    assert sorted(map(sum, rows)) == sorted(map(sum, expected))
    assert sorted(length for row in rows for length in row) == sorted(lengths)


@given(lengths=st.lists(st.integers(1, 3), max_size=90), width=st.integers(3, 50))
def test_the_same_of_many_short_records(lengths, width):
    rows = packed(np.array(lengths, np.int64), width)
    # Rows with as much room are as good as each other, so those that hold as much may differ.
    expected = best_fit_decreasing(lengths, width)
    assert sorted(map(sum, rows)) == sorted(map(sum, expected))
    assert sorted(length for row in rows for length in row) == sorted(lengths)


@given(lengths=SMALL)
def test_hardly_more_rows_than_the_best(lengths):
    num_rows, least = len(packed(np.array(lengths), 10)), least_rows(lengths, 10)
    assert least <= num_rows <= 11 * least / 9 + 1


def test_a_hundred_million_records_are_no_more_work_than_a_few():
    histogram = np.zeros(129, np.int64)
    histogram[[128, 100, 60, 28, 7]] = [75_000_000, 10_000_000, 9_999_999, 10_000_000, 33]
    patterns = pack(histogram, 128)
    held = np.zeros(129, np.int64)
    for pattern in patterns:
        for length, count in pattern.items:
            held[length] += count * pattern.num_rows
    assert held.tolist() == histogram.tolist()
    assert sum(pattern.num_rows for pattern in patterns) == 75_000_000 + 10_000_000 + 5_000_000


def test_rows_of_every_length_there_can_be():
    width = 20_000
    patterns = pack(np.ones(width + 1, np.int64) - (np.arange(width + 1) == 0), width)
    rows = rows_of_patterns(patterns)
    assert sorted(length for row in rows for length in row) == list(range(1, width + 1))
    assert len(rows) == width // 2 + 1  # n and width - n, width alone, width / 2 alone


@pytest.mark.parametrize("name", ["movie_reviews.txt", "wikitext.txt"])
def test_no_more_rows_than_first_fit_and_hardly_more_than_needed_on_real_text(shared, name):
    """Records of sentences up to the width, as the lines of the text give them."""
    lines = (shared / "data" / "corpora" / name).read_text(encoding="utf-8").split("\n")
    for width in (32, 128):
        lengths = [min(len(line.split()) + 3, width) for line in lines if line][:20_000]
        num_rows = len(packed(np.array(lengths), width))
        assert num_rows <= first_fit(lengths, width)
        assert num_rows <= 1.01 * fewest_rows(lengths, width)
