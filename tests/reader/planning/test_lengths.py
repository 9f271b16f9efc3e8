"""Lengths of records, counted and grouped, and widths chosen; `test_plan` tests what is refused."""

import itertools

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from bert_data.reader.planning import PlanConfig, make_plan
from bert_data.reader.planning.lengths import (
    check_planned_lengths,
    choose_widths,
    group_by_length,
    group_records,
    next_widths,
)
from bert_data.reader.splitmix import key_of


@pytest.mark.parametrize("dtype", [np.uint8, np.uint16, np.uint32, np.int32, np.int64, np.uint64])
def test_counts_of_every_type(dtype):
    checked = check_planned_lengths(np.array([3, 0, 1, 3], dtype), 5)
    assert checked.histogram.tolist() == [0, 2, 0, 2, 0, 0]
    assert (checked.num_records, checked.num_tokens) == (4, 7)


def test_the_longest_record_is_the_limit_where_none_is_given():
    assert check_planned_lengths([3, 1], None).histogram.tolist() == [0, 1, 0, 1]
    assert check_planned_lengths([0], None).histogram.tolist() == [0, 1]


def test_unsigned_lengths_are_not_copied():
    lengths = np.array([3, 1], np.uint32)
    assert check_planned_lengths(lengths, None).of_record is lengths


@given(lengths=st.lists(st.integers(0, 20), min_size=1, max_size=60), bound=st.integers(1, 20))
def test_groups_hold_their_lengths_in_order_of_records(lengths, bound):
    checked = check_planned_lengths(lengths, 20)
    group_of_length = (np.arange(21) > bound).astype(np.int32)
    groups = group_records(checked, group_of_length)
    short = [r for r, length in enumerate(lengths) if length <= bound]
    long = [r for r, length in enumerate(lengths) if length > bound]
    assert groups.records.tolist() == short + long
    assert groups.splits.tolist()[:2] == [0, len(short)]
    assert groups.splits[-1] == len(lengths)


@given(lengths=st.lists(st.integers(0, 9), min_size=1, max_size=60), seed=st.integers(0, 9))
def test_records_stay_in_their_groups(lengths, seed):
    groups = group_by_length(check_planned_lengths(lengths, None))
    mixed = groups.shuffled(key_of(seed))
    for begin, end in itertools.pairwise(groups.splits.tolist()):
        part = groups.records[begin:end].tolist()
        assert len({max(1, lengths[record]) for record in part}) <= 1
        assert sorted(mixed[begin:end].tolist()) == part == sorted(part)


HISTOGRAMS = st.lists(st.integers(0, 30), min_size=2, max_size=9).filter(lambda h: any(h[1:]))


def padded_tokens(histogram, widths):
    return sum(
        count * next(width for width in widths if width >= length)
        for length, count in enumerate(histogram)
        if count
    )


@given(histogram=HISTOGRAMS, num_widths=st.integers(1, 9))
def test_no_other_widths_pad_less(histogram, num_widths):
    histogram[0] = 0
    chosen = choose_widths(np.array(histogram), num_widths)
    longest = max(length for length, count in enumerate(histogram) if count)
    assert list(chosen) == sorted(set(chosen)) and len(chosen) <= num_widths
    assert chosen[-1] == longest
    least = min(
        padded_tokens(histogram, (*shorter, longest))
        for k in range(min(num_widths, longest))
        for shorter in itertools.combinations(range(1, longest), k)
    )
    assert padded_tokens(histogram, chosen) == least


@given(seed=st.integers(0, 2**32), num_widths=st.integers(2, 5))
def test_one_width_more_is_a_best_split_of_the_rest(seed, num_widths):
    """Larger histograms, by the recurrence in plain Python."""
    histogram = np.random.default_rng(seed).integers(0, 50, 60) ** 2
    histogram[0], histogram[-1] = 0, 1
    best = [{0: 0}]
    for _ in range(num_widths):
        best.append({})
        for j in range(60):
            options = [
                tokens + j * int(histogram[i + 1 : j + 1].sum())
                for i, tokens in best[-2].items()
                if i <= j
            ]
            best[-1][j] = min(options)
    chosen = choose_widths(histogram, num_widths)
    assert padded_tokens(histogram.tolist(), chosen) == best[-1][59]


def test_sums_above_32_bits():
    histogram = np.array([0, 2_000_000_000, 0, 0, 1_900_000_000, 0, 0, 0, 0, 2_000_000_000])
    assert choose_widths(histogram, 2) == (4, 9)


def test_lengths_take_the_next_width():
    lengths = np.array([1, 4, 5, 9])
    assert next_widths(lengths, (4, 9)).tolist() == [4, 4, 9, 9]
    assert next_widths(lengths, None).tolist() == [1, 4, 5, 9]


@pytest.mark.parametrize(
    ("width", "max_seq_length", "allowed"),
    [
        ((4, 7), None, (4, 7, 9)),
        ((4, 7), 12, (4, 7, 12)),
        ((4, 12), 12, (4, 12)),
        ("max", 12, (12,)),
        ("max", None, (9,)),
        ("batch", 12, (9,)),
    ],
)
def test_the_longest_record_has_a_width(width, max_seq_length, allowed):
    config = PlanConfig(
        batching="buckets", batch_size=2, width=width, num_buckets=1, max_seq_length=max_seq_length
    )
    assert make_plan(np.array([3, 9, 5], np.uint32), config).widths == allowed
