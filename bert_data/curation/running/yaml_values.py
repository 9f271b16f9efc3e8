r"""Values in YAML, of a pipeline's file or a flag, as their authors mean them.

"min_words: 30"          ->  {"min_words": 30}
"n: 010", "n: 1:30"      ->  texts, which no number accepts; YAML 1.1 reads 8 and 90
"a: 1\na: 2"             ->  refused: the key stands twice
"b: &b [*a, *a]" and so on, 40 times doubled  ->  refused before it fills the memory
"""

import re
from collections import Counter
from typing import Any

import yaml

_MAX_REPEATED = 10_000
_INT, _FLOAT = "tag:yaml.org,2002:int", "tag:yaml.org,2002:float"
_WHOLE = r"(?:0|[1-9][0-9_]*)"


class _Loader(yaml.SafeLoader):
    """Reads numbers in decimals or with 0x, and refuses keys that stand twice, and alias bombs."""

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
                    f"line {node.start_mark.line + 1}: the key {key[:60]!r} is there twice"
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
        raise ValueError(f"not readable as YAML ({' '.join(str(error).split())})") from None
    except RecursionError:
        raise ValueError("not readable as YAML (nested too deep)") from None
