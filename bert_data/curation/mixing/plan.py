"""How often each part of a mixture passes: the one place where weights become epochs.

plan_epochs({"wiki": Portion(weight=1, size=100), "web": Portion(weight=3, size=900)}, 1.0)
  ->  {"wiki": 1.0, "web": 0.333...}                    100 and 300: shares of 1/4 and 3/4
"""

import dataclasses
import math
from collections.abc import Mapping


@dataclasses.dataclass(frozen=True)
class Portion:
    """A part of a mixture: a data set, or buckets of it.

    Attributes:
      weight: its share of the result, in relation to those of the others; > 0 if it has a size.
      size: of its documents, in any unit, >= 0.
    """

    weight: float
    size: float


def plan_epochs(
    parts: Mapping[str, Portion], most_epochs: float, budget: float | None = None
) -> dict[str, float]:
    """Return how often each part passes.

    Without a budget, the part that is scarcest for its weight passes for `most_epochs`, and all
    have their shares. With one, the result has this size: parts that would pass more often than
    `most_epochs` pass so often, and the others share what remains by their weights, as in UniMax
    (Chung et al. 2023, arXiv:2304.09151).

    Args:
      parts: by name; one without a size passes for 0 epochs.
      most_epochs: of any part, > 0.
      budget: size of the result, > 0.

    Raises:
      ValueError: all parts together are smaller than the budget.
    """
    plenty = {
        name: part.size / part.weight for name, part in parts.items() if part.size and part.weight
    }
    scale = min(plenty.values(), default=0.0)
    if budget is not None:
        scale = _scale_to(budget, parts, plenty, most_epochs) / most_epochs
    rates = {name: most_epochs * min(1.0, scale / each) for name, each in plenty.items()}
    return {name: rates.get(name, 0.0) for name in parts}


def _scale_to(
    budget: float, parts: Mapping[str, Portion], plenty: Mapping[str, float], most_epochs: float
) -> float:
    """Return the number that, divided by the plenty of each part, gives epochs that fit."""
    largest = most_epochs * math.fsum(parts[name].size for name in plenty)
    if largest < budget:
        raise ValueError(
            f"budget is {budget:,.15g}, but {most_epochs:g} epochs of all documents are"
            f" {largest:,.15g}; allow more epochs (most_epochs) or ask for less"
        )
    left, weight = budget, math.fsum(parts[name].weight for name in plenty)
    for name in sorted(plenty, key=lambda name: (plenty[name], name)):  # the first to be exhausted
        if left <= most_epochs * plenty[name] * weight:
            return left / weight
        left -= most_epochs * parts[name].size
        weight -= parts[name].weight
    return math.inf
