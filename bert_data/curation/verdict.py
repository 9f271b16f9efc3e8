"""Verdict of a step on a document: keep it, edited or not, or reject it, and by which rules.

    Verdict(document, (Measured("min_words", 312, 50),))                kept
    Verdict(document, (Measured("min_words", 7, 50, failed=True),))     rejected: 7 words, 50 needed

A rule is named after the parameter that holds its threshold: a value fails `min_x` if it is below
the threshold, and `max_x` if it is above. Rules with other names ("languages") compare in their own
way, and their values may be strings.
"""

import dataclasses
import math
from collections.abc import Mapping
from typing import NamedTuple

from bert_data.curation.document import Document

MIN, MAX = "min_", "max_"


class Measured(NamedTuple):
    """A rule's measure of a document.

    Attributes:
      rule: the parameter of the step that holds the threshold.
      value: the measured value.
      threshold: the value it was compared with.
      failed: whether the rule rejects the document.
    """

    rule: str
    value: float | str
    threshold: float | str
    failed: bool = False


@dataclasses.dataclass(frozen=True, slots=True)
class Verdict:
    """A step's decision on a document.

    Attributes:
      document: as the step leaves it; unchanged if it is rejected.
      measured: all that the step's rules measured; a failed one rejects the document.
      edits: changes to the text and their number: {"emails": 2}.
      counted: other counts over all documents, kept or not, by name: {"en": 1}.
      num_copies: how often the document passes; 0 only if it is rejected.
    """

    document: Document
    measured: tuple[Measured, ...] = ()
    edits: Mapping[str, int] = dataclasses.field(default_factory=dict)
    counted: Mapping[str, int] = dataclasses.field(default_factory=dict)
    num_copies: int = 1

    @property
    def kept(self) -> bool:
        """Whether the document passes."""
        return not any(each.failed for each in self.measured)


def is_number(value: object) -> bool:
    """Whether a measured value or a threshold is a number that can be compared."""
    if type(value) is float:  # nearly all are: the rest of this takes several times as long
        return value == value
    return isinstance(value, int | float) and not isinstance(value, bool) and not math.isnan(value)


def fails(rule: str, value: float, threshold: float) -> bool:
    """Whether a value fails a rule named `min_...` or `max_...`; NaN fails none."""
    if rule.startswith(MIN):
        return value < threshold
    if rule.startswith(MAX):
        return value > threshold
    raise ValueError(f"rule {rule!r} begins with neither {MIN!r} nor {MAX!r}")


def measure(rule: str, value: float, threshold: float) -> Measured:
    """Compare a value with the threshold of a rule named `min_...` or `max_...`."""
    return Measured(rule, value, threshold, fails(rule, value, threshold))
