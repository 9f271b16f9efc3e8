"""Numbers inside and outside bounds."""

import math

import pytest

from bert_data.bounds import check_bounds, check_choice, check_integer


@pytest.mark.parametrize("value", [1, 3, 1_000_000, 1.0])
def test_inside(value):
    check_bounds("dupe_factor", value, 1, 1_000_000)


@pytest.mark.parametrize("value", [0, -1, 1_000_001, 2**63, math.nan, math.inf, -math.inf])
def test_outside(value):
    sentence = f"dupe_factor is {value}; 1 to 1,000,000 is allowed"
    with pytest.raises(ValueError, match=f"^{sentence}$"):
        check_bounds("dupe_factor", value, 1, 1_000_000)


@pytest.mark.parametrize("value", ["3", None, [1]])
def test_what_is_not_a_number(value):
    with pytest.raises(ValueError, match="a number, 1 to 9, is allowed"):
        check_bounds("learning_rate", value, 1, 9)


@pytest.mark.parametrize("value", [1.0, True, "1", None, math.nan])
def test_what_is_not_an_integer(value):
    with pytest.raises(ValueError, match="an integer, 1 to 9, is allowed"):
        check_integer("seq_length", value, 1, 9)


def test_integers():
    check_integer("seq_length", 9, 1, 9)
    with pytest.raises(ValueError, match=r"^seq_length is 10; 1 to 9 is allowed$"):
        check_integer("seq_length", 10, 1, 9)


def test_choices():
    check_choice("optimizer", "lamb", ("adamw", "lamb"))
    with pytest.raises(ValueError, match=r"^optimizer is 'sgd'; it must be one of adamw, lamb$"):
        check_choice("optimizer", "sgd", ("adamw", "lamb"))
