"""Splits, against Megatron-LM's."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bert_data.causal.splits import parse_split, split_documents
from tests.goldens.reading import load_goldens


def test_ranges_are_megatrons():
    for golden in load_goldens("megatron.json")["split"]:
        assert parse_split(golden["split"]) == golden["vector"]
        for num_documents, ranges in golden["doc_ranges"].items():
            ours = split_documents(golden["split"], int(num_documents))
            assert [None if r is None else list(r) for r in ours] == ranges


def test_halves_are_rounded_to_even():
    assert split_documents("1,1", 5) == ((0, 2), (2, 5), None)
    assert split_documents("1,1", 7) == ((0, 4), (4, 7), None)


@given(st.lists(st.integers(0, 1000), min_size=1, max_size=3).filter(any), st.integers(0, 10**9))
def test_splits_cover_all_documents_once(shares, num_documents):
    ranges = split_documents(",".join(map(str, shares)), num_documents)
    assert len(ranges) == 3
    at = 0
    for share, documents in zip([*shares, 0, 0], ranges, strict=False):
        assert (documents is None) == (share == 0)
        if documents is not None:
            assert documents[0] == at
            at = documents[1]
    assert at == num_documents


@pytest.mark.parametrize(
    "split", ["", "a", "1,2,3,4", "-1,2", "0,0", "nan", "inf,1", "1e308,1e308", "1;2", "9,,1"]
)
def test_what_is_no_split_is_refused(split):
    with pytest.raises(ValueError, match="one to three numbers >= 0"):
        parse_split(split)
