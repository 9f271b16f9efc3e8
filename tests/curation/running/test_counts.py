"""Counts of steps: they add up over shards, and so do bins of measured values."""

import json
import math
from collections import Counter

from hypothesis import given
from hypothesis import strategies as st

from bert_data.curation.running.counts import (
    StepCounts,
    add_counts,
    bin_bounds,
    bin_values,
    counts_from_json,
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
