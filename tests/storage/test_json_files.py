"""JSON from files: values of the asked kind, or an error with the file and the value's place."""

import dataclasses
import json
from typing import TypedDict

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bert_data.errors import CorruptDataError
from bert_data.settings import check_settings
from bert_data.storage import Count, decode_json, parse_json, read_json

TEXTS = st.text(st.characters(codec="utf-8"))


def json_values(*, infinity: bool) -> st.SearchStrategy:
    floats = st.floats(allow_nan=False, allow_infinity=infinity)
    return st.recursive(
        st.none() | st.booleans() | st.integers() | floats | TEXTS,
        lambda values: (
            st.lists(values, max_size=3) | st.dictionaries(st.text(), values, max_size=3)
        ),
        max_leaves=10,
    )


KINDS = {str: str, int: int, float: (int, float), bool: bool, list: list, dict: dict}


@given(value=json_values(infinity=True))
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
        read_json(str(path), dict)
    assert (caught.value.path, caught.value.offset) == (str(path), offset)
    assert reason in caught.value.reason
    assert len(caught.value.reason) < 200


@given(value=json_values(infinity=False), kind=st.sampled_from([*KINDS]))
def test_a_value_is_of_the_kind_or_refused(value, kind):
    content = json.dumps({"a": value})
    if isinstance(value, KINDS[kind]) and isinstance(value, bool) == (kind is bool):
        assert decode_json(content, "a.json", dict[str, kind]) == {"a": value}
    else:
        with pytest.raises(CorruptDataError, match=r"^a\.json: .*: a\b.* is .*; it must be "):
            decode_json(content, "a.json", TypedDict("Content", {"a": kind}))


@dataclasses.dataclass(frozen=True)
class File:
    size: Count
    name: str | None = None

    def __post_init__(self) -> None:
        check_settings(self)


@dataclasses.dataclass(frozen=True)
class Files:
    files: tuple[File, ...]
    sums: dict[str, dict[str, int]] = dataclasses.field(default_factory=dict)


@given(value=st.integers(-(2**70), 2**70))
def test_counts_are_integers_that_arrays_can_hold(value):
    content = json.dumps({"files": [{"size": 0}, {"size": value}]})
    if 0 <= value < 2**63:
        assert decode_json(content, "a.json", Files) == Files((File(0), File(value)))
    else:
        with pytest.raises(CorruptDataError, match=r"files\[1\]: size is .*; 0 to 9,223,372,"):
            decode_json(content, "a.json", Files)


@pytest.mark.parametrize(
    ("content", "reason"),
    [
        ("7", "its content is 7; it must be an object"),
        ("{}", "files is missing"),
        ('{"files": {}}', "files is {}; it must be a list"),
        ('{"files": [{"size": 1}, {}]}', "files[1].size is missing"),
        ('{"files": [{"size": "x"}]}', "files[0].size is 'x'; it must be an integer"),
        ('{"files": [{"size": true}]}', "files[0].size is True; it must be an integer"),
        ('{"files": [{"size": 1, "name": 2}]}', "files[0].name is 2; it must be a string or null"),
        ('{"files": [], "sums": {"a": {"b": "c"}}}', "is a string; it must be an integer"),
        ('{"files": [{"size": 1, "name": "\\ud800"}]}', ""),
        ('{"files": [{"size": 1e999}]}', ""),
    ],
)
def test_errors_name_the_place_inside(content, reason):
    with pytest.raises(CorruptDataError) as caught:
        decode_json(content, "m.json", Files)
    assert (caught.value.path, caught.value.offset) == ("m.json", 0)
    assert reason in caught.value.reason


def test_a_long_value_is_shortened():
    with pytest.raises(CorruptDataError, match=r"size is 'x+\.\.\.x+'; ") as caught:
        decode_json(json.dumps({"files": [{"size": "x" * 1000}]}), "m.json", Files)
    assert len(str(caught.value)) < 200
