"""Markdown of cards: tables, and the YAML before the text."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import yaml

UNKNOWN = "not known"
MADE_BY = "<!-- Made by bert_data"
"""Begins the last line of cards, which only programs see; files without it are not replaced."""


def table(
    head: Sequence[str], rows: Iterable[Sequence[str]], *, is_text: Sequence[int] = ()
) -> str:
    """Return a table; the first column and `is_text` are texts, the others numbers."""
    rules = ["---" if i == 0 or i in is_text else "---:" for i in range(len(head))]
    lines = [head, rules, *([cell(each) for each in row] for row in rows)]
    return "".join(f"| {' | '.join(line)} |\n" for line in lines)


def cell(text: str) -> str:
    """Return a text of any origin as one line that formats nothing."""
    line = " ".join(text.split())
    return "".join(f"\\{letter}" if letter in "\\`*_[]<>|#" else letter for letter in line)


def with_front_matter(values: Mapping[str, Any], text: str) -> str:
    """Return a text with values before it, as hubs read them; those that are None are left out."""
    known = {name: value for name, value in values.items() if value is not None}
    head = yaml.safe_dump(known, sort_keys=False, allow_unicode=True, width=1 << 20)
    return f"---\n{head}---\n\n{text}"
