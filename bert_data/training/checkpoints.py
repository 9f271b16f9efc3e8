"""Checkpoints in the format of Google's: a bundle of named tensors, and a file that lists bundles.

    {"bert/embeddings/word_embeddings": ..., "global_step": 100}
        ->  model.ckpt-100.index, model.ckpt-100.data-00000-of-00001, checkpoint

The index appears last, by rename: a bundle that has one is whole. What reads released checkpoints
reads these too (`tf.train.load_checkpoint`), and the other way round.
"""

import os
import re
from collections.abc import Iterable, Mapping

import numpy as np
import tensorflow as tf
from absl import logging

from bert_data.errors import CorruptDataError
from bert_data.storage import exists, is_folder, list_folder, remove, remove_abandoned, write_bytes

_NAME = "model.ckpt"
_STATE = "checkpoint"
_LEFT_OVER = re.compile(rf"{re.escape(_NAME)}-\d+\..*tempstate.*")


class Checkpoint:
    """The named tensors of one bundle.

    Attributes:
      prefix: path without ".index".
      shapes: of all tensors, by name.
    """

    def __init__(self, prefix: str) -> None:
        """Opens the index.

        Raises:
          ValueError: there is no checkpoint of this name.
          CorruptDataError: there is one, and it is damaged.
        """
        self.prefix = latest_checkpoint(prefix) or prefix  # a folder stands for its last one
        if not exists(self.prefix + ".index"):
            raise ValueError(f"there is no checkpoint {prefix!r} (no file {self.prefix}.index)")
        try:
            self._reader = tf.train.load_checkpoint(self.prefix)
            self.shapes: dict[str, list[int]] = self._reader.get_variable_to_shape_map()
        except (tf.errors.OpError, ValueError, RuntimeError) as error:
            raise CorruptDataError(self.prefix + ".index", 0, _first_line(error)) from None

    def __contains__(self, name: str) -> bool:
        return name in self.shapes

    def read(self, name: str) -> np.ndarray | bytes:
        """The tensor `name`.

        Raises:
          ValueError: the checkpoint has no such tensor.
          CorruptDataError: its bytes are damaged.
        """
        if name not in self.shapes:
            raise ValueError(f"checkpoint {self.prefix} has no variable {name!r}")
        try:
            return self._reader.get_tensor(name)
        except (tf.errors.OpError, RuntimeError) as error:
            raise CorruptDataError(self.prefix, 0, f"{name}: {_first_line(error)}") from None


def latest_checkpoint(folder: str) -> str | None:
    """Prefix of the last checkpoint of a folder, or None."""
    if not is_folder(folder):
        return None
    return tf.train.latest_checkpoint(folder)


def save_checkpoint(
    folder: str, step: int, values: Mapping[str, np.ndarray | tf.Tensor], *, num_kept: int
) -> str:
    """Writes a checkpoint and removes the oldest ones.

    Args:
      folder: to write to; it exists.
      step: number of the checkpoint.
      values: tensors by name.
      num_kept: how many to keep, >= 1.

    Returns:
      The prefix.
    """
    prefix = os.path.join(folder, f"{_NAME}-{step}")
    names = sorted(values)
    with tf.device("cpu:0"):
        tf.raw_ops.SaveV2(
            prefix=prefix,
            tensor_names=names,
            shape_and_slices=[""] * len(names),
            tensors=[tf.convert_to_tensor(values[name]) for name in names],
        )
    kept = [name for name in _listed(folder) if name != os.path.basename(prefix)]
    kept.append(os.path.basename(prefix))
    dropped, kept = kept[:-num_kept], kept[-num_kept:]
    _write_state(folder, kept)
    for name in dropped:
        _remove_bundle(folder, name)
    return prefix


def remove_left_overs(folder: str) -> None:
    """Removes what a run that was killed while it wrote has left, whole bundles excepted."""
    remove_abandoned(folder)
    for name in list_folder(folder):
        if _LEFT_OVER.fullmatch(name):
            logging.info("removing %s, which a killed run has left", name)
            remove(os.path.join(folder, name))


def _listed(folder: str) -> list[str]:
    """Names of the checkpoints that the folder's list holds and that exist, oldest first."""
    state = tf.train.get_checkpoint_state(folder)
    paths: Iterable[str] = state.all_model_checkpoint_paths if state else ()
    names = [os.path.basename(path) for path in paths]
    return [name for name in names if exists(os.path.join(folder, f"{name}.index"))]


def _write_state(folder: str, names: list[str]) -> None:
    """Writes the text that `tf.train.latest_checkpoint` reads."""
    lines = [f'model_checkpoint_path: "{names[-1]}"\n']
    lines += [f'all_model_checkpoint_paths: "{name}"\n' for name in names]
    write_bytes(os.path.join(folder, _STATE), "".join(lines).encode())


def _remove_bundle(folder: str, name: str) -> None:
    """Removes the index first: without it the rest is no checkpoint."""
    remove(os.path.join(folder, f"{name}.index"))
    for each in list_folder(folder):
        if each.startswith(f"{name}.data-"):
            remove(os.path.join(folder, each))


def _first_line(error: Exception) -> str:
    return str(error).strip().splitlines()[0].rstrip(".") if str(error).strip() else repr(error)
