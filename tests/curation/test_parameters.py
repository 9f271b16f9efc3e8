"""Values of parameters against the annotations of their fields."""

import dataclasses
import math
from collections.abc import Mapping
from typing import Annotated, Any, Literal

import pytest

from bert_data.curation.parameters import (
    Name,
    NewField,
    convert_fields,
    convert_parameter,
)
from bert_data.curation.step import find_step, make_step, steps_by_name
from bert_data.settings import Share, Within

STRINGS = tuple[str, ...]
NUMBERS = tuple[float, ...]
KEEP = Literal["first", "none", ""]
LEAST = Annotated[int, Within(1, 9)]


@pytest.mark.parametrize(
    ("kind", "value", "field"),
    [
        (STRINGS, "US", ("US",)),
        (STRINGS, ["US", "GB"], ("US", "GB")),
        (STRINGS, [], ()),
        (NUMBERS, 30, (30,)),
        (NUMBERS, [30, 60.5], (30, 60.5)),
        (str, "US", "US"),
        (str, "", ""),
        (Name, "US", "US"),
        (NewField, "US", "US"),
        (float, 3, 3),
        (float, math.inf, math.inf),
        (float | None, None, None),
        (STRINGS | None, None, None),
        (int, 3.0, 3),
        (int, -(2**70), -(2**70)),
        (LEAST, 9, 9),
        (Share | None, 1, 1),
        (KEEP, "", ""),
        (Mapping[str, LEAST], {"a": 1.0}, {"a": 1}),
        (Mapping[str, LEAST], ["a:1", "b:2"], {"a": 1, "b": 2}),
        (Mapping[str, LEAST], "a:1", {"a": 1}),
        (Mapping[str, LEAST], {"a:1": None}, {"a": 1}),
        (Mapping[str, str], ["a:1", "b:s3://c:d"], {"a": "1", "b": "s3://c:d"}),
        (Mapping[str, STRINGS], ["a:b", {"c": ["d", "e"]}], {"a": ("b",), "c": ("d", "e")}),
        (dict, {1: 2}, {1: 2}),
    ],
)
def test_values_that_fit(kind: Any, value: Any, field: Any) -> None:
    converted = convert_parameter("p", kind, value)
    assert converted == field
    assert type(converted) is type(field)


@pytest.mark.parametrize(
    ("kind", "value", "sentence"),
    [
        (STRINGS, [1], "p is [1]; it must be a list of strings"),
        (STRINGS, 7, "p is 7; it must be a list of strings"),
        (NUMBERS, "3", "p is '3'; it must be a list of numbers"),
        (NUMBERS, [1, "3"], "p is '3'; it must be a number"),
        (NUMBERS, [math.nan], "p is nan; it must be a number"),
        (float, "3", "p is '3'; it must be a number"),
        (float, True, "p is True; it must be a number"),
        (float, math.nan, "p is nan; it must be a number"),
        (int, None, "p is None; it must be a whole number"),
        (int, 1.5, "p is 1.5; it must be a whole number"),
        (int, math.inf, "p is inf; it must be a whole number"),
        (Annotated[int, Within(0)], 2**63, f"p is {2**63}; at most {2**63 - 1} is allowed"),
        (bool, 0, "p is 0; it must be true or false"),
        (str, 1, "p is 1; it must be a string"),
        (Name, 1, "p is 1; it must be a string"),
        (Name, "", "p is ''; it must not be empty"),
        (NewField, "", "p is ''; it must not be empty"),
        (NewField, "id", "p is 'id', which every document has already; name another field"),
        (float | None, "3", "p is '3'; it must be a number"),
        (LEAST, 10, "p is 10; it must be a whole number in [1, 9]"),
        (Share | None, -0.1, "p is -0.1; it must be a number in [0, 1]"),
        (KEEP, "last", "p is 'last'; it must be one of first, none, ''"),
        (Mapping[str, Share], {"a": 2}, "p[a] is 2; it must be a number in [0, 1]"),
        (
            Mapping[str, Share],
            {1: 2},
            "p is {1: 2}; it must be a mapping of names, or a list of NAME:VALUE",
        ),
        (
            Mapping[str, str],
            ["a"],
            "p is ['a']; it must be a mapping of names, or a list of NAME:VALUE",
        ),
        (Mapping[str, str], 7, "p is 7; it must be a mapping of names, or a list of NAME:VALUE"),
        (Mapping[str, str], ["a:1", "a:2"], "p has 'a' twice"),
        (Mapping[str, LEAST], ["a:b"], "p[a] is 'b'; it must be a whole number in [1, 9]"),
        (Mapping[str, LEAST], {"a": None}, "p[a] is None; it must be a whole number in [1, 9]"),
        (str, [9] * 99, f"p is [{'9, ' * 19}9,; it must be a string"),
    ],
)
def test_values_that_do_not(kind: Any, value: Any, sentence: str) -> None:
    with pytest.raises(ValueError) as caught:
        convert_parameter("p", kind, value)
    assert str(caught.value) == sentence


@pytest.mark.parametrize("value", [-1, -0.001, math.nan, -math.inf, True, "3", None])
@pytest.mark.parametrize("name", ["min_x", "max_x"])
def test_a_threshold_is_a_number_from_0_on(name: str, value: object) -> None:
    with pytest.raises(ValueError, match=f"^{name} is {value!r}; it must be a number >= 0$"):
        convert_parameter(name, float, value)


def test_only_a_greatest_value_may_be_infinite() -> None:
    assert convert_parameter("max_x", float, math.inf) == math.inf
    with pytest.raises(ValueError, match="min_x is inf; it must be a number >= 0"):
        convert_parameter("min_x", float, math.inf)


@pytest.mark.parametrize(("low", "high"), [(2, 2), (None, 1), (2, None), (0, math.inf)])
def test_a_least_value_is_at_most_the_greatest(low: float | None, high: float | None) -> None:
    @dataclasses.dataclass(frozen=True)
    class Limits:
        min_x: float | None
        max_x: float | None
        min_y: float = 5
        max_z: float = 1

        def __post_init__(self) -> None:
            convert_fields(self)

    Limits(low, high)
    with pytest.raises(ValueError, match="min_x is 2; it must be at most max_x, 1"):
        Limits(2, 1)


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
