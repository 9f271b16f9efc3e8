"""BERT pretraining: the model, its losses and optimizer, the loop, checkpoints and evaluation.

    config ─▶ encoder + heads = model ─┬▶ steps ─▶ loop ─▶ checkpoints, report
    tf.data ─▶ batches ────────────────┤
                                       └▶ evaluate, predict

Start with `pretraining_model` for Keras's own loop, with `train` for this project's, and with
`load_pretrained` for a trained model.

Names that need TensorFlow import it when they are first used.
"""

import functools
import os
from typing import TYPE_CHECKING

from bert_data.packages import import_on_use
from bert_data.quiet_tensorflow import import_tensorflow
from bert_data.training.config import BertConfig
from bert_data.training.saved_classes import register_saved_classes
from bert_data.training.training_config import DistributionConfig, OptimizerConfig, TrainingConfig

if TYPE_CHECKING:
    from bert_data.training.checkpoints import Checkpoint, last_whole_checkpoint, latest_checkpoint
    from bert_data.training.classifier import TextClassifier, load_encoder, text_classifier
    from bert_data.training.distribution import is_chief, make_strategy, num_hosts
    from bert_data.training.evaluation import best_guesses, evaluate, load_pretrained, write_results
    from bert_data.training.init_checkpoint import open_weights, write_checkpoint
    from bert_data.training.loop import train
    from bert_data.training.model import PretrainingModel, pretraining_model
    from bert_data.training.optimizer import AdamWeightDecay, Lamb, WarmupLinearDecay
    from bert_data.training.run_output import HeldOutData

# Keras reads this when it is first imported; a user's own setting may name another backend.
os.environ.setdefault("KERAS_BACKEND", "tensorflow")
register_saved_classes()

__getattr__ = import_on_use(
    __name__,
    {
        "checkpoints": "Checkpoint last_whole_checkpoint latest_checkpoint",
        "classifier": "TextClassifier load_encoder text_classifier",
        "distribution": "is_chief make_strategy num_hosts",
        "evaluation": "best_guesses evaluate load_pretrained write_results",
        "init_checkpoint": "open_weights write_checkpoint",
        "loop": "train",
        "model": "PretrainingModel pretraining_model",
        "optimizer": "AdamWeightDecay Lamb WarmupLinearDecay",
        "run_output": "HeldOutData",
    },
    before=functools.partial(import_tensorflow, finds_devices=False),
)

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
