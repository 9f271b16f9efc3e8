"""YAML as users write it: numbers in decimals, keys once, and the line of each key.

1e5    a number, and so is 65_536
010    a text, and 1:30
"""

import contextlib
import functools
import gc
import re
from collections.abc import Iterator, Sequence
from typing import Any, TypeVar

import yaml
from yaml.constructor import ConstructorError

from bert_data.settings import make_record, settings_of

Record = TypeVar("Record")

_MAX_REPEATED = 10_000
_INT, _FLOAT = "tag:yaml.org,2002:int", "tag:yaml.org,2002:float"
_BOOL, _TIME = "tag:yaml.org,2002:bool", "tag:yaml.org,2002:timestamp"
_LIST, _MAP = "tag:yaml.org,2002:seq", "tag:yaml.org,2002:map"
_TEXT, _NULL = "tag:yaml.org,2002:str", "tag:yaml.org,2002:null"
_WHOLE = r"(?:0|[1-9][0-9_]*)"


class WrittenInt(int):
    """A whole number, and the text that its author wrote for it: `label=010` means a string."""

    @functools.cached_property
    def text(self) -> str:
        """That of a number in plain digits; a loader sets others."""
        return str(int(self))


class WrittenFloat(float):
    """The same for other numbers."""

    text: str


class WrittenMapping(dict[Any, Any]):
    """A mapping, and where it is in its file.

    Attributes:
      line: of its beginning, from 1.
      lines: of each key, by its text.
    """

    line: int
    lines: dict[str, int]


class _Loader(getattr(yaml, "CSafeLoader", yaml.SafeLoader)):  # type: ignore[misc]
    """That of libyaml, where PyYAML has it; it refuses repeated keys."""

    allows_empty = True
    yaml_constructors = {  # noqa: RUF012 (a table of the class, as in PyYAML)
        tag: yaml.SafeLoader.yaml_constructors[tag] for tag in (_TEXT, _NULL, None)
    }
    yaml_implicit_resolvers = {  # noqa: RUF012 (a table of the class, as in PyYAML)
        first: [
            (tag, pattern) for tag, pattern in entries if tag not in (_INT, _FLOAT, _BOOL, _TIME)
        ]
        for first, entries in yaml.SafeLoader.yaml_implicit_resolvers.items()
    }

    def construct_mapping(self, node: yaml.MappingNode, deep: bool = False) -> dict[Any, Any]:
        lines: dict[str, int] = {}
        for each, _ in node.value if isinstance(node, yaml.MappingNode) else ():
            if not isinstance(each, yaml.ScalarNode):
                continue
            line = each.start_mark.line + 1
            if each.value in lines:
                raise ValueError(
                    f"line {line}: the key {each.value[:60]!r} occurs twice, first in line"
                    f" {lines[each.value]}"
                )
            lines[each.value] = line
        mapping: dict[Any, Any] = super().construct_mapping(node, deep)
        return mapping

    def resolve(self, kind: type[yaml.Node], value: Any, implicit: Any) -> str:
        """Return the tag of a node, soon for whole numbers."""
        if kind is yaml.ScalarNode and implicit[0] and _is_plain(value):
            return _INT
        tag: str = super().resolve(kind, value, implicit)
        return tag

    def descend_resolver(self, *_: Any) -> None:
        """Follow no paths: tags do not depend on them."""

    def ascend_resolver(self) -> None:
        """See `descend_resolver`."""


def _is_plain(text: str) -> bool:
    return text.isdecimal() and text[0] != "0" and text.isascii()


def _construct_number(loader: _Loader, node: yaml.ScalarNode) -> WrittenInt | WrittenFloat:
    number: WrittenInt | WrittenFloat
    text = node.value if isinstance(node, yaml.ScalarNode) else loader.construct_scalar(node)
    if node.tag == _FLOAT:
        _check(node, text, _FLOATS, "a number")
        number = WrittenFloat(loader.construct_yaml_float(node))
    elif _is_plain(text):
        return WrittenInt(text)
    else:
        _check(node, text, _INTS, "a whole number")
        number = WrittenInt(loader.construct_yaml_int(node))
    number.text = text
    return number


