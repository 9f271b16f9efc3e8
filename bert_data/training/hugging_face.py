"""Weights in Hugging Face's folders, under the names of Google's checkpoints.

bert.encoder.layer.0.output.dense.weight [768, 3072]
    <->  bert/encoder/layer_0/output/dense/kernel [3072, 768]

folder/config.json  model.safetensors, or model.safetensors.index.json and the files it lists
"""

import os
import re
from collections.abc import Mapping
from typing import Any

import numpy as np
import safetensors

from bert_data.errors import CorruptDataError, first_sentence
from bert_data.storage import JsonObject, exists, is_folder

WEIGHTS = "model.safetensors"
_INDEX = "model.safetensors.index.json"
_PICKLED = "pytorch_model.bin"

_NAMES = (
    (r"/layer_(\d+)/", r".layer.\1."),
    (r"_embeddings$", "_embeddings.weight"),
    (r"/gamma$", ".weight"),
    (r"/beta$", ".bias"),
    (r"/kernel$", ".weight"),
    (r"^cls/predictions/output_bias$", "cls.predictions.bias"),
    (r"/output_weights$", ".weight"),
    (r"/output_bias$", ".bias"),
    (r"/", "."),
)
"""Substitutions, in order, that turn a name of Google's into Hugging Face's."""

_ENCODER = "bert."


def hugging_face_name(name: str) -> str:
    """Return the name in `BertForPreTraining` of a variable with a released name."""
    for pattern, replacement in _NAMES:
        name = re.sub(pattern, replacement, name)
    return name


def is_transposed(name: str) -> bool:
    """Whether a variable's two axes are stored in the other order there."""
    return name.endswith("/kernel")


class HuggingFaceFolder:
    """The weights in a folder of Hugging Face, by the names in Google's checkpoints.

    Attributes:
      prefix: the path of the weights, or of their index.
      may_lack_heads: True: folders of models without the pretraining heads are common.
    """

    may_lack_heads = True

    def __init__(self, folder: str) -> None:
        """Open the folder.

        Raises:
          ValueError: the folder has no weights in the format of safetensors.
        """
        if exists(path := os.path.join(folder, WEIGHTS)):
            files = [WEIGHTS]
        elif exists(path := os.path.join(folder, _INDEX)):
            files = sorted(set(_files_of_index(path).values()))
        else:
            raise ValueError(_without_weights(folder))
        self.prefix = path
        self._tensors: dict[str, tuple[str, Any]] = {}
        for name in files:
            file = _open(os.path.join(folder, name))
            self._tensors |= dict.fromkeys(file.keys(), (os.path.join(folder, name), file))
        self._has_encoder_prefix = any(key.startswith(_ENCODER) for key in self._tensors)

    def __contains__(self, name: str) -> bool:
        return self._key(name) in self._tensors

    def shape(self, name: str) -> list[int]:
        """Return the shape of a tensor that the folder has, in the order of Google's axes."""
        path, file = self._tensors[self._key(name)]
        shape = _reading(path, lambda: file.get_slice(self._key(name)).get_shape())
        return shape[::-1] if is_transposed(name) else list(shape)

    def read(self, name: str) -> np.ndarray:
        """Return a tensor as float32.

        Raises:
          ValueError: the folder has no such tensor.
        """
        if name not in self:
            raise ValueError(f"{self.prefix} has no tensor {self._key(name)!r}")
        path, file = self._tensors[self._key(name)]
        tensor = _reading(path, lambda: file.get_tensor(self._key(name)))
        values = np.asarray(tensor, np.float32)
        return values.T if is_transposed(name) else values

    def _key(self, name: str) -> str:
        """Return the name of a tensor in these files."""
        key = hugging_face_name(name)
        if not self._has_encoder_prefix:  # saved from the encoder alone
            key = key.removeprefix(_ENCODER)
        if key not in self._tensors and "LayerNorm." in key:  # names of the first releases
            old = key.replace("LayerNorm.weight", "LayerNorm.gamma")
            key = old.replace("LayerNorm.bias", "LayerNorm.beta")
        return key


def find_hugging_face_folder(path: str) -> str | None:
    """Return the folder of Hugging Face that a path names; None if it is something else.

    Args:
      path: a folder, or its file of weights.
    """
    if path.endswith((".safetensors", _INDEX, _PICKLED)):
        return os.path.dirname(path)
    names = (WEIGHTS, _INDEX, _PICKLED)
    if is_folder(path) and any(exists(os.path.join(path, name)) for name in names):
        return path
    return None


def _files_of_index(path: str) -> Mapping[str, str]:
    files = JsonObject.read(path).values.get("weight_map")
    if not isinstance(files, dict) or not files:
        raise CorruptDataError(path, 0, "it has no weight_map")
    for name in files.values():
        if not isinstance(name, str) or os.path.basename(name) != name:
            raise CorruptDataError(path, 0, f"{name!r} in weight_map is not the name of a file")
    return files


def _without_weights(folder: str) -> str:
    if exists(os.path.join(folder, _PICKLED)):
        return (
            f"{folder} has its weights in {_PICKLED}, a format that can run code when it is read;"
            f" save them as {WEIGHTS} by transformers' save_pretrained"
        )
    return f"{folder} has no {WEIGHTS}"


def _open(path: str) -> Any:
    return _reading(path, lambda: safetensors.safe_open(path, framework="np"))


def _reading(path: str, read: Any) -> Any:
    try:
        return read()
    except safetensors.SafetensorError as error:
        raise CorruptDataError(path, 0, first_sentence(error)) from None
