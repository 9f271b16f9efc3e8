"""Classes that Keras finds by their names before their modules are imported.

register_saved_classes("bert_data.training", ["Lamb"])
  -> keras.models.load_model("m.keras") imports the module of "bert_data>Lamb" when it reads one
"""

import importlib
from collections.abc import Iterable
from types import ModuleType
from typing import Any

import wrapt


class _Deferred:
    """Stands for a class until Keras makes an object of it."""

    def __init__(self, module: str, name: str) -> None:
        self._module = module
        self._name = name

    def from_config(self, config: dict[str, Any]) -> Any:
        """Import the class and make an object of it."""
        return getattr(importlib.import_module(self._module), self._name).from_config(config)


def register_saved_classes(module: str, names: Iterable[str]) -> None:
    """Tell Keras, whoever imports it, the classes of a module under "bert_data>NAME"."""

    def register(keras: ModuleType) -> None:
        objects = keras.saving.get_custom_objects()
        for name in names:
            objects.setdefault(f"bert_data>{name}", _Deferred(module, name))

    wrapt.register_post_import_hook(register, "keras")
