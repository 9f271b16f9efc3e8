"""Epochs from weights: shares that are exact, caps that hold, budgets that are filled."""

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bert_data.curation.mixing.plan import Portion, plan_epochs

PORTIONS = st.dictionaries(
    st.text("abcdef", min_size=1, max_size=2),
    st.builds(Portion, st.floats(1e-3, 1e3), st.integers(1, 10**12)),
    min_size=1,
    max_size=6,
)
MOST = st.floats(0.1, 20)


@given(PORTIONS, MOST)
def test_without_a_budget_all_have_their_shares_and_one_the_most_epochs(portions, most):
    epochs = plan_epochs(portions, most)
    assert max(epochs.values()) == most  # exactly: whole numbers of epochs stay whole
    amounts = {name: epochs[name] * portion.size for name, portion in portions.items()}
    weights = sum(portion.weight for portion in portions.values())
    for name, portion in portions.items():
        share = amounts[name] / sum(amounts.values())
        assert share == pytest.approx(portion.weight / weights, rel=1e-9)


@given(PORTIONS, MOST, st.floats(1e-6, 1))
def test_a_budget_is_filled_and_only_what_is_exhausted_has_less_than_its_share(
    portions, most, part
):
    budget = part * most * sum(portion.size for portion in portions.values())
    epochs = plan_epochs(portions, most, budget)
    amounts = {name: epochs[name] * portion.size for name, portion in portions.items()}
    assert sum(amounts.values()) == pytest.approx(budget, rel=1e-9)
    assert max(epochs.values()) <= most
    free = {name for name in portions if epochs[name] < most * (1 - 1e-9)}
    levels = {name: amounts[name] / portions[name].weight for name in portions}
    for name in free:  # all that can grow have the same amount a weight, the others no more
        assert levels[name] == pytest.approx(max(levels.values()), rel=1e-9)


def test_a_budget_that_cannot_be_filled_is_told():
    portions = {"a": Portion(1, 100), "b": Portion(1, 50)}
    assert plan_epochs(portions, 4, 600) == {"a": 4, "b": 4}
    with pytest.raises(ValueError, match="budget is 601, but 4 epochs of all documents are 600; "):
        plan_epochs(portions, 4, 601)


def test_uniform_shares_up_to_a_number_of_epochs():
    """The example of UniMax: the small ones are exhausted, the others share evenly."""
    sizes = {"en": 1000, "fr": 100, "sw": 10}
    portions = {name: Portion(1, size) for name, size in sizes.items()}
    assert plan_epochs(portions, 4, 600) == pytest.approx({"sw": 4, "fr": 2.8, "en": 0.28})


def test_what_is_empty_does_not_pass():
    portions = {"a": Portion(1, 10), "b": Portion(1, 0), "c": Portion(0.0, 0)}
    assert plan_epochs(portions, 2) == {"a": 2, "b": 0, "c": 0}
    assert plan_epochs({"b": Portion(1, 0)}, 2) == {"b": 0}
    assert math.isclose(plan_epochs(portions, 2, 5)["a"], 0.5)
