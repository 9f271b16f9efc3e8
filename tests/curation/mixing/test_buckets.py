"""The buckets of documents by a field, or by a score."""

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bert_data.curation.document import Document
from bert_data.curation.mixing.buckets import Buckets, check_number


def having(**fields):
    return Document(id="web.jsonl:7", source="web", text="x", fields=fields)


@pytest.mark.parametrize(
    ("value", "name"),
    [("head", "head"), (3, "3"), (3.0, "3"), ("", ""), (-1, "-1"), ("a/b", "a/b")],
)
def test_the_value_is_the_name(value, name):
    assert Buckets(field="b").name_of(having(b=value), ()) == name


@pytest.mark.parametrize(
    ("value", "reason"),
    [
        (True, "field 'b' is True; it must be a string or a whole number"),
        ([1], r"field 'b' is \[1\]; it must be a string or a whole number"),
        (0.5, "field 'b' is 0.5; .*; bucket_bounds or bucket_percentiles cut numbers into buckets"),
        (math.nan, "field 'b' is nan; it must be a string or a whole number"),
        ("x" * 101, "field 'b' has 101 characters; the name of a bucket has at most 100"),
    ],
)
def test_other_values_are_told_with_document_and_field(value, reason):
    with pytest.raises(ValueError, match=f"^document 'web.jsonl:7' of web: {reason}"):
        Buckets(field="b").name_of(having(b=value), ())


@pytest.mark.parametrize("value", [math.nan, math.inf, -math.inf, "0.5", True, [0.5], 10**400])
def test_a_score_is_a_finite_number(value):
    sentence = r"^document 'web.jsonl:7' of web: field 's' is .*; it must be a finite number$"
    with pytest.raises(ValueError, match=sentence) as told:
        Buckets(field="s", bounds=(0,)).score_of(having(s=value))
    assert len(str(told.value)) < 150


@pytest.mark.parametrize(
    ("fields", "names"),
    [({}, "none"), ({"s": None}, "none"), ({"b": 1, "s": None, "c": ""}, "b, c")],
)
def test_a_missing_field_is_told(fields, names):
    sentence = f"document 'web.jsonl:7' of web has no field 's'; its fields are {names}"
    for buckets in (Buckets(field="s"), Buckets(field="s", percentiles=(50,))):
        with pytest.raises(ValueError, match=f"^{sentence}$"):
            buckets.name_of(having(**fields), (0,))


@given(
    st.lists(st.floats(allow_nan=False, allow_infinity=False), min_size=1, max_size=5, unique=True),
    st.floats(allow_nan=False, allow_infinity=False),
)
def test_a_score_lies_above_the_bounds_that_it_reaches(bounds, score):
    bounds = tuple(sorted(bounds))
    if len({-0.0 if bound == 0 else bound for bound in bounds}) < len(bounds):
        return
    buckets = Buckets(field="s", bounds=bounds)
    name = buckets.name_of(having(s=score), bounds)
    assert name == str(sum(bound <= score for bound in bounds))
    named = Buckets(field="s", bounds=bounds, names=tuple("abcdef"[: len(bounds) + 1]))
    assert named.name_of(having(s=score), bounds) == "abcdef"[int(name)]


@pytest.mark.parametrize(
    ("settings", "sentence"),
    [
        ({"bounds": (1, 1)}, r"bucket_bounds is \[1, 1\]; it must have rising numbers$"),
        ({"bounds": (math.inf,)}, r"bucket_bounds is \[inf\]; it must have rising numbers$"),
        ({"percentiles": (0, 50)}, "bucket_percentiles is .*; .* rising numbers between 0 and 100"),
        ({"percentiles": (90, 50)}, "bucket_percentiles is .*; it must have rising numbers"),
        ({"bounds": (1,), "percentiles": (1,)}, "are both given; one is allowed"),
        ({"names": ("a", "b")}, "bucket_names needs bucket_bounds or bucket_percentiles"),
        ({"bounds": (1,), "names": ("a",)}, "bucket_names has 'a'; 2 different names are needed"),
        ({"bounds": (1,), "names": ("a", "a")}, "bucket_names has 'a', 'a'; 2 different names"),
    ],
)
def test_mistakes_are_told(settings, sentence):
    with pytest.raises(ValueError, match=sentence):
        Buckets(field="s", **settings)


def test_a_field_of_ever_new_values_is_no_bucket():
    check_number("web", "url", 1000)
    with pytest.raises(ValueError, match="field 'url' has more than 1,000 values in web; each is"):
        check_number("web", "url", 1001)
