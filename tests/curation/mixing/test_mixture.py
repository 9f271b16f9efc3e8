"""Epochs from weights: shares that are exact, caps that hold, budgets that are filled."""

import math
from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bert_data.curation.document import Document
from bert_data.curation.mixing.mixture import (
    MixturePlan,
    Portion,
    check_buckets,
    check_sources,
    count_document,
    describe_misses,
    entry_of_bucket,
    epochs_of_parts,
    idle_entries,
    numbers_by_name,
    read_counts,
    tabulate_mixture,
)
from bert_data.curation.steps.mix import Mix

PORTIONS = st.dictionaries(
    st.text("abcdef", min_size=1, max_size=2),
    st.builds(Portion, st.floats(1e-3, 1e3), st.integers(1, 10**12)),
    min_size=1,
    max_size=6,
)
MOST = st.floats(0.1, 20)


@given(PORTIONS, MOST)
def test_without_a_budget_all_have_their_shares_and_one_the_most_epochs(portions, most):
    epochs = epochs_of_parts(portions, most)
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
    epochs = epochs_of_parts(portions, most, budget)
    amounts = {name: epochs[name] * portion.size for name, portion in portions.items()}
    assert sum(amounts.values()) == pytest.approx(budget, rel=1e-9)
    assert max(epochs.values()) <= most
    free = {name for name in portions if epochs[name] < most * (1 - 1e-9)}
    levels = {name: amounts[name] / portions[name].weight for name in portions}
    for name in free:  # all that can grow have the same amount a weight, the others no more
        assert levels[name] == pytest.approx(max(levels.values()), rel=1e-9)


def test_a_budget_that_cannot_be_filled_is_told():
    portions = {"a": Portion(1, 100), "b": Portion(1, 50)}
    assert epochs_of_parts(portions, 4, 600) == {"a": 4, "b": 4}
    with pytest.raises(ValueError, match="budget is 601, but 4 epochs of all documents are 600; "):
        epochs_of_parts(portions, 4, 601)


def test_what_is_empty_does_not_pass():
    portions = {"a": Portion(1, 10), "b": Portion(1, 0), "c": Portion(0.0, 0)}
    assert epochs_of_parts(portions, 2) == {"a": 2, "b": 0, "c": 0}
    assert epochs_of_parts({"b": Portion(1, 0)}, 2) == {"b": 0}
    assert math.isclose(epochs_of_parts(portions, 2, 5)["a"], 0.5)


FLAT = {"web/head": 3, "web": 0.5, "*/tail": 0.1, "wiki": 2}


@pytest.mark.parametrize(
    "entries",
    [
        FLAT,
        {"web": {"head": 3, "*": 0.5}, "*": {"tail": 0.1}, "wiki": 2},
        ["web/head:3", "web:0.5", "*/tail:0.1", "wiki:2"],
        {"web": {"head": 3}, "web/*": 0.5, "*/tail:0.1": None, "wiki:2": None},
    ],
)
def test_all_ways_to_write_them_mean_the_same(entries):
    assert numbers_by_name("epochs", entries) == FLAT


def test_the_entry_of_a_bucket_is_the_most_particular_one():
    assert entry_of_bucket(FLAT, "web", "head") == "web/head"
    assert entry_of_bucket(FLAT, "web", "tail") == "*/tail"
    assert entry_of_bucket(FLAT, "web", "middle") == entry_of_bucket(FLAT, "web", None) == "web"
    assert entry_of_bucket(FLAT, "books", "middle") is None
    assert entry_of_bucket({"a/b/c": 1, "a": 2}, "a", "b/c") == "a/b/c"


def test_what_nothing_is_called_is_told():
    for entries, sentence in (
        ({"wep/head": 1}, "epochs names 'wep'; the data sets are web, wiki"),
        ({"*": 1}, r"epochs names '\*'; the data sets are web, wiki"),
    ):
        with pytest.raises(ValueError, match=sentence):
            check_sources("epochs", entries, ["web", "wiki"])
    check_sources("epochs", FLAT, ["web", "wiki"])
    with pytest.raises(
        ValueError, match="epochs names the bucket 'head'; the buckets are tail, top"
    ):
        check_buckets("epochs", FLAT, ["web/top", "wiki/tail", "books"])
    check_buckets("epochs", FLAT, ["web/head", "wiki/tail", "books"])


