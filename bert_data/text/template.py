r"""Texts of rows with several fields: a template has the names of fields in braces.

{instruction}\n\n{output}
    {"instruction": "Add 2 and 3.", "output": 5}    ->  "Add 2 and 3.\n\n5"
{id}: {messages.content}
    {"id": 7, "messages": [{"role": "user", "content": "Hi."}, {"role": "bot", "content": "Ho."}]}
                                                    ->  "7: Hi.\nHo."

A name with dots is of a field within a field, of each object where that is a list, and lists are
joined by line ends. Numbers and truths are written as in JSON. {{ and }} are braces; \n, \t and \\
are a line end, a tab and a backslash, as shells do not make these of them.
"""

import functools
import math
import re
from collections.abc import Collection, Mapping
from typing import Any

from bert_data.text.documents import RowError, checked_text

_PART = re.compile(
    r"(?P<text>[^{}\\]+|\{\{|\}\})|\\(?P<escaped>.?)|\{(?P<name>[^{}]*)\}|.", re.DOTALL
)
_NAME = re.compile(r"(?![\s.])[^!:\[\]]+(?<![\s.])")
_ESCAPES = {"n": "\n", "t": "\t", "\\": "\\"}
_NUM_FIELDS_NAMED = 10

TemplateParts = tuple[tuple[str, str | None], ...]
"""Literal texts, each with the name of the field after it, or None after the last one."""


@functools.lru_cache(64)
def parse_template(template: str) -> TemplateParts:
    """Return the parts of a template; ValueError if it is none."""
    parts: list[tuple[str, str | None]] = []
    literal = ""
    for match in _PART.finditer(template):
        name, escaped = match["name"], match["escaped"]
        if match["text"] is not None:
            literal += {"{{": "{", "}}": "}"}.get(match[0], match[0])
        elif escaped in _ESCAPES:
            literal += _ESCAPES[escaped]
        elif name is not None and _NAME.fullmatch(name):
            parts.append((literal, name))
            literal = ""
        else:
            raise ValueError(
                f"text_template has {match[0]!r} at character {match.start() + 1}; it takes text"
                r" and names of fields in braces, such as {meta.title}, {{ and }} for braces, and"
                r" \n, \t and \\"
            )
    if not parts:
        raise ValueError(
            f"text_template is {template!r}, which names no field; {{text}} is the field text"
        )
    return (*parts, (literal, None))


def fields_of_template(template: str, names: Collection[str]) -> list[str]:
    """Return which outermost fields of a row with these names a template has, each once."""
    named = [name for _, name in parse_template(template) if name is not None]
    return list(dict.fromkeys(n if n in names else n.partition(".")[0] for n in named))


def fill_template(template: str, row: Mapping[str, Any]) -> str:
    """Return the text of a row; RowError if a field is missing or cannot be written."""
    texts = []
    for literal, name in parse_template(template):
        texts.append(literal)
        if name is not None:
            texts.append(_written(_find(row, name, name), name))
    return "".join(texts)


def _find(value: Any, path: str, name: str) -> Any:
    """Return what a value has under a path: of each object, where it is a list."""
    if isinstance(value, list | tuple):
        return [_find(each, path, name) for each in value]
    if not isinstance(value, Mapping):
        outer = name.removesuffix(path).rstrip(".")
        kind = "null" if value is None else type(value).__name__
        raise RowError(f"no field {name!r} (`text_template`): {outer!r} is {kind}, not an object")
    if path in value:
        return value[path]
    outer, dot, rest = path.partition(".")
    if not dot or outer not in value:
        fields = ", ".join(map(repr, list(value)[:_NUM_FIELDS_NAMED])) or "none"
        raise RowError(f"no field {name!r} (`text_template`); the fields are {fields}")
    return _find(value[outer], rest, name)


def _written(value: Any, name: str) -> str:
    if isinstance(value, list | tuple):
        return "\n".join(_written(each, name) for each in value)
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, int) or (isinstance(value, float) and math.isfinite(value)):
        return repr(value)
    if isinstance(value, Mapping) and value:
        raise RowError(
            f"{name!r} is an object (`text_template`); name a field of it, as in"
            f" {{{name}.{next(iter(value))}}}"
        )
    if not isinstance(value, str):
        kind = "null" if value is None else type(value).__name__
        raise RowError(
            f"{name!r} is {kind} (`text_template`); texts, numbers, true, false and lists of them"
            " are written"
        )
    return str(checked_text(value, name))
