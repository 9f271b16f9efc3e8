"""Optional packages, which only some parts need: they are loaded on first use."""

import importlib
from types import ModuleType


def load_package(name: str, user: str, *, extra: str = "curation") -> ModuleType:
    """Load a module from the packages of an extra.

    Args:
      name: of the module, dotted.
      user: the part that needs it, for the error message.
      extra: that installs its package.

    Raises:
      ValueError: its package is not installed.
    """
    try:
        return importlib.import_module(name)
    except ImportError as error:
        package = name.partition(".")[0]
        raise ValueError(
            f"{user} needs the package {package}, which cannot be loaded ({error}); install it with"
            f" pip install '.[{extra}]'"
        ) from None