@pytest.mark.parametrize(
    ("entries", "sentence"),
    [
        (0.5, "epochs is 0.5; NAME: NUMBER is needed"),
        ({"a": {"b": 1}, "a/b": 2}, "epochs has 'a/b'; each data set's name is needed once"),
        ({"a": 1, "a/*": 2}, "epochs has 'a'; each data set's name is needed once"),
        ({3: {"b": 1}, "3/b": 1}, "each data set's name is needed once"),
        ([["a"]], r"epochs has \['a'\]; each data set's name is needed once"),
    ],
)
def test_other_forms_are_refused(entries, sentence):
    with pytest.raises(ValueError, match=sentence):
        numbers_by_name("epochs", entries)


def test_idle_entries_name_what_is_not_there():
    cells = ["web/head", "web/tail", "wiki"]
    assert idle_entries(["web", "web/head", "*/tail", "wiki"], cells) == []
    assert idle_entries(["web/x", "wiki/head", "*/x", "books"], cells) == [
        "web/x", "wiki/head", "*/x", "books",
    ]  # fmt: skip


SIZES = {"web/head": 100, "web/middle": 300, "web/tail": 600, "wiki": 200}
SOURCES = ["web", "wiki"]


def mix(**parameters):
    return Mix(bucket_field="bucket", **parameters)


def amounts(plan, sizes=SIZES):
    return {cell: epochs * sizes[cell] for cell, epochs in plan.epochs.items()}


def test_epochs_of_the_most_particular_entry():
    plan = mix(epochs={"web/head": 3, "web": 0.5, "*/tail": 0.0}).plan(SOURCES, SIZES)
    assert plan.epochs == {"web/head": 3, "web/middle": 0.5, "web/tail": 0, "wiki": 1}


def test_weights_are_the_shares_of_buckets_and_the_rest_of_a_data_set_shares_its_own():
    plan = mix(weights={"web/head": 1, "web": 3, "wiki": 4}).plan(SOURCES, SIZES)
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
    every = mix(weights={"*/head": 1, "web": 1, "wiki": 2}).plan(SOURCES, SIZES)
    assert every.portions.keys() == {"web/head", "web", "wiki"}


@pytest.mark.parametrize(("exponent", "sampled"), [(0.7, 25**0.7), (0.3, 25**0.3), (0, 1)])
def test_an_exponent_smooths_sizes(exponent, sampled):
    """A data set that is 25 times as large is sampled 25^0.7 times as often."""
    sizes = {"en": 2500, "is": 100}
    reached = amounts(mix(exponent=exponent).plan(list(sizes), sizes), sizes)
    assert reached["en"] / reached["is"] == pytest.approx(sampled)


@given(st.dictionaries(st.sampled_from("abcde"), st.integers(1, 10**9), min_size=1))
def test_with_exponent_1_a_weight_says_how_much_more_often_a_bucket_passes(sizes):
    plan = mix(exponent=1, weights={"a": 3}, most_epochs=3).plan(list(sizes), sizes)
    rates = {name: 3 if name == "a" else 1 for name in sizes}
    top = max(rates.values())
    assert plan.epochs == pytest.approx({name: 3 * rate / top for name, rate in rates.items()})


def test_with_a_budget_four_epochs_are_the_most_by_default():
    plan = mix(weights={"web": 1, "wiki": 9}, budget=1000).plan(SOURCES, SIZES)
    assert plan.epochs["wiki"] == 4
    assert amounts(plan) == pytest.approx(
        {"web/head": 20, "web/middle": 60, "web/tail": 120, "wiki": 800}
    )
    assert mix(weights={"web": 1, "wiki": 9}).plan(SOURCES, SIZES).epochs["wiki"] == 1


def test_what_has_a_weight_needs_documents():
    with pytest.raises(ValueError, match="weights has web/top, of which no bytes"):
        mix(weights={"web": 1, "web/top": 1, "wiki": 1}).plan(SOURCES, SIZES)
    with pytest.raises(ValueError, match="data set wiki has no bytes left to mix"):
        mix(weights={"web": 1, "wiki": 1}).plan(SOURCES, {"web": 3})
    plan = mix(exponent=0.5).plan(SOURCES, {"web": 3, "wiki": 0})
    assert plan.epochs == {"web": 1, "wiki": 0}


PLAN = MixturePlan(
    epochs={"web/head": 2.0, "web/x of y": 0.5, "wiki": 1.0},
    wanted={"web/head": 4.0, "web/x of y": 1.0, "wiki": 2.0},
    portions={"web/head": ["web/head"], "web": ["web/x of y"], "wiki": ["wiki"]},
)


