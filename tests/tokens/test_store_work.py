"""Memory is shared among the stages that make a token store."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bert_data.tokens.store_work import MIN_MEMORY_MB, share_memory


@given(st.integers(MIN_MEMORY_MB, 100_000), st.integers(1, 1000))
def test_the_shares_stay_within_the_whole(max_memory_mb, num_workers):
    budget = share_memory(max_memory_mb, num_workers)
    assert 1 <= budget.num_workers <= num_workers
    shares = budget.max_store_bytes + 2 * budget.max_rows_bytes
    workers = 10_000_000 * budget.num_workers
    assert shares + workers + 220_000_000 <= max_memory_mb * 1_000_000


def test_many_workers_need_memory():
    assert share_memory(300, 96).num_workers == 4
    assert share_memory(10_000, 96).num_workers == 96


def test_too_little():
    with pytest.raises(ValueError, match=r"^max_memory_mb is 299; 300 to 1,000,000,000 is all"):
        share_memory(299, 1)
