"""The state of a training run: all that a run needs to continue as if it had never stopped.

    weights              bert/..., cls/...
    slots of Adam        bert/.../adam_m, bert/.../adam_v      (names as in Google's checkpoints)
    steps done           global_step
    place in the data    see `DataPlace`
    settings             global_step/settings, to report what has changed
    scale of the loss    global_step/loss_scale, global_step/num_good_steps (float16 only)
    bias correction      global_step/num_updates (LAMB only)

Programs that convert Google's checkpoints skip the variables of Adam and all of `global_step`, so
those that theirs do not have are named under it. The data, the order of batches and the zeros of
dropout follow from seeds and the number of the step.

Weights alone also come from released checkpoints, which have the same names, and from folders of
Hugging Face.
"""

import dataclasses
import json
import os
from collections.abc import Mapping
from typing import Any

import keras
import numpy as np
import tensorflow as tf
from absl import logging

from bert_data.checks import check_integer
from bert_data.storage import parse_json
from bert_data.training.checkpoints import (
    Checkpoint,
    claim_output_folder,
    save_checkpoint,
    steps_of_name,
    write_config,
)
from bert_data.training.hugging_face_weights import HuggingFaceFolder, find_hugging_face_folder
from bert_data.training.keras_model import KerasModel
from bert_data.training.model import PretrainingModel
from bert_data.training.model_vocabulary import ModelVocabulary, keep_vocabulary
from bert_data.training.optimizer import LOSS_SCALE, NUM_GOOD_STEPS, NUM_UPDATES, AdamWeightDecay

DESCRIPTION = "global_step/data_description"
NUM_BATCHES = "global_step/num_batches"
RECIPE = "recipe"  # in a description: what a recipe reads
_MOST_DIFFERENCES = 3  # that a message names


class DataPlace:
    """The place in data that can be read from any batch on.

    Attributes:
      description: text that says which batches there are and in which order; if it is a JSON
        object, a warning that it differs tells the values that do.
      first_batch: the number of the batch from which this process reads.
    """

    def __init__(self, description: str = "") -> None:
        self.description, self.first_batch = description, 0

    def next_batch(self, num_read: int) -> int:
        """Return the number of the batch that comes after those that this process has read."""
        return self.first_batch + num_read

    def values(self, num_read: int) -> dict[str, Any]:
        """Return what a checkpoint keeps."""
        return {
            NUM_BATCHES: np.int64(self.next_batch(num_read)),
            DESCRIPTION: np.array(self.description, object),
        }

    def restore(self, checkpoint: Checkpoint) -> None:
        """Go to the place of a checkpoint, or to the beginning if it was read from other data."""
        self.first_batch = 0
        if DESCRIPTION not in checkpoint:
            logging.warning(
                "checkpoint %s does not say which data were read: reading starts at the beginning",
                checkpoint.prefix,
            )
            return
        before = tf.compat.as_text(checkpoint.read(DESCRIPTION))
        if not _are_same(before, self.description):
            logging.warning(
                "the data or the way to read them differ from those of checkpoint %s: reading"
                " starts at the beginning (%s)",
                checkpoint.prefix, what_differs(before, self.description),
            )  # fmt: skip
            return
        self.first_batch = int(checkpoint.read(NUM_BATCHES))


def _are_same(before: str, now: str) -> bool:
    order = order_of(before)
    return before == now or (order is not None and order == order_of(now))


def order_of(description: str) -> dict[str, Any] | None:
    """Return a description as this release has it; None: it is not a JSON object."""
    try:
        order = json.loads(description)
    except ValueError:
        return None
    if not isinstance(order, dict):
        return None
    # Earlier releases did not name the version of a plan, 1.
    return {"plan_version": 1} | order if "batching" in order else order


def check_own_checkpoint(prefix: str, description: str) -> None:
    """Refuse a checkpoint in a run's folder that is another run's, or was renamed.

    Args:
      description: of what the run reads, see `DataPlace`.
    """
    checkpoint, steps = Checkpoint(prefix), steps_of_name(prefix)
    if steps is not None and GLOBAL_STEP in checkpoint:
        done = int(checkpoint.read(GLOBAL_STEP))
        if steps != done:
            raise ValueError(
                f"{prefix} has done {done:,} steps, and not those of its name: it was renamed, and"
                " may be another run's"
            )
    if DESCRIPTION not in checkpoint:
        return
    orders = order_of(tf.compat.as_text(checkpoint.read(DESCRIPTION))), order_of(description)
    before, now = (None if each is None else RECIPE in each for each in orders)
    if None not in (before, now) and before != now:
        ways = ("on records", "by a recipe")
        raise ValueError(
            f"{prefix} was trained {ways[bool(before)]}, and this run trains {ways[bool(now)]}: use"
            " another output_dir; `continue_from` takes over a checkpoint"
        )


