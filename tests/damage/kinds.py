"""All kinds of files that the project reads, in groups."""

import importlib
from collections.abc import Iterable

from tests.damage.lab import Kind

GROUPS = ("sets", "stores", "texts", "models", "curation")


def kinds_of(group: str) -> tuple[Kind, ...]:
    """The kinds of a group; imported when asked for, as one group needs TensorFlow."""
    return importlib.import_module(f"tests.damage.kinds_of_{group}").KINDS


def find_kinds(names: Iterable[str]) -> list[Kind]:
    """The kinds of these names, or of the groups of these names."""
    names = list(names)
    groups = [name for name in names if name in GROUPS]
    kinds = [kind for group in groups for kind in kinds_of(group)]
    others = set(names) - set(groups)
    if others:
        known = {kind.name: kind for group in GROUPS for kind in kinds_of(group)}
        unknown = sorted(others - set(known))
        if unknown:
            raise ValueError(f"no kind {unknown[0]!r}; there are {', '.join(known)}")
        kinds += [known[name] for name in names if name in others]
    return kinds
