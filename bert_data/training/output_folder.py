"""The folder of a training run: checkpoints, events, and the configuration they belong to.

    output_dir/bert_config.json, checkpoint, model.ckpt-*, events.*, metrics.jsonl
               best/, eval/, eval_results.txt

A run of another configuration is refused, and so is a second run while one trains in the folder.
"""

import contextlib
import dataclasses
import errno
import os
from collections.abc import Iterator

from absl import logging

from bert_data.storage import (
    RunLock,
    exists,
    hidden_path,
    is_folder,
    is_remote,
    make_folder,
    write_bytes,
)
from bert_data.training.checkpoints import latest_checkpoint, remove_left_overs
from bert_data.training.config import BertConfig

_CONFIG, _OF_HUGGING_FACE = "bert_config.json", "config.json"
_LOCKED = "model.ckpt"  # the lock is .model.ckpt.lock
_MAY_CHANGE = ("hidden_dropout_prob", "attention_probs_dropout_prob", "initializer_range")


@contextlib.contextmanager
def claim_output_folder(folder: str, config: BertConfig, *, write: bool = True) -> Iterator[None]:
    """Make the folder of a run, and keep other runs out meanwhile.

    What a killed run has left half-written is removed. A remote folder (gs://...) has no lock.

    Args:
      write: false in workers that only check whether the folder is another model's.

    Raises:
      ValueError: the folder has checkpoints of a model of another configuration.
      OSError: the folder cannot be made or written, or another run trains in it.
    """
    with contextlib.ExitStack() as stack:
        try:
            make_folder(folder)
        except OSError as error:
            raise OSError(f"cannot write to output_dir {folder!r}: {error.strerror}") from None
        if write and not is_remote(folder):
            stack.callback(_lock(folder).release)
        if latest_checkpoint(folder) is not None:
            check_same_model(
                folder, config, "use another output_dir, or the model's own configuration"
            )
        if write:
            remove_left_overs(folder)
        yield


def write_config(folder: str, config: BertConfig) -> None:
    """Write the configuration of a run's model, which its checkpoints must fit.

    A file that says the same stays as it is: it may be the one that the user passed.
    """
    path = os.path.join(folder, _CONFIG)
    if not exists(path) or BertConfig.from_json_file(path) != config:
        write_bytes(path, config.to_json().encode())


def _lock(folder: str) -> RunLock:
    try:
        return RunLock(hidden_path(os.path.join(folder, _LOCKED), "lock"))
    except BlockingIOError:
        reason = "another run is training in this folder"
        raise BlockingIOError(errno.EAGAIN, reason, folder) from None


def folder_config(folder: str) -> BertConfig | None:
    """Return the configuration of the checkpoints in a folder, or None if there is none.

    It is that of bert_config.json, or of a config.json of Hugging Face.

    Raises:
      ValueError: see `BertConfig.from_json_file`.
    """
    for name in (_CONFIG, _OF_HUGGING_FACE):
        if exists(path := os.path.join(folder, name)):
            return BertConfig.from_json_file(path)
    return None


def check_same_model(path: str, config: BertConfig, advice: str) -> None:
    """Check that checkpoints are of a model; settings that may change are logged if they have.

    Args:
      path: the folder of the checkpoints, or the prefix of one.

    Raises:
      ValueError: a size differs from that in the folder's configuration, if it has one.
    """
    folder = path if is_folder(path) else os.path.dirname(path) or os.curdir
    before = folder_config(folder)
    if before is None:
        return
    for field in dataclasses.fields(BertConfig):
        old, new = getattr(before, field.name), getattr(config, field.name)
        if old == new:
            continue
        if field.name not in _MAY_CHANGE:
            raise ValueError(
                f"{folder} holds checkpoints of a model whose {field.name} is {old}, not {new}:"
                f" {advice}"
            )
        logging.warning("%s was %s in %s and is %s now", field.name, old, folder, new)
