"""Buckets against plain Python."""

from collections import Counter

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from bert_data.reader.planning import PlanConfig, make_plan
from tests.reader.planning.batches_of_epoch import batches_of

LENGTHS = st.lists(st.integers(0, 30), min_size=1, max_size=90)
WIDTHS = st.lists(st.integers(1, 30), max_size=4).map(lambda widths: tuple(sorted({*widths, 30})))


def cut(lengths, widths, rows_of_width):
    """(width, rows) of each batch and the records in order, bucket after bucket."""
    buckets = [
        [record for record, length in enumerate(lengths) if low < max(1, length) <= high]
        for low, high in zip((0, *widths), widths, strict=False)
    ]
    held, shapes = [], []
    for width, bucket in zip(widths, buckets, strict=True):
        held += bucket
        while len(held) >= rows_of_width(width):
            held = held[rows_of_width(width) :]
            shapes.append((width, rows_of_width(width)))
    if held:
        shapes.append((widths[-1], len(held)))
    return shapes, [record for bucket in buckets for record in bucket]


@given(lengths=LENGTHS, widths=WIDTHS, batch_size=st.integers(1, 9), by_tokens=st.booleans())
def test_batches_are_cut_from_ascending_buckets(lengths, widths, batch_size, by_tokens):
    bound = {"max_tokens": 30 * batch_size} if by_tokens else {"batch_size": batch_size}
    config = PlanConfig(batching="buckets", widths=widths, max_seq_length=30, **bound)
    epoch = make_plan(lengths, config).epoch(0)
    shapes, records = cut(lengths, widths, config.rows_of_width)
    assert epoch.records.tolist() == records
    assert list(zip(epoch.widths.tolist(), map(len, batches_of(epoch)), strict=True)) == shapes


@given(lengths=LENGTHS, widths=WIDTHS, batch_size=st.integers(1, 9))
def test_a_shuffle_changes_the_records_of_the_batches_and_not_their_shapes(
    lengths, widths, batch_size
):
    config = PlanConfig(
        batching="buckets", widths=widths, max_seq_length=30, batch_size=batch_size, shuffle=True
    )
    shapes, _ = cut(lengths, widths, config.rows_of_width)
    for number in range(2):
        epoch = make_plan(lengths, config).epoch(number)
        batches = batches_of(epoch)
        shapes_of_epoch = list(zip(epoch.widths.tolist(), map(len, batches), strict=True))
        assert Counter(shapes_of_epoch) == Counter(shapes)
        assert len(batches[-1]) == shapes[-1][1]  # the one that is not full stays last
        for width, batch in zip(epoch.widths.tolist(), batches, strict=True):
            assert all(lengths[record] <= width for record in batch)


def test_batches_of_all_widths_are_mixed_over_the_epoch():
    lengths = np.repeat([10, 20, 30, 40], 400)
    config = PlanConfig(batching="buckets", widths=4, batch_size=8, shuffle=True)
    plan = make_plan(lengths, config)
    assert plan.widths == (10, 20, 30, 40)
    widths = plan.epoch(0).widths
    for part in np.split(widths, 4):
        assert np.bincount(part, minlength=41)[[10, 20, 30, 40]].min() >= 3  # of 12.5 expected
    assert plan.epoch(1).widths.tolist() != widths.tolist()


@pytest.mark.parametrize(("widths", "expected"), [(None, 8), (3, 3), (40, 30)])
def test_the_number_of_widths(widths, expected):
    lengths = np.arange(1, 31).repeat(3)
    plan = make_plan(lengths, PlanConfig(batching="buckets", widths=widths, batch_size=4))
    assert plan.widths is not None
    assert len(plan.widths) == expected
