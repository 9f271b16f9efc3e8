"""Counts of a step: documents that pass, rejections by rule, edits, examples.

    StepCounts(label="gopher_quality", num_documents=812, ..., rejected={"min_words": 188})

What one step passes reaches the next one; the first "step" is "read". Counts of shards are added.
Measured values are counted in bins that are the same for all rules, so that they can be added, too:
a quarter of a doubling wide.

    0.2 -> bin of 2^-2.5 .. 2^-2.25     0 -> bin 0 of its own     -3 -> bin of -2^1.75 .. -2^1.5

A rule has a few examples, whatever the size of the corpus. "closest" are rejected documents with
values next to the threshold, "drawn" any rejected ones, and "kept" those that passed most narrowly.
The choice depends on values and ids alone, so it is the same for any division into shards.
"""

import dataclasses
import math
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

import numpy as np
import xxhash
from numpy.typing import NDArray

from bert_data.curation.document import Document, Measured, is_number

READ = "read"
"""Label of the counts of reading."""

Examples = dict[str, dict[str, list[list[Any]]]]
"""By rule and kind, best first: order, draw, id, value, threshold, start of the text."""

_CLOSEST, _DRAWN, _KEPT = "closest", "drawn", "kept"
_MAX_EXAMPLES = 3
_MAX_CHARACTERS = 400

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
    """Return the counts that `StepCounts.as_json` described, or some of them."""
    bins = {rule: Counter(dict(pairs)) for rule, pairs in data.get("bins", {}).items()}
    counters = {name: Counter(data.get(name, {})) for name in ("rejected", "edits", "counted")}
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
    for name, value in vars(counts).items():
        if isinstance(value, int | float | Counter):
            setattr(total, name, getattr(total, name) + value)
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
    near, far = (2.0 ** ((exponent + i) / _BINS_A_DOUBLING) for i in (0, 1))
    return (-far, -near) if number < 0 else (near, far)


def add_example(
    examples: Examples, document: Document, measured: tuple[Measured, ...], *, kept: bool
) -> None:
    """Add a document to the examples of the rules that measured it, if it is a better one."""
    place = xxhash.xxh3_64_intdigest(document.id.encode(errors="surrogatepass")) / 2**64
    for each in measured:
        if each.failed == kept:  # another rule rejected it
            continue
        distance = 0.0
        if is_number(each.value) and is_number(each.threshold):
            distance = abs(float(each.value) - float(each.threshold))
        elif kept:
            continue
        if not math.isfinite(distance):
            continue
        orders = {_KEPT: distance} if kept else {_CLOSEST: distance, _DRAWN: place}
        for kind, order in orders.items():
            entries = examples.setdefault(each.rule, {}).setdefault(kind, [])
            if len(entries) < _MAX_EXAMPLES or [order, place] < entries[-1][:2]:
                excerpt = document.text[:_MAX_CHARACTERS]
                entries.append([order, place, document.id, each.value, each.threshold, excerpt])
                _keep_best(entries)


def _keep_best(entries: list[list[Any]]) -> None:
    entries.sort(key=lambda entry: entry[:3])
    del entries[_MAX_EXAMPLES:]


def merge_examples(examples: Examples, others: Examples) -> None:
    """Merge the examples of another shard into those of the shards before it."""
    for rule, kinds in others.items():
        for kind, entries in kinds.items():
            merged = examples.setdefault(rule, {}).setdefault(kind, [])
            merged += entries
            _keep_best(merged)


def list_examples(examples: Examples) -> Iterator[tuple[str, bool, str, Any, Any, str]]:
    """Yield (rule, kept, id, value, threshold, start of the text), each document once per rule."""
    for rule, kinds in sorted(examples.items()):
        rejected = {entry[2]: entry for kind in (_CLOSEST, _DRAWN) for entry in kinds.get(kind, ())}
        for entry in rejected.values():
            yield rule, False, *entry[2:]
        for entry in kinds.get(_KEPT, ()):
            yield rule, True, *entry[2:]
