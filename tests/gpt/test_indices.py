"""Document, sample and shuffle index: Megatron-LM's arrays, and any others by the oracle."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from bert_data.gpt import indices
from bert_data.gpt.indices import (
    build_document_index,
    build_sample_index,
    build_shuffle_index,
    count_samples,
    plan_epochs,
    sample_index_dtype,
    shuffle_index_dtype,
)
from tests.goldens.reading import load_goldens
from tests.gpt import oracle
from tests.gpt.stores import assert_golden, golden_length


def build(lengths, documents, seq_length, num_samples, seed, *, extra=1, drop_last=True):
    lengths = np.array(lengths, np.int32)
    plan = plan_epochs(
        int(lengths[slice(*documents)].sum()),
        seq_length,
        num_samples,
        add_extra_token=bool(extra),
        drop_last_partial=drop_last,
    )
    random = np.random.RandomState(seed)
    document_index = build_document_index(documents, plan, random)
    sample_index = build_sample_index(lengths, document_index, plan)
    return plan, document_index, sample_index, build_shuffle_index(plan, random)


def test_arrays_are_megatrons():
    goldens = load_goldens("megatron.json")["gpt_indices"]
    assert len(goldens) >= 10
    for golden in goldens:
        num_documents = int(golden["corpus"].split("..")[1]) + 1
        plan, *arrays = build(
            [golden_length(i) for i in range(num_documents)],
            tuple(golden["documents"]),
            golden["seq_length"],
            golden["num_samples"],
            golden["seed"],
            extra=golden["add_extra_token_to_sequence"],
            drop_last=golden["drop_last_partial"],
        )
        assert plan.tokens_per_epoch == golden["tokens_per_epoch"]
        assert plan.num_epochs == golden["num_epochs"]
        assert plan.is_last_separate == golden["separate_final_epoch"]
        assert plan.num_samples == golden["len"]
        for array, name in zip(arrays, ("doc_idx", "sample_idx", "shuffle_idx"), strict=True):
            assert_golden(array, golden[name])


@st.composite
def corpora(draw):
    lengths = draw(st.lists(st.integers(0, 12), min_size=1, max_size=12))
    first = draw(st.integers(0, len(lengths) - 1))
    stop = draw(st.integers(first + 1, len(lengths)))
    if not sum(lengths[first:stop]):
        lengths[first] = draw(st.integers(1, 30))
    return lengths, (first, stop)


@given(
    corpora(),
    st.integers(1, 20),
    st.none() | st.integers(1, 60),
    st.integers(0, 2**32 - 1),
    st.sampled_from([0, 1]),
    st.booleans(),
    st.sampled_from([1, 3, 1 << 22]),
)
def test_arrays_are_the_oracles(
    corpus, seq_length, num_samples, seed, extra, drop_last, rows_at_once
):
    lengths, documents = corpus
    expected = oracle.indices(
        lengths, documents, seq_length, num_samples, seed, extra=extra, drop_last=drop_last
    )
    arguments = lengths, documents, seq_length, num_samples, seed
    if len(expected.rows) == 1:
        with pytest.raises(ValueError, match="seq_length is"):
            build(*arguments, extra=extra, drop_last=drop_last)
        return
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(indices, "ROWS_AT_ONCE", rows_at_once)
        plan, document_index, sample_index, shuffle_index = build(
            *arguments, extra=extra, drop_last=drop_last
        )
    assert plan.num_epochs == expected.num_epochs
    assert plan.is_last_separate == expected.is_last_separate
    assert document_index.tolist() == expected.documents
    assert sample_index.tolist() == [list(row) for row in expected.rows]
    assert shuffle_index.tolist() == expected.order
    assert num_samples is None or plan.num_samples >= num_samples
    assert (document_index.dtype, sample_index.dtype) == (np.int32, np.int32)
    assert shuffle_index.dtype == np.uint32


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
