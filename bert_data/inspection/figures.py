"""Figures: shares that are counted, with a confidence interval and what is expected of them.

The interval is Wilson's (1927, J. Am. Stat. Assoc. 22), which holds for shares near 0 and 1, too.
"""

import dataclasses
import math
import statistics
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from bert_data.inspection.content import CellTable, Medium, Plot
from bert_data.inspection.sources.items import Counts

SHOWN = 1.96
"""Standard deviations of the interval that is shown: 95%."""

CERTAIN = 6.0
"""Standard deviations of the interval that must exclude what is expected before it is a finding:
chance does that to one figure in 500 million."""

DAMAGED, HARMFUL, DOUBTFUL = SEVERITIES = ("damaged", "harmful", "doubtful")
"""From the worst on."""
NAMES = ("input", "other")
"""The names of the two."""
_MAX_CLASSES = 20
_NUM_BINS = 24


@dataclasses.dataclass(frozen=True)
class Figure:
    """A share.

    Attributes:
      part, whole: how many of how many.
      expected: what a good set has, in words; "" if nothing is expected.
      is_sample: whether it varies by chance, so that it has an interval.
    """

    name: str
    part: int
    whole: int
    expected: str = ""
    is_sample: bool = False

    @property
    def share(self) -> float | None:
        """Part of whole; None if the whole is nothing."""
        return self.part / self.whole if self.whole else None

    def interval(self, deviations: float = SHOWN) -> tuple[float, float]:
        """Return Wilson's interval, in [0, 1]."""
        return wilson(self.part, self.whole, deviations)

    def as_json(self) -> dict[str, Any]:
        """Return the figure as JSON."""
        low, high = self.interval() if self.is_sample else (self.share, self.share)
        return {
            "name": self.name, "part": self.part, "whole": self.whole, "share": self.share,
            "low": low, "high": high, "expected": self.expected,
        }  # fmt: skip


def wilson(part: int, whole: int, deviations: float = SHOWN) -> tuple[float, float]:
    """Return the interval of a share that a count of a sample allows; [0, 1] of an empty one."""
    if not whole:
        return 0.0, 1.0
    share, square = part / whole, deviations * deviations / whole
    middle = share + square / 2
    reach = math.sqrt(square * share * (1 - share) + square * square / 4)
    low, high = (middle - reach) / (1 + square), (middle + reach) / (1 + square)
    return (0.0 if part == 0 else max(0.0, low)), (1.0 if part == whole else min(1.0, high))


def percent(share: float | None) -> str:
    """Return a share as text: 12.3%, 0.045%, or - for None."""
    if share is None:
        return "-"
    return f"{100 * share:.1f}%" if share >= 0.01 or share == 0 else f"{100 * share:.2g}%"


@dataclasses.dataclass(frozen=True)
class Finding:
    """One thing that is wrong.

    Attributes:
      name: of the kind of finding, the same in every run.
      severity: one of `SEVERITIES`.
      sentence: what is wrong where, and what to do.
    """

    name: str
    severity: str
    sentence: str


def harmful(name: str, sentence: str) -> Finding:
    """Return a harmful finding."""
    return Finding(name, HARMFUL, sentence)


def by_harm(findings: list[Finding]) -> list[Finding]:
    """Return findings with the worst first, and else in their order."""
    return sorted(findings, key=lambda finding: SEVERITIES.index(finding.severity))


def share(part: int, whole: int) -> str:
    """Return a share in percent, which is 100% only if it is all."""
    text = f"{100 * part / whole:.1f}%"
    return "99.9%" if text == "100.0%" and part < whole else text


def show_distributions(output: Medium, distributions: Mapping[str, tuple[Counts, Counts]]) -> None:
    """Show what is counted over all items of two sources; histograms only where they differ."""
    numbers = {
        name: pair
        for name, pair in distributions.items()
        if all(isinstance(value, int) for counts in pair for value in counts)
    }
    if numbers:
        output.heading("Distributions")
        rows = []
        for name, pair in numbers.items():
            summaries = [summarize(counts) for counts in pair]
            for statistic in summaries[0] or summaries[1]:
                values = (summary.get(statistic, "-") for summary in summaries)
                rows.append((f"{name}, {statistic}", *values))
        output.table(CellTable(head=("", *NAMES), rows=rows))
    for name, pair in distributions.items():
        if name not in numbers:
            output.heading(name)
            output.table(_class_table(pair))
    for name, pair in numbers.items():
        if pair[0] != pair[1]:
            output.plot(_histogram(name, pair))


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


def _class_table(pair: tuple[Counts, Counts]) -> CellTable:
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
    return CellTable(head=("", *NAMES), rows=rows)


def _histogram(name: str, pair: tuple[Counts, Counts]) -> Plot:
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
