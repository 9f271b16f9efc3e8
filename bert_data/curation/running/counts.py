"""What is counted at a step: what goes out, what is rejected by which rule, what is edited.

    StepCounts(label="gopher_quality", num_documents=812, ..., rejected={"min_words": 188})

What comes into a step is what goes out of the one before it; the first one is "read". Counts of
shards are added. Measured values are counted in bins that are the same for all values of all rules,
so that they add up, too: a quarter of a doubling wide.

    0.2 -> bin of 2^-2.5 .. 2^-2.25     0 -> bin 0 of its own     -3 -> bin of -2^1.75 .. -2^1.5
"""

import dataclasses
import math
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

READ = "read"
"""Label of what is before the first step."""

_BINS_A_DOUBLING = 4
_MAX_BIN = 2000  # of 2 ** 500
_ZERO_BIN = 0


@dataclasses.dataclass(kw_only=True)
class StepCounts:
    """Counts of a step, over a shard or all of them.

    Attributes:
      label: of the step; "read" for what was read.
      num_documents, num_bytes, num_words, num_tokens: that go on behind the step; the tokens are
        counted only where there is a vocabulary.
      num_edited: documents whose text is another behind it.
      rejected: documents by each rule that they fail; one may fail several.
      num_rejected, num_rejected_bytes: documents that are rejected, and their texts.
      edits: by kind, of documents that go on.
      counted: what else the step counts, by name, of all documents that came.
      bins: of each rule, how many measured values are in which bin.
      thresholds: of each rule that is a number.
      seconds: of work, in all processes.
      first_error: what is said of the first document that the step cannot judge, or "".
    """

    label: str
    num_documents: int = 0
    num_bytes: int = 0
    num_words: int = 0
    num_tokens: int = 0
    num_edited: int = 0
    num_rejected: int = 0
    num_rejected_bytes: int = 0
    rejected: Counter[str] = dataclasses.field(default_factory=Counter)
    edits: Counter[str] = dataclasses.field(default_factory=Counter)
    counted: Counter[str] = dataclasses.field(default_factory=Counter)
    bins: dict[str, Counter[int]] = dataclasses.field(default_factory=dict)
    thresholds: dict[str, float] = dataclasses.field(default_factory=dict)
    seconds: float = 0.0
    first_error: str = ""

    def add(self, other: "StepCounts") -> None:
        """Adds the counts of another shard."""
        assert self.label == other.label
        for field in dataclasses.fields(self):
            value = getattr(other, field.name)
            if isinstance(value, int | float):
                setattr(self, field.name, getattr(self, field.name) + value)
        self.rejected += other.rejected
        self.edits += other.edits
        self.counted += other.counted
        self.thresholds |= other.thresholds
        self.first_error = self.first_error or other.first_error
        for rule, bins in other.bins.items():
            self.bins[rule] = self.bins.get(rule, Counter()) + bins

    def as_json(self) -> dict[str, Any]:
        """Values that `json` writes."""
        data = vars(self).copy()
        data["bins"] = {rule: sorted(bins.items()) for rule, bins in self.bins.items()}
        return data


def counts_from_json(data: Mapping[str, Any]) -> StepCounts:
    """The counts that `StepCounts.as_json` gave."""
    bins = {rule: Counter(dict(pairs)) for rule, pairs in data["bins"].items()}
    counters = {name: Counter(data[name]) for name in ("rejected", "edits", "counted")}
    return StepCounts(**{**data, **counters, "bins": bins})


def add_counts(shards: Iterable[Sequence[StepCounts]]) -> list[StepCounts]:
    """The counts of several shards by the same steps, added up."""
    totals: list[StepCounts] = []
    for shard in shards:
        if not shard:
            continue
        if not totals:
            totals = [StepCounts(label=each.label) for each in shard]
        for total, each in zip(totals, shard, strict=True):
            total.add(each)
    return totals


def bin_values(values: Sequence[float]) -> Counter[int]:
    """How many values are in each bin; those that are no finite numbers are in none."""
    array: NDArray[np.float64] = np.asarray(values, np.float64)
    array = array[np.isfinite(array)]
    sizes = np.abs(array)
    with np.errstate(divide="ignore"):
        exponents = np.floor(np.log2(sizes) * _BINS_A_DOUBLING)
    numbers = np.clip(exponents, 1 - _MAX_BIN, _MAX_BIN - 1) + _MAX_BIN
    numbers = np.where(sizes == 0, _ZERO_BIN, np.copysign(numbers, array)).astype(np.int64)
    distinct, num_values = np.unique(numbers, return_counts=True)
    return Counter(dict(zip(distinct.tolist(), num_values.tolist(), strict=True)))


def bin_bounds(number: int) -> tuple[float, float]:
    """The values between which a bin is, the smaller one first; (0, 0) of the bin of 0."""
    if number == _ZERO_BIN:
        return 0.0, 0.0
    exponent = abs(number) - _MAX_BIN
    bounds = [2.0 ** ((exponent + i) / _BINS_A_DOUBLING) for i in (0, 1)]
    if number < 0:
        return -bounds[1], -bounds[0]
    return bounds[0], bounds[1]


def is_number(value: object) -> bool:
    """Whether a measured value or a threshold is a number that can be compared."""
    return isinstance(value, int | float) and not isinstance(value, bool) and not math.isnan(value)
