"""Checkpoints in the format of Google's: bundles of named tensors, in the folder of a run.

    {"bert/embeddings/word_embeddings": ..., "global_step": 100}
        ->  model.ckpt-100.index, model.ckpt-100.data-00000-of-00001, checkpoint

The index appears last, by rename: a bundle that has one is whole. The file `checkpoint` lists the
bundles. What reads released checkpoints reads these too (`tf.train.load_checkpoint`), and the other
way round. Bundles in a remote folder are written locally and uploaded, the index last, and copied
to be read.

The folder also holds the configuration of its model: a run of another one is refused, and so is a
second run while one trains in the folder.
"""

import contextlib
import dataclasses
import errno
import os
import re
from collections.abc import Callable, Iterator, Mapping

import numpy as np
import tensorflow as tf
from absl import logging

from bert_data import storage
from bert_data.errors import CorruptDataError, first_sentence
from bert_data.training.bert_config import BertConfig

_CONFIG, _OF_HUGGING_FACE = "bert_config.json", "config.json"
_MAY_CHANGE = ("hidden_dropout_prob", "attention_probs_dropout_prob", "initializer_range")


_NAME = "model.ckpt"
_HEADS = "cls/"
_CUT_SHORT = "Read less bytes than requested"  # as TensorFlow says it
_LIST = "checkpoint"
_INDEX = re.compile(rf"({re.escape(_NAME)}-([0-9]+))\.index")
_LAST = re.compile(rb'^model_checkpoint_path: *"([^"]+)"', re.MULTILINE)
_FILES = r"\.(?:index|data-\d{5}-of-\d{5})"
_OF_BUNDLE = re.compile(rf"(?:\.meta|{_FILES})\Z")
_TEMPORARY = r"\.tempstate\d+"  # TensorFlow's ending of files that it is writing
_DATA = re.compile(rf"({re.escape(_NAME)}-[0-9]+)\.data-\d{{5}}-of-\d{{5}}")
_LEFT_OVER = re.compile(rf"{re.escape(_NAME)}-\d+{_FILES}{_TEMPORARY}")


class Checkpoint:
    """The named tensors of one bundle; `prefix` is its path without ".index"."""

    def __init__(self, prefix: str) -> None:
        """Open the index of a bundle; its files and its folder, of the last one, stand for it."""
        if not storage.exists(f"{prefix}.index"):
            prefix = _OF_BUNDLE.sub("", prefix)
        self.prefix = latest_checkpoint(prefix) or prefix
        if not storage.exists(self.prefix + ".index"):
            raise ValueError(f"there is no checkpoint {prefix!r} (no file {self.prefix}.index)")
        local = self.prefix
        if storage.is_remote(self.prefix):
            self._copies = storage.CopiedFolder(_files_of(self.prefix))
            local = os.path.join(self._copies.path, os.path.basename(self.prefix))
        with _reading(self.prefix + ".index"):
            self._reader = tf.train.load_checkpoint(local)
            self._shapes: dict[str, list[int]] = self._reader.get_variable_to_shape_map()

    def __contains__(self, name: str) -> bool:
        return name in self._shapes

    @property
    def may_lack_heads(self) -> bool:
        """Whether it has none of the pretraining heads' variables, as that of a classifier."""
        return not any(name.startswith(_HEADS) for name in self._shapes)

    @property
    def names(self) -> list[str]:
        """All tensors."""
        return list(self._shapes)

    def shape(self, name: str) -> list[int]:
        """Return the shape of a tensor that the checkpoint has."""
        return self._shapes[name]

    def read(self, name: str) -> np.ndarray | bytes:
        """Return a tensor."""
        if name not in self:
            raise ValueError(f"checkpoint {self.prefix} has no variable {name!r}")
        with _reading(self.prefix, f"{name}: "):
            return self._reader.get_tensor(name)


@contextlib.contextmanager
def _reading(path: str, what: str = "") -> Iterator[None]:
    try:
        yield
    except (tf.errors.OpError, ValueError, RuntimeError, LookupError, MemoryError) as error:
        reason = first_sentence(error)
        if _CUT_SHORT in reason:
            reason = "the checkpoint is cut short"
        raise CorruptDataError(path, 0, f"{what}{reason}") from None


