"""From parameters and sizes to epochs, bucket by bucket."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bert_data.curation.mixing.wishes import Wishes

SIZES = {"web/head": 100, "web/middle": 300, "web/tail": 600, "wiki": 200}
SOURCES = ["web", "wiki"]


def wishes(**parameters):
    none = {"weights": {}, "epochs": {}, "exponent": None, "budget": None, "most_epochs": None}
    return Wishes(unit="bytes", **{**none, **parameters})


def amounts(plan, sizes=SIZES):
    return {cell: epochs * sizes[cell] for cell, epochs in plan.epochs.items()}


def test_epochs_of_the_most_particular_entry():
    plan = wishes(epochs={"web/head": 3, "web": 0.5, "*/tail": 0.0}).plan(SOURCES, SIZES)
    assert plan.epochs == {"web/head": 3, "web/middle": 0.5, "web/tail": 0, "wiki": 1}


def test_weights_are_the_shares_of_buckets_and_the_rest_of_a_data_set_shares_its_own():
    plan = wishes(weights={"web/head": 1, "web": 3, "wiki": 4}).plan(SOURCES, SIZES)
    total = sum(amounts(plan).values())
    shares = {cell: amount / total for cell, amount in amounts(plan).items()}
    assert shares == pytest.approx(
        {"web/head": 1 / 8, "web/middle": 1 / 8, "web/tail": 2 / 8, "wiki": 4 / 8}
    )
    assert max(plan.epochs.values()) == 1
    assert plan.portions == {
        "web/head": ["web/head"],
        "web": ["web/middle", "web/tail"],
        "wiki": ["wiki"],
    }
    every = wishes(weights={"*/head": 1, "web": 1, "wiki": 2}).plan(SOURCES, SIZES)
    assert every.portions.keys() == {"web/head", "web", "wiki"}


@pytest.mark.parametrize(("exponent", "sampled"), [(0.7, 25**0.7), (0.3, 25**0.3), (0, 1)])
def test_an_exponent_smooths_sizes(exponent, sampled):
    """What is 25 times as large is sampled 25^0.7 times as often."""
    sizes = {"en": 2500, "is": 100}
    reached = amounts(wishes(exponent=exponent).plan(list(sizes), sizes), sizes)
    assert reached["en"] / reached["is"] == pytest.approx(sampled)


@given(st.dictionaries(st.sampled_from("abcde"), st.integers(1, 10**9), min_size=1))
def test_with_exponent_1_a_weight_says_how_much_more_often_a_bucket_passes(sizes):
    plan = wishes(exponent=1, weights={"a": 3}, most_epochs=3).plan(list(sizes), sizes)
    rates = {name: 3 if name == "a" else 1 for name in sizes}
    top = max(rates.values())
    assert plan.epochs == pytest.approx({name: 3 * rate / top for name, rate in rates.items()})


def test_with_a_budget_four_epochs_are_the_most_by_default():
    plan = wishes(weights={"web": 1, "wiki": 9}, budget=1000).plan(SOURCES, SIZES)
    assert plan.epochs["wiki"] == 4
    assert amounts(plan) == pytest.approx(
        {"web/head": 20, "web/middle": 60, "web/tail": 120, "wiki": 800}
    )
    assert wishes(weights={"web": 1, "wiki": 9}).plan(SOURCES, SIZES).epochs["wiki"] == 1


@pytest.mark.parametrize(
    ("parameters", "sentence"),
    [
        ({"weights": {"web/head": 1, "wiki": 1}}, "weights has no entry for web/middle"),
        (
            {"weights": {"web": 1, "web/top": 1, "wiki": 1}},
            "weights has web/top, of which no bytes",
        ),
        (
            {"weights": {"web": 1, "wiki": 1}, "budget": 1e9},
            "budget is 1,000,000,000, but 4 epochs",
        ),
    ],
)
def test_what_cannot_be_is_told(parameters, sentence):
    with pytest.raises(ValueError, match=sentence):
        wishes(**parameters).plan(SOURCES, SIZES)


def test_a_data_set_of_which_nothing_is_left_is_told():
    with pytest.raises(ValueError, match="data set wiki has no bytes left to mix"):
        wishes(weights={"web": 1, "wiki": 1}).plan(SOURCES, {"web": 3})
    plan = wishes(exponent=0.5).plan(SOURCES, {"web": 3, "wiki": 0})
    assert plan.epochs == {"web": 1, "wiki": 0}
