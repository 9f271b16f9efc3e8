"""The buckets of documents by a field, or by a score."""

import itertools
import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from bert_data.curation.document import Document
from bert_data.curation.mixing.buckets import SCORE_ARRAY, Buckets, draw, find_bounds
from bert_data.work.array_files import ArrayWriter
from bert_data.work.rounds import Part
from tests.curation.corpora import make_rounds
from tests.hypotheses import examples


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


def document(name, source="web"):
    return Document(id=name, source=source, text="")


def test_draws_are_uniform_and_those_of_keys_independent():
    draws = {k: np.array([draw(k, document(str(n))) for n in range(5000)]) for k in ("0", "1")}
    for values in draws.values():
        counts = np.histogram(values, 10, (0, 1))[0]
        assert counts.sum() == 5000
        assert abs(counts - 500).max() < 6 * np.sqrt(500)
    assert abs(np.corrcoef(draws["0"], draws["1"])[0, 1]) < 0.1


@given(st.text(), st.text())
def test_a_draw_depends_on_key_data_set_and_id_alone(key, name):
    value = draw(key, document(name))
    assert 0 <= value < 1
    assert value == draw(key, Document(id=name, source="web", text="other", fields={"a": 1}))
    assert value != draw(key, document(name, "wiki"))
    assert value != draw(key, document(f"{name}x"))


def test_draws_stay_what_they_are():
    """A new version selects the same documents."""
    assert draw("0", document("web/web.jsonl:1")) == 0.614134215128226


SCORES = st.lists(
    st.floats(-10, 10) | st.sampled_from([-0.0, 0.0, 0.5, 1e300, -1e300]), max_size=60
)


def bounds_of(folder, shards, percentiles, max_bytes):
    """The bounds for shards of (data set, scores)."""
    parts, first = [], 0
    for number, (source, scores) in enumerate(shards):
        path = folder / f"{number}"
        with ArrayWriter(path) as writer:
            writer.arrays[SCORE_ARRAY] = np.array(scores, np.float64)
        parts.append(Part(str(path), source, first, first + len(scores), 10**9))
        first += len(scores)
    return find_bounds(make_rounds(folder / "round", parts, max_bytes), ["a", "b"], percentiles)


@examples(25)
@given(SCORES, SCORES, st.integers(1, 4), st.sampled_from([(50,), (0.1, 30, 60, 99.9)]))
def test_they_are_those_of_sorting(tmp_path_factory, a, b, num_shards, percentiles):
    shards = [
        ("c", [math.pi]),
        *((s, v[i::num_shards]) for s, v in (("a", a), ("b", b)) for i in range(num_shards)),
    ]
    found = [
        bounds_of(tmp_path_factory.mktemp("s"), shards, percentiles, max_bytes)
        for max_bytes in (600, 10**9)
    ]
    assert found[0] == found[1]
    for source, scores in (("a", a), ("b", b)):
        places = [int(len(scores) * percentile / 100) for percentile in percentiles]
        assert found[0][source] == ([sorted(scores)[p] for p in places] if scores else [])
        for bound, percentile in itertools.product(found[0][source], percentiles):
            if bound == found[0][source][percentiles.index(percentile)]:
                lower = sum(score < bound for score in scores)
                assert lower <= len(scores) * percentile / 100
