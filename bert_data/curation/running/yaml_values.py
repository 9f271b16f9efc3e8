r"""Values in YAML, of a pipeline's file or of the flag --steps, as their authors mean them.

"min_words: 30"          ->  {"min_words": 30}
--steps="repair length:min_words=30"  ->  [{"repair": {}}, {"length": {"min_words": 30}}]
"n: 010", "n: 1:30"      ->  texts, which no number accepts; YAML 1.1 reads 8 and 90
"a: 1\na: 2"             ->  refused: the key occurs twice
"b: &b [*a, *a]" and so on, 40 times doubled  ->  refused before it fills the memory
"""

import re
from collections import Counter
from collections.abc import Iterable
from string import whitespace
from typing import Any

import yaml

_MAX_REPEATED = 10_000
_INT, _FLOAT = "tag:yaml.org,2002:int", "tag:yaml.org,2002:float"
_WHOLE = r"(?:0|[1-9][0-9_]*)"


class _Loader(yaml.SafeLoader):
    """Reads numbers in decimals or with 0x, and refuses repeated keys and alias bombs."""

    yaml_implicit_resolvers = {  # noqa: RUF012 (a table of the class, as in PyYAML)
        first: [(tag, pattern) for tag, pattern in entries if tag not in (_INT, _FLOAT)]
        for first, entries in yaml.SafeLoader.yaml_implicit_resolvers.items()
    }

    def get_single_node(self) -> yaml.Node | None:
        node: yaml.Node | None = super().get_single_node()
        sizes: dict[int, float] = {}
        if node is not None and _expanded_size(node, sizes) > len(sizes) + _MAX_REPEATED:
            raise ValueError(f"its aliases repeat more than {_MAX_REPEATED:,} values")
        return node

    def construct_mapping(self, node: yaml.MappingNode, deep: bool = False) -> dict[Any, Any]:
        keys = [each.value for each, _ in node.value if isinstance(each, yaml.ScalarNode)]
        for key, count in Counter(keys).items():
            if count > 1:
                raise ValueError(
                    f"line {node.start_mark.line + 1}: the key {key[:60]!r} occurs twice"
                )
        return super().construct_mapping(node, deep)


_Loader.add_implicit_resolver(
    _INT, re.compile(rf"[-+]?(?:{_WHOLE}|0x[0-9a-fA-F]+)\Z"), list("-+0123456789")
)
_Loader.add_implicit_resolver(
    _FLOAT,
    re.compile(
        rf"[-+]?(?:{_WHOLE}(?:\.[0-9]*)?|\.[0-9]+)(?:[eE][-+]?[0-9]+)?\Z"
        r"|[-+]?\.(?:inf|Inf|INF)\Z|\.(?:nan|NaN|NAN)\Z"
    ),
    list("-+0123456789."),
)


def _expanded_size(node: yaml.Node, sizes: dict[int, float]) -> float:
    """Count the values of a node as if each alias were a copy; infinite if it contains itself."""
    if id(node) not in sizes:
        sizes[id(node)] = float("inf")
        children = () if isinstance(node, yaml.ScalarNode) else node.value
        if isinstance(node, yaml.MappingNode):
            children = [each for pair in node.value for each in pair]
        sizes[id(node)] = 1 + sum(_expanded_size(each, sizes) for each in children)
    return sizes[id(node)]


def load_yaml(text: str | bytes) -> Any:
    """Return the value of a text in YAML.

    Raises:
      ValueError: it is not YAML, has a key twice, is nested too deep, or repeats too much by its
        aliases.
    """
    try:
        return yaml.load(text, Loader=_Loader)
    except yaml.YAMLError as error:
        raise ValueError(f"not readable as YAML ({_problem(error)})") from None
    except RecursionError:
        raise ValueError("not readable as YAML (nested too deep)") from None


def _problem(error: yaml.YAMLError) -> str:
    """Return what is wrong, and where, without PyYAML's name of what it reads."""
    mark = getattr(error, "problem_mark", None)
    if mark is None:
        return f"{getattr(error, 'reason', error)}, at place {getattr(error, 'position', 0) + 1}"
    said = [getattr(error, name) for name in ("context", "problem")]
    return f"line {mark.line + 1}, column {mark.column + 1}: {': '.join(filter(None, said))}"


_STEP = re.compile(r"(?P<name>[\w.]+)(?::(?P<parameters>.*))?", re.DOTALL)
# A value in quotes, as YAML has them, or a character.
_TOKEN = re.compile(
    r"""(?<=[=\[{,:\s])(?:"(?:[^"\\]|\\.)*+"|'(?:[^']|'')*+')(?=[]},:\s]|\Z)|.""", re.DOTALL
)


def parse_step_flags(values: Iterable[str]) -> list[Any]:
    """Parse the flag --steps to entries, as `parse_steps` takes them.

    ["repair gopher_quality:min_words=30,max_words=9000"]
      ->  [{"repair": {}}, {"gopher_quality": {"min_words": 30, "max_words": 9000}}]
    ["safety:words=[viagra,casino bonus]"]
      ->  [{"safety": {"words": ["viagra", "casino bonus"]}}]

    Raises:
      ValueError: an entry is not of that form.
    """
    entries: list[Any] = []
    for value in values:
        for word in filter(None, _split(value, whitespace)):
            match = _STEP.fullmatch(word)
            if not match:
                raise ValueError(
                    f"step {word!r} is not of the form NAME or NAME:PARAMETER=VALUE,..."
                )
            entries.append({match["name"]: _parameters(word, match["parameters"])})
    return entries


def _parameters(word: str, text: str | None) -> dict[str, Any]:
    parameters: dict[str, Any] = {}
    for part in _split(text, ",") if text else []:
        name, sign, value = part.partition("=")
        if not sign or not name:
            raise ValueError(f"step {word!r}: {part!r} is not of the form PARAMETER=VALUE")
        if name in parameters:
            raise ValueError(f"step {word!r} has the parameter {name!r} twice")
        try:
            parameters[name] = load_yaml(value)
        except ValueError as error:
            raise ValueError(f"step {word!r:.60}: {value!r:.60}: {error}") from None
    return parameters


def _split(text: str, separators: str) -> list[str]:
    """Split a text at characters that are neither in brackets nor in quotes."""
    parts, depth = [""], 0
    for token in _TOKEN.findall(text):
        depth += (token in "[{") - (token in "]}")
        if token in separators and depth <= 0:
            parts.append("")
        else:
            parts[-1] += token
    return parts
