"""Rows of batches for each host."""

import itertools

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from bert_data.reader.planning import EpochPlan
from bert_data.reader.planning.epoch import EMPTY, Parts
from bert_data.recipes.host_rows import deal_rows

BATCHES = st.lists(
    st.lists(st.lists(st.integers(1, 30), min_size=1, max_size=4), min_size=1, max_size=9),
    min_size=1, max_size=4,
)  # fmt: skip
Rows = list[list[int]]
"""Of each row the numbers of its sequences."""


def plan_of(batches: list[list[list[int]]]) -> tuple[EpochPlan, np.ndarray, list[Rows]]:
    """A plan of batches of rows of sequences, given by their lengths."""
    numbers, lengths, rows = 0, [], []
    for batch in batches:
        rows.append([])
        for row in batch:
            rows[-1].append(list(range(numbers, numbers + len(row))))
            numbers, lengths = numbers + len(row), lengths + row
    plan = EpochPlan(
        records=np.arange(numbers, dtype=np.int32),
        row_splits=np.cumsum([0, *(len(row) for batch in batches for row in batch)]),
        batch_splits=np.cumsum([0, *map(len, batches)]),
        widths=np.full(len(batches), 128, np.int32),
    )
    return plan, np.array(lengths), rows


def deal(rows: Rows, lengths: np.ndarray, num_parts: int, divides: bool) -> list[Rows]:
    """What `deal_rows` is defined as: the rows, or runs of rows, of each part of a batch."""
    if num_parts == 1:
        return [rows]

    def tokens(row: list[int]) -> int:
        return int(lengths[row].sum())

    room = -(-len(rows) // num_parts)
    if divides:
        ranked = sorted(range(len(rows)), key=lambda number: -tokens(rows[number]))
        whole = set(ranked[: len(rows) // num_parts * num_parts])
        singles = ([row] if n in whole else [[each] for each in row] for n, row in enumerate(rows))
        rows = [row for single in singles for row in single]
        room = len(rows)
    parts: list[Rows] = [[] for _ in range(num_parts)]
    for row in sorted(rows, key=lambda row: -tokens(row)):
        able = [part for part in parts if len(part) < room]
        min(able, key=lambda part: sum(map(tokens, part))).append(row)
    return parts


@given(batches=BATCHES, num_parts=st.integers(1, 5), divides=st.booleans(), lends=st.booleans())
def test_rows_are_dealt_as_defined(batches, num_parts, divides, lends):
    plan, lengths, rows = plan_of(batches)
    dealt = deal_rows(plan, lengths, num_parts, divides=divides)
    most = None if divides else max(-(-len(batch) // num_parts) for batch in batches)
    numbers = np.arange(len(batches))
    for part in range(num_parts):
        own = dealt.of_parts(numbers, Parts(num_parts, part, 1), most, lends=lends)
        found = [each.tolist() for each in np.split(own.sequences, own.row_splits[1:-1])]
        for number, batch in enumerate(rows):
            parts = deal(batch, lengths, num_parts, divides)
            wanted = parts[part]
            if lends and not wanted:
                wanted = parts[part % sum(map(bool, parts))]
            if most is None:
                wanted = [list(itertools.chain(*wanted)) or [EMPTY]]
            else:
                wanted = wanted + [[EMPTY]] * (most - len(wanted))
            first, last = own.batch_splits[number : number + 2]
            assert found[first:last] == wanted


@given(batches=BATCHES, num_parts=st.integers(2, 5))
def test_no_part_is_without_a_row_if_there_are_as_many(batches, num_parts):
    plan, lengths, _ = plan_of(batches)
    for divides in (False, True):
        counts = np.diff(deal_rows(plan, lengths, num_parts, divides=divides).splits)
        for batch, of_parts in zip(batches, counts.reshape(-1, num_parts), strict=True):
            num_items = sum(map(len, batch)) if divides else len(batch)
            assert (of_parts > 0).sum() == min(num_parts, num_items) or len(batch) >= num_parts
            assert (of_parts > 0).all() or len(batch) < num_parts
            assert divides or of_parts.max() == -(-len(batch) // num_parts)


def test_plans_without_rows_of_several_sequences():
    """Rows of one sequence are numbers of records, in the order of the plan on one host."""
    plan = EpochPlan(
        records=np.array([4, 0, 2, 3, 1], np.int32), row_splits=None,
        batch_splits=np.array([0, 3, 5]), widths=np.array([9, 9], np.int32),
    )  # fmt: skip
    lengths = np.array([9, 3, 5, 2, 7])
    whole = deal_rows(plan, lengths, 1, divides=False)
    rows = whole.of_parts(np.array([0, 1]), Parts(1, 0, 1), 3, lends=False)
    assert rows.sequences.tolist() == [4, 0, 2, 3, 1, EMPTY]
    halves = deal_rows(plan, lengths, 2, divides=False)
    rows = halves.of_parts(np.array([1, 0]), Parts(2, 0, 2), 2, lends=False)
    assert rows.sequences.tolist() == [1, EMPTY, 3, EMPTY, 0, EMPTY, 4, 2]
    assert rows.batch_splits.tolist() == [0, 2, 4, 6, 8]
