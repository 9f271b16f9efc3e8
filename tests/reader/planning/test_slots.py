"""Batches of rows, pools, buckets and batches bounded by tokens against plain Python."""

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
    bound = {"max_tokens_per_batch": 30 * batch_size} if by_tokens else {"batch_size": batch_size}
    config = PlanConfig(batching="buckets", width=widths, max_seq_length=30, **bound)
    epoch = make_plan(lengths, config).epoch(0)
    shapes, records = cut(lengths, widths, config.rows_of_width)
    assert epoch.records.tolist() == records
    assert list(zip(epoch.widths.tolist(), map(len, batches_of(epoch)), strict=True)) == shapes


@given(lengths=LENGTHS, widths=WIDTHS, batch_size=st.integers(1, 9))
def test_a_shuffle_changes_the_records_of_the_batches_and_not_their_shapes(
    lengths, widths, batch_size
):
    config = PlanConfig(
        batching="buckets", width=widths, max_seq_length=30, batch_size=batch_size, shuffle=True
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
    config = PlanConfig(batching="buckets", num_buckets=4, batch_size=8, shuffle=True)
    plan = make_plan(lengths, config)
    assert plan.widths == (10, 20, 30, 40)
    widths = plan.epoch(0).widths
    for part in np.split(widths, 4):
        assert np.bincount(part, minlength=41)[[10, 20, 30, 40]].min() >= 3  # of 12.5 expected
    assert plan.epoch(1).widths.tolist() != widths.tolist()


@pytest.mark.parametrize(("num_buckets", "expected"), [(8, 8), (3, 3), (40, 30)])
def test_the_number_of_widths(num_buckets, expected):
    lengths = np.arange(1, 31).repeat(3)
    config = PlanConfig(batching="buckets", num_buckets=num_buckets, batch_size=4)
    plan = make_plan(lengths, config)
    assert plan.widths is not None
    assert len(plan.widths) == expected


def planned(lengths, **choices):
    return make_plan(np.array(lengths, np.uint32), PlanConfig(**choices))


@given(lengths=LENGTHS, batch_size=st.integers(1, 9), pool_batches=st.integers(1, 4))
def test_pools_are_the_plain_order_sorted(lengths, batch_size, pool_batches):
    """In order of records: batch b of a pool has its b-th shortest rows, ties in their order."""
    choices = {"batch_size": batch_size, "seed": 3}
    plan = planned(lengths, batching="pools", pool_batches=pool_batches, **choices)
    num_whole = len(lengths) // batch_size * batch_size
    expected = []
    for first in range(0, num_whole, pool_batches * batch_size):
        pool = range(first, min(num_whole, first + pool_batches * batch_size))
        expected += sorted(pool, key=lambda record: lengths[record])
    expected += range(num_whole, len(lengths))
    assert plan.epoch(0).records.tolist() == expected


@given(lengths=LENGTHS, batch_size=st.integers(1, 9), pool_batches=st.integers(1, 4))
def test_shuffled_pools_hold_the_shuffled_order(lengths, batch_size, pool_batches):
    choices = {"batch_size": batch_size, "seed": 3, "shuffle": True}
    plain = planned(lengths, **choices).epoch(5).records.tolist()
    plan = planned(lengths, batching="pools", pool_batches=pool_batches, **choices)
    epoch = plan.epoch(5)
    batches = batches_of(epoch)
    num_full = len(lengths) // batch_size
    for first in range(0, num_full, pool_batches):
        pool = batches[first : min(num_full, first + pool_batches)]
        records = [record for batch in pool for record in batch]
        begin = first * batch_size
        in_order = plain[begin : begin + len(records)]
        assert sorted(records) == sorted(in_order)
        # As sets of lengths, the batches are the sorted pool, cut.
        sizes = sorted(sorted(lengths[record] for record in batch) for batch in pool)
        held = sorted(lengths[record] for record in records)
        assert sizes == [held[i : i + batch_size] for i in range(0, len(held), batch_size)]
    assert [r for batch in batches[num_full:] for r in batch] == plain[num_full * batch_size :]


@given(lengths=LENGTHS, batch_size=st.integers(1, 9), batching=st.sampled_from(["plain", "pools"]))
def test_a_width_is_that_of_the_longest_row(lengths, batch_size, batching):
    plan = planned(lengths, batching=batching, batch_size=batch_size, shuffle=True)
    epoch = plan.epoch(1)
    longest = [max(1, *(lengths[r] for r in batch), 1) for batch in batches_of(epoch)]
    assert epoch.widths.tolist() == longest
    cells = sum(len(batch) * width for batch, width in zip(batches_of(epoch), longest, strict=True))
    assert epoch.num_padded_tokens == cells
    given_widths = planned(
        lengths, batching=batching, batch_size=batch_size, shuffle=True, width=(5, 30)
    )
    widened = [5 if width <= 5 else 30 for width in longest]
    assert given_widths.epoch(1).widths.tolist() == widened


def test_batches_of_a_pool_are_mixed():
    lengths = np.arange(640) % 64 + 1
    plan = planned(lengths, batching="pools", batch_size=4, pool_batches=40, shuffle=True)
    orders = [plan.epoch(number).widths[:40].tolist() for number in range(3)]
    assert all(order != sorted(order) for order in orders)
    assert len({tuple(order) for order in orders}) == 3


def cut_in_order(records, lengths, rows_of_length):
    """Batches of records that follow each other, each as long as its longest record allows."""
    batches = [[]]
    for record in records:
        longest = max(max(1, lengths[r]) for r in [*batches[-1], record])
        if len(batches[-1]) + 1 > rows_of_length(longest):
            batches.append([])
        batches[-1].append(record)
    return batches


def cut_pools(lengths, rows_of_length, pool_tokens):
    """Batches of pools, longest records first; what fills none goes into the next pool."""
    waiting, pool, batches = list(range(len(lengths))), [], []
    while waiting:
        while waiting and sum(max(1, lengths[r]) for r in pool) < pool_tokens:
            pool.append(waiting.pop(0))
        pool.sort(key=lambda record: -lengths[record])
        while pool and len(pool) >= rows_of_length(max(1, lengths[pool[0]])):
            num_rows = rows_of_length(max(1, lengths[pool[0]]))
            batches.append(pool[:num_rows])
            pool = pool[num_rows:]
    return batches + ([pool] if pool else [])


@given(
    lengths=LENGTHS,
    batching=st.sampled_from(["plain", "pools"]),
    max_tokens=st.integers(60, 200),
    pool_batches=st.integers(1, 3),
    num_hosts=st.sampled_from([1, 2]),
)
def test_batches_in_order_of_records(lengths, batching, max_tokens, pool_batches, num_hosts):
    config = PlanConfig(
        batching=batching,
        max_tokens_per_batch=max_tokens,
        pool_batches=pool_batches,
        num_hosts=num_hosts,
    )
    if batching == "plain":
        expected = cut_in_order(range(len(lengths)), lengths, config.rows_of_width)
    else:
        expected = cut_pools(lengths, config.rows_of_width, pool_batches * max_tokens)
    epoch = make_plan(lengths, config).epoch(3)
    assert batches_of(epoch) == expected
    longest = [max(1, *(lengths[r] for r in batch), 1) for batch in expected]
    assert epoch.widths.tolist() == longest


@given(lengths=LENGTHS, batching=st.sampled_from(["plain", "pools"]), seed=st.integers(0, 99))
def test_each_epoch_has_the_same_lengths_together_in_another_order(lengths, batching, seed):
    config = PlanConfig(
        batching=batching, max_tokens_per_batch=70, pool_batches=2, shuffle=True, seed=seed
    )
    plan = make_plan(lengths, config)

    def shapes(number):
        epoch = plan.epoch(number)
        sizes = [tuple(max(1, lengths[r]) for r in batch) for batch in batches_of(epoch)]
        assert epoch.widths.tolist() == [max(size) for size in sizes]
        return Counter(sizes)

    assert shapes(0) == shapes(1) == shapes(7)


def test_widths_that_are_given_bound_the_rows():
    lengths = np.random.default_rng(4).integers(1, 100, 400)
    for batching in ("plain", "pools"):
        config = PlanConfig(
            batching=batching,
            max_tokens_per_batch=1000,
            width=(25, 50, 100),
            shuffle=True,
            num_hosts=2,
        )
        epoch = make_plan(lengths, config).epoch(0)
        for width, batch in zip(epoch.widths.tolist(), batches_of(epoch), strict=True):
            assert width == next(w for w in (25, 50, 100) if w >= lengths[batch].max())
            assert width * (len(batch) + len(batch) % 2) <= 1000
