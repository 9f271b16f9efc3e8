"""Blocks of text are dealt to partitions by the seed."""

import hashlib

from hypothesis import given
from hypothesis import strategies as st

from bert_data.records.sets.partitioned import deal_blocks, derived_seed


def test_the_documented_seeds():
    digest = hashlib.sha256(b"12345/3").digest()
    assert derived_seed(12345, 3) == int.from_bytes(digest[:8], "big")


@given(
    st.lists(st.integers(1, 9), min_size=6, max_size=200),
    st.lists(st.integers(1, 3), min_size=1, max_size=6),
    st.integers(),
)
def test_each_block_goes_to_one_partition_and_all_get_their_share(sizes, shares, seed):
    dealt = deal_blocks(sizes, shares, seed)
    assert all(dealt) and all(own == sorted(own) for own in dealt)
    assert sorted(block for own in dealt for block in own) == [*range(len(sizes))]
    amounts = [sum(sizes[block] for block in own) for own in dealt]
    filled = [amount / share for amount, share in zip(amounts, shares, strict=True)]
    assert max(filled) - min(filled) <= max(sizes)


def test_blocks_are_dealt_by_the_seed():
    one, same, other = (deal_blocks([1] * 100, [1, 1], seed) for seed in (1, 1, 2))
    assert one == same != other
    assert 20 < sum(block < 50 for block in one[0]) < 30
