"""Figures: shares that are counted, with a confidence interval and what is expected of them.

The interval is Wilson's (1927, J. Am. Stat. Assoc. 22), which holds for shares near 0 and 1, too.
"""

import dataclasses
import math
from typing import Any

SHOWN = 1.96
"""Standard deviations of the interval that is shown: 95%."""

CERTAIN = 6.0
"""Standard deviations of the interval that must exclude what is expected before it is a finding:
chance does that to one figure in 500 million."""

DAMAGED, HARMFUL, DOUBTFUL = SEVERITIES = ("damaged", "harmful", "doubtful")
"""From the worst on."""


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


def share_text(share: float | None) -> str:
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
