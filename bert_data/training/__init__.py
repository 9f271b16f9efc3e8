"""BERT pretraining: the model, its losses and optimizer, the loop, checkpoints and evaluation.

    bert_config ─▶ encoder + heads = model ─┬▶ steps ─▶ loop ─▶ checkpoints, run_output
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
from typing import TYPE_CHECKING

from bert_data.packages import import_on_use
from bert_data.quiet_tensorflow import import_tensorflow
from bert_data.training.bert_config import BertConfig as BertConfig
from bert_data.training.saved_classes import register_saved_classes
from bert_data.training.training_config import DistributionConfig as DistributionConfig
from bert_data.training.training_config import OptimizerConfig as OptimizerConfig
from bert_data.training.training_config import TrainingConfig as TrainingConfig

if TYPE_CHECKING:
    from bert_data.training.checkpoints import Checkpoint as Checkpoint
    from bert_data.training.checkpoints import last_whole_checkpoint as last_whole_checkpoint
    from bert_data.training.checkpoints import latest_checkpoint as latest_checkpoint
    from bert_data.training.data_place import DataPlaceCallback as DataPlaceCallback
    from bert_data.training.distribution import is_chief as is_chief
    from bert_data.training.distribution import make_strategy as make_strategy
    from bert_data.training.distribution import num_hosts as num_hosts
    from bert_data.training.evaluation import best_guesses as best_guesses
    from bert_data.training.evaluation import evaluate as evaluate
    from bert_data.training.evaluation import load_pretrained as load_pretrained
    from bert_data.training.loop import train as train
    from bert_data.training.losses import WeightedAccuracy as WeightedAccuracy
    from bert_data.training.model import PretrainingModel as PretrainingModel
    from bert_data.training.model import pretraining_model as pretraining_model
    from bert_data.training.optimizer import AdamWeightDecay as AdamWeightDecay
    from bert_data.training.optimizer import Lamb as Lamb
    from bert_data.training.optimizer import WarmupLinearDecay as WarmupLinearDecay
    from bert_data.training.run_output import HeldOutData as HeldOutData
    from bert_data.training.run_output import write_results as write_results
    from bert_data.training.state import open_weights as open_weights
    from bert_data.training.state import write_checkpoint as write_checkpoint

# Keras reads this when it is first imported; a user's own setting may name another backend.
os.environ.setdefault("KERAS_BACKEND", "tensorflow")

__getattr__, __all__ = import_on_use(
    __name__, before=functools.partial(import_tensorflow, finds_devices=False)
)

SAVED_CLASSES = (
    "AdamWeightDecay",
    "Lamb",
    "PretrainingModel",
    "WarmupLinearDecay",
    "WeightedAccuracy",
)
register_saved_classes(__name__, SAVED_CLASSES)
