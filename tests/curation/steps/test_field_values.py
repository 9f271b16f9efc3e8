"""Documents by the values of their fields."""

import pytest

from bert_data.curation.document import Document
from bert_data.curation.step import make_step
from bert_data.curation.steps.field_values import FieldValues


@pytest.mark.parametrize(
    ("fields", "is_kept"),
    [
        ({"site": "superuser.com"}, True),
        ({"site": "SuperUser.com"}, True),
        ({"site": "coffee.stackexchange.com"}, False),
        ({"site": ""}, False),
        ({"site": ["a", "superuser.com"]}, True),
        ({"site": ["a"]}, False),
        ({"site": 7}, True),
        ({"site": []}, None),
        ({"site": None}, None),
        ({}, None),
    ],
)
def test_values(fields, is_kept) -> None:
    document = Document("a", "qa", "One.", fields)
    for missing in ("keep", "reject"):
        step = FieldValues(field="site", allowed=("superuser.com", "7"), missing=missing)
        expected = missing == "keep" if is_kept is None else is_kept
        assert step.judge(document).kept == expected


def test_a_list_that_nothing_is_in_is_told() -> None:
    step = FieldValues(field="site", allowed=("a",))
    assert (
        step.describe_use({"allowed": 3}) == "no document has an allowed value in its field 'site'"
    )
    assert step.describe_use({"allowed": 3, "with an allowed value": 1}) is None
    assert step.describe_use({}) is None
    assert step.describe_use({"without the field": 3}) == "no document has the field 'site'"
    assert step.judge(Document("a", "qa", "One.")).counted == {"without the field": 1}


@pytest.mark.parametrize("allowed", [[1, 2.5, True], (1, "2.5", True), 1])
def test_numbers_are_compared_as_text(allowed) -> None:
    step = make_step("field_values", {"field": "n", "allowed": allowed})
    assert step.judge(Document("a", "qa", "One.", {"n": 1})).kept
    assert not step.judge(Document("a", "qa", "One.", {"n": 3})).kept
    if allowed != 1:
        assert step.judge(Document("a", "qa", "One.", {"n": 2.5})).kept
        assert step.judge(Document("a", "qa", "One.", {"n": True})).kept


@pytest.mark.parametrize("parameters", [{"field": "", "allowed": ("a",)}, {"field": "a"}])
def test_nothing_to_compare(parameters) -> None:
    with pytest.raises((ValueError, TypeError), match=r"empty|allowed"):
        FieldValues(**parameters)
