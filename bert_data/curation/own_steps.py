"""Steps that users write: classes in modules of theirs.

    --steps=my_steps.Calm:max_exclamations=1     class Calm of my_steps.py, in the current folder or
                                                 installed
    --steps=calm                                 the same by an entry point: calm = my_steps:Calm

The folder is added to Python's path, also of worker processes; on Ray, the nodes must see it.
"""

import importlib
import importlib.metadata
import inspect
import os
import secrets
import sys
from collections.abc import Collection, Iterable
from typing import TypeVar

from bert_data.storage import is_file, read_bytes

ENTRY_POINTS = "bert_data.steps"
"""Group of the entry points by which packages name their steps."""

Base = TypeVar("Base")


def installed_steps() -> dict[str, str]:
    """Return the "module.Class" of each entry point, by its name."""
    points = importlib.metadata.entry_points(group=ENTRY_POINTS)
    return {point.name: point.value.replace(":", ".") for point in points}


def check_allowed(name: str, allowed: Collection[str]) -> None:
    """Refuse a step whose module would be imported although nobody allowed it: its code runs.

    A name without a dot is of this package or of an installed one; `allowed` are names of modules
    or packages.
    """
    module = name.rpartition(".")[0]
    package = __name__.partition(".")[0]
    if module and not any(f"{module}.".startswith(f"{each}.") for each in (package, *allowed)):
        raise ValueError(
            f"step {name!r} imports the module {module!r}, whose code runs; if you trust it,"
            f" `allow_steps_from={module}` allows it"
        )


def load_step(name: str, base: type[Base]) -> type[Base]:
    """Return the class of a name "module.Class", also from a module in the current folder."""
    module_name, _, class_name = name.rpartition(".")
    here = os.getcwd()
    if here not in sys.path:  # of `bert-data`, it is the folder of that script
        sys.path.append(here)
    try:
        module = importlib.import_module(module_name)
    except ModuleNotFoundError as error:
        if error.name is None or not f"{module_name}.".startswith(f"{error.name}."):
            raise  # the module itself imports something that is missing
        raise ValueError(
            f"step {name!r}: there is no module {module_name!r} in {here}, nor on Python's path"
        ) from None
    found = getattr(module, class_name, None)
    if isinstance(found, type) and issubclass(found, base):
        return found
    classes = inspect.getmembers(module, lambda each: isinstance(each, type))
    steps = [each for each, kind in classes if issubclass(kind, base) and not is_built_in(kind)]
    problem = "has no" if found is None else "has no step"
    raise ValueError(
        f"step {name!r}: module {module_name} {problem} {class_name!r}; its steps are"
        f" {', '.join(steps) or 'none'} (a step derives from bert_data.DocumentStep)"
    )


def is_built_in(kind: type) -> bool:
    """Whether a class is of this package."""
    return kind.__module__.partition(".")[0] == __name__.partition(".")[0]


def read_sources(kinds: Iterable[type]) -> list[bytes]:
    """Return the code of classes that are not of this package: other code is another step."""
    sources = []
    for kind in kinds:
        if not is_built_in(kind):
            path = getattr(sys.modules.get(kind.__module__), "__file__", None)
            if path is not None and is_file(path):
                sources.append(read_bytes(path))
            else:
                sources.append(_source_of_class(kind))
    return sources


def _source_of_class(kind: type) -> bytes:
    """Return the code of a class in a notebook, or, without code, what equals no other."""
    try:
        return inspect.getsource(kind).encode()
    except (OSError, TypeError):
        return secrets.token_bytes(16)
