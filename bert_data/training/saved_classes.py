"""Classes that Keras finds by their names before their modules are imported.

register_saved_classes("bert_data.training", ["Lamb"])
  -> keras.models.load_model("m.keras") imports the module of "bert_data>Lamb" when it reads one
"""

import importlib
import sys
from collections.abc import Iterable
from importlib.machinery import ModuleSpec
from types import ModuleType
from typing import Any


class _Deferred:
    """Stands for a class until Keras makes an object of it."""

    def __init__(self, module: str, name: str) -> None:
        self._module = module
        self._name = name

    def from_config(self, config: dict[str, Any]) -> Any:
        """Import the class and make an object of it."""
        return getattr(importlib.import_module(self._module), self._name).from_config(config)


_classes: dict[str, _Deferred] = {}


def register_saved_classes(module: str, names: Iterable[str]) -> None:
    """Tell Keras, whoever imports it, the classes of a module under "bert_data>NAME"."""
    _classes.update({f"bert_data>{name}": _Deferred(module, name) for name in names})
    if sys.modules.get("keras"):  # None where it is blocked
        _tell(importlib.import_module("keras"))  # which waits for another thread's import of it


def _tell(keras: ModuleType) -> None:
    objects = keras.saving.get_custom_objects()
    for name, each in list(_classes.items()):
        objects.setdefault(name, each)


class _KerasFinder:
    """Finds Keras as the other finders do, with a loader that tells it the classes."""

    @classmethod
    def find_spec(cls, name: str, path: Any = None, target: Any = None) -> ModuleSpec | None:
        """Return None for other modules."""
        if name != "keras":
            return None
        # Another copy of this module, imported anew, would ask this one.
        others = (o for o in sys.meta_path if getattr(o, "__name__", "") != cls.__name__)
        spec = next(filter(None, (each.find_spec(name, path, target) for each in others)), None)
        if spec is not None and spec.loader is not None:
            loader: Any = _KerasLoader(spec.loader)
            spec.loader = loader
        return spec


class _KerasLoader:
    """Loads Keras as another loader does, and tells it the classes."""

    def __init__(self, loader: Any) -> None:
        self._loader = loader

    def __getattr__(self, name: str) -> Any:
        return getattr(self._loader, name)

    def exec_module(self, keras: ModuleType) -> None:
        """Run the module."""
        vars(keras)["__spec__"].loader = keras.__loader__ = self._loader
        self._loader.exec_module(keras)
        _tell(keras)


sys.meta_path.insert(0, _KerasFinder)
