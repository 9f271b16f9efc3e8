"""Load weights into a model, and write those of one, by their names in Google's checkpoints.

    released bert_model.ckpt:  bert/encoder/layer_0/output/dense/kernel [3072, 768]  ->  model
    this program's:            the same names
    Hugging Face's folder:     bert.encoder.layer.0.output.dense.weight [768, 3072]

Other variables of a checkpoint, such as an optimizer's (adam_m, adam_v), are ignored.
"""

import os

import keras
import numpy as np
from absl import logging

from bert_data.settings import check_integer
from bert_data.training.checkpoints import (
    Checkpoint,
    claim_output_folder,
    save_checkpoint,
    write_config,
)
from bert_data.training.hugging_face import HuggingFaceFolder, find_hugging_face_folder
from bert_data.training.model import KerasModel, PretrainingModel
from bert_data.training.model_vocabulary import ModelVocabulary, keep_vocabulary
from bert_data.training.optimizer import AdamWeightDecay

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
      fresh_heads: whether the pooler and the pretraining heads keep their initial weights where a
        folder of Hugging Face has none, as that of a model without them.

    Raises:
      ValueError: there are no weights, or one is missing or has another shape.
    """
    checkpoint = open_weights(path)
    weights = model.released_weights()
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
    """Assign all variables, or none; for errors see `check_shapes`."""
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


def write_checkpoint(
    model: KerasModel,
    folder: str | os.PathLike[str],
    *,
    vocab_file: str | os.PathLike[str] | None = None,
    num_kept: int = 5,
) -> str:
    """Write the weights of a model, and its optimizer's moments if it has those of `bert_data`.

    With the moments, `run_pretraining.py --output_dir=FOLDER` continues the training.

    Args:
      model: of `pretraining_model` or `text_classifier`.
      folder: receives the checkpoint, which is named after the number of updates, and
        bert_config.json.
      vocab_file: the model's vocabulary, which is kept beside the checkpoint.
      num_kept: number of checkpoints to keep in the folder, >= 1; older ones are removed.

    Returns:
      The prefix of the checkpoint's files.

    Raises:
      ValueError: the model is another one, or the folder has checkpoints of another configuration.
      OSError: the checkpoint cannot be written, or a run trains in the folder.
    """
    if not isinstance(model, KerasModel):
        raise ValueError(
            f"write_checkpoint takes a model of pretraining_model or text_classifier, not a"
            f" {type(model).__name__}"
        )
    check_integer("num_kept", num_kept, 1, 2**31 - 1)
    folder = os.fspath(folder)
    values, step = model.released_values(), 0
    optimizer = getattr(model, "optimizer", None)
    if optimizer is not None:
        step = int(optimizer.iterations)
    if isinstance(optimizer, AdamWeightDecay) and optimizer.built:
        weights = {n: v for n, v in model.released_weights().items() if v.trainable}
        values |= {n: slot.numpy() for n, slot in optimizer.named_slots(weights).items()}
    values["global_step"] = np.array(step, np.int64)
    with claim_output_folder(folder, model.config):
        write_config(folder, model.config)
        if vocab_file is not None:
            keep_vocabulary(folder, ModelVocabulary.read(os.fspath(vocab_file)))
        return save_checkpoint(folder, step, values, num_kept=num_kept)