def what_differs(before: str, now: str, most: int = _MOST_DIFFERENCES) -> str:
    """Return the first values that differ in two JSON objects, or two other texts."""
    old, new = order_of(before), order_of(now)
    if old is None or new is None:
        return f"before: {before}; now: {now}"
    names = [name for name in {**new, **old} if old.get(name) != new.get(name)]
    differences = [
        f"{name} was {_shown(old.get(name))} and is {_shown(new.get(name))}"
        for name in names[:most]
    ]
    if len(names) > len(differences):
        differences.append(f"{len(names) - len(differences)} more")
    return "; ".join(differences)


def _shown(value: Any) -> Any:
    return "not set" if value is None else value


Weights = Checkpoint | HuggingFaceFolder

_HEADS = ("cls/", "bert/pooler/")
GLOBAL_STEP = "global_step"
SETTINGS = f"{GLOBAL_STEP}/settings"
_OPTIONAL = (LOSS_SCALE, NUM_GOOD_STEPS, NUM_UPDATES)


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
    num_kept = check_integer("num_kept", num_kept, 1, 2**31 - 1)
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


@dataclasses.dataclass(kw_only=True)
class TrainingState:
    """A model, its optimizer and the place in the data.

    Attributes:
      optimizer: built on the model's variables.
      settings: of the run, by name; JSON. A run that continues with others logs what differs.
      data: what it reads, and where it is.
      first_step: the number of steps done when this run, or its continuation, began.
    """

    model: PretrainingModel
    optimizer: AdamWeightDecay
    settings: Mapping[str, Any] = dataclasses.field(default_factory=dict)
    data: DataPlace = dataclasses.field(default_factory=DataPlace)
    first_step: int = 0

    @property
    def step(self) -> int:
        """Number of steps done."""
        return int(self.optimizer.iterations.numpy())

    @property
    def next_batch(self) -> int:
        """Number of the batch that the next step reads, from 0."""
        return self.data.next_batch(self._num_read)

    @property
    def _num_read(self) -> int:
        batches_per_step = self.optimizer.gradient_accumulation_steps or 1
        return (self.step - self.first_step) * batches_per_step

    def values(self) -> dict[str, np.ndarray]:
        """Return the content of a checkpoint."""
        values: dict[str, Any] = self.model.released_values()
        values |= {name: slot.numpy() for name, slot in self._slots().items()}
        values[GLOBAL_STEP] = np.int64(self.step)
        values |= self.data.values(self._num_read)
        values[SETTINGS] = np.array(json.dumps(self.settings), object)
        return values

    def restore(self, path: str) -> None:
        """Go back to a checkpoint; Google's lack the place in the data."""
        checkpoint = self.take_moments(path)
        step = int(checkpoint.read(GLOBAL_STEP))
        self.optimizer.iterations.assign(step)
        self.first_step = step
        self.data.restore(checkpoint)
        self._log_changes(checkpoint)

    def take_moments(self, path: str) -> Checkpoint:
        """Take the weights and the optimizer's moments of a checkpoint, but not its steps."""
        checkpoint = Checkpoint(path)
        slots = self._slots()
        # Runs without float16, or of the other optimizer, do not save these.
        missing = [name for name in _OPTIONAL if name not in checkpoint]
        weights = self.model.released_weights()
        check_shapes(checkpoint, weights)
        for name in (*slots, GLOBAL_STEP):
            if name not in checkpoint and name not in missing:
                raise ValueError(
                    f"checkpoint {checkpoint.prefix} has weights but no {name!r} of an optimizer:"
                    " continue_with=weights or init_checkpoint take the weights alone"
                )
        variables = {n: v for n, v in {**weights, **slots}.items() if n not in missing}
        assign_weights(checkpoint, variables)
        if NUM_UPDATES in slots and NUM_UPDATES in missing:
            slots[NUM_UPDATES].assign(int(checkpoint.read(GLOBAL_STEP)))
        return checkpoint

    def _log_changes(self, checkpoint: Checkpoint) -> None:
        if SETTINGS not in checkpoint:
            return
        before = tf.compat.as_text(checkpoint.read(SETTINGS))
        names = parse_json(before, checkpoint.prefix)
        now = json.dumps({name: v for name, v in self.settings.items() if name in names})
        if before != now:
            changes = what_differs(before, now, len(self.settings))
            logging.warning("not as in the run of %s: %s", checkpoint.prefix, changes)

    def _slots(self) -> dict:
        weights = self.model.released_weights()
        return self.optimizer.named_slots({n: v for n, v in weights.items() if v.trainable})