def _construct_bool(loader: _Loader, node: yaml.ScalarNode) -> bool:
    text = loader.construct_scalar(node)
    _check(node, text, _BOOLS, "true or false")
    return bool(text.lower() == "true")


def _check(node: yaml.Node, text: str, pattern: "re.Pattern[str]", expected: str) -> None:
    """Refuse what a tag claims and the text does not say, such as `!!int ''`."""
    if not pattern.match(text):
        problem = f"expected {expected}, but found {text[:60]!r}"
        raise ConstructorError(None, None, problem, node.start_mark)


def _construct_mapping(loader: _Loader, node: yaml.MappingNode) -> Iterator[WrittenMapping]:
    mapping = WrittenMapping()
    yield mapping
    mapping.update(loader.construct_mapping(node))
    mapping.line = node.start_mark.line + 1
    mapping.lines = {key.value: key.start_mark.line + 1 for key, _ in node.value}
    for key, value in () if loader.allows_empty else node.value:
        if isinstance(value, yaml.ScalarNode) and not value.value and not value.style:
            raise ValueError(
                f"line {mapping.lines[key.value]}: {key.value} has no value; give it one, or leave"
                " it out"
            )


def _construct_list(loader: _Loader, node: yaml.SequenceNode) -> list[Any]:
    if not isinstance(node, yaml.SequenceNode):
        loader.construct_sequence(node)  # raises
    return [_MAKERS.get(each.tag, _construct)(loader, each) for each in node.value]


def _construct(loader: _Loader, node: yaml.Node) -> Any:
    return loader.construct_object(node, deep=True)


_MAKERS = {_LIST: _construct_list, _INT: _construct_number}  # faster than `_construct`

_BOOLS = re.compile(r"(?:true|True|TRUE|false|False|FALSE)\Z")
_INTS = re.compile(rf"[-+]?(?:{_WHOLE}|0x[0-9a-fA-F]+)\Z")
_FLOATS = re.compile(
    rf"[-+]?(?:{_WHOLE}(?:\.[0-9]*)?|\.[0-9]+)(?:[eE][-+]?[0-9]+)?\Z"
    r"|[-+]?\.(?:inf|Inf|INF)\Z|\.(?:nan|NaN|NAN)\Z"
)
_Loader.add_constructor(_INT, _construct_number)
_Loader.add_constructor(_FLOAT, _construct_number)
_Loader.add_constructor(_BOOL, _construct_bool)
_Loader.add_constructor(_LIST, _construct_list)
_Loader.add_constructor(_MAP, _construct_mapping)
_Loader.add_implicit_resolver(_BOOL, _BOOLS, list("tTfF"))
_Loader.add_implicit_resolver(_INT, _INTS, list("-+0123456789"))
_Loader.add_implicit_resolver(_FLOAT, _FLOATS, list("-+0123456789."))


def _check_size(node: yaml.Node, sizes: dict[int, float]) -> float:
    """Count the values of a node as if each alias were a copy; infinite if it contains itself.

    Args:
      sizes: of the nodes that were counted before; it is added.
    """
    if id(node) not in sizes:
        sizes[id(node)] = float("inf")
        children = () if isinstance(node, yaml.ScalarNode) else node.value
        if isinstance(node, yaml.MappingNode):
            children = [each for pair in node.value for each in pair]
        size = 1 + sum(_check_size(each, sizes) for each in children)
        sizes[id(node)] = size
        if size > len(sizes) + _MAX_REPEATED:
            raise ValueError(
                f"line {node.start_mark.line + 1}: its aliases repeat more than"
                f" {_MAX_REPEATED:,} values"
            )
    return sizes[id(node)]


