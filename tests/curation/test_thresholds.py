"""Thresholds that a value can be compared with."""

import dataclasses
import math
from typing import Any

import pytest

from bert_data.curation.step import DocumentStep
from bert_data.curation.thresholds import check_thresholds, measure_rules

RULES = ("min_xs", "max_ys")


@dataclasses.dataclass(frozen=True, kw_only=True)
class Bounded(DocumentStep):
    """Has thresholds, and a parameter that is none."""

    name = "bounded"
    min_xs: Any = 1
    max_ys: Any = 2
    minimum: Any = -5


@pytest.mark.parametrize("value", [0, 0.5, 7, math.inf])
def test_numbers_are_thresholds(value: float) -> None:
    check_thresholds(Bounded(min_xs=value, max_ys=value))


@pytest.mark.parametrize("value", [-1, -0.001, math.nan, -math.inf, True, "3", None])
@pytest.mark.parametrize("name", RULES)
def test_anything_else_is_refused(name: str, value: object) -> None:
    with pytest.raises(ValueError) as caught:
        check_thresholds(Bounded(**{name: value}))
    assert str(caught.value) == f"{name} is {value!r}; a number >= 0 is allowed"


def test_each_rule_fails_on_its_own_side() -> None:
    failed = [
        [each.rule for each in measure_rules(Bounded(), dict.fromkeys(RULES, value)) if each.failed]
        for value in (0.5, 1, 1.5, 2, 2.5)
    ]
    assert failed == [["min_xs"], [], [], [], ["max_ys"]]
    (measured,) = measure_rules(Bounded(max_ys=9), {"max_ys": 4})
    assert (measured.rule, measured.value, measured.threshold) == ("max_ys", 4, 9)
