"""Expressions of licences: which allowed ones fulfil them, and the names in them."""

import pytest

from bert_data.text.licence_expressions import is_fulfilled, licences_in


@pytest.mark.parametrize(
    ("expression", "expected"),
    [
        ("MIT", True),
        ("GPL-2.0", False),
        ("MIT OR GPL-2.0", True),
        ("MIT AND GPL-2.0", False),
        ("GPL-2.0 OR MIT AND BSD", True),
        ("(GPL-2.0 OR MIT) AND GPL-2.0", False),
        ("(MIT OR GPL-2.0) AND (GPL-2.0 OR BSD)", True),
        ("((MIT))", True),
        ("MIT WITH A-exception-2.0", True),
        ("GPL-2.0 WITH A-exception-2.0", False),
        ("MIT with Commons Clause", False),
        ("(GPL-2.0 WITH Linux-syscall-note) OR BSD", True),
        ("MIT OR", True),
        ("OR", False),
        ("(" * 2_000 + "MIT", False),
        ("", False),
    ],
)
def test_what_fulfils_an_expression(expression, expected) -> None:
    assert is_fulfilled(expression, {"MIT", "BSD"}.__contains__) is expected


def test_names() -> None:
    assert licences_in("(MIT OR GPL-2.0 WITH A-exception) AND Two Words") == [
        "MIT",
        "GPL-2.0",
        "Two Words",
    ]
    assert licences_in("ORB") == ["ORB"]
