"""Lets Keras load models of this package, whose modules are not imported yet.

import bert_data.training                imports neither Keras nor TensorFlow
keras.models.load_model("m.keras")       finds "bert_data>PretrainingModel" and imports its module
"""

import importlib
from types import ModuleType
from typing import Any

import wrapt

CLASSES = {
    "AdamWeightDecay": "optimizer",
    "Lamb": "optimizer",
    "PretrainingModel": "model",
    "TextClassifier": "classifier",
    "WarmupLinearDecay": "optimizer",
    "WeightedAccuracy": "losses",
}
"""What is registered with Keras, and the module of this package that it is in."""


class _Deferred:
    """Stands for a class until Keras makes an object of it."""

    def __init__(self, name: str) -> None:
        self._name = name

    def from_config(self, config: dict[str, Any]) -> Any:
        """Import the class and make an object of it."""
        module = importlib.import_module(f"bert_data.training.{CLASSES[self._name]}")
        return getattr(module, self._name).from_config(config)


def register_saved_classes() -> None:
    """Register the classes' names as soon as Keras is imported, by whomever."""
    wrapt.register_post_import_hook(_register, "keras")


def _register(keras: ModuleType) -> None:
    objects = keras.saving.get_custom_objects()
    for name in CLASSES:
        objects.setdefault(f"bert_data>{name}", _Deferred(name))