def load_yaml(text: str | bytes, *, allows_empty: bool = True) -> Any:
    """Return the value of a text in YAML, or raise a ValueError that says why it has none.

    Args:
      allows_empty: whether nothing may stand behind a key's colon.
    """
    try:
        with _without_collections():
            return _load(text, allows_empty)
    except (yaml.YAMLError, UnicodeEncodeError) as error:
        raise ValueError(f"not readable as YAML ({_problem(error)})") from None
    except RecursionError:
        raise ValueError("not readable as YAML (nested too deep)") from None


def _load(text: str | bytes, allows_empty: bool) -> Any:
    loader = _Loader(text)
    loader.allows_empty = allows_empty
    try:
        node = loader.get_single_node()
        if node is None:
            return None
        if "&" in text if isinstance(text, str) else b"&" in text:  # else there is no alias
            _check_size(node, {})
        return loader.construct_document(node)
    finally:
        loader.dispose()


@contextlib.contextmanager
def _without_collections() -> Iterator[None]:
    """Let Python look for no garbage, which takes most of the time with many nodes."""
    was_enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_enabled:
            gc.enable()


def _problem(error: Any) -> str:
    """Return what is wrong, and where, without PyYAML's name of what it reads."""
    if not isinstance(error, yaml.MarkedYAMLError):
        place = error.start if isinstance(error, UnicodeEncodeError) else error.position
        return f"{error.reason}, at place {place + 1}"
    mark = error.problem_mark
    context, begin = error.context, error.context_mark
    if begin is not None and begin.line != mark.line:
        context += f" from line {begin.line + 1}"
    said = ": ".join(filter(None, (context, error.problem)))
    return f"line {mark.line + 1}, column {mark.column + 1}: {said}"


@contextlib.contextmanager
def read_record(
    kind: type[Record], content: bytes, *, allows_empty: bool = True
) -> Iterator[tuple[Record, WrittenMapping]]:
    """Make the dataclass that a file describes; its fields are the keys. Yield the file, too.

    A ValueError about a part of it, also one that the caller raises in the context, is given the
    line. Its sentence begins with keys: "stage 2: masking: rate is 3; 0 to 1 is allowed".

    Args:
      allows_empty: whether keys without a value are as if they were not there.
    """
    value = load_yaml(content, allows_empty=allows_empty)
    if not isinstance(value, WrittenMapping):
        shown = "empty" if value is None else f"{value!r:.60}"
        keys = ", ".join(each.key or each.name for each in settings_of(kind).values())
        raise ValueError(f"the file is {shown}; it must be a mapping with {keys}")
    try:
        yield make_record("", kind, value), value
    except ValueError as error:
        raise ValueError(f"line {_line_of(value, str(error))}: {error}") from error


def _line_of(mapping: WrittenMapping, sentence: str) -> int:
    unknown = re.match(r"(?:the file )?has no \w+ '(.*?)'", sentence)
    if unknown and unknown[1] in mapping.lines:
        return mapping.lines[unknown[1]]
    for key in sorted(mapping.lines, key=len, reverse=True):
        value = mapping.get(key)
        match = re.match(rf"`?{re.escape(key)}\b`?:? ?", sentence)
        of_list = re.match(rf"{re.escape(key.removesuffix('s'))} '?([\w.]+)'?:? ", sentence)
        if of_list and isinstance(value, list):
            match, value = of_list, _entry(value, of_list[1])
        if match is None:
            continue
        if isinstance(value, WrittenMapping):
            first = value.line if of_list else mapping.lines[key]
            found = _line_of(value, sentence[match.end() :])
            return first if found == value.line else found
        return mapping.lines[key]
    return mapping.line


def _entry(entries: Sequence[Any], name: str) -> Any:
    """Return the entry of a number, from 1, or of a name: {name: {...}}, or None."""
    if name.isdigit():
        return entries[int(name) - 1] if 0 < int(name) <= len(entries) else None
    named = (each for each in entries if isinstance(each, WrittenMapping) and name in each)
    return next((each[name] or each for each in named), None)
