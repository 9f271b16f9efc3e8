"""JSON from files: values of the asked kind, or an error with the file and the value's place."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bert_data.errors import CorruptDataError
from bert_data.storage import JsonObject, parse_json, read_json

TEXTS = st.text(st.characters(codec="utf-8"))
VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | TEXTS,
    lambda values: st.lists(values, max_size=3) | st.dictionaries(st.text(), values, max_size=3),
    max_leaves=10,
)
KINDS = {str: str, int: int, float: (int, float), bool: bool, list: list, dict: dict}


@given(value=VALUES)
def test_what_json_wrote_is_parsed(value):
    for text in (json.dumps(value), json.dumps(value, ensure_ascii=False).encode("utf-8")):
        assert parse_json(text, "a.json") == value


@given(content=st.binary(max_size=20))
def test_other_bytes_raise_one_error(content):
    try:
        expected = json.loads(content.decode())
    except ValueError:
        with pytest.raises(CorruptDataError, match=r"^a\.json: byte offset "):
            parse_json(content, "a.json")
    else:
        assert parse_json(content, "a.json") == expected


@pytest.mark.parametrize(
    ("content", "offset", "reason"),
    [
        (b'{"a": \xff}', 6, "not JSON, as it is not UTF-8"),
        ('{"ä": x}'.encode(), 7, "not JSON"),
        (b"[" * 200_000, 0, "JSON that is nested too deep to be read"),
        (b"9" * 6_000, 0, "JSON that cannot be read (Exceeds the limit (4300 digits)"),
        (b'[{"a": 1, "b": {}, "a": 1}]', 0, "the key 'a' appears twice in an object"),
    ],
)
def test_the_error_says_where(tmp_path, content, offset, reason):
    path = tmp_path / "a.json"
    path.write_bytes(content)
    with pytest.raises(CorruptDataError) as caught:
        read_json(str(path))
    assert (caught.value.path, caught.value.offset) == (str(path), offset)
    assert reason in caught.value.reason
    assert len(caught.value.reason) < 200


@given(value=VALUES, kind=st.sampled_from([*KINDS]))
def test_a_value_is_of_the_kind_or_refused(value, kind):
    data = JsonObject({"a": value}, "a.json")
    fits = isinstance(value, KINDS[kind]) and isinstance(value, bool) == (kind is bool)
    if fits:
        assert data.take("a", kind) is data.take_or_null("a", kind) is value
    else:
        with pytest.raises(CorruptDataError, match=r"^a\.json: .*: a is .*; it must be "):
            data.take("a", kind)


@given(value=st.integers(-(2**70), 2**70) | st.booleans() | st.floats())
def test_counts_are_integers_that_arrays_can_hold(value):
    data = JsonObject({"a": value}, "a.json")
    if type(value) is int and 0 <= value < 2**63:
        assert data.count("a") == data.counts()["a"] == value
    else:
        with pytest.raises(CorruptDataError, match=r"it must be an integer from 0 to 2\*\*63 - 1"):
            data.count("a")


def test_null_and_strings_that_no_file_can_hold():
    data = JsonObject({"a": None, "b": "\ud800"}, "a.json")
    assert data.take_or_null("a", int) is None
    with pytest.raises(CorruptDataError, match="c is missing; it must be an integer"):
        data.take_or_null("c", int)
    with pytest.raises(CorruptDataError, match="it must be a string that UTF-8 can encode"):
        data.take("b", str)


def test_errors_name_the_place_inside():
    data = JsonObject({"files": [{"size": 1}, {"size": "x" * 1000}], "a": {"b": {}}}, "m.json")
    first, second = data.objects("files")
    assert first.count("size") == 1
    with pytest.raises(CorruptDataError, match=r"files\[1\]\.size is 'x+\.\.\.x+'; ") as caught:
        second.count("size")
    assert len(str(caught.value)) < 200
    with pytest.raises(CorruptDataError, match=r"a\.b\.c is missing; it must be a string"):
        data.object("a").object("b").take("c", str)
    with pytest.raises(CorruptDataError, match=r"m\.json: .*its content is 7; it must be an obj"):
        JsonObject(7, "m.json")
