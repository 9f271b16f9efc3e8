"""Numbers of epochs and samples; `test_dataset.py` compares the arrays with Megatron-LM's."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from bert_data.gpt.indices import (
    count_samples,
    plan_epochs,
    sample_index_dtype,
    shuffle_index_dtype,
)


def test_dtypes_are_as_wide_as_needed():
    assert sample_index_dtype(2**31 - 1, 5) == np.int32
    assert sample_index_dtype(2**31, 5) == np.int64
    assert sample_index_dtype(5, 2**31 - 1) == np.int32
    assert sample_index_dtype(5, 2**31) == np.int64
    assert shuffle_index_dtype(2**32 - 3) == np.uint32
    assert shuffle_index_dtype(2**32 - 2) == np.int64


def test_counts_stay_whole_numbers_beyond_floats():
    """A float32 cannot tell 2**24 + 1 samples from 2**24."""
    plan = plan_epochs((2**24 + 1) * 8 + 2, 8, None, drop_last_partial=False)
    assert (plan.num_samples, plan.is_last_partial) == (2**24 + 2, True)
    plan = plan_epochs(10**15 + 1, 10, 3 * 10**14)
    assert (plan.num_epochs, plan.num_samples) == (3, 3 * 10**14)


@given(st.integers(1, 200), st.integers(1, 40), st.integers(1, 9), st.booleans())
def test_the_samples_of_whole_epochs_need_those_epochs(tokens, seq_length, num_epochs, extra):
    num_samples = count_samples(tokens, seq_length, num_epochs, add_extra_token=extra)
    if num_samples and tokens >= seq_length + 1:
        plan = plan_epochs(tokens, seq_length, num_samples, add_extra_token=extra)
        assert plan.num_epochs == num_epochs
        assert plan.num_samples == num_samples
