"""Blends: Megatron-LM's arrays, and any others by the oracle, with and without blocks."""

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from bert_data.gpt import blending
from bert_data.gpt.blending import (
    build_blending_indices,
    build_exhaustive_blending_indices,
    check_weights,
    normalize_weights,
    share_samples,
)
from tests.goldens.reading import load_goldens
from tests.gpt import oracle
from tests.gpt.stores import assert_golden

WAYS = {"plainly": 100, "in blocks": 0}


@pytest.fixture(params=WAYS)
def way(request, monkeypatch):
    monkeypatch.setattr(blending, "PLAIN_UP_TO", WAYS[request.param])
    return request.param


def golden_weights(golden):
    formulas = {
        "w_i=(i%17)+1 for i<300": [i % 17 + 1 for i in range(300)],
        "w_i=1 for i<1000": [1] * 1000,
    }
    weights = golden["weights"]
    weights = formulas[weights] if isinstance(weights, str) else weights
    for _ in range(golden["times_normalized"]):
        weights = normalize_weights(weights)
    return weights


def test_arrays_are_megatrons(way):
    kinds = set()
    for golden in load_goldens("megatron.json")["blending"]:
        kinds.add(golden["kind"])
        if golden["kind"] == "weighted":
            weights = golden_weights(golden)
            assert_golden(np.array(weights), golden["normalized_weights"])
            blend = build_blending_indices(weights, golden["size"])
        else:
            blend = build_exhaustive_blending_indices(golden["sizes"])
        assert_golden(blend.dataset_index, golden["dataset_index"])
        assert_golden(blend.dataset_sample_index, golden["dataset_sample_index"])
        if golden.get("counts"):
            assert blend.counts.tolist() == golden["counts"]
    assert kinds == {"weighted", "exhaustive"}


def test_shares_are_megatrons():
    goldens = load_goldens("megatron.json")["size_per_split_per_dataset"]
    for golden in (each for each in goldens if each["surplus"]):
        weights = normalize_weights(golden["weights"])
        assert weights == golden["normalized"]
        by_split = [share_samples(weights, size) for size in golden["sizes"]]
        assert list(map(list, zip(*by_split, strict=True))) == golden["result"]


WEIGHTS = st.lists(
    st.one_of(
        st.integers(1, 6).map(float),  # ties, of equal and of different data sets
        st.floats(0.01, 100.0),
        st.sampled_from([1e-300, 1e-12, 1e-6, 1e6]),
    ),
    min_size=1,
    max_size=40,
)


@given(WEIGHTS, st.integers(0, 300), st.sampled_from(list(WAYS.values())), st.integers(1, 400))
@example([0.1] * 10 + [1.0, 2.0], 300, 0, 7)
@example([1e-300, 1.0, 1e-300], 300, 0, 400)
@example([1.0 / 3, 1.0 / 7, 11.0 / 21] * 9, 300, 0, 1)
def test_weighted_blends_are_the_oracles(weights, size, plain_up_to, outputs_at_once):
    shares = normalize_weights(weights)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(blending, "PLAIN_UP_TO", plain_up_to)
        patch.setattr(blending, "OUTPUTS_AT_ONCE", outputs_at_once)
        blend = build_blending_indices(shares, size)
    chosen, samples = oracle.blend(shares, size)
    assert blend.dataset_index.tolist() == chosen
    assert blend.dataset_sample_index.tolist() == samples
    assert blend.counts.tolist() == [chosen.count(i) for i in range(len(weights))]


@given(
    st.lists(st.integers(0, 30), min_size=1, max_size=30).filter(any),
    st.sampled_from(list(WAYS.values())),
    st.integers(1, 400),
)
def test_exhaustive_blends_are_the_oracles(sizes, plain_up_to, outputs_at_once):
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(blending, "PLAIN_UP_TO", plain_up_to)
        patch.setattr(blending, "OUTPUTS_AT_ONCE", outputs_at_once)
        blend = build_exhaustive_blending_indices(sizes)
    chosen, samples = oracle.blend([size / sum(sizes) for size in sizes], sum(sizes), sizes)
    assert blend.dataset_index.tolist() == chosen
    assert blend.dataset_sample_index.tolist() == samples
    assert blend.counts.tolist() == sizes


@pytest.mark.parametrize("seed", range(6))
def test_blocks_give_what_the_plain_rule_gives_in_long_blends(seed, monkeypatch):
    """Rounding is right: large numbers of outputs, ratios that meet again and again."""
    random = np.random.RandomState(seed)
    weights = [
        random.rand(300) + 0.01,
        np.exp(3 * random.randn(300)),
        random.randint(1, 20, 150),
        np.repeat(random.rand(5), 30),
        10.0 ** -random.randint(0, 12, 130),
        np.concatenate([random.rand(200), [1e9]]),
    ][seed]
    shares = normalize_weights(weights)
    blends = {}
    for way, plain_up_to in {"plainly": 1000, "in blocks": 0}.items():
        monkeypatch.setattr(blending, "PLAIN_UP_TO", plain_up_to)
        blends[way] = build_blending_indices(shares, 60_000)
    np.testing.assert_array_equal(
        blends["plainly"].dataset_index, blends["in blocks"].dataset_index
    )
    np.testing.assert_array_equal(blends["plainly"].counts, blends["in blocks"].counts)


def test_blocks_far_into_a_blend(monkeypatch):
    """From output 10**9 on, where products of weights are rounded a million times as coarsely."""
    random = np.random.RandomState(3)
    shares = np.array(normalize_weights(random.randint(1, 9, 120).astype(float)))
    limits = np.full(shares.size, np.iinfo(np.int64).max)
    first, size = 10**9, 30_000
    indexes = []
    for in_blocks in (False, True):
        state = blending.blend_state(shares, limits)
        state.counts[:] = np.floor(shares * first)
        state.lag_counts[:] = state.counts
        outputs = np.empty(size, np.int16), np.empty(size, np.int64)
        if in_blocks:
            blocks = blending.blend_blocks(state, first + size)
            blending.blend_in_blocks(
                state, blocks, blending.block_size(shares.size), first, *outputs
            )
        else:
            blending.blend_plainly(state, first, *outputs)
        indexes.append(outputs)
    np.testing.assert_array_equal(indexes[0], indexes[1])


@pytest.mark.parametrize("bad", [0.0, -1.0, float("nan"), float("inf")])
def test_weights_that_are_none_are_refused(bad):
    with pytest.raises(ValueError, match=f"weight 1 is {bad!r}; it must be above 0"):
        check_weights([1.0, bad], 2)


def test_mistakes_are_refused():
    with pytest.raises(ValueError, match=r"2 weight\(s\) for 3 data set\(s\)"):
        check_weights([1.0, 2.0], 3)
    with pytest.raises(ValueError, match="weight 1 is 1e-200, too small beside"):
        normalize_weights([1e200, 1e-200])
    with pytest.raises(ValueError, match="sum of the weights is not finite"):
        normalize_weights([1e308, 1e308])
    with pytest.raises(ValueError, match="32,767 data sets to blend; 1 to 32,766 are allowed"):
        build_exhaustive_blending_indices([1] * 32_767)
    with pytest.raises(ValueError, match="data set 1 has -1 samples"):
        build_exhaustive_blending_indices([3, -1])
    with pytest.raises(ValueError, match="have no samples"):
        build_exhaustive_blending_indices([0, 0])
