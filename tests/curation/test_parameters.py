"""Values of parameters against the types of their fields."""

from typing import Any

import pytest

from bert_data.curation.parameters import as_field, find_refusal

STRINGS = tuple[str, ...]


@pytest.mark.parametrize(
    ("kind", "value", "field"),
    [
        (STRINGS, "US", ("US",)),
        (STRINGS, ["US", "GB"], ("US", "GB")),
        (STRINGS, [], ()),
        (str, "US", "US"),
        (float, 3, 3),
        (dict, {"a": 1}, {"a": 1}),
    ],
)
def test_values_that_fit(kind: Any, value: Any, field: Any) -> None:
    converted = as_field(kind, value)
    assert converted == field
    assert type(converted) is type(field)
    assert find_refusal("p", kind, converted) is None


@pytest.mark.parametrize(
    ("kind", "value", "sentence"),
    [
        (STRINGS, [1], "p is (1,); it must be a list of strings"),
        (STRINGS, 7, "p is 7; it must be a list of strings"),
        (float, "3", "p is '3'; a number is needed"),
        (float, True, "p is True; a number is needed"),
        (int, None, "p is None; a number is needed"),
        (bool, 0, "p is 0; true or false is needed"),
        (str, 1, "p is 1; a string is needed"),
        (float | None, "3", "p is '3'; a number is needed"),
    ],
)
def test_values_that_do_not(kind: Any, value: Any, sentence: str) -> None:
    assert find_refusal("p", kind, as_field(kind, value)) == sentence


def test_none_fits_where_it_is_allowed() -> None:
    assert find_refusal("p", float | None, None) is None
    assert find_refusal("p", STRINGS | None, None) is None
