"""Load the packages of extras, and names of a package, on first use.

__getattr__ = import_on_use(__name__, {"loop": "train", "predict": "best_guesses load_pretrained"})
"""

import importlib
from collections.abc import Callable, Mapping
from types import ModuleType
from typing import Any


def load_package(name: str, user: str, *, extra: str = "curation") -> ModuleType:
    """Load a module from the packages of an extra; the error names its user."""
    try:
        return importlib.import_module(name)
    except ImportError as error:
        package = name.partition(".")[0]
        raise ValueError(
            f"{user} needs the package {package}, which cannot be loaded ({error}); install it with"
            f" pip install '.[{extra}]'"
        ) from None


def import_on_use(
    package: str, names_by_module: Mapping[str, str], *, before: Callable[[], object] | None = None
) -> Callable[[str], Any]:
    """Return the function `__getattr__` of a package; `before` is called before an import."""
    modules = {name: module for module, names in names_by_module.items() for name in names.split()}

    def import_name(name: str) -> Any:
        if name not in modules:
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        if before is not None:
            before()
        return getattr(importlib.import_module(f"{package}.{modules[name]}"), name)

    return import_name
