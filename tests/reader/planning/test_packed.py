"""Batches of packed rows."""

from collections import Counter

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from bert_data.reader.planning import PlanConfig, make_plan
from bert_data.reader.planning.packed import pack
from tests.reader.planning.batches_of_epoch import rows_of

LENGTHS = st.lists(st.integers(0, 30), min_size=1, max_size=300)


@given(lengths=LENGTHS, width=st.sampled_from([None, 30, 64]), shuffle=st.booleans())
def test_rows_hold_what_was_packed_in_every_epoch(lengths, width, shuffle):
    config = PlanConfig(
        batching="packed",
        batch_size=4,
        max_seq_length=30,
        widths=None if width is None else (width,),
        shuffle=shuffle,
    )
    plan = make_plan(lengths, config)
    histogram = np.bincount(np.maximum(lengths, 1), minlength=31)
    expected = Counter()
    for pattern in pack(histogram, width or 30):
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
    config = PlanConfig(batching="packed", max_tokens=max_tokens)
    assert np.diff(make_plan(lengths, config).epoch(0).batch_splits).max() == max_tokens // 50
