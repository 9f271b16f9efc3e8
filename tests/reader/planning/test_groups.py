"""Records by group, in order and mixed."""

import itertools

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from bert_data.reader.planning.lengths import check_planned_lengths, group_by_length, group_records
from bert_data.reader.splitmix import key_of


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
