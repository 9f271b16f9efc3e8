"""Load the packages of extras, and names of a package, on first use.

    if TYPE_CHECKING:
        from bert_data.training.loop import train as train

    __getattr__, __all__ = import_on_use(__name__)

`bert_data.training.train` is then imported when it is first used.
"""

import importlib
import re
import sys
from collections.abc import Callable
from types import ModuleType
from typing import Any

_NAMES = re.compile(r"^ *from (\S+) import \(?\s*(\w+) as \2\b", re.MULTILINE)


class MissingPackageError(ValueError):
    """A package of an extra cannot be loaded."""


def load_package(name: str, user: str, *, extra: str = "curation") -> ModuleType:
    """Load a module from the packages of an extra.

    Raises:
      MissingPackageError: it cannot be loaded; the text names its user and the extra.
    """
    try:
        return importlib.import_module(name)
    except ImportError as error:
        package = name.partition(".")[0]
        raise MissingPackageError(
            f"{user} needs the package {package}, which cannot be loaded ({error}); install it with"
            f" pip install '.[{extra}]'"
        ) from None


def import_on_use(
    package: str, *, before: Callable[[], object] | None = None, light: str = ""
) -> tuple[Callable[[str], Any], list[str]]:
    """Return `__getattr__` and `__all__` of a package that is being imported.

    Its names are those that its source imports `as` themselves. Those that it imports for type
    checkers alone are imported when they are first used.

    Args:
      before: is called before such an import.
      light: modules of the package for which it is not called, separated by spaces.
    """
    spec: Any = sys.modules[package].__spec__
    source = spec.loader.get_data(spec.origin).decode()
    modules = {name: module for module, name in _NAMES.findall(source)}
    needs_nothing = {f"{package}.{name}" for name in light.split()}

    def import_name(name: str) -> Any:
        module = modules.get(name)
        if module is None:
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        if before is not None and module not in needs_nothing:
            before()
        value = getattr(importlib.import_module(module), name)
        return vars(sys.modules[package]).setdefault(name, value)

    return import_name, sorted(modules)
