"""Counts of keys, exact where nothing is forgotten."""

from collections import Counter

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from bert_data.curation.quality import kneser_ney
from bert_data.curation.quality.kneser_ney import KeyCounter

batches = st.lists(st.lists(st.integers(0, 8), max_size=8), max_size=8)


@given(batches, st.integers(1, 20), st.integers(1, 9))
def test_counts(lists, buffered, max_keys):
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(kneser_ney, "_BUFFERED", buffered)
        counter = KeyCounter(max_keys)
        for each in lists:
            counter.add(np.array(each, np.uint64))
        keys, counts = counter.counts()
    count_of_key = dict(zip(keys.tolist(), counts.tolist(), strict=True))
    exact = Counter(key for each in lists for key in each)
    assert keys.tolist() == sorted(count_of_key)
    assert min(len(exact), 1) <= len(count_of_key) <= max_keys
    assert all(count <= exact[key] for key, count in count_of_key.items())
    if len(exact) <= max_keys:
        assert count_of_key == exact
        assert counter.num_forgotten == 0
    else:
        assert counter.num_forgotten > 0
