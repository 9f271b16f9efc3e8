"""Load weights into a model, by their names in Google's checkpoints.

    released bert_model.ckpt:  bert/encoder/layer_0/output/dense/kernel [3072, 768]  ->  model
    this program's:            the same names
    Hugging Face's folder:     bert.encoder.layer.0.output.dense.weight [768, 3072]

What else a checkpoint has, such as an optimizer's variables (adam_m, adam_v), is ignored.
"""

import keras
from absl import logging

from bert_data.training.checkpoints import Checkpoint
from bert_data.training.hugging_face import HuggingFaceFolder, find_hugging_face_folder
from bert_data.training.model import PretrainingModel, named_weights

Weights = Checkpoint | HuggingFaceFolder

_HEADS = ("cls/", "bert/pooler/")


def open_weights(path: str) -> Weights:
    """Open the weights of a model.

    Args:
      path: prefix of a checkpoint (".../bert_model.ckpt"); a folder, which stands for its last one;
        or a folder of Hugging Face with its weights as safetensors.

    Raises:
      ValueError: there are no weights.
    """
    folder = find_hugging_face_folder(path)
    return Checkpoint(path) if folder is None else HuggingFaceFolder(folder)


def load_weights(model: PretrainingModel, path: str, *, fresh_heads: bool = False) -> None:
    """Assign all weights of the model, or none.

    Args:
      path: of the weights, see `open_weights`.
      fresh_heads: whether the pooler and the pretraining heads keep their initial weights where a
        folder of Hugging Face has none, as that of a model without them.

    Raises:
      ValueError: there are no weights, or one is missing or has another shape.
    """
    checkpoint = open_weights(path)
    weights = named_weights(model)
    if fresh_heads and checkpoint.may_lack_heads:
        missing = [n for n in weights if n.startswith(_HEADS) and n not in checkpoint]
        weights = {name: weights[name] for name in weights if name not in missing}
        if missing:
            logging.warning(
                "%s has no %s: they keep their initial weights",
                *(checkpoint.prefix, ", ".join(missing)),
            )
    assign_weights(checkpoint, weights)
    logging.info("%d variables initialized from %s", len(weights), checkpoint.prefix)


def assign_weights(checkpoint: Weights, weights: dict[str, keras.Variable]) -> None:
    """Assign all variables, or none.

    Raises:
      ValueError: see `check_shapes`.
    """
    check_shapes(checkpoint, weights)
    for name, variable in weights.items():
        variable.assign(checkpoint.read(name))


def check_shapes(checkpoint: Weights, weights: dict[str, keras.Variable]) -> None:
    """Raise ValueError for a variable that the checkpoint lacks or has in another shape."""
    for name, variable in weights.items():
        if name not in checkpoint:
            num_missing = sum(other not in checkpoint for other in weights)
            raise ValueError(
                f"checkpoint {checkpoint.prefix} has no variable {name!r}, which the model needs"
                f" ({num_missing} of {len(weights)} are missing)"
            )
        if list(variable.shape) != list(checkpoint.shape(name)):
            raise ValueError(
                f"variable {name!r} is {list(variable.shape)} in the model's configuration and"
                f" {list(checkpoint.shape(name))} in checkpoint {checkpoint.prefix}"
            )
