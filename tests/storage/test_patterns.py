"""Patterns of names against TensorFlow's Glob."""

import os
import re

import pytest
import tensorflow as tf
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from bert_data.storage import glob
from bert_data.storage.patterns import compile_part

NAMES = [
    "a",
    "b",
    "ab",
    ".a",
    "^",
    "]",
    "a-b",
    "[a",
    "b]",
    "!",
    "\\",
    "A1",
    "é",
    "a b",
    "*",
    "[^a]",
]
PARTS = st.one_of(
    st.sampled_from(
        ["*", "?", "**", "[^a]*", "[!a]*", ".*", "[a-b]", "[[:alpha:]]*", "a", "b", "."]
    ),
    st.text("ab*?[]^!-\\.1é ", min_size=1, max_size=6),
)


@pytest.fixture(scope="module")
def tree(tmp_path_factory):
    """A folder of files and folders, with files in folders in folders."""
    root = tmp_path_factory.mktemp("tree")
    for name in NAMES:
        folder = root / f"{name}.d"
        for inner in ("a", ".b"):
            (folder / inner).mkdir(parents=True)
        for file in NAMES:
            (folder / file).touch() if file != "a" else None
            (folder / "a" / file).touch()
        (root / name).touch()
    (root / "link").symlink_to(root / "a.d")
    (root / "dangling").symlink_to(root / "none")
    return root


@settings(max_examples=200, deadline=None)
@given(st.lists(PARTS, min_size=1, max_size=3), st.booleans(), st.sampled_from(["", "/"]))
def test_matches_are_those_of_tensorflow(tree, parts, is_relative, ending):
    os.chdir(tree)
    pattern = "/".join(parts) + ending
    assume(set(pattern) & set("*?[\\"))
    if not is_relative:
        pattern = f"{tree}/{pattern}"
    expected = [re.sub(r"^\./(?!$)", "", path) for path in tf.io.gfile.glob(pattern)]
    matches = [re.sub(r"^\./(?!$)", "", path) for path in glob(pattern)]
    assert matches == sorted(matches)
    # TensorFlow also compares byte by byte, so that "??" matches "é".
    by_bytes = [path for path in set(expected) - set(matches) if "é" in path]
    assert sorted([*matches, *by_bytes]) == sorted(expected)
    assert not by_bytes or set(pattern) & set("?[")


@pytest.mark.parametrize(
    ("pattern", "names"),
    [
        ("[^a]", "b ^ ]"),
        ("[]^]", "^ ]"),
        ("[a\\-c]", "a"),
        ("[z-a]", ""),
        ("[[:nope:]]", ""),
        ("\\*", "*"),
        ("a\\", ""),
    ],
)
def test_brackets_and_escapes(pattern, names):
    matches = compile_part(pattern).fullmatch
    assert [name for name in ("a", "b", "^", "]", "*", "a\\") if matches(name)] == [
        name
        for name in ("a", "b", "^", "]", "*", "a\\")
        if name in names.split() or (pattern == "[^a]" and name == "*")
    ]


def test_many_stars_take_no_time():
    assert compile_part("*" * 5000 + "b").fullmatch("a" * 5000) is None


def test_of_a_uri(tree):
    matches = glob(f"file://{tree}/[^a]*.d/*b")
    assert matches and matches == [f"file://{path}" for path in glob(f"{tree}/[^a]*.d/*b")]
    assert glob(f"file://{tree}/none*") == glob(f"file://{tree}/none") == []
