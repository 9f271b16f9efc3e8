"""Numbers inside and outside bounds."""

import math

import pytest

from bert_data.bounds import check_bounds


@pytest.mark.parametrize("value", [1, 3, 1_000_000, 1.0])
def test_inside(value):
    check_bounds("dupe_factor", value, 1, 1_000_000)


@pytest.mark.parametrize("value", [0, -1, 1_000_001, 2**63, math.nan, math.inf, -math.inf])
def test_outside(value):
    sentence = f"dupe_factor is {value}; 1 to 1,000,000 is allowed"
    with pytest.raises(ValueError, match=f"^{sentence}$"):
        check_bounds("dupe_factor", value, 1, 1_000_000)
