"""The thresholds of a step: its parameters named `min_...` or `max_...`."""

import dataclasses
import math

from bert_data.curation.step import Step
from bert_data.curation.verdict import MAX, MIN, Measured, measure


def check_thresholds(step: Step) -> None:
    """Refuse thresholds that no value can be compared with.

    Raises:
      ValueError: a `min_...` or `max_...` is not a number >= 0; infinity is allowed.
    """
    for field in dataclasses.fields(step):
        if field.name.startswith((MIN, MAX)):
            value = getattr(step, field.name)
            is_number = isinstance(value, int | float) and not isinstance(value, bool)
            if not is_number or math.isnan(value) or value < 0:
                raise ValueError(f"{field.name} is {value!r}; a number >= 0 is allowed")


def measure_rules(step: Step, values: dict[str, float]) -> tuple[Measured, ...]:
    """Compare values with the step's thresholds.

    Args:
      step: has a parameter for each rule.
      values: by rule.
    """
    return tuple(measure(rule, value, getattr(step, rule)) for rule, value in values.items())