def document(words, **sizes):
    made = Document(id="1", source="web", text="word " * words)
    made.note_sizes(sizes)
    return made


def counts(*taken):
    """Counts of (cell, words, copies); a document has a token more than words."""
    total = Counter()
    for cell, words, copies in taken:
        total.update(count_document(document(words, num_tokens=words + 1), cell, copies, "words"))
    return total


def test_counts_are_told_by_what_there_was_and_what_passes():
    counted = counts(("web/head", 10, 2), ("web/x of y", 5, 0), ("web/x of y", 6, 1))
    reached = read_counts(counted)
    assert reached.before["words"] == {"web/head": 10, "web/x of y": 11}
    assert reached.after["words"] == {"web/head": 20, "web/x of y": 6}
    assert reached.after["tokens"] == {"web/head": 22, "web/x of y": 7}
    assert reached.before["documents"] == {"web/head": 1, "web/x of y": 2}
    assert reached.after["bytes"] == {"web/head": 100, "web/x of y": 30}


def test_only_sizes_that_are_known_are_counted_beside_the_unit():
    assert set(count_document(document(3), "a", 1, "bytes")) == {
        "all documents of a", "documents of a", "all bytes of a", "bytes of a",
    }  # fmt: skip
    assert count_document(document(3), "a", 2, "words")["words of a"] == 6


def test_the_table_has_every_cell_and_all():
    counted = counts(
        ("web/head", 10, 2), ("web/x of y", 10, 0), ("web/x of y", 10, 1), ("wiki", 20, 1)
    )
    (head, rest, wiki, total) = tabulate_mixture(read_counts(counted), "words", PLAN).as_json()
    assert [row["part"] for row in (head, rest, wiki, total)] == [*PLAN.epochs, "all"]
    assert head["epochs"] == {"wanted": 2, "reached": 2}
    assert rest["epochs"] == {"wanted": 0.5, "reached": 0.5}
    assert wiki["words"] == pytest.approx({"reached": 20, "share": 20 / 50, "wanted": 40 / 100})
    assert rest["documents"] == pytest.approx({"reached": 1, "share": 1 / 4, "wanted": 2 / 8})
    assert head["tokens"] == pytest.approx({"reached": 22, "share": 22 / 54, "wanted": 44 / 108})
    assert total["epochs"] == {"wanted": 1.0, "reached": 1.0}
    assert total["bytes"] == pytest.approx({"reached": 250, "share": 1, "wanted": 1})


def test_words_are_left_out_where_tokens_are_known():
    counted = counts(*((cell, 4, 1) for cell in PLAN.epochs))
    assert "words" not in tabulate_mixture(read_counts(counted), "bytes", PLAN).as_json()[0]
    without = {name: n for name, n in counted.items() if "tokens" not in name}
    assert "words" in tabulate_mixture(read_counts(without), "bytes", PLAN).as_json()[0]


def test_counts_that_are_missing_are_none():
    """Counters that are added drop a count of 0."""
    counted = counts(("web/head", 10, 2), ("web/x of y", 5, 0), ("wiki", 0, 1))
    without = {name: number for name, number in counted.items() if number}
    assert without.keys() < counted.keys()
    assert read_counts(without) == read_counts(counted)
    assert read_counts(without).after["words"] == {"web/head": 20, "web/x of y": 0, "wiki": 0}
    assert (
        tabulate_mixture(read_counts(without), "words", PLAN).as_json()[1]["bytes"]["reached"] == 0
    )
    assert "web has 0 instead of" in str(describe_misses(read_counts(without), "words", PLAN, None))


def test_misses_are_told_with_their_reason():
    reached = read_counts(counts(("web/head", 10, 2), ("web/x of y", 20, 0), ("wiki", 20, 1)))
    assert describe_misses(reached, "words", PLAN, None) == (
        "too few documents to reach these shares of words: web/head has 0.5 instead of 0.4, web has"
        " 0 instead of 0.2, wiki has 0.5 instead of 0.4"
    )
    capped = MixturePlan({**PLAN.epochs, "web/head": 0.5}, PLAN.wanted, PLAN.portions)
    reached = read_counts(counts(("web/head", 10, 1), ("web/x of y", 20, 1), ("wiki", 20, 2)))
    assert describe_misses(reached, "words", capped, 50).endswith(
        "; the result has 70 words instead of 50"
    )
    assert "most_epochs holds down these shares of words: web/head has" in str(
        describe_misses(reached, "words", capped, None)
    )
