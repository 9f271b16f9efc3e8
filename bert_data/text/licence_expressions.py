"""SPDX's expressions of licences: "MIT OR (GPL-2.0-only WITH Classpath-exception-2.0)".

AND is stronger than OR. Names are any texts, also with spaces.
"""

import re
from collections.abc import Callable, Iterator

_MAX_CHARACTERS = 500
_OPERATORS = re.compile(r"[()]|(?<![^\s)])(?:AND|OR)(?![^\s(])")
_WITH = re.compile(r"\s+WITH\s+", re.IGNORECASE)
_EXCEPTION = re.compile(r"exception|-note", re.IGNORECASE)


def is_fulfilled(expression: str, is_allowed: Callable[[str], bool]) -> bool:
    """Whether an expression is one that allowed licences fulfil: one of ORs, all of ANDs.

    WITH adds a permission if an exception follows, and is no known licence with anything else.
    """
    expression = expression.strip()
    if len(expression) > _MAX_CHARACTERS:
        return False
    for operator, quantifier in (("OR", any), ("AND", all)):
        sides = list(_sides(expression, operator))
        if len(sides) > 1:
            return quantifier(is_fulfilled(side, is_allowed) for side in sides)
    if expression.startswith("(") and expression.endswith(")"):
        return is_fulfilled(expression[1:-1], is_allowed)
    name, *exceptions = _WITH.split(expression)
    return is_allowed(name) and all(map(_EXCEPTION.search, exceptions))


def licences_in(expression: str) -> list[str]:
    """Return the names in an expression, without exceptions."""
    parts = (part.strip() for part in _OPERATORS.split(expression))
    return [_WITH.split(part)[0] for part in parts if part]


def _sides(expression: str, operator: str) -> Iterator[str]:
    """Yield what an operator joins, outside parentheses."""
    depth, start = 0, 0
    for match in _OPERATORS.finditer(expression):
        depth += {"(": 1, ")": -1}.get(match[0], 0)
        if depth == 0 and match[0] == operator:
            yield expression[start : match.start()]
            start = match.end()
    yield expression[start:]
