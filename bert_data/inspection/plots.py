"""Plots as inline SVG, with title, axes and legend.

    draw_plot(Plot(title="lengths", x_label="tokens", y_label="records", x=("1-64", "65-128"),
                   series={"a": (30, 70), "b": (40, 60)}))  ->  "<svg ...>...</svg>"

Colours are the style sheet's of the page (`.series0` and so on), so that they follow light or dark.
"""

import html
import math
from collections.abc import Iterator, Sequence

from bert_data.inspection.content import BARS, Plot, visible

NUM_COLOURS = 6
_WIDTH, _HEIGHT = 720, 300
_LEFT, _RIGHT, _TOP, _BOTTOM = 78, 16, 52, 48
_ROOM_X, _ROOM_Y = _WIDTH - _LEFT - _RIGHT, _HEIGHT - _TOP - _BOTTOM
_MOST_Y_TICKS = 6
_LABEL_WIDTH = 62  # room that the label of a place takes
_LEGEND_WIDTH = 150


def draw_plot(plot: Plot) -> str:
    """Return a plot as an `svg` element; without values, it says so."""
    return "".join(_parts(plot))


def _parts(plot: Plot) -> Iterator[str]:
    title = _escape(plot.title)
    yield (
        f'<svg viewBox="0 0 {_WIDTH} {_HEIGHT}" width="{_WIDTH}" height="{_HEIGHT}" role="img"'
        f' aria-label="{title}"><title>{title}</title>'
        f'<text class="title" x="{_LEFT}" y="18">{title}</text>'
    )
    values = [value for series in plot.series.values() for value in series]
    if values:
        ticks = nice_ticks(min(0.0, *values), max(0.0, *values))
        yield from _legend(list(plot.series))
        yield from _y_axis(ticks)
        places = _places(plot)
        draw = _bars if plot.kind == BARS else _lines
        yield from draw(plot, places, ticks)
        yield from _x_axis(plot, places)
    else:
        yield f'<text x="{_LEFT}" y="{_TOP + _ROOM_Y / 2:g}">no values</text>'
    middle = _TOP + _ROOM_Y / 2
    yield (
        f'<text class="axis" x="{_LEFT + _ROOM_X / 2:g}" y="{_HEIGHT - 8}" text-anchor="middle">'
        f"{_escape(plot.x_label)}</text>"
        f'<text class="axis" x="14" y="{middle:g}" text-anchor="middle"'
        f' transform="rotate(-90 14 {middle:g})">{_escape(plot.y_label)}</text></svg>'
    )


def nice_ticks(low: float, high: float) -> list[float]:
    """Return up to seven round numbers at equal steps, the first <= low and the last >= high."""
    if high <= low:
        high = low + 1
    raw = (high - low) / (_MOST_Y_TICKS - 1)
    magnitude = 10.0 ** math.floor(math.log10(raw))
    step = next(f * magnitude for f in (1, 2, 5, 10) if f * magnitude >= raw * (1 - 1e-9))
    first, last = math.floor(low / step + 1e-9), math.ceil(high / step - 1e-9)
    return [number * step for number in range(first, last + 1)]


def _y_of(value: float, ticks: Sequence[float]) -> float:
    return _TOP + _ROOM_Y * (ticks[-1] - value) / (ticks[-1] - ticks[0])


def _places(plot: Plot) -> list[float]:
    """Return the x coordinate of each value: the middle of its slot, or to scale for numbers."""
    count = len(plot.x)
    if plot.kind == BARS or isinstance(plot.x[0], str):
        return [_LEFT + _ROOM_X * (i + 0.5) / count for i in range(count)]
    numbers = [float(x) for x in plot.x]
    scale = _ROOM_X / ((numbers[-1] - numbers[0]) or 1.0)
    return [_LEFT + scale * (number - numbers[0]) for number in numbers]


def _legend(names: Sequence[str]) -> Iterator[str]:
    if not any(names):
        return
    for i, name in enumerate(names):
        x = _LEFT + i * _LEGEND_WIDTH
        yield (
            f'<rect class="series{i % NUM_COLOURS}" x="{x}" y="28" width="10" height="10"/>'
            f'<text class="axis" x="{x + 15}" y="37">{_escape(name)}</text>'
        )


def _y_axis(ticks: Sequence[float]) -> Iterator[str]:
    for tick in ticks:
        y = _y_of(tick, ticks)
        yield (
            f'<line class="grid" x1="{_LEFT}" x2="{_WIDTH - _RIGHT}" y1="{y:.1f}" y2="{y:.1f}"/>'
            f'<text class="axis" x="{_LEFT - 6}" y="{y + 4:.1f}" text-anchor="end">{_say(tick)}'
            "</text>"
        )


def _x_axis(plot: Plot, places: Sequence[float]) -> Iterator[str]:
    bottom = _TOP + _ROOM_Y
    yield f'<line class="frame" x1="{_LEFT}" x2="{_WIDTH - _RIGHT}" y1="{bottom}" y2="{bottom}"/>'
    end = -math.inf
    for x, place in zip(plot.x, places, strict=True):
        if place - end < _LABEL_WIDTH:
            continue
        label = x if isinstance(x, str) else _say(x)
        end = place
        yield (
            f'<text class="axis" x="{place:.1f}" y="{bottom + 16}" text-anchor="middle">'
            f"{_escape(label)}</text>"
        )


def _bars(plot: Plot, places: Sequence[float], ticks: Sequence[float]) -> Iterator[str]:
    slot = _ROOM_X / len(places)
    width = max(0.5, slot * 0.84 / len(plot.series))
    for number, (name, values) in enumerate(plot.series.items()):
        for x, place, value in zip(plot.x, places, values, strict=True):
            left = place - slot * 0.42 + number * width
            top = _y_of(value, ticks)
            yield (
                f'<rect class="series{number % NUM_COLOURS}" x="{left:.1f}" y="{top:.1f}"'
                f' width="{width:.1f}" height="{_TOP + _ROOM_Y - top:.1f}">'
                f"<title>{_tooltip(name, x, value)}</title></rect>"
            )


def _lines(plot: Plot, places: Sequence[float], ticks: Sequence[float]) -> Iterator[str]:
    for number, (name, values) in enumerate(plot.series.items()):
        colour = f"series{number % NUM_COLOURS}"
        corners = [(x, _y_of(value, ticks)) for x, value in zip(places, values, strict=True)]
        points = " ".join(f"{x:.1f},{y:.1f}" for x, y in corners)
        yield f'<polyline class="line {colour}" points="{points}"/>'
        for x, value, (left, top) in zip(plot.x, values, corners, strict=True):
            yield (
                f'<circle class="{colour}" cx="{left:.1f}" cy="{top:.1f}" r="2.5">'
                f"<title>{_tooltip(name, x, value)}</title></circle>"
            )


def _tooltip(name: str, x: str | float, value: float) -> str:
    place = x if isinstance(x, str) else _say(x)
    return _escape(f"{name + ', ' if name else ''}{place}: {_say(value)}")


def _say(number: float) -> str:
    """Return a number as people write it: 1,200 or 0.25."""
    if number == int(number) and abs(number) < 1e15:
        return f"{int(number):,}"
    return f"{number:.4g}"


def _escape(text: str) -> str:
    return html.escape(visible(text))
