"""Counts of a step: documents that pass, rejections by rule, edits.

    StepCounts(label="gopher_quality", num_documents=812, ..., rejected={"min_words": 188})

What one step passes reaches the next one; the first "step" is "read". Counts of shards are added.
Measured values are counted in bins that are the same for all rules, so that they can be added, too:
a quarter of a doubling wide.

    0.2 -> bin of 2^-2.5 .. 2^-2.25     0 -> bin 0 of its own     -3 -> bin of -2^1.75 .. -2^1.5
"""

import dataclasses
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bert_data.curation.running.examples import Examples, merge_examples

READ = "read"
"""Label of the counts of reading."""

_BINS_A_DOUBLING = 4
_MAX_BIN = 2000  # of 2 ** 500
_ZERO_BIN = 0


@dataclasses.dataclass(kw_only=True)
class StepCounts:
    """Counts of a step, over a shard or all of them.

    Attributes:
      label: of the step, or "read".
      num_documents, num_bytes, num_words, num_tokens: of documents that pass; tokens are counted
        only with a vocabulary.
      num_edited: passed documents whose text the step changed.
      rejected: documents by each rule that they fail; one may fail several.
      num_rejected, num_rejected_bytes: rejected documents, and their texts.
      edits: by kind, of documents that pass.
      counted: other counts of the step, by name, over all documents that reached it.
      bins: for each rule, the number of measured values in each bin.
      thresholds: of rules with a number as threshold.
      num_rows, num_replaced: of "read": rows or lines, and places that are not UTF-8.
      first: by rule, a sentence about the first document (or row or file) that failed it, for
        rules that say that something is wrong.
      examples: of the rules, if they are asked for.
      seconds: of work, in all processes.
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
    num_rows: int = 0
    num_replaced: int = 0
    first: dict[str, str] = dataclasses.field(default_factory=dict)
    examples: Examples = dataclasses.field(default_factory=dict)
    seconds: float = 0.0

    def as_json(self) -> dict[str, Any]:
        """Return values that `json` can write."""
        return vars(self) | {"bins": {rule: sorted(b.items()) for rule, b in self.bins.items()}}

    def of_use(self) -> dict[str, int]:
        """Return what `Step.describe_use` takes."""
        return {**self.edits, **self.counted, **self.rejected}

    def passed_by(self, label: str) -> "StepCounts":
        """Return the counts of a following step that passes all documents."""
        return StepCounts(
            label=label,
            num_documents=self.num_documents,
            num_bytes=self.num_bytes,
            num_words=self.num_words,
            num_tokens=self.num_tokens,
        )


def counts_from_json(data: Mapping[str, Any]) -> StepCounts:
    """Return the counts that `StepCounts.as_json` described."""
    bins = {rule: Counter(dict(pairs)) for rule, pairs in data["bins"].items()}
    counters = {name: Counter(data[name]) for name in ("rejected", "edits", "counted")}
    return StepCounts(**{**data, **counters, "bins": bins})


def add_counts(shards: Iterable[Sequence[StepCounts]]) -> list[StepCounts]:
    """Add up the counts of several shards by the same steps."""
    totals: list[StepCounts] = []
    for shard in shards:
        totals = totals or [StepCounts(label=each.label) for each in shard]
        for total, each in zip(totals, shard, strict=True):
            _add(total, each)
    return totals


def _add(total: StepCounts, counts: StepCounts) -> None:
    assert total.label == counts.label
    for field in dataclasses.fields(total):
        value = getattr(counts, field.name)
        if isinstance(value, int | float):
            setattr(total, field.name, getattr(total, field.name) + value)
    total.rejected += counts.rejected
    total.edits += counts.edits
    total.counted += counts.counted
    total.thresholds |= counts.thresholds
    total.first = counts.first | total.first
    merge_examples(total.examples, counts.examples)
    for rule, bins in counts.bins.items():
        total.bins[rule] = total.bins.get(rule, Counter()) + bins


def bin_values(values: Sequence[float]) -> Counter[int]:
    """Count values by bin; values that are not finite are in none."""
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
    """Return the bounds of a bin, the smaller one first; (0, 0) for the bin of 0."""
    if number == _ZERO_BIN:
        return 0.0, 0.0
    exponent = abs(number) - _MAX_BIN
    bounds = [2.0 ** ((exponent + i) / _BINS_A_DOUBLING) for i in (0, 1)]
    if number < 0:
        return -bounds[1], -bounds[0]
    return bounds[0], bounds[1]
