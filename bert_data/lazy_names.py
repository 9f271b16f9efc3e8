"""Names of a package that are imported when they are first used.

__getattr__ = import_on_use(__name__, {"loop": "train", "predict": "best_guesses load_pretrained"})
"""

import importlib
from collections.abc import Callable, Mapping
from typing import Any


def import_on_use(
    package: str, names_by_module: Mapping[str, str], *, before: Callable[[], object] | None = None
) -> Callable[[str], Any]:
    """Return the function `__getattr__` of a package.

    Args:
      package: its name.
      names_by_module: the names that it imports from a module below it, with spaces between them.
      before: is called before a module is imported.
    """
    modules = {name: module for module, names in names_by_module.items() for name in names.split()}

    def import_name(name: str) -> Any:
        if name not in modules:
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        if before is not None:
            before()
        return getattr(importlib.import_module(f"{package}.{modules[name]}"), name)

    return import_name