def latest_checkpoint(folder: str) -> str | None:
    """Return the prefix of the last checkpoint of a folder, or None if it has none.

    It is the one that the file `checkpoint` names. If that file or its checkpoint is gone, as after
    copying model.ckpt-* alone, it is the one with the most steps. TensorFlow writes whole paths: a
    checkpoint of that name in this folder is meant, as the folder may have been moved or copied.

    Raises:
      ValueError: the file names a checkpoint of another folder, and this one has none of its name.
    """
    if not storage.is_folder(folder):
        return None
    with contextlib.suppress(OSError):
        for name in map(
            os.fsdecode, _LAST.findall(storage.read_bytes(os.path.join(folder, _LIST)))
        ):
            prefix = os.path.join(folder, os.path.basename(name))
            is_here = storage.exists(f"{prefix}.index")
            if is_here:
                return prefix
            if _is_elsewhere(folder, name):
                raise ValueError(
                    f"{os.path.join(folder, _LIST)} names {name}, which is not in this folder: let"
                    " it name a checkpoint that is, or remove the file"
                )
    prefixes = _list_checkpoints(folder)
    return prefixes[-1] if prefixes else None


def _is_elsewhere(folder: str, name: str) -> bool:
    """Whether a file `checkpoint` names a checkpoint of another folder, by a name or a path."""
    parent = os.path.dirname(name if storage.is_remote(name) else os.path.join(folder, name))
    if parent == folder.rstrip("/"):
        return False
    return storage.is_remote(parent) or storage.real_path(parent) != storage.real_path(folder)


def steps_of_name(prefix: str) -> int | None:
    """Return the steps that the name of a checkpoint says; None: it says none."""
    named = _INDEX.fullmatch(f"{os.path.basename(prefix)}.index")
    return None if named is None else int(named[2])


def last_whole_checkpoint(folder: str, *, use_older: bool = False) -> str | None:
    """Return the prefix of the last checkpoint of a folder after reading all of it.

    Args:
      use_older: whether an older checkpoint may take the place of a damaged one.

    Raises:
      CorruptDataError: the checkpoint is damaged; the error names an older one that is whole.
    """
    prefix = latest_checkpoint(folder)
    damage = None if prefix is None else _find_damage(prefix)
    if damage is None:
        return prefix
    prefixes = _list_checkpoints(folder)
    older = prefixes[: prefixes.index(prefix)] if prefix in prefixes else prefixes
    whole = next((each for each in reversed(older) if _find_damage(each) is None), None)
    if whole is None:
        raise damage
    if not use_older:
        advice = f"`use_older_checkpoint` continues from {whole}"
        raise CorruptDataError(damage.path, damage.offset, f"{damage.reason}; {advice}")
    logging.warning("%s; %s takes its place", damage, whole)
    return whole


def _find_damage(prefix: str) -> CorruptDataError | None:
    """Read a whole checkpoint, whose tensors have checksums; return the first error."""
    try:
        checkpoint = Checkpoint(prefix)
        for name in checkpoint.names:
            checkpoint.read(name)
    except CorruptDataError as error:
        return error
    return None


def save_checkpoint(
    folder: str,
    step: int,
    values: Mapping[str, np.ndarray | tf.Tensor],
    *,
    num_kept: int,
    is_own: Callable[[str], bool] = bool,
) -> str:
    """Write a checkpoint, remove the oldest ones, and return its prefix.

    Args:
      folder: to write to; a local one exists.
      is_own: whether a checkpoint, by its prefix, may be removed; every one by default.
    """
    prefix = os.path.join(folder, f"{_NAME}-{step}")
    _remove_bundle(prefix)  # of the same steps, done before; never half old and half new
    names, staged = sorted(values), storage.StagedFolder(folder)
    try:
        with naming_write(prefix), tf.device("cpu:0"):
            tf.raw_ops.SaveV2(
                prefix=os.path.join(staged.path, f"{_NAME}-{step}"),
                tensor_names=names,
                shape_and_slices=[""] * len(names),
                tensors=[tf.convert_to_tensor(values[name]) for name in names],
            )
        staged.upload(last=".index")
    except OSError:
        with contextlib.suppress(OSError):
            _remove_bundle(prefix)
        raise
    kept = list(filter(is_own, _list_checkpoints(folder, most_steps=step)))
    _write_list(folder, kept[-num_kept:])
    for each in kept[:-num_kept]:
        _remove_bundle(each)
    return prefix


def remove_other_checkpoints(prefix: str, is_own: Callable[[str], bool]) -> None:
    """Remove all checkpoints of a folder but one, and those that are not own."""
    for other in _list_checkpoints(os.path.dirname(prefix)):
        if other != prefix and is_own(other):
            _remove_bundle(other)


@contextlib.contextmanager
def naming_write(path: str) -> Iterator[None]:
    """Turn TensorFlow's error of a write into an OSError: "PATH: cannot be written: REASON"."""
    try:
        yield
    except tf.errors.OpError as error:
        reason = first_sentence(error).rpartition("; ")[2]
        raise OSError(f"{path}: cannot be written: {reason}") from None


