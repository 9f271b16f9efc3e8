"""Records are sorted as tuples are, whatever agrees in how many fields."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from bert_data.work.sorting import sorted_rows

numbers = st.one_of(st.integers(0, 2), st.sampled_from([2**63 - 1, 2**63, 2**64 - 1]))


@given(st.lists(st.tuples(numbers, numbers, numbers), max_size=150), st.integers(1, 3), st.data())
def test_rows_are_in_the_order_of_tuples(records, num_keys, data):
    words = np.array(records, np.uint64).reshape(-1, 3)
    chosen = data.draw(st.none() | st.lists(st.integers(0, 149), unique=True))
    if chosen is not None:
        chosen = [row for row in chosen if row < len(records)]
    rows = sorted_rows(words, num_keys, None if chosen is None else np.array(chosen, np.int64))
    wanted = range(len(records)) if chosen is None else chosen
    assert sorted(rows.tolist()) == sorted(wanted)
    keys = [records[row][:num_keys] for row in rows.tolist()]
    assert keys == sorted(keys)


def test_many_records_of_one_hot_key_are_sorted_by_the_next_field():
    words = np.random.default_rng(1).integers(0, 5000, (20_000, 3)).astype(np.uint64)
    words[:, 0] = 7
    rows = sorted_rows(words, 2)
    assert np.array_equal(words[rows, 1], np.sort(words[:, 1]))
    assert len(set(rows.tolist())) == len(words)
