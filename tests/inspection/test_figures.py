"""Intervals are Wilson's, and shares are read in percent."""

import pytest

from bert_data.inspection.figures import Figure, share_text, wilson


@pytest.mark.parametrize(
    ("part", "whole", "interval"),
    [  # of the table in Newcombe 1998 (Statistics in Medicine 17:857), method 3
        (81, 263, (0.2553, 0.3662)), (15, 148, (0.0624, 0.1605)), (0, 20, (0, 0.1611)),
        (1, 29, (0.0061, 0.1718)), (29, 29, (0.8830, 1)), (0, 0, (0, 1)),
    ],
)  # fmt: skip
def test_intervals_of_shares(part: int, whole: int, interval: tuple[float, float]) -> None:
    assert wilson(part, whole) == pytest.approx(interval, abs=5e-5)


def test_shares_in_percent() -> None:
    assert [share_text(share) for share in (None, 0, 1, 0.1234, 0.00045)] == [
        "-", "0.0%", "100.0%", "12.3%", "0.045%"
    ]  # fmt: skip
    assert Figure("a", 1, 4).as_json() == {
        "name": "a", "part": 1, "whole": 4, "share": 0.25, "low": 0.25, "high": 0.25,
        "expected": "",
    }  # fmt: skip
