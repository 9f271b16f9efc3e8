"""Figures: intervals against published ones, and shares as text."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bert_data.inspection.figures import Figure, percent, wilson


@pytest.mark.parametrize(
    ("part", "whole", "low", "high"),
    [  # Newcombe 1998, Statistics in Medicine 17, table I, method 3
        (81, 263, 0.2553, 0.3662),
        (15, 148, 0.0624, 0.1605),
        (0, 20, 0.0, 0.1611),
        (1, 29, 0.0061, 0.1718),
    ],
)
def test_wilsons_interval(part: int, whole: int, low: float, high: float) -> None:
    assert wilson(part, whole) == (pytest.approx(low, abs=5e-5), pytest.approx(high, abs=5e-5))


@given(st.integers(0, 1000), st.integers(0, 1000), st.floats(0.1, 8))
def test_an_interval_holds_the_share(part: int, rest: int, deviations: float) -> None:
    low, high = wilson(part, part + rest, deviations)
    assert 0 <= low <= high <= 1
    if part + rest:
        assert low <= part / (part + rest) <= high
    mirrored = wilson(rest, part + rest, deviations)
    assert mirrored == (pytest.approx(1 - high), pytest.approx(1 - low))


def test_a_figure_as_json() -> None:
    figure = Figure(name="[UNK]", part=1, whole=4, expected="below 5.0%")
    assert figure.as_json() == {
        "name": "[UNK]", "part": 1, "whole": 4, "share": 0.25, "low": 0.25, "high": 0.25,
        "expected": "below 5.0%",
    }  # fmt: skip
    assert Figure(name="x", part=0, whole=0).as_json()["share"] is None


def test_shares_as_text() -> None:
    shares = (0.8, 0.1234, 0.0004567, 0.0, 1.0, None)
    assert [percent(share) for share in shares] == [
        "80.0%",
        "12.3%",
        "0.046%",
        "0.0%",
        "100.0%",
        "-",
    ]
