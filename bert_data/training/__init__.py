"""BERT pretraining: the model, its losses and optimizer, the loop, checkpoints and evaluation.

    config ─▶ encoder + heads = model ─┬▶ steps ─▶ loop ─▶ checkpoints, report
    tf.data ─▶ batches ────────────────┤
                                       └▶ evaluate, predict

Start with `pretraining_model` for Keras's own loop, with `train` for this project's, and with
`load_pretrained` for a trained model.
"""

import os

# Keras reads this when it is first imported; a user's own setting may name another backend.
os.environ.setdefault("KERAS_BACKEND", "tensorflow")

import keras

from bert_data.training.checkpoints import Checkpoint, last_whole_checkpoint, latest_checkpoint
from bert_data.training.config import BertConfig
from bert_data.training.distribution import DistributionConfig, is_chief, make_strategy, num_hosts
from bert_data.training.evaluate import evaluate, write_results
from bert_data.training.loop import train
from bert_data.training.model import PretrainingModel, pretraining_model
from bert_data.training.optimizer import AdamWeightDecay, WarmupLinearDecay
from bert_data.training.predict import best_guesses, load_pretrained
from bert_data.training.training_config import TrainingConfig

if keras.backend.backend() != "tensorflow":
    raise ImportError(f"Keras runs on {keras.backend.backend()}; set KERAS_BACKEND=tensorflow")

__all__ = [
    "AdamWeightDecay",
    "BertConfig",
    "Checkpoint",
    "DistributionConfig",
    "PretrainingModel",
    "TrainingConfig",
    "WarmupLinearDecay",
    "best_guesses",
    "evaluate",
    "is_chief",
    "last_whole_checkpoint",
    "latest_checkpoint",
    "load_pretrained",
    "make_strategy",
    "num_hosts",
    "pretraining_model",
    "train",
    "write_results",
]
