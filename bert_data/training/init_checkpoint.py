"""Load weights from a checkpoint into a model, by name.

    released bert_model.ckpt:  bert/encoder/layer_0/output/dense/kernel [3072, 768]  ->  model
    this program's:            the same names

Both are read in the same way; an optimizer's variables (adam_m, adam_v) are ignored.
"""

import keras
from absl import logging

from bert_data.training.checkpoints import Checkpoint
from bert_data.training.model import PretrainingModel, named_weights


def load_weights(model: PretrainingModel, path: str) -> None:
    """Assign all weights of the model, or none.

    Args:
      model: receives the weights.
      path: prefix of a checkpoint (".../bert_model.ckpt"), or a folder, which stands for its last
        one.

    Raises:
      ValueError: there is no checkpoint, or it lacks a variable or has it in another shape.
      CorruptDataError: the checkpoint is damaged.
    """
    checkpoint = Checkpoint(path)
    weights = named_weights(model)
    check_shapes(checkpoint, weights)
    for name, variable in weights.items():
        variable.assign(checkpoint.read(name))
    logging.info("%d variables initialized from %s", len(weights), checkpoint.prefix)


def check_shapes(checkpoint: Checkpoint, weights: dict[str, keras.Variable]) -> None:
    """Raise ValueError for a variable that the checkpoint lacks or has in another shape."""
    for name, variable in weights.items():
        if name not in checkpoint:
            num_missing = sum(other not in checkpoint for other in weights)
            raise ValueError(
                f"checkpoint {checkpoint.prefix} has no variable {name!r}, which the model needs"
                f" ({num_missing} of {len(weights)} are missing)"
            )
        if list(variable.shape) != list(checkpoint.shapes[name]):
            raise ValueError(
                f"variable {name!r} is {list(variable.shape)} in the model's configuration and"
                f" {list(checkpoint.shapes[name])} in checkpoint {checkpoint.prefix}"
            )
