"""Plots as inline SVG: a row of bars for each place, with its values.

    draw_plot(Plot(title="lengths", x_label="tokens", y_label="records", x=("1-64", "65-128"),
                   series={"a": (30, 70), "b": (40, 60)}))  ->  "<svg ...>...</svg>"

Colours are the style sheet's of the page (`.series0` and so on), so that they follow light or dark.
"""

import html
from collections.abc import Iterator

from bert_data.inspection.content import Plot, visible

NUM_COLOURS = 6
_WIDTH, _LEFT, _RIGHT, _TOP = 720, 140, 90, 50
_BAR, _GAP = 14, 6  # heights


def draw_plot(plot: Plot) -> str:
    """Return a plot as an `svg` element; without values, it says so."""
    height = _TOP + len(plot.x) * (_BAR * len(plot.series) + _GAP) + _GAP
    title = _escape(plot.title)
    parts = [_text("title", _LEFT, 18, plot.title), *_heads(plot), *_bars(plot)]
    return (
        f'<svg viewBox="0 0 {_WIDTH} {height}" width="{_WIDTH}" height="{height}" role="img"'
        f' aria-label="{title}"><title>{title}</title>{"".join(parts)}</svg>'
    )


def _heads(plot: Plot) -> Iterator[str]:
    """Yield what is above the bars: the names of the axes and of the series."""
    yield _text("axis", _LEFT - 8, 38, plot.x_label, anchor="end")
    yield _text("axis", _LEFT, 38, plot.y_label if any(plot.x) else "no values")
    for i, name in enumerate(filter(None, plot.series)):
        x = _LEFT + 110 * (i + 1)
        yield f'<rect class="series{i % NUM_COLOURS}" x="{x}" y="29" width="10" height="10"/>'
        yield _text("axis", x + 15, 38, name)


def _bars(plot: Plot) -> Iterator[str]:
    largest = max((value for values in plot.series.values() for value in values), default=0) or 1
    y = _TOP
    for i, x in enumerate(plot.x):
        yield _text("axis", _LEFT - 8, y + _BAR - 3, x, anchor="end")
        for number, (name, values) in enumerate(plot.series.items()):
            width = (_WIDTH - _LEFT - _RIGHT) * values[i] / largest
            shown = f"{values[i]:,.6g}" if values[i] < 1e6 else f"{values[i]:,.0f}"
            yield (
                f'<rect class="series{number % NUM_COLOURS}" x="{_LEFT}" y="{y}"'
                f' width="{width:.1f}" height="{_BAR - 2}">'
                f"<title>{_escape(f'{name}, {x}' if name else x)}: {shown}</title></rect>"
            )
            yield _text("axis", _LEFT + width + 6, y + _BAR - 3, shown)
            y += _BAR
        y += _GAP


def _text(kind: str, x: float, y: float, text: str, *, anchor: str = "start") -> str:
    place = f'x="{x:.1f}" y="{y}" text-anchor="{anchor}"'
    return f'<text class="{kind}" {place}>{_escape(text)}</text>'


def _escape(text: str) -> str:
    return html.escape(visible(text))
