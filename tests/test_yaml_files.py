"""YAML as users write it: values are what they look like, and mistakes are short sentences."""

import math

import pytest

from bert_data.yaml_files import WrittenMapping, load_yaml


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("30", 30),
        ("-5", -5),
        ("1_000", 1000),
        ("0x1F", 31),
        ("0", 0),
        ("0.5", 0.5),
        ("5.", 5.0),
        (".5", 0.5),
        ("1e3", 1000.0),
        (".inf", math.inf),
        ("010", "010"),
        ("\u0661\u0662", "\u0661\u0662"),
        ("a:\t1", {"a": 1}),
        ("1:30", "1:30"),
        ("1:30.5", "1:30.5"),
        ("-00", "-00"),
        ("true", True),
        ("[!!bool TRUE, !!bool 'false', !!float 1, !!str 1]", [True, False, 1.0, "1"]),
        ("{a: &a {x: 1}, b: {<<: *a, y: 2}}", {"a": {"x": 1}, "b": {"x": 1, "y": 2}}),
        ("", None),
    ],
)
def test_values_are_what_they_look_like(text, value):
    assert load_yaml(text) == value
    assert isinstance(load_yaml(text), type(value))


@pytest.mark.parametrize(
    "text",
    [
        *("!!int [1]", "!!seq 1", "[!!seq 1]", "[!!int {a: 1}]", "a: !!map [1]", "!!map 1"),
        *("a: !!int ''", "[!!int '-']", "!!int {=: ''}", "!!int 010", "!!float ''", "!!float 1:30"),
        *("!!bool ''", "!!bool yes", "!!bool [true]"),
    ],
)
def test_a_tag_of_another_kind_is_refused(text):
    with pytest.raises(ValueError, match=r"not readable as YAML \(line 1, column \d: .*expected "):
        load_yaml(text)


def test_rows_of_numbers_keep_their_texts_and_what_follows_its_line():
    rows = "".join(f"  - [{n}, 0x{n:x}, +{n}, 1_0, 0, !!int 0x8]\n" for n in range(1000))
    top = load_yaml(f"a:\n{rows}b: {{c: [[[1]], d]}}\n")
    assert top["a"] == [[n, n, n, 10, 0, 8] for n in range(1000)]
    assert [n.text for n in top["a"][9]] == ["9", "0x9", "+9", "1_0", "0", "0x8"]
    assert top["b"] == {"c": [[[1]], "d"]} and top["b"].line == 1002


def doubled(line: str) -> str:
    return "\n".join(["a0: &a0 {x: 1}", *(line.format(n + 1, n) for n in range(40))])


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        (
            doubled("a{0}: &a{0} [*a{1}, *a{1}]"),
            "line 13: its aliases repeat more than 10,000 values",
        ),
        (doubled("a{0}: &a{0} {{<<: [*a{1}, *a{1}]}}"), "its aliases repeat more than 10,000"),
        ("&a [*a]", "line 1: its aliases repeat more than 10,000 values"),
        ("[" * 100_000, "(line 1, column 1001: while increasing flow level: exceeded maximum"),
        ("[" * 999 + "]" * 999, "not readable as YAML (nested too deep)"),
        ("9" * 6_000, "Exceeds the limit"),
        ("a: 1\nb: {c: 1,\n c: 2}", "line 3: the key 'c' occurs twice, first in line 2"),
        ("\t- a", "not readable as YAML (line 1, column 1: while scanning for the next token: "),
        (
            "a:\t[b\nc\n",
            "(line 3, column 1: while parsing a flow sequence from line 1: did not find expected",
        ),
        (b"a: \xff", "not readable as YAML (invalid leading UTF-8 octet, at place 4)"),
        ("!!timestamp ''", "could not determine a constructor for the tag"),
        ("a: \ud835", "not readable as YAML (surrogates not allowed, at place 4)"),
    ],
)
def test_what_cannot_be_read_is_one_short_sentence(text, sentence):
    with pytest.raises(ValueError) as caught:
        load_yaml(text)
    assert sentence in str(caught.value)
    assert len(str(caught.value)) < 300 and "\n" not in str(caught.value)


def test_keys_have_their_lines():
    top = load_yaml("a: 1\n\nb:\n  - {c: 1, 1.50: 2}\n  - d: &d {e: 1}\n    <<: *d\n")
    assert top.lines == {"a": 1, "b": 3}
    first, second = top["b"]
    assert isinstance(first, WrittenMapping)
    assert (first.line, first.lines) == (4, {"c": 4, "1.50": 4})
    assert (second.line, second.lines) == (5, {"d": 5, "e": 5})
