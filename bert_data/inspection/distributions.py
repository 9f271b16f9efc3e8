"""Distributions of two sources side by side: statistics, shares of classes, histograms.

tokens, mean    60.86   60.86        B follows A         1 (50.0%)  2 (100.0%)
tokens, most       64      64        B is from elsewhere 1 (50.0%)    0 (0.0%)
"""

import statistics
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from bert_data.inspection.content import Output, Plot, Table
from bert_data.inspection.sources.items import Counts

NAMES = ("input", "other")
"""What the two are called."""

_MAX_CLASSES = 20
_NUM_BINS = 24


def share(part: int, whole: int) -> str:
    """Return a share in percent, which is 100% only if it is all."""
    text = f"{100 * part / whole:.1f}%"
    return "99.9%" if text == "100.0%" and part < whole else text


def show_distributions(output: Output, distributions: Mapping[str, tuple[Counts, Counts]]) -> None:
    """Show what is counted over all items of two sources; histograms only where they differ."""
    numbers = {name: pair for name, pair in distributions.items() if _holds_numbers(pair)}
    if numbers:
        output.heading("Distributions")
        rows = []
        for name, pair in numbers.items():
            summaries = [summarize(counts) for counts in pair]
            for statistic in summaries[0] or summaries[1]:
                values = (summary.get(statistic, "-") for summary in summaries)
                rows.append((f"{name}, {statistic}", *values))
        output.table(Table(head=("", *NAMES), rows=rows))
    for name, pair in distributions.items():
        if name not in numbers:
            output.heading(name)
            output.table(_class_table(pair))
    for name, pair in numbers.items():
        if pair[0] != pair[1]:
            output.plot(_histogram(name, pair))


def _holds_numbers(pair: tuple[Counts, Counts]) -> bool:
    return all(isinstance(value, int) for counts in pair for value in counts)


def summarize(counts: Mapping[Any, int]) -> dict[str, str]:
    """Return statistics of integers: {"mean": "7.5", "least": ...}; {} if there are none."""
    if not counts:
        return {}
    values = sorted(counts)
    weights = [counts[value] for value in values]
    total = sum(weights)
    mean = statistics.fmean(values, weights)
    cumulated = np.cumsum(weights)
    median = values[int(np.searchsorted(cumulated, (total + 1) // 2))]
    return {
        "mean": f"{mean:,.2f}",
        "least": f"{values[0]:,}",
        "median": f"{median:,}",
        "most": f"{values[-1]:,}",
    }


def _class_table(pair: tuple[Counts, Counts]) -> Table:
    both: dict[Any, int] = {}
    for counts in pair:
        for value, count in counts.items():
            both[value] = both.get(value, 0) + count
    chosen = sorted(both, key=lambda value: (-both[value], str(value)))
    totals = [max(1, counts.total()) for counts in pair]
    rows = [
        (
            str(value),
            *(
                f"{counts[value]:,} ({share(counts[value], total)})"
                for counts, total in zip(pair, totals, strict=True)
            ),
        )
        for value in chosen[:_MAX_CLASSES]
    ]
    if len(chosen) > _MAX_CLASSES:
        rows.append((f"and {len(chosen) - _MAX_CLASSES:,} more", "", ""))
    return Table(head=("", *NAMES), rows=rows)


def _histogram(name: str, pair: tuple[Counts, Counts]) -> Plot:
    """Plot integers in up to 24 bins of equal width."""
    values = [value for counts in pair for value in counts]
    low, high = min(values), max(values)
    width = -(-(high - low + 1) // _NUM_BINS)
    num_bins = (high - low) // width + 1
    series = {}
    for label, counts in zip(NAMES, pair, strict=True):
        bins = [0] * num_bins
        for value, count in counts.items():
            bins[(value - low) // width] += count
        series[label] = bins
    starts: Sequence[int] = range(low, high + 1, width)
    x = [f"{start:,}" if width == 1 else f"{start:,}-{start + width - 1:,}" for start in starts]
    return Plot(title=name, x_label=name, y_label="number", x=x, series=series)
