"""Plots of a report as inline SVG: a funnel of all steps, histograms of measured values."""

import html
import math
from collections.abc import Mapping, Sequence

from bert_data.curation.running.counts import StepCounts, bin_bounds

_FUNNEL_WIDTH, _ROW_HEIGHT, _LABEL_WIDTH, _VALUE_WIDTH = 860, 30, 190, 190
_HISTOGRAM_WIDTH, _HISTOGRAM_HEIGHT, _AXIS_HEIGHT = 300, 90, 16
_MAX_BARS = 60


def funnel(all_counts: Sequence[StepCounts]) -> str:
    """Draw one centred bar per step, as long as the share of documents that it passes."""
    whole = max(1, *(counts.num_documents for counts in all_counts))
    room = _FUNNEL_WIDTH - _LABEL_WIDTH - _VALUE_WIDTH
    height = _ROW_HEIGHT * len(all_counts)
    parts = [
        f'<svg viewBox="0 0 {_FUNNEL_WIDTH} {height}" width="{_FUNNEL_WIDTH}" height="{height}"'
        ' role="img" aria-label="documents that pass each step">'
    ]
    for i, counts in enumerate(all_counts):
        width = room * counts.num_documents / whole
        left = _LABEL_WIDTH + (room - width) / 2
        top = i * _ROW_HEIGHT
        middle = top + _ROW_HEIGHT / 2 + 4
        share = 100 * counts.num_documents / whole
        parts.append(
            f'<text x="{_LABEL_WIDTH - 8}" y="{middle}" text-anchor="end">'
            f"{html.escape(counts.label)}</text>"
            f'<rect class="bar" x="{left:.1f}" y="{top + 3}" width="{width:.1f}"'
            f' height="{_ROW_HEIGHT - 6}"/>'
            f'<text x="{_FUNNEL_WIDTH - _VALUE_WIDTH + 8}" y="{middle}">'
            f"{counts.num_documents:,} ({share:.1f}%)</text>"
        )
        if i + 1 < len(all_counts):
            following = room * all_counts[i + 1].num_documents / whole
            parts.append(_slope(left, width, following, room, top))
    return "".join([*parts, "</svg>"])


def _slope(left: float, width: float, following: float, room: float, top: float) -> str:
    """Connect a bar with the next one."""
    next_left = _LABEL_WIDTH + (room - following) / 2
    y, below = top + _ROW_HEIGHT - 3, top + _ROW_HEIGHT + 3
    corners = [(left, y), (left + width, y), (next_left + following, below), (next_left, below)]
    points = " ".join(f"{x:.1f},{y:.1f}" for x, y in corners)
    return f'<polygon class="slope" points="{points}"/>'


def histogram(rule: str, bins: Mapping[int, int], threshold: float | None) -> str:
    """Draw the measured values of a rule on a logarithmic scale, with the threshold as a line."""
    # Bin numbers order bins of one sign; negative values decrease as their size grows.
    numbers = sorted(bins, key=lambda number: bin_bounds(number)[0])
    bars = [(bin_bounds(number), bins[number]) for number in numbers]
    while len(bars) > _MAX_BARS:
        bars = [_joined(bars[i : i + 2]) for i in range(0, len(bars), 2)]
    highest = max(count for _, count in bars)
    step = _HISTOGRAM_WIDTH / len(bars)
    height = _HISTOGRAM_HEIGHT + _AXIS_HEIGHT
    parts = [
        f'<svg viewBox="0 0 {_HISTOGRAM_WIDTH} {height}" width="{_HISTOGRAM_WIDTH}"'
        f' height="{height}" role="img" aria-label="values of {html.escape(rule)}">'
    ]
    for i, ((low, high), count) in enumerate(bars):
        tall = _HISTOGRAM_HEIGHT * count / highest
        parts.append(
            f'<rect class="bar" x="{i * step:.1f}" y="{_HISTOGRAM_HEIGHT - tall:.1f}"'
            f' width="{max(step - 0.5, 0.5):.1f}" height="{tall:.1f}">'
            f"<title>{low:.4g} to {high:.4g}: {count:,}</title></rect>"
        )
    if threshold is not None and math.isfinite(threshold):
        x = step * _place(threshold, [bounds for bounds, _ in bars])
        parts.append(
            f'<line class="threshold" x1="{x:.1f}" x2="{x:.1f}" y1="0" y2="{_HISTOGRAM_HEIGHT}"/>'
        )
    low, high = bars[0][0][0], bars[-1][0][1]
    parts.append(
        f'<text class="axis" x="0" y="{height - 3}">{low:.3g}</text>'
        f'<text class="axis" x="{_HISTOGRAM_WIDTH}" y="{height - 3}" text-anchor="end">{high:.3g}'
        "</text></svg>"
    )
    return "".join(parts)


Bar = tuple[tuple[float, float], int]


def _joined(pair: Sequence[Bar]) -> Bar:
    return (pair[0][0][0], pair[-1][0][1]), sum(count for _, count in pair)


def _place(value: float, bounds: Sequence[tuple[float, float]]) -> float:
    """Return the position of a value among bars, in bars from the left."""
    for i, (low, high) in enumerate(bounds):
        if value < low:
            return i
        if low == high == value:
            return i + 0.5
        if value < high:
            return i + (value - low) / (high - low)
    return len(bounds)