def remove_unfinished(folder: str) -> None:
    """Remove what a run that was killed while it wrote has left, whole bundles excepted."""
    if storage.is_remote(folder) and not storage.is_folder(folder):
        return
    (storage.remove_unfinished_uploads if storage.is_remote(folder) else storage.remove_abandoned)(
        folder
    )
    removed = storage.remove_matching(folder, _LEFT_OVER)
    names = storage.list_folder(folder) if storage.is_remote(folder) else []
    for data in filter(None, map(_DATA.fullmatch, names)):  # uploaded before the index
        if f"{data[1]}.index" not in names:
            storage.remove(os.path.join(folder, data[0]))
            removed.append(data[0])
    for name in removed:
        logging.info("removed %s, which a killed run had left", name)


def _list_checkpoints(folder: str, *, most_steps: int | None = None) -> list[str]:
    """Return the prefixes of checkpoints of up to some steps, in the order of steps."""
    matches = map(_INDEX.fullmatch, storage.list_folder(folder))
    steps = {match[1]: int(match[2]) for match in matches if match}
    names = sorted(steps, key=lambda name: (steps[name], name))
    return [
        os.path.join(folder, name)
        for name in names
        if most_steps is None or steps[name] <= most_steps
    ]


def _write_list(folder: str, prefixes: list[str]) -> None:
    names = list(map(os.path.basename, prefixes))
    lines = [f'model_checkpoint_path: "{names[-1]}"\n']
    lines += [f'all_model_checkpoint_paths: "{name}"\n' for name in names]
    storage.write_bytes(os.path.join(folder, _LIST), "".join(lines).encode())


def _remove_bundle(prefix: str) -> None:
    """Remove a bundle, its index first: without it the rest is no checkpoint."""
    folder, name = os.path.split(prefix)
    if storage.is_remote(folder) and not storage.is_folder(folder):
        return
    for ending in (r"\.index", f"{_FILES}(?:{_TEMPORARY})?"):
        storage.remove_matching(folder, re.compile(re.escape(name) + ending))


def _files_of(prefix: str) -> list[str]:
    folder, name = os.path.split(prefix)
    if storage.is_remote(folder) and not storage.is_folder(folder):
        return []
    matches = re.compile(re.escape(name) + _FILES).fullmatch
    return [os.path.join(folder, each) for each in storage.list_folder(folder) if matches(each)]


@contextlib.contextmanager
def claim_output_folder(folder: str, config: BertConfig, *, write: bool = True) -> Iterator[None]:
    """Make the folder of a run, and keep other runs out meanwhile.

    What a killed run has left half-written is removed. A remote folder (gs://...) has no lock.

    Args:
      write: false in workers that only check whether the folder is another model's.
    """
    with contextlib.ExitStack() as stack:
        try:
            storage.make_folder(folder)
        except OSError as error:
            raise OSError(f"cannot write to output_dir {folder!r}: {error.strerror}") from None
        if write and not storage.is_remote(folder):
            stack.callback(_lock(folder).release)
        if latest_checkpoint(folder) is not None:
            check_same_model(
                folder, config, "use another output_dir, or the model's own configuration"
            )
        if write:
            remove_unfinished(folder)
        yield


def write_config(folder: str, config: BertConfig) -> None:
    """Write the configuration of a run's model, unless the file says the same.

    Such a file may be the one that the user passed.
    """
    path = os.path.join(folder, _CONFIG)
    if not storage.exists(path) or BertConfig.from_json_file(path) != config:
        storage.write_bytes(path, config.to_json().encode())


def _lock(folder: str) -> storage.RunLock:
    path = storage.hidden_path(os.path.join(folder, _NAME), "lock")  # .model.ckpt.lock
    try:
        return storage.RunLock(path)
    except BlockingIOError:
        reason = "another run is training in this folder"
        raise BlockingIOError(errno.EAGAIN, reason, folder) from None


def folder_config(folder: str) -> BertConfig | None:
    """Return the configuration in bert_config.json, or Hugging Face's config.json, if any."""
    for name in (_CONFIG, _OF_HUGGING_FACE):
        if storage.exists(path := os.path.join(folder, name)):
            return BertConfig.from_json_file(path)
    return None


def check_same_model(path: str, config: BertConfig, advice: str) -> None:
    """Check that checkpoints are of a model; settings that may change are logged if they have.

    Args:
      path: the folder of the checkpoints, or the prefix of one.
    """
    folder = path if storage.is_folder(path) else os.path.dirname(path) or os.curdir
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
