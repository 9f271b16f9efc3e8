"""Batches bounded by tokens against plain Python."""

from collections import Counter

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from bert_data.reader.planning import PlanConfig, make_plan
from tests.reader.planning.batches_of_epoch import batches_of

LENGTHS = st.lists(st.integers(0, 30), min_size=1, max_size=90)


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
        batching=batching, max_tokens=max_tokens, pool_batches=pool_batches, num_hosts=num_hosts
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
    config = PlanConfig(batching=batching, max_tokens=70, pool_batches=2, shuffle=True, seed=seed)
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
            batching=batching, max_tokens=1000, widths=(25, 50, 100), shuffle=True, num_hosts=2
        )
        epoch = make_plan(lengths, config).epoch(0)
        for width, batch in zip(epoch.widths.tolist(), batches_of(epoch), strict=True):
            assert width == next(w for w in (25, 50, 100) if w >= lengths[batch].max())
            assert width * (len(batch) + len(batch) % 2) <= 1000


def test_pools_pad_far_less_than_plain_batches():
    lengths = np.random.default_rng(4).integers(1, 100, 20_000)

    def padded(batching):
        config = PlanConfig(batching=batching, max_tokens=2000, shuffle=True)
        return make_plan(lengths, config).epoch(0).num_padded_tokens / lengths.sum()

    assert padded("pools") < 1.06 < 1.6 < padded("plain")
