"""Plots: they are well-formed SVG, and their bars are as long as the values say."""

import xml.etree.ElementTree as ET

import pytest

from bert_data.inspection.content import Plot
from bert_data.inspection.plots import draw_plot


def draw(**settings: object) -> ET.Element:
    options = {"title": "t", "x_label": "tokens", "y_label": "records", **settings}
    return ET.fromstring(draw_plot(Plot(**options)))  # type: ignore[arg-type]


def test_bars_are_as_long_as_their_values_and_say_them() -> None:
    svg = draw(x=("1-64", "65-128", "more"), series={"a": (3000, 6000, 0), "b": (0.25, 1, 2)})
    bars = [rect for rect in svg.iter("rect") if rect.find("title") is not None]
    widths = [float(bar.attrib["width"]) for bar in bars]
    assert widths[2] == pytest.approx(2 * widths[0], abs=0.2)
    assert widths[4] == 0
    titles = [title.text for bar in bars for title in bar.iter("title")]
    assert titles[:3] == ["a, 1-64: 3,000", "b, 1-64: 0.25", "a, 65-128: 6,000"]
    places = [float(bar.attrib["y"]) for bar in bars]
    assert places == sorted(set(places))
    assert places[-1] < float(svg.attrib["height"]) - 12


def test_titles_axes_and_legend_are_there_and_escaped() -> None:
    svg = draw(title="<b> & 'c'", x=("1",), series={"A": (1,), "B": (2e12,)})
    texts = [text.text for text in svg.iter("text")]
    assert {"<b> & 'c'", "tokens", "records", "A", "B", "1", "2,000,000,000,000"} <= set(texts)


def test_a_plot_without_values_says_so() -> None:
    svg = draw(x=(), series={"a": ()})
    assert "no values" in [text.text for text in svg.iter("text")]
