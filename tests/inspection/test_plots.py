"""Plots: they are well-formed SVG, and their bars and lines are where the values say."""

import itertools
import xml.etree.ElementTree as ET

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bert_data.inspection.content import Plot
from bert_data.inspection.plots import draw_plot, nice_ticks


def draw(**settings: object) -> ET.Element:
    options = {"title": "t", "x_label": "tokens", "y_label": "records", **settings}
    return ET.fromstring(draw_plot(Plot(**options)))  # type: ignore[arg-type]


def test_bars_are_as_high_as_their_values_and_say_them() -> None:
    svg = draw(x=("1-64", "65-128", "more"), series={"a": (30, 60, 0)})
    bars = [rect for rect in svg.iter("rect") if rect.find("title") is not None]
    heights = [float(bar.attrib["height"]) for bar in bars]
    assert heights[1] == pytest.approx(2 * heights[0], abs=0.2)
    assert heights[2] == 0
    titles = [title.text for bar in bars for title in bar.iter("title")]
    assert titles == ["a, 1-64: 30", "a, 65-128: 60", "a, more: 0"]


def test_titles_axes_and_legend_are_there_and_escaped() -> None:
    svg = draw(title="<b> & 'c'", x=("1",), series={"A": (1,), "B": (2,)})
    texts = [text.text for text in svg.iter("text")]
    assert {"<b> & 'c'", "tokens", "records", "A", "B", "1"} <= set(texts)


def test_lines_are_to_scale() -> None:
    svg = draw(x=(0.0, 1.0, 10.0), series={"": (0, 5, 10)}, kind="lines")
    line = next(iter(svg.iter("polyline"))).attrib["points"]
    (x0, y0), (x1, y1), (x2, y2) = (map(float, p.split(",")) for p in line.split())
    assert (x1 - x0) * 10 == pytest.approx(x2 - x0, abs=1)
    assert y1 == pytest.approx((y0 + y2) / 2, abs=0.2)
    assert y2 < y0


def test_a_plot_without_values_says_so() -> None:
    svg = draw(x=(), series={"a": ()})
    assert "no values" in [text.text for text in svg.iter("text")]


def test_labels_do_not_overlap() -> None:
    svg = draw(x=tuple(f"{i}-{i + 1}" for i in range(200)), series={"": (1,) * 200})
    places = [float(t.attrib["x"]) for t in svg.iter("text") if "-" in (t.text or "")]
    assert len(places) > 5
    assert all(right - left > 60 for left, right in itertools.pairwise(places))


@given(st.floats(-1e12, 1e12), st.floats(-1e12, 1e12))
def test_ticks_are_few_and_hold_the_range(one: float, other: float) -> None:
    low, high = sorted((one, other))
    ticks = nice_ticks(low, high)
    step = ticks[1] - ticks[0]
    assert 2 <= len(ticks) <= 9
    assert ticks[0] <= low + step * 1e-6
    assert ticks[-1] >= high - step * 1e-6


def test_ticks_are_round() -> None:
    assert nice_ticks(0, 60) == [0, 20, 40, 60]
    assert nice_ticks(0, 0) == pytest.approx([0, 0.2, 0.4, 0.6, 0.8, 1.0])
