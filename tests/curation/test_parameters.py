"""Values of parameters against the annotations of their fields."""

import dataclasses
import math
from typing import Any

import pytest

from bert_data.curation.parameters import NewField, ReadField
from bert_data.curation.step import find_step, make_step, steps_by_name
from bert_data.settings import convert


@pytest.mark.parametrize(
    ("value", "sentence"),
    [
        ("", "p is ''; it must not be empty"),
        ("id", "p is 'id', which outputs have for something else; name another field"),
        (1, "p is 1; it must be a string"),
    ],
)
def test_a_new_field_has_a_name_of_its_own(value: object, sentence: str) -> None:
    assert convert("p", NewField, "US") == "US"
    with pytest.raises(ValueError) as caught:
        convert("p", NewField, value)
    assert str(caught.value) == sentence


def test_a_row_has_some_fields_by_other_names() -> None:
    assert convert("p", ReadField, "input_id") == "input_id"
    sentence = "p is 'source'; what a row has under this name is its field 'input_source'"
    with pytest.raises(ValueError, match=sentence):
        convert("p", ReadField, "source")


REQUIRED: dict[str, dict[str, Any]] = {
    "classifier": {"model_file": "a", "label": "b"},
    "embed": {"model": "a"},
    "licence": {"allowed": ["mit"]},
    "mix": {"weights": {"a": 1}},
    "model_score": {"model": "a"},
    "perplexity": {"reference": "a"},
    "sentence_classifier": {"model_file": "a", "label": "b"},
    "decontaminate": {"evaluation_sets": "a"},
    "field_values": {"field": "a", "allowed": ["b"]},
}
VALUES: list[Any] = [math.nan, math.inf, -math.inf, -1, 0, 2**70, True, None, "x", ["x"], {1: 2}]


@pytest.mark.parametrize("name", steps_by_name())
def test_no_value_of_a_parameter_raises_anything_but_a_sentence(name: str) -> None:
    """And what is accepted is no NaN, nor an infinite number of copies, words or bands."""
    required = REQUIRED.get(name, {})
    for parameter in (field.name for field in dataclasses.fields(find_step(name))):
        for value in VALUES:
            try:
                step = make_step(name, required | {parameter: value})
            except ValueError as error:
                assert str(error).startswith(f"step {name}: ")
                continue
            accepted = getattr(step, parameter)
            if isinstance(accepted, float) and not math.isfinite(accepted):
                assert parameter.startswith("max_") and accepted == math.inf
