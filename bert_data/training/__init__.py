"""BERT pretraining: the model, its losses and optimizer, the loop, checkpoints and evaluation.

    config ─▶ encoder + heads = model ─┬▶ steps ─▶ loop ─▶ checkpoints, run_output
    tf.data ─▶ batches ────────────────┤
                                       └▶ evaluate, predict

Start with `pretraining_model` for Keras's own loop, with `train` for this project's, and with
`load_pretrained` for a trained model.

Names that need TensorFlow import it when they are first used. Keras finds the saved classes by
their names as soon as this package is imported: `keras.models.load_model("m.keras")` then imports
the module of "bert_data>PretrainingModel".
"""

import functools
import os
import sys
from types import ModuleType
from typing import TYPE_CHECKING, Any

import wrapt

from bert_data.packages import import_on_use
from bert_data.quiet_tensorflow import import_tensorflow
from bert_data.training.config import BertConfig
from bert_data.training.training_config import DistributionConfig, OptimizerConfig, TrainingConfig

if TYPE_CHECKING:
    from bert_data.training.checkpoints import Checkpoint, last_whole_checkpoint, latest_checkpoint
    from bert_data.training.classifier import TextClassifier, load_encoder, text_classifier
    from bert_data.training.distribution import is_chief, make_strategy, num_hosts
    from bert_data.training.evaluation import best_guesses, evaluate, load_pretrained
    from bert_data.training.loop import train
    from bert_data.training.losses import WeightedAccuracy
    from bert_data.training.model import PretrainingModel, pretraining_model
    from bert_data.training.optimizer import AdamWeightDecay, Lamb, WarmupLinearDecay
    from bert_data.training.run_output import HeldOutData, write_results
    from bert_data.training.state import open_weights, write_checkpoint

# Keras reads this when it is first imported; a user's own setting may name another backend.
os.environ.setdefault("KERAS_BACKEND", "tensorflow")

__getattr__ = import_on_use(
    __name__,
    {
        "checkpoints": "Checkpoint last_whole_checkpoint latest_checkpoint",
        "classifier": "TextClassifier load_encoder text_classifier",
        "distribution": "is_chief make_strategy num_hosts",
        "evaluation": "best_guesses evaluate load_pretrained",
        "state": "open_weights write_checkpoint",
        "loop": "train",
        "losses": "WeightedAccuracy",
        "model": "PretrainingModel pretraining_model",
        "optimizer": "AdamWeightDecay Lamb WarmupLinearDecay",
        "run_output": "HeldOutData write_results",
    },
    before=functools.partial(import_tensorflow, finds_devices=False),
)

SAVED_CLASSES = (
    "AdamWeightDecay",
    "Lamb",
    "PretrainingModel",
    "TextClassifier",
    "WarmupLinearDecay",
    "WeightedAccuracy",
)


class _Deferred:
    """Stands for a class until Keras makes an object of it."""

    def __init__(self, name: str) -> None:
        self._name = name

    def from_config(self, config: dict[str, Any]) -> Any:
        """Import the class and make an object of it."""
        return getattr(sys.modules[__name__], self._name).from_config(config)


def _register_saved_classes(keras: ModuleType) -> None:
    objects = keras.saving.get_custom_objects()
    for name in SAVED_CLASSES:
        objects.setdefault(f"bert_data>{name}", _Deferred(name))


wrapt.register_post_import_hook(_register_saved_classes, "keras")  # whoever imports it

__all__ = [
    "AdamWeightDecay",
    "BertConfig",
    "Checkpoint",
    "DistributionConfig",
    "HeldOutData",
    "Lamb",
    "OptimizerConfig",
    "PretrainingModel",
    "TextClassifier",
    "TrainingConfig",
    "WarmupLinearDecay",
    "WeightedAccuracy",
    "best_guesses",
    "evaluate",
    "is_chief",
    "last_whole_checkpoint",
    "latest_checkpoint",
    "load_encoder",
    "load_pretrained",
    "make_strategy",
    "num_hosts",
    "open_weights",
    "pretraining_model",
    "text_classifier",
    "train",
    "write_checkpoint",
    "write_results",
]
