"""What a module of Google's names has from bert_data, and what a program has put in its place."""

from collections.abc import Iterator, Mapping
from typing import Any, TypeVar

_Part = TypeVar("_Part")


class Originals:
    """The functions and classes of a module, by name.

    originals = Originals({"truncate_seq_pair": definition.truncate_seq_pair})
    list(originals.replaced_in(vars(module)))  ->  ["truncate_seq_pair"] if it is another one
    """

    def __init__(self, parts: Mapping[str, Any]) -> None:
        """Keep them as they are now, classes with their methods."""
        self._parts = {name: (part, _methods_of(part)) for name, part in parts.items()}

    def keep(self, part: _Part) -> _Part:
        """Add a function or class under its own name; a decorator."""
        name = getattr(part, "__name__", "")
        self._parts[name] = (part, _methods_of(part))
        return part

    def replaced_in(self, namespace: Mapping[str, Any]) -> Iterator[str]:
        """Yield the names of what is not there, or of classes with other methods."""
        for name, (part, methods) in self._parts.items():
            if namespace.get(name) is not part or _methods_of(part) != methods:
                yield name


def _methods_of(part: Any) -> dict[str, Any]:
    if not isinstance(part, type):
        return {}
    return {name: value for name, value in vars(part).items() if hasattr(value, "__get__")}
