"""Show what a check found: on a page or in a terminal."""

import html
from collections.abc import Iterator, Sequence

import numpy as np
from numpy.typing import NDArray

from bert_data.inspection.batchings import Batching
from bert_data.inspection.content import CellTable, Medium, Plot, StyledText, visible
from bert_data.inspection.figures import DAMAGED, DOUBTFUL, HARMFUL, Figure, percent
from bert_data.inspection.set_check import Report
from bert_data.progress import how_many

NUM_COLOURS = 6
_WIDTH, _LEFT, _RIGHT, _TOP = 720, 140, 90, 50
_BAR, _GAP = 14, 6  # heights
_STYLES = {DAMAGED: "bad", HARMFUL: "bad", DOUBTFUL: "warning"}
_NUM_BINS = 16
_MOST_SHARDS = 64


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


def show_check(output: Medium, report: Report) -> None:
    """Show a report; the worst findings first."""
    mean = report.num_tokens / max(1, report.num_records)
    output.paragraph(
        f"{how_many(report.num_records, 'record')} of {mean:.1f} tokens in"
        f" {how_many(len(report.shards), 'file')}"
    )
    output.heading("Findings")
    for finding in report.findings:
        output.labelled(finding.severity, [StyledText(finding.sentence, _STYLES[finding.severity])])
    if not report.findings:
        judged = f"what the {report.kind} hold is not judged" if report.kind else "as it should be"
        output.paragraph(StyledText(f"none: the set is undamaged, and {judged}", "good"))
    if report.figures:
        output.heading("Figures")
        head = ("", "measured", "95% interval", "expected", "count")
        output.table(CellTable(head=head, rows=[_row_of(figure) for figure in report.figures]))
    if report.batchings:
        output.heading(f"Batches of {report.batch_size} rows")
        output.table(_batching_table(report.batchings))
    _show_lengths(output, report.num_of_length)
    if 1 < len(report.shards) <= _MOST_SHARDS:
        output.plot(
            Plot(
                title="Records of each shard",
                x_label="shard",
                y_label="records",
                x=[str(number) for number in range(len(report.shards))],
                series={"": [count for _, count in report.shards]},
            )
        )


def _row_of(figure: Figure) -> Sequence[str]:
    interval = "-"
    if figure.is_sample and figure.whole:
        interval = " to ".join(map(percent, figure.interval()))
    count = f"{figure.part:,} of {figure.whole:,}"
    return figure.name, percent(figure.share), interval, figure.expected or "-", count


def _show_lengths(output: Medium, num_of_length: NDArray[np.int64]) -> None:
    lengths = np.flatnonzero(num_of_length)
    if not lengths.size:
        return
    shortest, longest = int(lengths[0]), int(lengths[-1])
    width = -(-(longest - shortest + 1) // _NUM_BINS)
    firsts = range(shortest, longest + 1, width)
    counts = np.add.reduceat(num_of_length, firsts)
    lasts = [min(first + width - 1, longest) for first in firsts]
    names = [str(a) if a == b else f"{a}-{b}" for a, b in zip(firsts, lasts, strict=True)]
    output.plot(
        Plot(
            title="Lengths of records",
            x_label="tokens",
            y_label="records",
            x=names,
            series={"": counts.tolist()},
        )
    )


def _batching_table(batchings: Sequence[Batching]) -> CellTable:
    rows = [
        (
            batching.name,
            f"{batching.num_batches:,}",
            f"{batching.min_width}-{batching.max_width}"
            if batching.num_widths > 1
            else str(batching.max_width),
            f"{batching.num_shapes:,}",
            percent(batching.padding),
            f"{batching.speed:.2f}x",
        )
        for batching in batchings
    ]
    head = ("batching", "batches", "widths", "shapes", "padding", "speed")
    return CellTable(head=head, rows=rows)
