"""Counts of steps: they add up over shards, and so do bins of measured values."""

import json
import math
from collections import Counter

from hypothesis import given
from hypothesis import strategies as st

from bert_data.curation.document import Document, Measured, measure
from bert_data.curation.running.counts import (
    StepCounts,
    add_counts,
    add_example,
    bin_bounds,
    bin_values,
    counts_from_json,
    list_examples,
    merge_examples,
)

FINITE = st.floats(allow_nan=False, allow_infinity=False, min_value=-1e100, max_value=1e100).filter(
    lambda value: value == 0 or abs(value) > 1e-100
)


@given(FINITE)
def test_a_value_is_in_the_bounds_of_its_bin(value):
    ((number, count),) = bin_values([value]).items()
    low, high = bin_bounds(number)
    assert count == 1
    if value == 0:
        assert (low, high) == (0.0, 0.0)
    else:
        assert low * (1 - 1e-9 * math.copysign(1, low)) <= value
        assert value <= high * (1 + 1e-9 * math.copysign(1, high))
        assert 1.18 < max(abs(low), abs(high)) / min(abs(low), abs(high)) < 1.2


@given(st.lists(FINITE), st.lists(FINITE))
def test_bins_add_up(some, others):
    assert bin_values(some) + bin_values(others) == bin_values([*some, *others])


def test_what_is_no_number_is_in_no_bin():
    assert bin_values([math.nan, math.inf, -math.inf, 1.0]).total() == 1
    assert bin_values([1, 2, 4]).total() == 3
    assert len(bin_values([1.0, 1.1])) == 1


def test_shards_are_added_and_written():
    def counts(number: int) -> list[StepCounts]:
        read = StepCounts(label="read", num_documents=number, num_bytes=10, seconds=0.5)
        few = StepCounts(label="few", num_rejected=1, rejected=Counter(max_xs=number, a=1))
        few.bins["max_xs"] = bin_values([1.0, number])
        few.edits["letters"] = 2
        few.counted["en"] = number
        few.first["error"] = f"a/{number}: bad"
        few.examples["max_xs"] = {"kept": [[0.5, number / 8, f"a/{number}", 3, 3.5, "x"]]}
        few.thresholds["max_xs"] = 3.0
        return [read, few]

    read, few = add_counts([counts(1), counts(5)])
    assert (read.num_documents, read.num_bytes, read.seconds) == (6, 20, 1.0)
    assert (few.rejected, few.edits, few.num_rejected) == ({"max_xs": 6, "a": 2}, {"letters": 4}, 2)
    assert few.counted == {"en": 6} and few.first == {"error": "a/1: bad"}
    assert [entry[2] for entry in few.examples["max_xs"]["kept"]] == ["a/1", "a/5"]
    assert few.bins["max_xs"].total() == 4
    assert counts_from_json(json.loads(json.dumps(few.as_json()))) == few


VALUES = st.lists(st.integers(0, 20), min_size=1, max_size=30)


def add(examples, number, value):
    document = Document(f"a/{number}", "a", f"text {number} " * 100)
    language = Measured("languages", "de", "en", failed=value == 0)
    measured = (measure("min_words", value, 10), language)
    kept = not any(each.failed for each in measured)
    add_example(examples, document, measured, kept=kept)


@given(VALUES, st.integers(0, 30))
def test_shards_do_not_matter(values, cut):
    whole, first, second = {}, {}, {}
    for number, value in enumerate(values):
        add(whole, number, value)
        add(first if number < cut else second, number, value)
    merge_examples(first, second)
    assert first == whole


@given(VALUES)
def test_the_closest_ones_are_shown(values):
    examples = {}
    for number, value in enumerate(values):
        add(examples, number, value)
    rows = [row for row in list_examples(examples) if row[0] == "min_words"]
    kept = sorted(value for rule, is_kept, _, value, _, _ in rows if is_kept)
    assert kept == sorted(value for value in values if value >= 10)[:3]
    rejected = [value for rule, is_kept, _, value, _, _ in rows if not is_kept]
    closest = sorted((value for value in values if value < 10), reverse=True)
    assert sorted(rejected, reverse=True)[: min(3, len(rejected))] == closest[:3]
    assert min(3, len(closest)) <= len(rejected) <= 6
    assert len({row[2] for row in rows}) == len(rows)
    assert all(row[5].startswith(f"text {row[2][2:]} ") and len(row[5]) == 400 for row in rows)


def test_rules_of_texts_have_rejected_examples_only():
    examples = {}
    for number, value in enumerate([0, 0, 5, 15]):
        add(examples, number, value)
    rows = [row[1:5] for row in list_examples(examples) if row[0] == "languages"]
    assert sorted(rows) == [(False, "a/0", "de", "en"), (False, "a/1", "de", "en")]
